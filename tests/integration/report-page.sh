#!/bin/bash
# Figures of a page against those of the report and of the calls themselves, exactly: threads, recursion, names that are
# markup, more calls than there is room for, 4,096 ranks of 100 regions; and files that must not be replaced.
. "$(dirname "$0")/common.sh"
FIXTURES=$ROOT/tests/fixtures

# page OUT INPUT...: writes it, and what the report says of the same as JSON beside it.
page() {
    spctl report "${@:2}" -o "$1" >"$T/out" 2>&1 || fail "report ${*:2} -o exits $?: $(tail -n 1 "$T/out")"
    spctl report "${@:2}" --json >"$1.json" && spctl report "${@:2}" --json --percentiles >"$1.percentiles" &&
        spctl report "${@:2}" --json --tree >"$1.tree" || fail "report --json of ${*:2}"
}

RANKS=4096
[[ $SP_TEST_SANITIZE == none ]] || RANKS=256
$PY - "$T" "$TOOLS" $RANKS <<'PYTHON' || fail "cannot make the inputs"
import json, random, subprocess, sys
import h5py, numpy as np
folder, tools = sys.argv[1:3]
names = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"'&amp;", "a\u2028b\u2029", "\u202egnirts", "", "x" * 1023]
spec = {"rank": 3, "version": 2, "order": "<", "regions": [
    {"name": name, "source_file": "<b>", "source_line": i, "starts": [10**7 * i + 5, 10**7 * i + 105],
     "ends": [10**7 * i + 95, 10**7 * i + 105 + 10 ** i]}
    for i, name in enumerate(names)]}
json.dump(spec, open(f"{folder}/hostile.json", "w"))
subprocess.run([sys.executable, f"{tools}/spt.py", "make", f"{folder}/hostile.spt", f"{folder}/hostile.json"], check=True)

# 2 ranks of 60,000 calls: steps, in each of them two short calls, one long call somewhere.
random.seed(1)
for rank in range(2):
    step, first, second, at = [], [], [], 10**9
    for i in range(20000):
        length = 5_000_000 if i == 12000 else random.randrange(2000, 9000)
        step.append((at, at + length))
        first.append((at + 10, at + 900))
        second.append((at + 900, at + 900 + random.randrange(1000)))
        at += length + random.randrange(300)
    regions = [{"name": name, "source_file": "", "source_line": -1, "starts": [s for s, _ in calls], "ends": [e for _, e in calls]}
               for name, calls in (("step", step), ("first", first), ("second", second))]
    json.dump({"rank": rank, "version": 2, "order": "<", "regions": regions}, open(f"{folder}/many.json", "w"))
    subprocess.run([sys.executable, f"{tools}/spt.py", "make", f"{folder}/many_rank{rank:05d}.spt", f"{folder}/many.json"], check=True)

ranks, count = int(sys.argv[3]), 100
rows, text = ranks * count, h5py.string_dtype()
length = (np.arange(count) * 1000 + 500)[None, :] + (np.arange(ranks) % 97 * 200)[:, None]
start = (np.arange(count) * 10**6)[None, :] + (np.arange(ranks) * 50)[:, None] + 10**12
length, start = length.ravel(), start.ravel()
summary = np.zeros(rows, [(name, kind) for name, kind in [
    ("total", "i8"), ("minimum", "i8"), ("maximum", "i8"), ("first", "i8"), ("last", "i8"), ("start_minimum", "i8"),
    ("end_maximum", "i8"), ("gpu_count", "u8"), ("gpu_total", "i8"), ("mean", "f8"), ("m2", "f8")]])
for name in ("total", "minimum", "maximum", "first", "last", "mean"):
    summary[name] = length
