#!/bin/bash
# spctl diff is a gate: its status and its last line say whether a region grew, by which figure, and by how much; its
# figures are those of the two profiles; a damaged input is no pass and no growth.
. "$(dirname "$0")/common.sh"
"$PY" - "$T" <<'PYTHON' || fail "the profiles cannot be made"
import os, struct, sys
def trace(name, rank, **regions):
    with open(f"{sys.argv[1]}/{name}_rank{rank:05d}.spt", "wb") as f:
        f.write(b"SCOPEPRF" + struct.pack("<iiq", 2, rank, len(regions)))
        for at, (region, durations) in enumerate(regions.items()):
            starts = [10**9 * at + 10**6 * i for i in range(len(durations))]
            ends = [start + duration for start, duration in zip(starts, durations)]
            f.write(struct.pack("<i", len(region)) + region.encode() + struct.pack("<iiq", 0, -1, len(starts)))
            f.write(struct.pack(f"<{2 * len(starts)}q", *starts, *ends))
one = {"solve": [1000] * 100, "halo": [50_000] * 10, "tiny": [10], "gone": [7_000]}
trace("a", 0, **one)
trace("b", 0, **{**one, "halo": [50_000] * 9 + [51_000]})                              # total and mean +0.2 %
trace("calls", 0, **{**one, "solve": [1000] * 110})                                    # calls and total +10 %
trace("tail", 0, **{**one, "solve": [1000 - 80] * 90 + [1720] * 10})                   # p95 alone, +72 %
trace("less", 0, **{**one, "halo": [40_000] * 10})                                     # -20 %
trace("tiny", 0, **{**one, "tiny": [30]})                                              # +200 % of 10 ns
trace("new", 0, solve=one["solve"], halo=one["halo"], tiny=one["tiny"], fresh=[10**6]) # gone is gone, fresh is new
trace("zero", 0, **{**one, "tiny": [0]})
trace("two", 0, **one), trace("two", 1, **one)
PYTHON
cd "$T" || exit 1
a=a_rank00000.spt
# gate STATUS LAST-LINE OPTION...: of a against the profile named by the first option.
gate() {
    local want=$1 last=$2 other=$3_rank00000.spt status
    shift 3
    spctl diff $a "$other" "$@" >out 2>said
    status=$?
    ((status == want)) || fail "diff $a $other $*: status $status, not $want: $(cat out said)"
    [[ $(tail -n 1 said) == "${last:+spctl diff: }$last" ]] || fail "diff $a $other $*: the last line is \"$(tail -n 1 said)\""
}
gate 0 '' a --threshold 0%
gate 0 '' b
gate 0 '' b --threshold 5%
gate 0 '' b --threshold 0.002 --metric total,mean
gate 1 'halo grew by 0.2 %: total was 500 µs and is 501 µs; 0.1 % are allowed' b --threshold 0.1% --metric total
gate 1 'solve grew by 10.0 %: total was 100 µs and is 110 µs; 5 % are allowed' calls --threshold 0.05
gate 1 'solve grew by 10.0 %: calls was 100 and is 110; 9.9 % are allowed' calls --threshold 9.9% --metric calls
gate 0 '' calls --threshold 5% --metric mean,p95
gate 1 'solve grew by 72.0 %: p95 was 1.00 µs and is 1.72 µs; 5 % are allowed' tail --threshold 5%
gate 0 '' tail --threshold 5% --metric total,mean,calls
gate 0 '' less --threshold 5%
gate 1 'halo shrank by 20.0 %: total was 500 µs and is 400 µs; 5 % are allowed' less --threshold 5% --both
gate 1 'tiny grew by 200.0 %: total was 10 ns and is 30 ns; 5 % are allowed' tiny --threshold 5%
gate 0 '' tiny --threshold 5% --min-time 31ns
gate 1 'tiny grew by 200.0 %: total was 10 ns and is 30 ns; 5 % are allowed' tiny --threshold 5% --min-time 0.02us
gate 0 '' tiny --threshold 5% --regions '[!t]*'
gate 0 '' new --threshold 5%
grep -q '1 region is in A alone' out && grep -q '1 region is in B alone' out || fail "regions of one alone are not told: $(cat out)"
[[ $(spctl diff $a tiny_rank00000.spt --threshold 1% 2>&1 >/dev/null | wc -l) == 1 ]] || fail "one region that grew is not one line"
spctl diff zero_rank00000.spt $a --threshold 5% >out 2>said && fail "growth from nothing passes"
[[ $(tail -n 1 said) == 'spctl diff: tiny grew from nothing: total was 0 ns and is 10 ns; 5 % are allowed' ]] || fail "from nothing: $(cat said)"

