#!/bin/bash
# SIGTERM: spd publishes everything and ends; the program goes on and publishes for itself, or under the next spd.
. "$(dirname "$0")/common.sh"
start_spd
hold
for r in 0 1; do launch "$r" -r "$r" -n 3000 -s -e wait work; programs[r]=$!; done
made 2
stop_spd
[[ ! -e $T/run/control ]] || fail "the socket is left over"
have_published 2 || fail "SIGTERM published $(rank_files | wc -l) rank files, not 2"
for f in $(rank_files); do counts "$f" 3000; done
kill -0 "${programs[@]}" || fail "SIGTERM of spd ended a program"
release
ended "${programs[@]}"
merge "$T/out.h5" "$S"
counts "$T/out.h5" 6000
no_segments || fail "segments are left over: $(segments)"
echo "24000 calls, published at SIGTERM and at the end"
