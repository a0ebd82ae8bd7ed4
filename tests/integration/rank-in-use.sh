#!/bin/bash
# A second process with the session, prefix and rank of a living one is refused with a status and runs on.
. "$(dirname "$0")/common.sh"
for daemon in no yes; do
    [[ $daemon == yes ]] && start_spd
    exec 8<&-
    rm -f "$T/hold"
    hold
    launch first -r 3 -n 1000 -e wait "work-$daemon"
    first=$!
    made 1
    INPUT=/dev/null
    work -r 3 -n 1000 "work-$daemon" >"$T/second" 2>&1 || fail "the second program failed: $(tail -n 1 "$T/second")"
    grep -q '^init 17 ' "$T/second" || fail "no SP_ERR_RANK_IN_USE (17): $(head -n 1 "$T/second")"
    grep -q '^made 1000' "$T/second" || fail "the second program did not run to its end"
    work -r 4 -n 10 "work-$daemon" >"$T/third" 2>&1
    grep -q '^init' "$T/third" && fail "another rank is refused: $(head -n 1 "$T/third")"
    release
    ended "$first"
    rm -f "$T"/out.*
done
merge "$T/out.h5" "$S"
counts "$T/out.h5" 2020
echo "the second owner of a rank is refused, and harmed in nothing else"
