#!/bin/bash
# Segments of living programs that are written over and cut short under spd's feet: each is set aside with a reason, spd
# goes on, and what it serves beside them is exact.
. "$(dirname "$0")/common.sh"
start_spd
victims=$S-bad
log() { tail -n +1 "$T/spd.log"; }
cpu() { awk '{print $14 + $15}' "/proc/$SPD/stat"; } # hundredths of a second, as long as that is the kernel's tick
scribble() { SP_SESSION=$victims SP_RING=1024 SP_FULL_WAIT=0 "$SP_TEST_SCRIBBLE" "$SPD" "$@"; }
alive() { kill -0 "$SPD" 2>/dev/null || fail "spd did not survive: $(tail -n 1 "$T/spd.log")"; }
asides() { # what spd says of segments that it left: names and reasons
    $PY - "$T/run/control" <<'PYTHON'
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b'{"v":1,"op":"list"}\n')
for entry in json.loads(s.makefile().readline())["set_aside"]:
    print(entry["segment"], entry["why"])
PYTHON
}
said() { log | grep -qF "segment $segment: drain: $reason; it is set aside"; }

# Beside all that follows, ranks whose calls are counted: one of two threads, and one after the other of few calls.
N=4000 FEW=300
launch long -r 0 -n $N -p 2000 -t 2 healthy
long=$!
: >"$T/go-on"
few() {
    local rank=1
    while [[ -e $T/go-on ]]; do
        work -r $rank -n $FEW -p 1000 healthy >"$T/few" 2>&1 || return 1
        echo $((rank++)) >"$T/few.last"
    done
}
few &
few=$!

# Each kind of damage, and what spd says of it. Stopped meanwhile, it meets a cut segment through its mapping: nothing
# but the handler stands between that and the end of spd.
while read -r stopped kind reason; do
    mkfifo "$T/go"
    scribble "$kind" <"$T/go" >"$T/victim" 2>&1 &
    program=$!
    exec 9>"$T/go"
    until_true 10 test -s "$T/victim" || fail "the program did not start"
    segment=$(<"$T/victim")
    [[ $stopped == running ]] || { kill -STOP "$SPD"; sleep 0.05; }
    echo >&9
    until_true 10 grep -q done "$T/victim" || fail "$kind was not done"
    kill -CONT "$SPD"
    until_true 10 said || { alive; fail "$kind: spd does not say of $segment: $reason"; }
    asides | grep -qF "$segment $reason" || fail "$kind: spd does not list $segment: $(asides)"
    exec 9>&-
    wait "$program" || fail "$kind: the program's test ends with status $?"
    rm "$T/go" "$T/victim"
done <<'KINDS'
stopped cut-all the segment was cut short
running cut-lanes the segment contradicts itself: it was cut short
running cut-end the segment contradicts itself: it was cut short
running state the segment contradicts itself: its state is none
running regions the segment contradicts itself: it counts more regions than it has room for
running head the segment contradicts itself: a lane counts fewer records than were drained, or more than there can be
running reset the segment contradicts itself: a reset lies ahead of its lane
running lane the segment contradicts itself: a lane's memory lies outside of it
KINDS

# Everything, everywhere.
count=${SP_TEST_SCRIBBLES:-2000}
[[ $SP_TEST_SANITIZE == none ]] || count=500
scribble "$count" 20261 >"$T/many" 2>"$T/many.err"
status=$?
alive
((status == 0)) || fail "scribbling ends with status $status: $(tail -n 1 "$T/many.err")"
read -r _ did attached _ < <(tr -d ',' <"$T/many")
((did == count && attached > count / 2)) || fail "only $(<"$T/many") of $count"
((did = $(log | grep -c 'set aside'))) || true
((did > count / 40)) || fail "only $did of $count were found to be damaged"

rm "$T/go-on"
wait "$few" || fail "a healthy program ended badly: $(tail -n 1 "$T/few")"
ended "$long"
merge "$T/out.h5" "$S"
counts "$T/out.h5" $((2 * N + FEW * $(<"$T/few.last")))

# What was left of them is published; then there is nothing to do.
served() {
    $PY - "$T/run/control" <<'PYTHON'
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b'{"v":1,"op":"status"}\n')
print(json.loads(s.makefile().readline())["ranks"])
PYTHON
}
none_served() { [[ $(served) == 0 ]]; }
until_true 30 none_served || fail "spd still serves $(served) ranks"

# A rank whose tail no drain ever meets, at its end: published, and not again and again.
mkfifo "$T/go"
scribble tail <"$T/go" >"$T/victim" 2>&1 &
program=$!
exec 9>"$T/go"
until_true 10 test -s "$T/victim" || fail "the program did not start"
echo >&9
until_true 10 grep -q done "$T/victim" || fail "tail was not done"
until_true 5 none_served || fail "a rank that ended is published for ever"
before=$(cpu)
sleep 2
spent=$(($(cpu) - before))
((spent < 40)) || fail "spd, with nothing to do, spent $spent hundredths of a second in two seconds"
exec 9>&-
wait "$program"
stop_spd
echo "spd outlives $count scribbles ($(tr '\n' ' ' <"$T/many"); $did set aside), its other session is exact"
