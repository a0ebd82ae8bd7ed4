#!/bin/bash
# spd is stopped while a ring fills up: the program ends on time, and calls made = calls published + drops counted.
. "$(dirname "$0")/common.sh"
export SP_RING=4096 SP_FULL_WAIT=50000
start_spd
hold
launch 0 -n 60000 -w -e kill work
program=$!
has_spool() { [[ -n $(find "$T/data/$S" -name '*.spool' 2>/dev/null) ]]; }
until_true 5 has_spool || fail "spd has not taken the program"
kill -STOP "$SPD"
echo >&8
made 1
wait "$program" 2>/dev/null
ms=$(sed -n 's/^made .* in \([0-9]*\) ms$/\1/p' "$T/out.0")
((ms < 5000)) || fail "60000 iterations took $ms ms under a stopped spd"
kill -CONT "$SPD"
until_true 10 no_segments || fail "segments are left over: $(segments)"
merge_lossy "$T/out.h5" "$S"
kept=$(($(calls "$T/out.h5" outer left right deep | tr ' ' +)))
dropped=$(metadata "$T/out.h5" sp_dropped_records)
((dropped > 0)) || fail "a ring of 4096 records held 240000"
((kept + dropped == 240000)) || fail "$kept kept + $dropped dropped is not 240000"
echo "$kept calls kept, $dropped dropped and counted, 240000 made, in $ms ms"
