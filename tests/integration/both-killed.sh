#!/bin/bash
# Programs and spd are killed, spd while it lags behind. A merge with nobody alive recovers all, cleans up, and gives the
# same again.
. "$(dirname "$0")/common.sh"
start_spd
hold
launch 0 -r 0 -n 20000 -e wait work
waiting=$!
made 1
kill -STOP "$SPD"
work -r 1 -n 4000 -e kill work >"$T/out.1" 2>&1
work -r 2 -n 2000 -e open work >"$T/out.2" 2>&1
kill -KILL "$waiting" "$SPD"
wait "$waiting" "$SPD" 2>/dev/null
SPD=
[[ -n $(segments) ]] || fail "there is no segment left to recover"
merge_lossy "$T/out.h5" "$S"
counts "$T/out.h5" 26000
no_segments || fail "segments are left over: $(segments)"
merge_lossy "$T/again.h5" "$S"
ask same "$T/out.h5" "$T/again.h5" || fail "a second merge differs"

# An spd that comes later publishes the same.
start_spd
merge_lossy "$T/third.h5" "$S"
ask same "$T/out.h5" "$T/third.h5" || fail "a merge under a later spd differs"
echo "104000 of 104000 calls recovered with nobody alive"
