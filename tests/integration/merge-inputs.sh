#!/bin/bash
# What is merged: any mix of inputs, each file once, one claim a rank; what cannot be read is named at once, or skipped.
. "$(dirname "$0")/common.sh"
F=$ROOT/tests/fixtures
# refused STATUS WORDS ARGUMENT...: spctl merge ends so, says so, and leaves no output, no temporary and no other file.
refused() {
    local want=$1 words=$2 status
    shift 2
    spctl merge "$@" -o "$T/no/out.h5" >"$T/said" 2>&1
    status=$?
    ((status == want)) || fail "merge $* exits $status, not $want: $(tr '\n' ' ' <"$T/said")"
    grep -q -- "$words" "$T/said" || fail "merge $* does not say \"$words\": $(cat "$T/said")"
    [[ -z $(ls -A "$T/no") ]] || fail "merge $* leaves $(ls -A "$T/no")"
}
# make FILE RANK START...: a trace of one region whose calls take 5 ns.
make() {
    $PY - "$TOOLS" "$@" <<'PYTHON' || fail "no trace could be made"
import json, subprocess, sys
tools, path, rank, *starts = sys.argv[1:]
region = {"name": "step", "source_file": "a.c", "source_line": 1, "starts": [int(s) for s in starts],
          "ends": [int(s) + 5 for s in starts]}
json.dump({"rank": int(rank), "version": 2, "order": "<", "regions": [region]}, open(path + ".json", "w"))
subprocess.run([sys.executable, tools + "/spt.py", "make", path, path + ".json"], check=True)
PYTHON
    rm -f "$1.json"
}
mkdir "$T/no" "$T/in" "$T/all" "$T/bad"

# ---- each fixture
$PY - "$SP_TEST_SPCTL" "$F" "$TOOLS" "$T/no" <<'PYTHON' || fail "not every fixture merges as it should"
import json, os, subprocess, sys
spctl, fixtures, tools, out = sys.argv[1:]
sys.path.insert(0, tools)
import check_profile
expected, wrong = json.load(open(fixtures + "/expected.json")), []
for name, what in expected.items():
    path, target = os.path.join(fixtures, name), os.path.join(out, "out.h5")
    run = subprocess.run([spctl, "merge", path, "-o", target], capture_output=True, text=True)
    if "error" in what:
        if run.returncode != 1 or name not in run.stderr or what["error"] not in run.stderr:
            wrong.append(f"{name}: exit {run.returncode}, {run.stderr.strip()!r}, wanted {what['error']!r}")
        if run.stdout or os.listdir(out):
            wrong.append(f"{name}: is refused and leaves {run.stdout!r} {os.listdir(out)}")
        continue
    if run.returncode not in (0, 3) or (run.returncode == 3) != bool(run.stderr):
        wrong.append(f"{name}: exit {run.returncode}, {run.stderr.strip()!r}")
    elif name != "aggregate.h5":
        found = check_profile.check(target) + check_profile.same(path, target)
        wrong += [f"{name}: {complaint}" for complaint in found[:3]]
    for left in os.listdir(out):
        os.unlink(os.path.join(out, left))
print(*wrong, sep="\n", end="\n" if wrong else "")
sys.exit(bool(wrong) or len(expected) < 40)
PYTHON

