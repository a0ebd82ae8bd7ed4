#!/bin/bash
# An instrumented plug-in is loaded and unloaded while its threads live, with and without finalize, under spd and
# without one: the program ends well, and all calls are there.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
host() {
    local name=$1
    shift
    export SP_SESSION=$S-$name
    (cd "$T/cwd" && timeout 30 "$SP_TEST_HOST" "$1" "$SP_TEST_PLUGIN" "$name") >"$T/out.$name" 2>&1 ||
        fail "$name: the program ended with status $?: $(cat "$T/out.$name")"
    [[ $(grep -v '^scope_profiler: ' "$T/out.$name") == "made 6000" ]] || fail "$name: $(cat "$T/out.$name")"
    merge "$T/$name.h5" "$SP_SESSION"
    n=$(calls "$T/$name.h5" run loaded unloaded "after the end")
    [[ $n == "$2" ]] || fail "$name: $n calls of run, loaded, unloaded and after the end, not $2"
    no_segments || fail "$name: segments are left over: $(segments)"
}
host ended end "6000 2 2 0"
host left leave "6000 2 3 0"
start_spd
host spd-ended end "6000 2 2 0"
host spd-left leave "6000 2 3 0"
echo "6000 calls of a plug-in that came and went three times, four times over"
