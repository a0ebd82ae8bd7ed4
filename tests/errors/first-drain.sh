#!/bin/bash
# Signal handlers over malloc meet the first full ring of a program whose spd has gone, and drain it: no deadlock, no
# overrun stack, exact counts.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
export SP_RING=1024
for option in "" -a; do
    export SP_SESSION=$S-on$option
    rm -f "$T/run/"*
    (cd "$T/cwd" && timeout -s KILL 25 "$SP_TEST_FIRST_DRAIN" $option "$T/run") >"$T/out" 2>&1 ||
        fail "with '$option' the program ended with status $? in life $(grep -c made "$T/out"): $(tail -n 2 "$T/out")"
    made=$(awk '$1 == "made" {n += $2} END {print n}' "$T/out")
    merge_lossy "$T/out.h5" "$SP_SESSION"
    kept=$(calls "$T/out.h5" burst)
    dropped=$(metadata "$T/out.h5" sp_dropped_records)
    ((kept + ${dropped:-0} == made)) || fail "with '$option': $made made, $kept kept, ${dropped:-0} dropped"
    [[ -n $option ]] || ((kept == made)) || fail "of $made calls only $kept are kept"
    no_segments || fail "segments are left over: $(segments)"
    echo "$made calls made, $kept kept, ${dropped:-0} dropped and counted${option:+, on a small stack}"
done
