#!/bin/bash
# Flushed and merged while four programs run, and again after more calls: each time every call so far, nobody is stopped.
. "$(dirname "$0")/common.sh"
start_spd
hold
for r in 0 1 2 3; do launch "$r" -r "$r" -n 6000 -s -e wait work; programs[r]=$!; done
made 4
spctl list --json >"$T/list" || fail "spctl list --json fails"
grep -qF "$S" "$T/list" || fail "the session is not listed"
spctl flush "$S" >"$T/flush" 2>&1 || fail "flush: $(tail -n 1 "$T/flush")"
published 4
for f in $(rank_files); do counts "$f" 6000; done
merge "$T/live.h5" "$S"
counts "$T/live.h5" 24000
spctl report "$T/live.h5" >"$T/table" || fail "report: $(cat "$T/table")"
grep -q deep "$T/table" || fail "the table lacks a region"
kill -0 "${programs[@]}" || fail "flush stopped a program"
release
ended "${programs[@]}"
merge "$T/out.h5" "$S"
counts "$T/out.h5" 24000
until_true 5 no_segments || fail "segments are left over: $(segments)"

# A living session merges without spd too, and its producers go on.
stop_spd
mkfifo "$T/hold2"
exec 8<>"$T/hold2"
INPUT=$T/hold2
rm -f "$T"/out.*
launch 9 -r 9 -n 3000 -e wait work
last=$!
made 1
merge "$T/nobody.h5" "$S"
counts "$T/nobody.h5" 27000
release
ended "$last"
merge "$T/end.h5" "$S"
counts "$T/end.h5" 27000
echo "24000 iterations of 4 ranks, flushed live, merged live and at the end"