summary["start_minimum"], summary["end_maximum"] = start, start + length
with h5py.File(f"{folder}/wide.h5", "w") as f:
    f.attrs["scope_profiler_schema"] = np.int64(2)
    f.attrs["storage_layout"] = "columnar"
    f.create_group("metadata")
    f.create_dataset("region_table/names", data=[f"region {i} " + "of the solver " * 20 for i in range(count)], dtype=text)
    index = f.create_group("rank_region_index")
    index["region_ids"] = np.tile(np.arange(count, dtype="u4"), ranks)
    index["ranks"] = np.repeat(np.arange(ranks, dtype="u4"), count)
    index["event_offsets"], index["event_counts"] = np.arange(rows, dtype="u8"), np.ones(rows, "u8")
    index["exclusive_totals"], index["summary_statistics"] = length.astype("i8"), summary
    f["events/start_times"], f["events/end_times"] = start.astype("i8"), (start + length).astype("i8")
PYTHON

page "$T/hostile.html" "$T/hostile.spt"
page "$T/threads.html" "$FIXTURES/threads.h5"
page "$T/recursive.html" "$FIXTURES/recursive_rank00004.spt"
page "$T/many.html" "$T"/many_rank*.spt
spctl report "$T/wide.h5" -o "$T/wide.html" >"$T/out" 2>&1 || fail "the page of $RANKS ranks: $(tail -n 1 "$T/out")"

$PY - "$T" "$TOOLS" $RANKS <<'PYTHON' || fail "a page says something else"
import collections, json, os, re, subprocess, sys
folder, tools, ranks = *sys.argv[1:3], int(sys.argv[3])
sys.path.insert(0, tools)
import page

