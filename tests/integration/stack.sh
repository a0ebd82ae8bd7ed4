#!/bin/bash
# What a hung session of 64 ranks is in, one rank elsewhere: living, dead and undrained, damaged, published; and a thread
# that runs on is never shown in a stack that it cannot be in. Counts of status are exact in each of these.
. "$(dirname "$0")/common.sh"

# json FILE EXPRESSION: must be true of the document.
json() { $PY -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not eval("(" + sys.argv[2] + ")"))' "$@" || fail "$1: not so: $2: $(head -c 2000 "$1")"; }
# says FILE PATTERN: a whole line matches.
says() { grep -qxE "$2" "$1" || fail "no line is $2: $(head -n 12 "$1")"; }
# stack FILE STATUS OPTION...
stack() { spctl stack "$S" "${@:3}" >"$1" 2>"$1.err"; local end=$?; ((end == $2)) || fail "spctl stack ends with $end, not $2: $(cat "$1.err")"; }
status() { spctl status "$S" --json "${@:3}" >"$1" 2>"$1.err"; local end=$?; ((end == $2)) || fail "spctl status ends with $end, not $2: $(cat "$1.err")"; }
# exact FILE RANKS STATE: ranks 0 to 63 made rank + 1 calls of "warm up", 62 of them one of io, two have it open; RANKS without
# one (rank 63, which made 64 and one).
exact() {
    json "$1" "{r['region']: (r['calls'], r['open'], r['ranks']) for r in d['regions']} == {'main': (0, $2, $2),
        'step': (0, $2, $2), 'warm up': ($((2080 - 64 * (64 - $2))), 0, $2), 'solve': (0, 1, 1), 'MPI_Allreduce': (0, $2 - 1, $2 - 1),
        'io': ($2 - 2, 2, $2)} and d['states'].get('$3') == $2 and d['open'] == 3 * $2 + 2 and d['calls'] == $((2080 - 64 * (64 - $2))) + $2 - 2"
}

time='[0-9.]+ (ns|µs|ms|s|min)'
time="$time( to $time)?"
mkfifo "$T/go"
exec 8<>"$T/go"
(cd "$T/cwd" && exec "$SP_TEST_HANG" hung 64 3) <"$T/go" >"$T/out.hang" 2>&1 8>&- &
hang=$!
until_true 60 grep -qx hung "$T/out.hang" || fail "the ranks do not hang: $(head -n 3 "$T/out.hang")"
stack "$T/s" 0
[[ $(head -n 1 "$T/s") == "session $S: 64 ranks (64 recording)" && $(wc -l <"$T/s") == 5 ]] || fail "$(head -n 12 "$T/s")"
says "$T/s" "ranks 0-2,4-63: main > step > MPI_Allreduce, $time"
says "$T/s" "rank 3: main > step > solve, $time"
says "$T/s" "ranks 0-2,5-63 thread 1 \(writer\): outside any region"
says "$T/s" "ranks 3-4 thread 1 \(writer\): io, $time"
stack "$T/json" 0 --json
json "$T/json" "[(g['ranks'], g['threads'], g['count'], g['regions']) for g in d['groups']] == [
    ('0-2,4-63', '0', 63, ['main', 'step', 'MPI_Allreduce']), ('3', '0', 1, ['main', 'step', 'solve']),
    ('0-2,5-63', '1', 62, []), ('3-4', '1', 2, ['io'])] and len(d['ranks']) == 64"
json "$T/json" "all(0 < c['open_ns'] < 6e10 for r in d['ranks'] for t in r['threads'] for c in t['open'])"
stack "$T/full" 0 --full
[[ $(grep -c '^rank' "$T/full") == 64 && $(grep -c ' main$' "$T/full") == 64 && $(grep -c ' solve$' "$T/full") == 1 ]] ||
    fail "--full does not list each rank: $(head -n 12 "$T/full")"
status "$T/status" 0
exact "$T/status" 64 recording
status "$T/ranks" 0 --by rank
json "$T/ranks" "[(r['rank'], r['calls']) for r in sorted(d['regions'], key=lambda r: r['rank']) if r['region'] == 'warm up'] == [(n, n + 1) for n in range(64)]"
# Without a second reading: what was read is read quickly.
TIMEFORMAT='%U %S'
cpu=$({ time spctl stack "$S" >/dev/null; } 2>&1 | awk '{print int(1000 * ($1 + $2))}')
[[ $SP_TEST_SANITIZE != none ]] || ((cpu < 1000)) || fail "a look at 64 ranks takes $cpu ms of processor time"

