#!/bin/bash
# The data folder is removed while programs record, under spd and without one: what was drained comes back with it.
. "$(dirname "$(readlink -f "$0")")/common.sh"

spooled() { find "$T/data" "$T/cwd" -name '*.spool' -size +8k 2>/dev/null | grep -q .; }

start_spd
hold
launch spd -r 0 -n 20000 -e wait
pid=$!
made 1
until_true 10 spooled || fail "spd drained nothing"
rm -rf "$T/data"
release
ended $pid
until_true 10 no_segments || fail "the segment stays: $(segments)"
spctl merge "$S" -o "$T/spd.h5" 2>"$T/err" || fail "merge ended with $?: $(tail -n 1 "$T/err")"
counts "$T/spd.h5" 20000
stop_spd

rm -rf "$T/data" "$T/hold" "$T"/out.*
hold
export SP_RING=1024 SP_SESSION=$S-alone
launch alone -r 1 -n 20000 -e wait
pid=$!
made 1
until_true 10 spooled || fail "the program drained nothing"
rm -rf "$T/data"
release
ended $pid
counts "$(find "$T/cwd" -name '*_rank00001.spt')" 20000
mkdir -p "$T/cwd/$S-alone" # a folder of the session's name that holds no profile
(cd "$T/cwd" && spctl merge "$S-alone" -o "$T/alone.h5" 2>"$T/err") || fail "merge ended with $?: $(tail -n 1 "$T/err")"
counts "$T/alone.h5" 20000
echo "20000 steps each survive the removal of the data folder"