def same(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {str(found)[:300]}, not {str(wanted)[:300]}")

def totals(triples):
    sums = collections.Counter()
    for key, value in triples:
        sums[key] += value
    return sums

def close(found, wanted):
    return abs(found - wanted) <= 0.008 * wanted + 1e-6

for name in ("hostile", "threads", "recursive", "many"):
    document, around = page.read(f"{folder}/{name}.html")
    report = json.load(open(f"{folder}/{name}.html.json"))
    exact = json.load(open(f"{folder}/{name}.html.percentiles"))
    tree = json.load(open(f"{folder}/{name}.html.tree"))
    for key in ("session", "ranks", "calls", "dropped", "open_calls", "deaths", "start_ns", "end_ns"):
        same(f"{name} {key}", document[key], report[key])
    same(f"{name} regions", [r["region"] for r in document["regions"]], [r["region"] for r in report["regions"]])
    wanted = {r["region"]: r for r in report["regions"]}
    for region, percentiles in zip(document["regions"], exact["regions"]):
        label = f"{name} {region['region'][:20]!r}"
        for key in set(region) & set(wanted[region["region"]]):
            same(f"{label} {key}", region[key], wanted[region["region"]][key])
        for key in ("p50_ns", "p95_ns", "p99_ns"):
            if not close(region[key], percentiles[key]):
                sys.exit(f"{label} {key}: {region[key]}, exactly {percentiles[key]}")
    for i, region in enumerate(document["regions"]):
        same(f"{name} histogram {i}", sum(document["histograms"][i]["calls"]), region["calls"])
        slices = document["over_time"]["regions"][i]
        same(f"{name} slices {i}", (sum(slices["calls"]), sum(slices["total_ns"]), min(slices["min_ns"]), max(slices["max_ns"])),
             (region["calls"], region["total_ns"], region["min_ns"], region["max_ns"]))
        same(f"{name} heat {i}", (sum(document["heat"]["regions"][i]["time_ns"]), sum(document["heat"]["regions"][i]["calls"])),
             (region["exclusive_ns"] if document["heat"]["exclusive"] else region["total_ns"], region["calls"]))
    chains, known = {}, {}
    for path in tree["paths"]:
        known[path["path"]] = known.get(path["above"], ()) + (path["region"],)
        chains[known[path["path"]]] = (path["calls"], path["total_ns"], path["exclusive_ns"])
    same(f"{name} paths", page.paths(document), chains)
    drawn = list(page.blocks(document))
    same(f"{name} calls drawn", sum(block[5] for block in drawn), document["calls"])
    same(f"{name} fetched", page.external(around), [])
    same(f"{name} scripts", (around.count("<script"), around.count("</script>")), (1, 1))
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', around).group(1)
    same(f"{name} policy", [part for part in policy.split("; ") if "sha256" not in part],
         ["default-src 'none'", "img-src data:", "base-uri 'none'", "form-action 'none'"])

# Few calls are there one by one, as the trace has them.
document, _ = page.read(f"{folder}/hostile.html")
same("quantum", [rank["quantum_ns"] for rank in document["timeline"]["ranks"]], [0])
calls = sorted((mix[0][0], start, end) for _, _, _, start, end, _, mix in page.blocks(document))
spec = json.load(open(f"{folder}/hostile.json"))
same("calls one by one", calls, sorted((r["name"], s - 5, e - 5) for r in spec["regions"] for s, e in zip(r["starts"], r["ends"])))

# Many are joined, long ones are not, and none is in a place where there is none.
document, _ = page.read(f"{folder}/many.html")
joined = [block for block in page.blocks(document) if block[5] > 1]
long = [block for block in page.blocks(document) if block[4] - block[3] == 5_000_000 and block[5:] == (1, [("step", 100)])]
same("long calls", len(long), 2)
if not joined or any(sum(percent for _, percent in block[6]) > 100 for block in joined):
    sys.exit(f"{len(joined)} joined blocks")
for rank in document["timeline"]["ranks"]:
    if not 0 < rank["quantum_ns"] < 5_000_000:
        sys.exit(f"quantum {rank['quantum_ns']}")
share = document["regions"][0]["percent"]
same("finding", document["findings"][0]["text"].split(",")[0], f"step takes {share:.0f} % of exclusive time")

document, _ = page.read(f"{folder}/wide.html")
size = os.path.getsize(f"{folder}/wide.html")
same("wide", (document["ranks"], len(document["regions"]), document["calls"], len(document["heat"]["groups"])), (ranks, 100, 100 * ranks, 128))
same("wide heat", sum(map(sum, (r["calls"] for r in document["heat"]["regions"]))), ranks * len(document["heat"]["regions"]))
if size >= 3_000_000 or not any(f"of {ranks} ranks" in note for note in document["notes"]):
    sys.exit(f"{size} bytes, notes {document['notes']}")
print(f"{ranks} ranks x 100 regions: {size} bytes; {len(joined)} joined blocks of 120,000 calls")
PYTHON

# What must not be replaced, and what is wrong usage.
cp "$FIXTURES/threads.h5" "$T/kept.html"
spctl report "$T/hostile.spt" -o "$T/kept.html" 2>"$T/err"
[[ $? == 1 ]] && cmp -s "$T/kept.html" "$FIXTURES/threads.h5" || fail "a profile was replaced: $(cat "$T/err")"
spctl report "$T/hostile.spt" -o "$T/report.pdf" 2>"$T/err"
[[ $? == 2 ]] && grep -q '\.html' "$T/err" || fail "another suffix: $(cat "$T/err")"
mkfifo "$T/pipe.html"
spctl report "$FIXTURES/threads.h5" -o "$T/pipe.html" 2>"$T/err"
[[ $? == 1 && -p $T/pipe.html ]] || fail "a pipe was replaced: $(cat "$T/err")"
cp "$T/hostile.html" "$T/old.html"
spctl report "$FIXTURES/ends-short.h5" -o "$T/hostile.html" 2>"$T/err" && fail "a damaged profile makes a page"
cmp -s "$T/old.html" "$T/hostile.html" || fail "the page of before is gone"
spctl report "$FIXTURES/threads.h5" -o "$T/hostile.html" --json >"$T/said" || fail "an old page is not replaced"
[[ $($PY -c 'import json, sys; print(json.load(open(sys.argv[1]))["bytes"])' "$T/said") == $(stat -c %s "$T/hostile.html") ]] ||
    fail "--json says another size: $(cat "$T/said")"
[[ -z $(find "$T" -name '.*.tmp') ]] || fail "a temporary is left"
spctl report "$FIXTURES/aggregate.h5" -o "$T/statistics.html" >"$T/out" || fail "statistics without calls make no page"
grep -q 'statistics without calls' "$T/statistics.html" || fail "the page does not say that there are no calls"
spctl report "$FIXTURES/threads.h5" -o /dev/full/x.html 2>"$T/err" && fail "a page where none can be"
echo "pages hold what the report says"
