#!/bin/bash
# spd is killed and restarted ten times under four recording ranks: exact counts, no duplicate.
. "$(dirname "$0")/common.sh"
start_spd
for r in 0 1 2 3; do launch "$r" -r "$r" -n 25000 -p 20 work; programs[r]=$!; done
for ((i = 0; i < 10; i++)); do
    sleep 0.15
    kill -KILL "$SPD"
    wait "$SPD" 2>/dev/null
    start_spd
done
ended "${programs[@]}"
merge "$T/out.h5" "$S"
counts "$T/out.h5" 100000
until_true 5 no_segments || fail "segments are left over: $(segments)"
echo "400000 of 400000 calls over ten kills of spd"
