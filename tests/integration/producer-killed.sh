#!/bin/bash
# SIGKILL before finalize: every finished call is published, the open ones are named and get no end.
. "$(dirname "$0")/common.sh"
start_spd
work -r 0 -n 15000 -e kill work >"$T/out.0" 2>&1
work -r 1 -n 15000 -e open work >"$T/out.1" 2>&1
work -r 2 -n 1 -e kill work >"$T/out.2" 2>&1
published 3
until_true 5 no_segments || fail "segments are left over: $(segments)"
merge_lossy "$T/out.h5" "$S"
counts "$T/out.h5" 30001
[[ $(calls "$T/out.h5" 'never ends') == 0 ]] || fail "the open call was given an end"
metadata "$T/out.h5" sp_open_calls | grep -q 'outer > never ends' || fail "sp_open_calls: $(metadata "$T/out.h5" sp_open_calls)"
[[ $(metadata "$T/out.h5" sp_deaths | wc -l) == 3 ]] || fail "sp_deaths: $(metadata "$T/out.h5" sp_deaths)"
[[ $(metadata "$T/out.h5" sp_dropped_records) == 0 ]] || fail "records were dropped"
echo "120004 of 120004 calls survive SIGKILL, the open ones are named"