# ---- a mix of files, a folder and a session, some of them twice
cp "$F/v2-little_rank00000.spt" "$F/v2-big_rank00001.spt" "$F/c-writer_rank00003.h5" "$T/in"
cp "$F/v1-little_rank00002.spt" "$T/two.spt"
work -r 7 -n 50 w >/dev/null 2>&1 || fail "the program failed"
merge_lossy "$T/mix.h5" "$T/in" "$T/two.spt" "$S"
[[ $(calls "$T/mix.h5" outer) == 50 ]] || fail "the session's calls are not there"
ranks=$(ask show "$T/mix.h5" | $PY -c 'import json, sys; print(*json.load(sys.stdin)["ranks"])')
[[ $ranks == "0 1 2 3 7" ]] || fail "the mix holds ranks $ranks"
names=$($PY -c 'import h5py, sys; print(*[n.decode() for n in h5py.File(sys.argv[1])["region_table/names"][()]], sep=",")' "$T/mix.h5")
first=$($PY "$TOOLS/spt.py" dump "$F/v2-little_rank00000.spt" | $PY -c '
import json, sys
print(*[r["name"] for r in json.load(sys.stdin)["regions"] if r["calls"]], sep=",")')
[[ $names == "$first"* ]] || fail "regions are not in order of registration: $names, rank 0 has $first"

ln -s "$T/in/v2-big_rank00001.spt" "$T/link.spt"
ln "$T/two.spt" "$T/hard.spt"
merge_lossy "$T/twice.h5" "$T/in" "$T/link.spt" "$T/in/v2-little_rank00000.spt" "$T/two.spt" "$T/hard.spt" "$S" "$S"
same "$T/mix.h5" "$T/twice.h5"
(($(grep -c 'taken once' "$T/merge") == 4)) || fail "files that were given twice are not all named: $(cat "$T/merge")"
merge "$T/thrice.h5" "$T/two.spt" "$T/two.spt" "$T/hard.spt"
same "$T/thrice.h5" "$T/two.spt"

# ---- two claims on a rank
cp "$F/v2-little_rank00000.spt" "$T/other.spt"
refused 1 "$T/other.spt" "$T/in" "$T/other.spt"
grep -q "$T/in/v2-little_rank00000.spt" "$T/said" || fail "only one of two claims is named: $(cat "$T/said")"
refused 1 'give only one' --skip-bad "$T/in" "$T/other.spt"
refused 1 'give only one' "$S" "$T/mix.h5"

# ---- lives of one rank as files: their notes join them, also where all of it was moved
start_spd
S=$S-lives
export SP_SESSION=$S
work -r 0 -n 300 w >/dev/null 2>&1 || fail "the program failed"
work -r 0 -n 200 w >/dev/null 2>&1 || fail "the program failed"
work -r 0 -n 100 v >/dev/null 2>&1 || fail "the program failed"
work -r 1 -t 3 -n 10 w >/dev/null 2>&1 || fail "the program failed"
published 4
stop_spd
merge "$T/lives.h5" "$T/data/$S"
counts "$T/lives.h5" 630
[[ $(metadata "$T/lives.h5" sp_session) == "$S" ]] || fail "the session is called $(metadata "$T/lives.h5" sp_session)"
merge "$T/session.h5" "$S"
same "$T/session.h5" "$T/lives.h5"
cp -r "$T/data/$S" "$T/moved"
mapfile -t files < <(rank_files | sort)
for f in "${files[@]}"; do moved+=("$T/moved/$(basename "$f")"); done
merge "$T/moved.h5" "${moved[@]}"
same "$T/session.h5" "$T/moved.h5"
merge "$T/both.h5" "${files[@]}" "$S"
same "$T/session.h5" "$T/both.h5"
rm "$T"/moved/*.note
refused 1 'give only one' "$T/moved"
S=${S%-lives}
export SP_SESSION=$S

# ---- bad inputs, all named at once, also those of which only the calls are bad
cp "$F"/{cut-at-643,magic,trailing,version-3}.spt "$F/v2-big_rank00001.spt" "$F/v1-little_rank00002.spt" "$T/bad"
cp "$F/region-id.h5" "$T/bad/x_rank00020.h5"
make "$T/bad/order.spt" 10 100 50 200
make "$T/bad/order2.spt" 11 7 6
refused 1 'order.spt' "$T/bad" "$T/in/c-writer_rank00003.h5"
for bad in cut-at-643.spt magic.spt trailing.spt version-3.spt x_rank00020.h5 order.spt order2.spt; do
    (($(grep -c "/$bad[,:]" "$T/said") == 1)) || fail "$bad is not named once: $(cat "$T/said")"
done
grep -q '7 of the inputs.*--skip-bad' "$T/said" || fail "no line says how many are bad: $(cat "$T/said")"
refused 1 "$T/bad/order.spt, " "$T/bad/order.spt" "$T/bad/order2.spt" "$T/in"
grep -q "$T/bad/order2.spt, " "$T/said" || fail "the second file of bad order is not named: $(cat "$T/said")"

spctl merge --skip-bad "$T/bad" "$T/nowhere" "$T/in/c-writer_rank00003.h5" -o "$T/rest.h5" >"$T/said" 2>&1
(($? == 3)) || fail "--skip-bad does not end with 3: $(cat "$T/said")"
(($(grep -c '^spctl merge: skipped: ' "$T/said") == 8)) || fail "not all is listed that was skipped: $(cat "$T/said")"
sound "$T/rest.h5"
merge_lossy "$T/good.h5" "$T/in/v2-big_rank00001.spt" "$F/v1-little_rank00002.spt" "$T/in/c-writer_rank00003.h5"
same "$T/good.h5" "$T/rest.h5"
spctl merge --json --skip-bad "$T/bad" "$T/nowhere" "$T/in/c-writer_rank00003.h5" -o "$T/rest.h5" 2>/dev/null |
    $PY -c 'import json, sys; d = json.load(sys.stdin); sys.exit(len(d["skipped"]) != 8 or d["ranks"] != 3)' ||
    fail "JSON does not say what was skipped"
refused 1 'none of the inputs' --skip-bad "$T/bad/order.spt" "$T/bad/magic.spt"
refused 1 nowhere --skip-bad "$T/nowhere"
refused 1 nowhere "$T/nowhere" "$T/in"
refused 1 'holds no' "$T/all"
cp "$F/magic.spt" "$T/data/$S/broken_rank00009.spt"
refused 1 broken_rank00009.spt "$T/data/$S"

# ---- a session with a published file that is damaged
S=$S-hurt
export SP_SESSION=$S
start_spd
for r in 0 1 2; do work -r "$r" -n 100 w >/dev/null 2>&1 || fail "the program failed"; done
published 3
stop_spd
truncate -s -9 "$T/data/$S/w_rank00001.spt"
rm "$T/data/$S/w_rank00002.spt"
refused 1 w_rank00001.spt "$S"
grep -q w_rank00002.spt "$T/said" || fail "the file that is gone is not named: $(cat "$T/said")"
spctl merge --skip-bad "$S" -o "$T/hurt.h5" >"$T/said" 2>&1
(($? == 3)) || fail "--skip-bad does not help a session: $(cat "$T/said")"
sound "$T/hurt.h5"
counts "$T/hurt.h5" 100

# ---- an output that is an input, or no file
sum=$(cat "$T/in"/* | cksum)
ln -s "$T/in/v2-big_rank00001.spt" "$T/out-link"
ln "$T/in/v2-big_rank00001.spt" "$T/out-hard"
for output in "$T/in/v2-big_rank00001.spt" "$T/out-link" "$T/out-hard"; do
    for input in "$T/in" "$T/in/v2-big_rank00001.spt"; do
        spctl merge "$input" -o "$output" >"$T/said" 2>&1
        (($? == 2)) || fail "an output that is an input is not refused: $(cat "$T/said")"
        grep -q 'also an input' "$T/said" || fail "what is wrong is not said: $(cat "$T/said")"
    done
done
cp "$F/magic.spt" "$T/all/magic.spt"
spctl merge --skip-bad "$T/all" "$T/in" -o "$T/all/magic.spt" >"$T/said" 2>&1
(($? == 2)) || fail "an output that is a bad input is not refused: $(cat "$T/said")"
cmp -s "$F/magic.spt" "$T/all/magic.spt" || fail "a bad input was replaced"
[[ $(cat "$T/in"/* | cksum) == "$sum" ]] || fail "an input was changed"
mkfifo "$T/fifo"
for output in "$T/fifo" "$T/in" "$T/no/none/out.h5"; do
    timeout 10 "$SP_TEST_SPCTL" merge "$T/two.spt" -o "$output" >"$T/said" 2>&1
    status=$?
    ((status == 1 || status == 2)) || fail "-o $output ends with $status: $(cat "$T/said")"
    grep -q "$output" "$T/said" || fail "-o $output is not named: $(cat "$T/said")"
done
[[ -p $T/fifo ]] || fail "a fifo was replaced"
echo "files, folders and sessions merge, each file once; bad ones are named, and skipped where that is asked for"
