#!/bin/bash
# spctl status: of the daemon, and of a session while it runs, half of it ended, and in a window: counts, rates, order.
. "$(dirname "$0")/common.sh"

json() { $PY -c 'import json, sys; d = json.loads(open(sys.argv[1]).readline()); sys.exit(not eval("(" + sys.argv[2] + ")"))' "$@" || fail "$1: not so: $2: $(head -c 2000 "$1")"; }
status() { spctl status "${@:2}" >"$1" 2>"$1.err" || fail "spctl status ${*:2} ends with $?: $(cat "$1.err")"; }
refused() { # STATUS WORD OPTION...
    spctl status "${@:3}" >"$T/refused" 2>&1
    local end=$?
    ((end == $1)) && [[ $(wc -l <"$T/refused") == 1 ]] && grep -qF -- "$2" "$T/refused" || fail "spctl status ${*:3}: $end: $(cat "$T/refused")"
}
refused 1 "no spd answers at $T/run/control"
refused 1 'no such session' "$S-none"
refused 2 'to sort by' "$S" --sort colour
refused 2 '--by node' "$S" --by node
refused 2 '--top' "$S" --top 0
refused 2 '--interval' "$S" --interval 0
refused 2 'is named' --top 3

# Two ranks of two threads that wait after their calls, one that goes on, one that has ended, one killed by itself.
start_spd
hold
N=5000
launch 0 -r 0 -n $N -t 2 -e wait w; first=$!
launch 1 -r 1 -n $N -t 2 -e wait w; second=$!
launch 2 -r 2 -n 300 w
launch 3 -r 3 -n 200 -e open w
made 4
until_true 20 eval '(($(rank_files | wc -l) >= 2))' || fail "the two that ended are not published"
status "$T/s" "$S" --json
json "$T/s" "{r['region']: (r['calls'], r['open'], r['ranks']) for r in d['regions']} == dict.fromkeys(('outer', 'left', 'right', 'deep'), ($((4 * N + 500)), 0, 4))"
json "$T/s" "d['states'] == {'recording': 2, 'published': 2} and d['calls'] == $((4 * (4 * N + 500))) and d['dropped'] == 0 and d['problems'] == []"
json "$T/s" "all(r['min_ns'] <= r['mean_ns'] <= r['max_ns'] <= r['total_ns'] and r['calls_per_s'] == 0 for r in d['regions'])"
json "$T/s" "[r['exclusive_ns'] for r in d['regions']] == sorted((r['exclusive_ns'] for r in d['regions']), reverse=True)"
json "$T/s" "abs(sum(r['exclusive_ns'] for r in d['regions']) - next(r['total_ns'] for r in d['regions'] if r['region'] == 'outer')) < 1000"
status "$T/s" "$S" --json --by rank --sort calls --top 9
json "$T/s" "[(r['rank'], r['region'], r['calls']) for r in d['regions']] == [
    (n, r, $((2 * N))) for r in ('deep', 'left', 'outer', 'right') for n in (0, 1)] + [(2, 'deep', 300)]"
status "$T/s" "$S" --sort region --top 3
[[ $(sed -n '4,$p' "$T/s" | awk '{print $1, $2}' | tr '\n' ';') == "region calls;deep $((4 * N + 500));left $((4 * N + 500));outer $((4 * N + 500));... 1;" ]] ||
    fail "sorted by region, three lines: $(cat "$T/s")"

# The same from files alone, once all have ended; and the daemon's own account.
status "$T/s"
grep -qE "^serves 1 session of 2 ranks, " "$T/s" && grep -qE "^$S +2 +2 recording " "$T/s" || fail "the daemon: $(cat "$T/s")"
status "$T/s" --json
json "$T/s" "d['ranks'] == 2 and d['died'] == 1 and d['finalized'] == 1 and d['published'] == 2 and d['pid'] == $SPD and d['uptime_ms'] > 0
    and d['spool_bytes'] > 0 and [s['session'] for s in d['sessions']] == ['$S'] and d['dropped'] == 0"
