#!/bin/bash
# Begin and end in signal handlers at 10 kHz over the same thread's own calls and mallocs: drained by the program
# itself, by spd, and by the program once spd is killed; on ordinary and on alternate stacks. No deadlock, no torn record, exact.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
export SP_RING=1024 SP_FULL_WAIT=2000000

# exact NAME: what it made is in the profile, or counted.
exact() {
    local made kept
    merge_lossy "$T/$1.h5" "$SP_SESSION"
    made=$(sed -n 's/^outer \([0-9]*\) inner \([0-9]*\) fast \([0-9]*\) slow \([0-9]*\) nested \([0-9]*\) lost.*/\1 \2 \3 \4 \5/p' "$T/out.$1")
    lost=$(sed -n 's/.* lost \([0-9]*\) .*/\1/p' "$T/out.$1")
    kept=$(calls "$T/$1.h5" outer inner fast slow nested)
    [[ -n $made ]] || fail "$1: $(cat "$T/out.$1")"
    ((${made// /+} == ${kept// /+} + lost)) || fail "$1: made $made, kept $kept, counted as lost $lost"
    ((lost > 0)) || [[ $made == "$kept" ]] || fail "$1: made $made, kept $kept"
    no_segments || fail "$1: segments are left over: $(segments)"
    echo "$1: $made made, $lost of them lost and counted"
}

# record NAME OPTION...: the program, in the background; a handler that hangs is found by the time it takes.
record() {
    local name=$1
    shift
    export SP_SESSION=$S-$name
    (cd "$T/cwd" && exec timeout -s KILL 40 "$SP_TEST_SIGNALS" "$@" "$name" "$SP_SESSION") >"$T/out.$name" 2>&1 &
    program=$!
}
over() {
    local status
    wait "$program"
    status=$?
    ((status == 0)) || fail "$1: the program ended with status $status: $(tail -n 5 "$T/out.$1")"
    exact "$1"
}
is_ready() { grep -q '^ready' "$T/out.$1"; }

record own
over own
start_spd
record spd
over spd
for name in orphan small; do
    [[ $name == orphan ]] || start_spd
    record $name $([[ $name == orphan ]] || echo -a)
    until_true 20 is_ready $name || fail "$name: no first part: $(cat "$T/out.$name")"
    kill -KILL "$SPD"
    wait "$SPD" 2>/dev/null
    over $name
done