# More ranks; what is damaged; what cannot be meant.
mkdir both
mv two_* both
spctl diff $a both --threshold 5% --metric mean >out 2>said || fail "the same on two ranks has other means: $(cat said)"
grep -q "$a has 1 rank and both 2" said || fail "nobody says that the ranks differ: $(cat said)"
spctl diff $a "$ROOT/tests/fixtures/cut-at-643.spt" --threshold 5% >out 2>said
[[ $? == 1 && ! -s out ]] && grep -q 'byte 464: truncated' said || fail "a damaged input: $(cat out said)"
spctl diff $a "$ROOT/tests/fixtures/aggregate.h5" >out 2>said || fail "statistics without calls are not compared: $(cat said)"
grep -q 'p95 is unknown' said || fail "nobody says that there is no p95: $(cat said)"
spctl diff "$ROOT/tests/fixtures/aggregate.h5" "$ROOT/tests/fixtures/aggregate.h5" --threshold 5% --metric p95 >out 2>said
[[ $? == 1 && ! -s out ]] && grep -q 'nothing to compare' said || fail "a gate on p95 without calls: $(cat out said)"
wrong() {
    local words=$1
    shift
    spctl diff $a $a "$@" >out 2>said
    [[ $? == 2 && ! -s out ]] && grep -qF -- "$words" said || fail "diff $*: $(cat out said)"
}
wrong 'say 5% if that is meant' --threshold 5
wrong 'as 5% or 0.05' --threshold -5%
wrong 'there are total, mean, p95 and calls' --threshold 5% --metric totals
wrong 'needs --threshold' --both
wrong 'a time with its unit' --threshold 5% --min-time 10
wrong 'there are region, calls, total, percent, mean or p95' --sort max
spctl diff $a $a --threshold 5% --regions sovle >out 2>said
[[ $? == 1 && ! -s out ]] && grep -q 'sovle: there is no such region' said || fail "a region that is not there passes: $(cat out said)"
spctl diff $a "$ROOT/tests/fixtures/recursive_rank00004.spt" --threshold 5% >out 2>said
[[ $? == 1 && ! -s out ]] && grep -q 'no region in common' said || fail "another program passes: $(cat out said)"
spctl diff $a >out 2>said
[[ $? == 2 ]] || fail "one profile alone is compared"

# A session that still records, against a file of it later (single nanoseconds move with each anchor of the clock); and the
# figures themselves.
hold
launch live -n 20 -e wait work
made 1
spctl merge "$S" -o early.h5 >merge 2>&1 || fail "merge: $(cat merge)"
spctl diff early.h5 "$S" --threshold 10% --both --json >live.json 2>said || fail "a session is not what it was: $(cat said)"
release
ended $!
"$PY" - "$SP_TEST_SPCTL" <<'PYTHON' || fail "the figures are wrong, as named above"
import csv, io, json, subprocess, sys
def run(*options):
    return subprocess.run([sys.argv[1], "diff", "a_rank00000.spt", *options], capture_output=True, text=True)
live = json.load(open("live.json"))
if len(live["regions"]) != 4 or any(line["calls_a"] != 20 or line["total_change_ns"] for line in live["regions"]):
    sys.exit(f"live: {live}")
done = run("tail_rank00000.spt", "--json", "--threshold", "1%")
found = json.loads(done.stdout)
if (found["failed"], done.returncode) != ([{"region": "solve", "metric": "p95", "percent": 72.0}], 1):
    sys.exit(f"failed: {found['failed']}, status {done.returncode}")
solve = next(line for line in found["regions"] if line["region"] == "solve")
wanted = {"region": "solve", "calls_a": 100, "calls_b": 100, "calls_change": 0, "calls_percent": 0, "total_a_ns": 100000,
          "total_b_ns": 100000, "total_change_ns": 0, "total_percent": 0, "mean_a_ns": 1000, "mean_b_ns": 1000,
          "mean_change_ns": 0, "mean_percent": 0, "p95_a_ns": 1000, "p95_b_ns": 1720, "p95_change_ns": 720, "p95_percent": 72}
if solve != wanted:
    sys.exit(f"{solve}, not {wanted}")
new = json.loads(run("new_rank00000.spt", "--json").stdout)
if [(line["region"], line["total_change_ns"]) for line in new["regions"]] != \
        [("fresh", 10**6), ("gone", -7000), ("halo", 0), ("solve", 0), ("tiny", 0)] or (new["a"]["alone"], new["b"]["alone"]) != (1, 1):
    sys.exit(f"not by the size of the change: {new}")
if new["regions"][0]["calls_a"] is not None or new["regions"][0]["total_percent"] is not None:
    sys.exit(f"what A lacks has figures there: {new['regions'][0]}")
rows = list(csv.DictReader(io.StringIO(run("new_rank00000.spt", "--csv", "--sort", "region", "--top", "2").stdout)))
if [(row["region"], row["total_a_ns"], row["total_b_ns"]) for row in rows] != [("fresh", "", "1000000"), ("gone", "7000", "")]:
    sys.exit(f"CSV: {rows}")
PYTHON
echo "17 gates, 7 wrong usages; damage, ranks, live session and figures as they are"
