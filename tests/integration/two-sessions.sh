#!/bin/bash
# Two sessions at once, under one spd and under one each: nobody gets the other's ranks.
. "$(dirname "$0")/common.sh"
start_spd
(export SP_SESSION=$S-a; launch a0 -r 0 -n 3000 -p 20 work; p=$!; launch a1 -r 1 -n 3000 -p 20 work; wait $p && wait $!) & a=$!
(export SP_SESSION=$S-b; launch b0 -r 0 -n 2000 -p 20 work; wait $!) & b=$!
ended $a $b
merge "$T/a.h5" "$S-a"
merge "$T/b.h5" "$S-b"
counts "$T/a.h5" 6000
counts "$T/b.h5" 2000
[[ $(metadata "$T/b.h5" sp_session) == "$S-b" ]] || fail "sp_session is $(metadata "$T/b.h5" sp_session)"

# A second spd in the same runtime folder is refused; one with another folder and other sessions lives beside the first.
"$SP_TEST_SPD" --data-dir "$T/data" --runtime-dir "$T/run" --session "$S*" >"$T/second" 2>&1 & second=$!
until_true 10 eval "! kill -0 $second 2>/dev/null" || fail "two spd share a runtime folder"
wait $second && fail "a second spd in one runtime folder ends with status 0"
[[ -s $T/second ]] || fail "the second spd does not say why it ends"
reachable || fail "the second spd took the first one's socket"
mkdir -m 700 "$T/run2" "$T/data2"
"$SP_TEST_SPD" --data-dir "$T/data2" --runtime-dir "$T/run2" --session "other-$S*" >>"$T/spd.log" 2>&1 & other=$!
until_true 10 reachable "$T/run2" || fail "the other spd did not come up"
(export SP_SESSION=other-$S SP_RUNTIME_DIR=$T/run2 SP_DATA_DIR=$T/data2; work -n 1000 work) >"$T/out.o" 2>&1 || fail "$(cat "$T/out.o")"
grep -qF "$T/data2/other-$S/" "$T/out.o" || fail "served by the wrong spd: $(tail -n 1 "$T/out.o")"
[[ ! -e $T/data/other-$S ]] || fail "the first spd took a session that is not its own"
kill -TERM $other
wait $other || fail "the other spd ended with status $?"
echo "two sessions, two daemons, each with its own ranks"
