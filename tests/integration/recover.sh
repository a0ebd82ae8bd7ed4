#!/bin/bash
# What spctl recover saves of cut traces and of a killed program's spool, judged by the independent readers.
. "$(dirname "$0")/common.sh"
export SP_TEST_SPCTL
$PY - "$TOOLS" "$ROOT/tests/fixtures" "$T" >"$T/log" 2>&1 <<'EOF' || fail "$(tail -n 1 "$T/log")"
import glob, os, subprocess, sys
tools, fixtures, folder = sys.argv[1:]
sys.path.insert(0, tools)
import spt

def recover(broken, out):
    run = subprocess.run([os.environ["SP_TEST_SPCTL"], "recover", broken, "-o", out], capture_output=True, text=True)
    assert run.returncode in (0, 1, 3), f"{broken}: exit {run.returncode}: {run.stderr}"
    assert run.stderr or run.returncode == 0, f"{broken}: exit {run.returncode} without a word"
    return run.returncode

cuts = 0
for path in sorted(glob.glob(fixtures + "/*_rank*.spt")):
    trace, data = spt.read(path), open(path, "rb").read()
    whole, at = [], 24
    for region in trace["regions"]:
        at += 4 + len(region["name"].encode())
        if trace["version"] == 2:
            at += 4 + len((region["source_file"] or "").encode()) + 4
        at += 8 + 16 * len(region["starts"])
        whole.append((at, region))
    if at != len(data):
        continue  # a name that is not UTF-8: its length was not the file's
    for cut in {int(len(data) * part / 7) + part for part in range(1, 7)} | {len(data)}:
        broken, out = f"{folder}/broken_rank00000.spt", f"{folder}/out.spt"
        open(broken, "wb").write(data[:cut])
        if os.path.exists(out):
            os.unlink(out)
        wanted = {}
        for end, region in whole:
            calls = len(region["starts"])
            there = min(max(calls - max(end - cut + 7, 0) // 8, 0), calls)
            if there:
                wanted[region["name"]] = (region["starts"][:there], region["ends"][:there])
        status = recover(broken, out)
        if not wanted and (trace["regions"] or cut < 24):
            assert status == 1 and not os.path.exists(out), f"{path} cut at {cut}: exit {status}, nothing to save"
            continue
        assert status == (0 if cut >= len(data) else 3), f"{path} cut at {cut}: exit {status}"
        saved = {r["name"]: (r["starts"], r["ends"]) for r in spt.read(out)["regions"]}
        assert saved == wanted, f"{path} cut at {cut}: other calls than those that are whole"
        cuts += 1
print(cuts)
EOF
cuts=$(tail -n 1 "$T/log")

spctl recover "$ROOT/tests/fixtures/cut-at-1286.spt" -o "$T/cut.h5" >"$T/log" 2>&1
[[ $? == 3 ]] || fail "a cut trace as a profile: $(tail -n 1 "$T/log")"
grep -q 'byte 1286' "$T/log" || fail "no place is named: $(head -n 1 "$T/log")"
sound "$T/cut.h5"
spctl recover --json "$ROOT/tests/fixtures/v1-big_rank00003.spt" -o "$T/v1.h5" >"$T/json" || fail "a sound trace loses something"
$PY -c 'import json, sys; d = json.load(open(sys.argv[1])); assert d["losses"] == [] and d["calls"] == 139, d' "$T/json" ||
    fail "--json: $(tr -d '\n' <"$T/json")"
ask same "$T/v1.h5" "$ROOT/tests/fixtures/v1-big_rank00003.spt" || fail "a recovered sound trace differs"
spctl recover "$ROOT/tests/fixtures/cut.h5" -o "$T/none.spt" 2>"$T/log"
[[ $? == 1 && ! -e $T/none.spt ]] || fail "a profile was recovered"
grep -q 'skip-bad' "$T/log" || fail "nothing is said of what to do with a profile: $(tail -n 1 "$T/log")"

# A program is killed, and so is its spd: its spool alone is left, which then loses its end, a byte, and its first block.
start_spd
hold
launch 0 -r 4 -n 20000 -e wait work
program=$!
made 1
find_spool() { spool=$(find "$T/data/$S" -name '*.spool') && [[ -s $spool ]]; }
until_true 5 find_spool || fail "there is no spool"
drained() { [[ $(spctl check --json "$spool" | $PY -c 'import json, sys; print(json.load(sys.stdin)["files"][0]["calls"])') == 80000 ]]; }
until_true 20 drained || fail "the spool holds: $(spctl check "$spool")"
kill -KILL "$SPD" "$program"
wait "$SPD" "$program" 2>/dev/null
SPD=
spctl check "$spool" >"$T/log" 2>&1 || fail "the spool of a killed program is not sound: $(head -n 1 "$T/log")"
grep -q ": sound, spool version 1, 1 rank, 4 regions, 80000 calls" "$T/log" || fail "check says: $(cat "$T/log")"

name=$(basename "$spool")
mkdir "$T/$S"
recovered() { # STATUS: of the changed copy
    spctl recover "$T/$S/$name" -o "$T/spool.h5" >"$T/log" 2>&1
    local status=$?
    [[ $status == "$1" ]] || fail "exit $status, not $1: $(tail -n 1 "$T/log")"
    sound "$T/spool.h5"
}
all() { local n; n=$(calls "$T/spool.h5" outer left right deep) && echo $(($(tr ' ' + <<<"$n"))); }
cp "$spool" "$T/$S/$name"
recovered 0
counts "$T/spool.h5" 20000
size=$(stat -c %s "$spool")
truncate -s $((size / 2)) "$T/$S/$name"
spctl check "$T/$S/$name" >"$T/check.log" 2>&1 && fail "a cut spool is called sound"
recovered 3
half=$(all)
((half > 30000 && half < 50000)) || fail "half a spool gives $half of 80000 calls"
cp "$spool" "$T/$S/$name"
printf '\377\377\377' | dd of="$T/$S/$name" bs=1 seek=$((size / 2)) conv=notrunc status=none
spctl check "$T/$S/$name" >"$T/check.log" 2>&1 && fail "a flipped spool is called sound"
recovered 3
flipped=$(all)
((flipped >= 80000 - 2 * 8192 && flipped < 80000)) || fail "three bad bytes leave $flipped of 80000 calls"
cp "$spool" "$T/$S/$name"
printf 'XXXXXXXX' | dd of="$T/$S/$name" bs=1 seek=100 conv=notrunc status=none
recovered 3
counts "$T/spool.h5" 20000
ask show "$T/spool.h5" | grep '"4"' >/dev/null || fail "the rank is lost with the first block"
echo "$cuts cut traces, and a spool: $half calls of a half, $flipped of 80000 with three bad bytes, all without its first block"
