#!/bin/bash
# A service under load, flushed 1,000 times: after each flush the file is whole and holds every call that had ended when
# it was asked for; the last one holds every call once.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
BIN=$SP_TEST_BIN/tests/service
n=1000
[[ $SP_TEST_SANITIZE == none ]] || n=100
start_spd
(cd "$T/cwd" && exec "$BIN/service" "$T/socket" "$T/tally") >"$T/service.log" 2>&1 8>&- &
service=$!
until_true 10 test -S "$T/socket" || fail "the service does not come up: $(tail -n 1 "$T/service.log")"
"$BIN/load" "$T/socket" 6 0 100000 >"$T/load.log" 2>&1 &
load=$!
"$PY" "$HERE/../service/flushed.py" "$T/run" "$S" "$T/tally" "$n" "$SP_TEST_SPCTL" >"$T/said" 2>&1 ||
    fail "$(tail -n 1 "$T/said"); $(cat "$T/load.log" "$T/service.log")"
kill -TERM "$load"
wait "$load" || fail "the load ended with status $?: $(tail -n 1 "$T/load.log")"
kill -TERM "$service"
wait "$service" || fail "the service ended with status $?: $(tail -n 1 "$T/service.log")"
"$PY" "$HERE/../service/flushed.py" "$T/run" "$S" "$T/tally" last "$(rank_files)" 6 >"$T/last" 2>&1 ||
    fail "$(tail -n 1 "$T/last")"
sound "$(rank_files)"
spctl check "$(rank_files)" >/dev/null || fail "spctl check finds the last file not sound"
until_true 5 no_segments || fail "segments are left over: $(segments)"
cat "$T/said" "$T/last"