# Dead, and nobody drained them.
kill -KILL $(pgrep -P $hang)
exec 8>&-
wait "$hang"
stack "$T/s" 0
[[ $(head -n 1 "$T/s") == "session $S: 64 ranks (64 dead)" ]] || fail "$(head -n 12 "$T/s")"
says "$T/s" "ranks 0-2,4-63 \(dead\): main > step > MPI_Allreduce, begun $time ago, last sign of life $time ago"
says "$T/s" "rank 3 \(dead\): main > step > solve, begun $time ago, last sign of life $time ago"
status "$T/status" 0
exact "$T/status" 64 dead

# One is cut short: its segment alone is missing, and named. Its lanes, then all but its header.
segment=$(find /dev/shm -name "sp.*.$S.*.r63")
for size in 20000 5000; do
    truncate -s "$size" "$segment"
    stack "$T/s" 3
    says "$T/s" "ranks 0-2,4-62 \(dead\): main > step > MPI_Allreduce, begun $time ago, last sign of life $time ago"
    grep -qF "$segment" "$T/s.err" || fail "the segment that was cut is not named: $(cat "$T/s.err")"
    status "$T/status" 3
    exact "$T/status" 63 dead
done
rm "$segment"
# spd publishes what is left; what was open is known from there on.
start_spd --format spt
until_true 20 no_segments || fail "segments are left over: $(segments | head -n 3)"
published 63
stack "$T/s" 0
says "$T/s" "rank 3 thread 0: main > step > solve, [0-9.]+ s \(published, when it died\)"
[[ $(grep -c '(published, when it died)$' "$T/s") == 65 ]] || fail "not all that was open is told: $(head -n 12 "$T/s")"
spctl status "$S" --json >"$T/status" || fail "spctl status: of published files"
json "$T/status" "{r['region']: r['calls'] for r in d['regions']} == {'warm up': 2016, 'io': 61} and d['states'] == {'published': 63, 'spooled': 1}"
stop_spd

# Scribbled over, everywhere: no crash, and an answer.
for round in 1 2 3; do
    SP_SESSION=$S-x work -r $round -n 100 -e open x >/dev/null 2>&1
    $PY - "$(find /dev/shm -name "sp.*.$S-x.*.r$round")" $round <<'PYTHON'
import os, random, sys
random.seed(int(sys.argv[2]))
with open(sys.argv[1], "r+b") as file:
    places, at = [], 4096  # pages that are there, beyond what says whose they are
    while len(places) < 100:
        try:
            at = os.lseek(file.fileno(), at + 4096, os.SEEK_DATA)
        except OSError:
            break
        places.append((at, 4096))
    for place, length in places + [(4672, 320)]:  # there: state, regions, lanes
        for _ in range(40):
            file.seek(place + random.randrange(length))
            file.write(random.randbytes(random.choice((1, 4, 8))))
PYTHON
    for verb in stack status; do
        timeout 20 "$SP_TEST_SPCTL" $verb "$S-x" --json >"$T/json" 2>"$T/err"
        end=$?
        ((end == 0 || end == 3)) || fail "spctl $verb over a scribbled segment ends with $end: $(tail -n 3 "$T/err")"
        json "$T/json" "d['session'] == '$S-x'"
    done
done
find /dev/shm -maxdepth 1 -name "*$S-x*" -delete

# A thread at full speed: whatever is shown is a stack that it has, or the lower part of one.
(cd "$T/cwd" && SP_SESSION=$S-fast SP_MODE=stats exec "$SP_TEST_WORK" -n 1000000000 fast) >/dev/null 2>&1 &
fast=$!
until_true 20 eval 'spctl stack "$S-fast" 2>/dev/null | grep -q "rank 0: "' || fail "the program does not come up"
looks=8
for ((i = 0; i < looks; i++)); do spctl stack "$S-fast" --json; done >"$T/looks" || fail "spctl stack over a running thread"
$PY - "$T/looks" $looks <<'PYTHON' || fail "a stack is shown that never was"
import json, sys
whole = [(), ("outer",), ("outer", "left"), ("outer", "right"), ("outer", "right", "deep")]
decoder, text, seen = json.JSONDecoder(), open(sys.argv[1]).read(), 0
while text.strip():
    document, end = decoder.raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    for thread in document["ranks"][0]["threads"]:
        path = tuple(call["region"] for call in thread["open"])
        starts = [-call["open_ns"] for call in thread["open"]]
        assert path in whole and starts == sorted(starts), (path, starts)
        seen += 1
assert seen == int(sys.argv[2]), seen
PYTHON
kill -KILL "$fast"
wait "$fast" 2>/dev/null
echo "64 hung ranks in 2 groups, living, dead, damaged and published; $looks looks at a running thread"
