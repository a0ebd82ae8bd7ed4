#!/bin/bash
# An export that other tools cannot read, that says other things than the profile, or that is half there.
. "$(dirname "$0")/common.sh"
$PY -c 'import prometheus_client, jsonschema' 2>/dev/null || skip "python3-prometheus-client or python3-jsonschema is missing"
FORMATS="chrome speedscope csv json folded openmetrics"
F=$ROOT/tests/fixtures

# exports INPUT STATUS OPTION...: all formats, in $T/x
exports() {
    local format status
    rm "$T/x"/*
    for format in $FORMATS; do
        spctl export "$1" -f "$format" -o "$T/x/x.$format" "${@:3}" >"$T/said" 2>&1
        status=$?
        ((status == $2)) || fail "$1 as $format: exit status $status: $(tail -n 1 "$T/said")"
    done
}
compare() { $PY "$TOOLS/exports.py" compare "$T/x" "$@" >"$T/counts" 2>"$T/why" || fail "$(tail -n 1 "$T/why")"; }

# Speedscope's package holds the schema of its files.
PACKAGE=$SP_TEST_BIN/tests/integration/speedscope
SCHEMA=$PACKAGE/node_modules/speedscope/dist/release/file-format-schema.json
if [[ ! -e $SCHEMA ]] && ! { mkdir -p "$PACKAGE" && command -v npm >/dev/null &&
    (cd "$PACKAGE" && timeout 20 npm install --prefix . --no-audit --no-fund --silent speedscope) >/dev/null 2>&1 && [[ -e $SCHEMA ]]; }; then
    echo "skipped: no npm or no network: speedscope's files are held against this test's own rules alone"
    SCHEMA=
fi

mkdir "$T/x"
fixtures=$($PY "$TOOLS/exports.py" fixtures "$SP_TEST_SPCTL" "$F" "$T/x" 2>"$T/why") || fail "$(tail -n 1 "$T/why")"
((fixtures == 18)) || fail "$fixtures fixtures are sound, not 18"

# Statistics without events
spctl export "$F/aggregate.h5" -f openmetrics | $PY -c '
import sys
sys.path.insert(0, sys.argv[1])
import exports
table, exclusive = exports.openmetrics("/dev/stdin")
assert table == {"0/halo": [20, 900, 1, 99], "0/solve": [1000, 5000000, 4000, 9000]}, table' "$TOOLS" || fail "aggregate.h5 as openmetrics"
spctl export "$F/aggregate.h5" -f csv -o "$T/a.csv" 2>"$T/said" && fail "calls of a profile without events"
grep -q 'aggregate.h5.*openmetrics' "$T/said" && [[ ! -e $T/a.csv ]] || fail "without events: $(<"$T/said")"

# "-" is standard output, not a file of that name
(cd "$T" && spctl export "$F/schema1.h5" -f csv -o - | cmp -s - <(spctl export "$F/schema1.h5" -f csv) && [[ ! -e ./- ]]) ||
    fail "-o - is not standard output"

# Times from one end of the clock to the other, threads that overlap and are not told apart, names that need escaping
cat >"$T/odd.json" <<'JSON'
{"rank": 7, "regions": [
 {"name": "a;b\\x3b \"c\", d\r\n</script>\u2028\u202e日本", "source_file": "", "source_line": -1,
  "starts": [-9223372036854775808, -5, -5, 9223372036854775800], "ends": [-9223372036854775000, 100, 7, 9223372036854775806]},
 {"name": "", "source_file": "", "source_line": -1, "starts": [-10, 0, 50, 100], "ends": [20, 0, 150, 100]}]}
JSON
$PY "$TOOLS/spt.py" make "$T/odd_rank00007.spt" "$T/odd.json" || fail "no odd trace can be made"
exports "$T/odd_rank00007.spt" 0
compare $SCHEMA
[[ $(<"$T/counts") == *'[4, 931, 6, 808]'*'[4, 130, 0, 100]'* ]] || fail "odd times: $(<"$T/counts")"

# A part of it, as merge takes it
exports "$F/python-writer.h5" 0 --ranks 1-2 --regions 'solve' --regions 'I/O*'
compare $SCHEMA
[[ $(<"$T/counts") == '{"1/solve": [28, 499236, 2273, 125403], "1/I/O: write": [7, 790657, 5817, 600036], "2/solve": [35, '* ]] ||
    fail "a part of it: $(<"$T/counts")"
spctl merge "$F/python-writer.h5" --from 0.0002 --to 0.0005 -o "$T/part.h5" >/dev/null 2>&1
exports "$F/python-writer.h5" 0 --from 0.0002 --to 0.0005
compare $SCHEMA
cp "$T/counts" "$T/counts.part"
exports "$T/part.h5" 0
compare $SCHEMA
$PY -c 'import json, sys; a, b = (json.load(open(f)) for f in sys.argv[1:]); sys.exit(a != b or not a)' "$T/counts" "$T/counts.part" ||
    fail "--from and --to take other calls than merge's"

# A session of threads, whose last rank was killed in a call: what was open is said and in no file
work -r 0 -t 3 -n 500 work >/dev/null 2>&1
work -r 1 -n 200 -e open work >/dev/null 2>&1
exports "$S" 0
grep -q 'still open.*rank 1 .*outer > never ends' "$T/said" || fail "open calls: $(<"$T/said")"
compare $SCHEMA
$PY - "$T/counts" <<'PYEOF' || fail "the session's calls: $(<"$T/counts")"
import json, sys
counts = {key: row[0] for key, row in json.load(open(sys.argv[1])).items()}
assert counts == {f"{rank}/{name}": n for rank, n in ((0, 1500), (1, 200)) for name in ("outer", "left", "right", "deep")}, counts
PYEOF
[[ $(grep -c thread_name "$T/x/x.chrome") == 4 ]] || fail "lanes: $(grep thread_name "$T/x/x.chrome")"

# Wrong usage, outputs that must not be touched, readers that go away, full disks
says() { # STATUS WORDS OPTION...
    local status
    spctl export "${@:3}" >"$T/out" 2>"$T/said"
    status=$?
    ((status == $1)) && grep -q -- "$2" "$T/said" || fail "export ${*:3}: $status: $(<"$T/said")"
}
cp "$F/threads.h5" "$T/in.h5"
says 2 "wanted is --format chrome" "$T/in.h5"
says 2 "no format svg" "$T/in.h5" -f svg
says 2 "name one" "$T/in.h5" -f csv --json
says 2 "also an input" "$T/in.h5" -f csv -o "$T/./in.h5"
cmp -s "$F/threads.h5" "$T/in.h5" || fail "an input was replaced"
ln -s in.h5 "$T/link"
says 2 "symbolic link" "$F/threads.h5" -f csv -o "$T/link"
says 1 "no rank 9" "$T/in.h5" -f csv --ranks 9 -o "$T/nine"
says 1 "cut.h5" "$F/cut.h5" "$T/in.h5" -f csv -o "$T/nine"
says 1 "no/such/x.csv" "$T/in.h5" -f csv -o "$T/no/such/x.csv"
spctl export "$F/many-calls_rank00006.spt" -f json | head -n 1 >/dev/null
[[ ${PIPESTATUS[*]} == "0 0" ]] || fail "a reader that went away"
spctl export "$F/many-calls_rank00006.spt" -f csv >/dev/full 2>"$T/said" && fail "a full disk is no failure"
grep -q 'standard output.*No space' "$T/said" || fail "a full disk: $(<"$T/said")"
echo old >"$T/old"
for format in speedscope csv; do
    (ulimit -f 100; spctl export "$F/many-calls_rank00006.spt" -f $format -o "$T/old" 2>"$T/said") && fail "$format: a full disk is no failure"
    grep -q "$T/old\|scratch" "$T/said" && [[ $(<"$T/old") == old ]] || fail "$format on a full disk: $(<"$T/said")"
done
[[ ! -e $T/nine && -z $(find "$T" -maxdepth 1 -name '.*.tmp') ]] || fail "something half is left: $(ls -A "$T")"

# 64 ranks of many calls, more than the memory that there is: every call is there, and no process grows with them
if [[ $SP_TEST_SANITIZE == none ]]; then
    $PY - "$T/many" <<'PYEOF'
import array, os, struct, sys
os.mkdir(sys.argv[1])
for rank in range(64):
    with open(f"{sys.argv[1]}/p_rank{rank:05d}.spt", "wb") as f:
        f.write(b"SCOPEPRF" + struct.pack("<iiq", 2, rank, 2))
        for k in range(2):
            f.write(struct.pack("<i", 1) + b"ab"[k : k + 1] + struct.pack("<iiq", 0, -1, 8000))
            f.write(array.array("q", range(k, 80000 + k, 10)).tobytes() + array.array("q", range(9 - k, 80009 - k, 10)).tobytes())
PYEOF
    for format in chrome speedscope folded; do
        (ulimit -v 100000; spctl export "$T/many" -f $format -o "$T/many.$format") >/dev/null 2>"$T/said" || fail "$format: $(<"$T/said")"
    done
    [[ $(grep -c '"ph":"X"' "$T/many.chrome") == 1024000 ]] || fail "chrome: $(grep -c '"ph":"X"' "$T/many.chrome") calls"
    [[ $(grep -c '"type":"[OC]"' "$T/many.speedscope") == 2048000 ]] || fail "speedscope lost events"
    [[ $(<"$T/many.folded") == $'a 1024000\na;b 3584000' ]] || fail "folded: $(<"$T/many.folded")"
fi
echo "$fixtures fixtures, odd times and a session with open calls in six formats, each as its reader has it"