release
ended $first $second
published 4
status "$T/s" "$S" --json
json "$T/s" "{r['region']: (r['calls'], r['ranks']) for r in d['regions']} == dict.fromkeys(('outer', 'left', 'right', 'deep'), ($((4 * N + 500)), 4)) and d['states'] == {'published': 4}"

# While it runs: figures rise from one reading to the next, and the rate is what is between them.
INPUT=/dev/null
launch 4 -r 4 -n 100000000 -p 1000 w
running=$!
until_true 20 eval 'spctl status "$S" --json | grep -q recording' || fail "rank 4 does not come up"
until_true 20 eval 'spctl status --json | grep -qE "\"drain_rate\":[0-9.]*[1-9]"' || fail "spd drains, and tells no rate: $(spctl status)"
timeout 60 "$SP_TEST_SPCTL" status "$S" --json --watch --interval 0.1 | head -n 4 >"$T/watch"
$PY - "$T/watch" <<'PYTHON' || fail "--watch --json: $(head -c 1000 "$T/watch")"
import json, sys
readings = [json.loads(line) for line in open(sys.argv[1])]
assert len(readings) == 4, len(readings)
for before, after in zip(readings, readings[1:]):
    made, rate = after["calls"] - before["calls"], after["calls_per_s"] * after["interval_ns"] / 1e9
    assert made > 0 and abs(made - rate) < 1, (made, rate)
PYTHON
for about in "$S" ""; do
    timeout 60 "$SP_TEST_SPCTL" status $about --json --watch --interval 0.1 >/dev/full 2>"$T/full"
    end=$?
    ((end == 1)) && grep -q 'standard output: No space' "$T/full" || fail "--watch of '$about' on a full disk: $end: $(cat "$T/full")"
done
timeout 60 "$SP_TEST_SPCTL" status "$S" --watch --interval 0.1 | head -n 20 >"$T/watch"
(($(grep -c "^session $S: 5 ranks" "$T/watch") >= 2)) && ! grep -q $'\033' "$T/watch" || fail "--watch in a pipe: $(cat "$T/watch")"

# In a window: drawn in place, cut to it, following its size, and the terminal is given back on Ctrl-C.
$PY - "$SP_TEST_SPCTL" "$S" <<'PYTHON' || fail "--watch on a terminal"
import fcntl, os, pty, select, signal, struct, sys, termios, time
def size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
pid, fd = pty.fork()
if pid == 0:
    time.sleep(0.3)
    os.execv(sys.argv[1], [sys.argv[1], "status", sys.argv[2], "--watch", "--interval", "0.2", "--by", "rank"])
size(fd, 10, 40)
def screens(until, seconds=40):
    text, end = b"", time.time() + seconds
    while time.time() < end and not until(text):
        if select.select([fd], [], [], 0.1)[0]:
            try:
                text += os.read(fd, 65536)
            except OSError:
                break
    assert until(text), text[-2000:]
    return text.decode()
drawn = screens(lambda text: text.count(b"\033[H") >= 4)
assert drawn.startswith("\033[?1049h"), drawn[:40]
for screen in drawn.split("\033[H")[1:-1]:
    lines = screen.replace("\033[K", "").replace("\033[J", "").split("\r\n")
    assert len(lines) == 10 and all(len(line) <= 40 for line in lines), lines
    assert lines[0].startswith("session ") and lines[9] == "... 16 more", lines
size(fd, 40, 120)
wide = screens(lambda text: text.count(b"\033[H") >= 3).split("\033[H")[-2]
assert " more" not in wide and "ranks (1 recording, 4 published)" in wide, wide
os.write(fd, b"\003")
last = screens(lambda text: b"\033[?1049l" in text)
assert last.index("\033[?25h") < last.index("\033[?1049l")
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
PYTHON
kill -KILL $running
wait $running 2>/dev/null
stop_spd
refused 1 "no spd answers at $T/run/control"
echo "exact counts of 4 ranks, running and ended; rates; a window of 10 lines and one of 40"
