#!/bin/bash
# fortran.sh TEST EXAMPLE: the Fortran module under spd and without: statuses, handles, counts.
. "$(dirname "$0")/common.sh"
test=$(readlink -f "$1") example=$(readlink -f "$2")
(cd "$T/cwd" && "$test") >"$T/out" 2>&1 || fail "without spd: $(head -n 3 "$T/out")"
[[ $(calls "$T/cwd/fortran-test_rank00005.spt" solve) == 10 ]] || fail "the trace does not hold 10 calls"
start_spd
(cd "$T/cwd" && SP_SESSION=$S-test "$test") >"$T/out" 2>&1 || fail "under spd: $(head -n 3 "$T/out")"
[[ -s $T/out ]] && fail "it prints: $(head -n 1 "$T/out")"
(cd "$T/cwd" && SP_SESSION=$S-heat "$example") >"$T/out" 2>&1 || fail "the example fails: $(head -n 3 "$T/out")"
merge_lossy "$T/test.h5" "$S-test"
[[ $(calls "$T/test.h5" solve) == 10 ]] || fail "$(calls "$T/test.h5" solve) calls after a reset, not 10"
[[ $(metadata "$T/test.h5" source_language) == fortran ]] || fail "source_language is '$(metadata "$T/test.h5" source_language)'"
merge "$T/heat.h5" "$S-heat"
n=$(calls "$T/heat.h5" step exchange update)
[[ $n == '200 200 200' ]] || fail "$n calls of step, exchange, update, not 200 of each"
echo "the module's statuses and 610 calls"
