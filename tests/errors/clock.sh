#!/bin/bash
# A clock that stands still, steps back by a second, or passes 2^63 ns, as the program reads it: no end before its
# start, no call lost, what was mended is counted, and nothing waits for good.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
[[ $SP_TEST_SANITIZE == none ]] || skip "a sanitizer's own library must be preloaded first"
export SP_CLOCK=monotonic

# clock NAME HOW OPTION...
clock() {
    local name=$1 how=$2
    shift 2
    export SP_SESSION=$S-$name
    (cd "$T/cwd" && LD_PRELOAD=$SP_TEST_SHIM SHIM_PROGRAM=work SHIM_CLOCK=$how timeout -s KILL 30 "$SP_TEST_WORK" "$@" \
        "$name") >"$T/out.$name" 2>&1 || fail "$name: the program ended with status $?: $(cat "$T/out.$name")"
    merge_lossy "$T/$name.h5" "$SP_SESSION"
    counts "$T/$name.h5" "$calls"
    mended=$(sed -n 's/.*"mended": *\([0-9]*\).*/\1/p' "$T/data/$SP_SESSION"/*.note | head -n 1)
    ask check "$T/$name.h5" || fail "$name: not sound"
    no_segments || fail "$name: segments are left over: $(segments)"
    echo "$name: $calls steps, ${mended:-0} ends mended"
}

# Taken as it is, an end before its start would be a call of centuries.
statistics() {
    local name=$1-stats
    export SP_MODE=stats SP_SESSION=$S-$1-stats
    (cd "$T/cwd" && LD_PRELOAD=$SP_TEST_SHIM SHIM_PROGRAM=work SHIM_CLOCK=back timeout -s KILL 30 "$SP_TEST_WORK" -n 20000 \
        "$name") >"$T/out.$name" 2>&1 || fail "$name: the program ended with status $?: $(cat "$T/out.$name")"
    unset SP_MODE
    spctl report --csv "$SP_SESSION" >"$T/csv" 2>"$T/err"
    "$PY" - "$T/csv" <<'PYTHON' || fail "$name: not what a clock that steps back leaves: $(cat "$T/csv" "$T/err")"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert [int(row["calls"]) for row in rows] == 4 * [20000]
hour = 3600 * 10**9
assert all(0 <= int(row["min_ns"]) <= int(row["max_ns"]) < hour and int(row["total_ns"]) < hour for row in rows)
PYTHON
}
for where in alone spd; do
    calls=20000
    clock $where-still still -n 20000
    clock $where-back back -n 20000
    ((${mended:-0} > 0)) || fail "$where: a clock that steps back is mended and not counted"
    statistics $where
    calls=300
    clock $where-far far -n 300 -p 1000
    export SP_RING=1024 SP_FULL_WAIT=1000000
    calls=20000
    clock $where-small-ring still -n 20000
    unset SP_RING SP_FULL_WAIT
    [[ $where != alone ]] || start_spd
done
