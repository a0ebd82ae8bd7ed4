#!/bin/bash
# After its warm-up a program touches no page anew in its calls, with one ring and with four, each of which goes round under
# spd; and spd runs at the nice value that was asked for, in every thread.
. "$(dirname "$(readlink -f "$0")")/common.sh"
[[ $SP_TEST_SANITIZE == none ]] || skip "a sanitizer touches pages of its own"
export SP_FULL_WAIT=10000000 # a machine full of others makes spd late, at that value
start_spd --nice 7

# faults N OPTION...: more pairs than a ring of the usual size holds, four times.
faults() {
    local n=$1
    (cd "$T/cwd" && "$SP_TEST_PAIRS" -r 3 "${@:2}" 40960) >"$T/out" || fail "pairs ${*:2} ended with status $?"
    [[ $(<"$T/out") == "made $((n * 163840)) with 0 page faults" ]] || fail "pairs ${*:2}: $(<"$T/out")"
}
faults 1
faults 4 -t 4
merge "$T/out.h5" "$S"
[[ $(calls "$T/out.h5" outer inner) == "409600 409600" ]] || fail "$(calls "$T/out.h5" outer inner) calls are kept, not 409600 of each"

nices=$(cut -d ' ' -f 19 "/proc/$SPD"/task/*/stat | sort | uniq -c)
[[ $nices =~ ^\ *([0-9]+)\ 7$ ]] || fail "spd's threads run at nice values: $nices"
((BASH_REMATCH[1] > 1)) || fail "spd published with no thread besides its loop"
grep -q 'nice value 7$' "$T/spd.log" || fail "spd's log does not say its nice value"
$PY -c 'import json, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b"{\"v\":1,\"op\":\"status\"}\n")
sys.exit(json.loads(s.makefile().readline())["nice"] != 7)' "$T/run/control" || fail "spd's status says another nice value"
stop_spd
echo "no page fault in 819200 calls; spd's threads run at nice value 7"
