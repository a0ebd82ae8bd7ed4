#!/bin/bash
# 200 ranks under an spd that may open 64 files: those served stay served, the others wait or publish for themselves, spd
# says so once and idles, and every call is in the merged profile.
. "$(dirname "$0")/common.sh"
RANKS=200 N=50
(($(ulimit -u) > RANKS + 500)) 2>/dev/null || [[ $(ulimit -u) == unlimited ]] || skip "too few processes are allowed"
: >"$T/spd.log"
(
    ulimit -n 64
    exec "$SP_TEST_SPD" --data-dir "$T/data" --runtime-dir "$T/run" --session "$S*" 2>"$T/spd.log"
) 8>&- &
SPD=$!
until_true 10 spd_answers || fail "spd did not come up: $(tail -n 1 "$T/spd.log")"

status_of() { # KEY: of spd's status; "aside": how many segments wait
    $PY - "$T/run/control" "$1" <<'PYTHON'
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(5)
s.connect(sys.argv[1])
s.sendall(b'{"v":1,"op":"list"}\n{"v":1,"op":"status"}\n')
lines = s.makefile()
listed, status = json.loads(lines.readline()), json.loads(lines.readline())
if sys.argv[2] == "aside":
    print(sum("no descriptors" in entry["why"] for entry in listed["set_aside"]))
elif sys.argv[2] == "served":
    print(*sorted(rank["rank"] for rank in listed["ranks"]))
else:
    print(status[sys.argv[2]])
PYTHON
}
served_first() { [[ $(status_of served) == "0 1 2 3 4" ]]; }
none_left() { [[ $(status_of ranks) == 0 ]]; }

export SP_RING=1024
hold
programs=()
for ((i = 0; i < 5; i++)); do
    launch "$i" -r "$i" -n $N -e wait work
    programs+=($!)
done
until_true 20 served_first || fail "spd serves the ranks $(status_of served), not the first five"
for ((; i < RANKS; i++)); do
    launch "$i" -r "$i" -n $N -e wait work
    programs+=($!)
done
made $RANKS

most=$(status_of ranks_most)
((most >= 8 && most < 32)) || fail "spd thinks that 64 files are enough for $most ranks"
full() { (($(status_of ranks) == most && $(status_of aside) > 0)); }
until_true 10 full || fail "spd serves $(status_of ranks) ranks of at most $most, $(status_of aside) wait for a reason"
served=$(status_of served)
[[ $served == "0 1 2 3 4 "* ]] || fail "those that were served first are not served any more: $served"
(($(grep -c 'no descriptors left' "$T/spd.log") == 1)) || fail "spd said $(grep -c 'no descriptors left' "$T/spd.log") times that it has no descriptors left"

# More clients than it has files for: the newest is answered.
$PY - "$T/run/control" <<'PYTHON' || fail "clients without end took the socket away"
import json, socket, sys
idle = []
for n in range(80):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(10)
    s.connect(sys.argv[1])
    idle.append(s)
s.sendall(b'{"v":1,"op":"ping"}\n')
assert json.loads(s.makefile().readline())["ok"]
PYTHON

before=$(awk '{print $14 + $15}' "/proc/$SPD/stat")
sleep 2
spent=$(($(awk '{print $14 + $15}' "/proc/$SPD/stat") - before))
[[ $SP_TEST_SANITIZE != none ]] || ((spent < 40)) || fail "spd, with nothing to do, spent $spent hundredths of a second in two seconds"

spctl flush "$S" >"$T/flush" 2>&1 || fail "flush: $(tail -n 1 "$T/flush")"
release
ended "${programs[@]}"
until_true 30 none_left || fail "spd still serves the ranks $(status_of served)"
stop_spd
until_true 10 no_segments || fail "segments stay: $(segments | head -n 3)"
merge "$T/out.h5" "$S"
counts "$T/out.h5" $((RANKS * N))
echo "$most of $RANKS ranks are served with 64 files, and all $((RANKS * N)) iterations are kept"
