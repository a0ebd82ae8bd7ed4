#!/bin/bash
# spd is killed and restarted fifty times under four recording ranks: exact counts, no duplicate.
. "$(dirname "$0")/common.sh"
start_spd
for r in 0 1 2 3; do launch "$r" -r "$r" -n 100000 -p 20 work; programs[r]=$!; done
for ((i = 0; i < 50; i++)); do
    sleep 0.05
    kill -KILL "$SPD"
    wait "$SPD" 2>/dev/null
    start_spd
done
for r in 0 1 2 3; do kill -0 "${programs[r]}" || fail "rank $r was done before the last kill"; done
ended "${programs[@]}"
merge "$T/out.h5" "$S"
counts "$T/out.h5" 400000
until_true 5 no_segments || fail "segments are left over: $(segments)"
echo "1600000 of 1600000 calls over fifty kills of spd"
