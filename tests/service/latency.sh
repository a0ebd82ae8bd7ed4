#!/bin/bash
# latency.sh [CONNECTIONS [PERIOD_US]]: the latency of the service with and without flushing, in one run.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
BIN=$SP_TEST_BIN/tests/service
start_spd
(cd "$T/cwd" && exec "$BIN/service" "$T/socket" "$T/tally") >"$T/service.log" 2>&1 8>&- &
service=$!
until_true 10 test -S "$T/socket" || fail "the service does not come up: $(tail -n 1 "$T/service.log")"
echo "load before: $(cut -d ' ' -f 1-2 /proc/loadavg), $(nproc) processors"
"$PY" "$HERE/../service/latency.py" "$T/run" "$S" "$T/latencies" \
    "$BIN/load" "$T/socket" "${1:-3}" 0 "${2:-6000}" "$T/latencies" || fail "the measurement ended with status $?"
kill -TERM "$service"
wait "$service" || fail "the service ended with status $?"
