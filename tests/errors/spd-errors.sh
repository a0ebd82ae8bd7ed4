#!/bin/bash
# Every system call that spd makes fails once, or a few times in a row, while it attaches to, drains and publishes a
# rank that ends and one that is killed: spd goes on, and nothing is lost.
WALK=${SP_WALK:-60} SHARE=${SP_WALK_SECONDS:-15} # before other settings of this name are cleared
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
. "$(dirname "$(readlink -f "$0")")/shimmed.sh"
export SP_RING=1024 SP_FULL_WAIT=2000000
number=0

ready() { ! kill -0 "$SPD" 2>/dev/null || reachable; }

spd_under() {
    local status
    number=$((number + 1))
    ((times == 1)) || times=20
    export SP_SESSION=$S-$number
    shim spd "$SP_TEST_SPD" --data-dir "$T/data" --runtime-dir "$T/run" --session "$SP_SESSION" >"$T/spd.log" 2>&1 &
    SPD=$!
    until_true 10 ready || fail "$at: spd neither answers nor ends: $(cat "$T/spd.log")"
    if ! kill -0 "$SPD" 2>/dev/null; then
        wait "$SPD" && fail "$at: spd ends at once with 0"
        [[ -s $T/spd.log ]] || fail "$at: spd ends and says nothing"
    fi
    (cd "$T/cwd" && exec timeout -s KILL 30 "$SP_TEST_WORK" -r 0 -n 1500 work) >"$T/out.0" 2>&1
    status=$?
    ((status == 0 || status == 1)) || fail "$at: the program ended with $status: $(cat "$T/out.0")"
    (cd "$T/cwd" && timeout -s KILL 30 "$SP_TEST_WORK" -r 1 -n 500 -e kill work; :) >"$T/out.1" 2>&1
    if kill -0 "$SPD" 2>/dev/null; then
        kill -TERM "$SPD"
        until_true 15 ended_spd || fail "$at: spd does not end: $(cat "$T/spd.log")"
    fi
    wait "$SPD"
    status=$?
    ((status < 126)) || fail "$at: spd ended with $status: $(cat "$T/spd.log")"
    (($(wc -l <"$T/spd.log") <= 40)) || fail "$at: spd floods its log: $(head -n 20 "$T/spd.log")"
    found "$SP_SESSION"
    ((kept == 8000 || (kept < 8000 && kept + lost == 8000))) ||
        fail "$at: $kept kept and $lost counted of 8000: $(cat "$T/spd.log" "$T/out.0" "$T/found.err")"
    no_segments || fail "$at: segments are left over: $(segments): $(cat "$T/spd.log")"
    rm -rf "${T:?}/data" "$T/cwd/"* "$T/run/"*
}
ended_spd() { ! kill -0 "$SPD" 2>/dev/null; }

function=none error=EIO nth=0 times=1 at="nothing"
export SHIM_COUNT=$T/counts
spd_under
unset SHIM_COUNT
[[ -s $T/counts ]] || fail "the shim counts nothing: $(cat "$T/spd.log")"
# Those around a name that is to go: it stays, and nobody looks for its calls in its rings again.
function=lock error=ENOLCK times=1
for nth in 13 14 15 16; do
    at="$function $error $nth"
    spd_under
done
walk "$T/counts" spd_under
SPD=
