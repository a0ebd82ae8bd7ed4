#!/bin/bash
# Programs record long before an spd comes: it takes them over, and nothing is lost or counted twice.
. "$(dirname "$0")/common.sh"
hold
launch 0 -r 0 -n 50000 -e wait late
programs[0]=$!
made 1
launch 1 -r 1 -n 12000 -p 50 late
programs[1]=$!
launch 2 -r 2 -n 200 -e wait late
programs[2]=$!
made 2
sleep 0.2
start_spd
spctl flush "$S" >"$T/flush" 2>&1 || fail "flush: $(tail -n 1 "$T/flush")"
(($(rank_files | wc -l) == 3)) || fail "of three programs older than spd $(rank_files | wc -l) are flushed: $(cat "$T/flush")"
ended "${programs[1]}"
release
ended "${programs[0]}" "${programs[2]}"
grep -qF "$T/data/$S" "$T/out.0" || fail "the program was not served by spd: $(tail -n 1 "$T/out.0")"
merge "$T/out.h5" "$S"
counts "$T/out.h5" 62200
until_true 5 no_segments || fail "segments are left over: $(segments)"
echo "248800 calls, most of them older than spd"
