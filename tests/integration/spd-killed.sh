#!/bin/bash
# spd is killed and restarted fifty times under four recording ranks: exact counts, no duplicate. A rank that is done
# begins another life, so that every death of spd meets four.
. "$(dirname "$0")/common.sh"
each=25000 lives=0
live() { # RANK
    launch "$1" -r "$1" -n $each -p 20 work
    programs[$1]=$!
    lives=$((lives + 1))
}
start_spd
for r in 0 1 2 3; do live $r; done
for ((i = 0; i < 50; i++)); do
    sleep 0.05
    for r in 0 1 2 3; do
        kill -0 "${programs[r]}" 2>/dev/null || { ended "${programs[r]}"; live $r; }
    done
    kill -KILL "$SPD"
    wait "$SPD" 2>/dev/null
    start_spd
done
ended "${programs[@]}"
merge "$T/out.h5" "$S"
counts "$T/out.h5" $((lives * each))
until_true 5 no_segments || fail "segments are left over: $(segments)"
echo "$((4 * lives * each)) calls of $lives lives of four ranks over fifty kills of spd"
