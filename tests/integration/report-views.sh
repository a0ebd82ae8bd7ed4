#!/bin/bash
# Every view of spctl report against the same figures found another way: by region, rank and thread, imbalance,
# percentiles, the tree of calls by ids and by intervals; trees that are huge or deep; names that are wide; a session that
# still records.
. "$(dirname "$0")/common.sh"
F=$ROOT/tests/fixtures

hold
launch live -n 50 -t 3 -e wait live
made 1
spctl report --json --by thread "$S" >"$T/live.thread" || fail "a session that records cannot be reported by thread"
spctl report --json --tree "$S" >"$T/live.tree" || fail "a session that records has no tree"
release
ended $!

# What is wrong is said, and how.
wrong() {
    local want=$1 words=$2 status
    shift 2
    spctl report "$@" >"$T/no" 2>"$T/said"
    status=$?
    ((status == want)) && [[ ! -s $T/no ]] || fail "report $* exits $status, not $want, or prints something: $(cat "$T/said")"
    grep -q -- "$words" "$T/said" || fail "report $* does not say \"$words\": $(cat "$T/said")"
}
wrong 2 'there are region, calls, .* percent, ranks or imbalance' "$F/threads.h5" --sort rank
wrong 2 'there are region, calls, total, percent or exclusive' "$F/threads.h5" --tree --sort p95
wrong 2 'exclude each other' "$F/threads.h5" --tree --by rank
wrong 2 'there are region, rank and thread' "$F/threads.h5" --by node
wrong 2 'a number from 1 on' "$F/threads.h5" --top 0
wrong 2 'say 5% if that is meant' "$F/threads.h5" --tree --min-percent 5
wrong 2 'as 5% or 0.05' "$F/threads.h5" --tree --min-percent 5%%
wrong 1 'no such region' "$F/threads.h5" --regions 'solv'
wrong 1 'there is no rank 7' "$F/threads.h5" --ranks 7
wrong 1 'without events' "$F/aggregate.h5" --tree
wrong 1 'byte 464' "$F/cut-at-643.spt" --tree

"$PY" - "$SP_TEST_SPCTL" "$F" "$TOOLS" "$T" "$SP_TEST_SANITIZE" <<'PYTHON' || fail "the views are not what the calls say, as named above"
import collections, csv, io, json, os, re, struct, subprocess, sys, unicodedata
import h5py
import numpy as np
spctl, fixtures, tools, T, sanitize = sys.argv[1:]
few = sanitize != "none"  # which takes its time
sys.path.insert(0, tools)
import check_profile

def run(*arguments, prefix=""):
    shell = ["/bin/sh", "-c", prefix + 'exec "$@"', "sh"] if prefix else []
    done = subprocess.run([*shell, spctl, "report", *arguments], capture_output=True, encoding="utf-8")
    if done.returncode or "AddressSanitizer" in done.stderr:
        sys.exit(f"report {arguments} exits {done.returncode}: {done.stderr}")
    return done.stdout

def close(a, b, within=1e-9):
    return (a is None) == (b is None) and (a is None or abs(a - b) <= within * max(1, abs(b)))

def lines(of):
    return {(line["region"], line.get("rank"), line.get("thread")): line for line in of["regions"]}

def percentile(durations, percent):
    at = percent / 100 * (len(durations) - 1)
    low, high = int(durations[int(at)]), int(durations[min(int(at) + 1, len(durations) - 1)])
    return low + (high - low) * (at - int(at))

def figures(durations):
    durations = np.sort(durations)
    return {"calls": len(durations), "total_ns": int(durations.sum()), "mean_ns": float(durations.mean()),
            "min_ns": int(durations.min()), "max_ns": int(durations.max()),
            **{f"p{p}_ns": percentile(durations, p) for p in (50, 95, 99)}}

def expect(what, found, durations, within=1e-9):
    for key, value in figures(durations).items():
        if not close(found[key], value, within if key[0] == "p" else 1e-9):
            sys.exit(f"{what}: {key} is {found[key]}, not {value}")

def nested(rows):
    """Paths of one rank's (thread, start, end, order, name), by intervals: {path: [calls, total, exclusive]}."""
    paths, stack, lane = collections.defaultdict(lambda: [0, 0, 0]), [], None
    for thread, start, minus_end, _, name in sorted((t, s, -e, o, n) for t, s, e, o, n in rows):
        end = -minus_end
        if thread != lane:
            lane, stack = thread, []
        while stack and stack[-1][0] <= start and not stack[-1][0] == start == end:
            stack.pop()
        add(paths, stack[-1][1] if stack else (), name, end - start)
        stack.append((end, (stack[-1][1] if stack else ()) + (name,)))
    return paths

def add(paths, above, name, duration):
    mine = paths[above + (name,)]
    mine[0] += 1
    mine[1] += duration
    mine[2] += duration
    if above:
        paths[above][2] -= duration

def by_ids(rows):
    paths, known = collections.defaultdict(lambda: [0, 0, 0]), {-1: ()}
    for call, parent, duration, name in sorted(rows):
        add(paths, known[parent], name, duration)
        known[call] = known[parent] + (name,)
    return paths

def tree_of(calls):
    paths = collections.defaultdict(lambda: [0, 0, 0])
    for rank in {rank for rank, _ in calls}:
        mine = [(name, call) for (r, name), call in calls.items() if r == rank]
        if all("call_ids" in call for _, call in mine):
            part = by_ids([row for name, c in mine for row in zip(c["call_ids"].tolist(), c["parent_ids"].tolist(),
                                                                  (c["ends"] - c["starts"]).tolist(), [name] * len(c["ends"]))])
        else:
            part = nested([row for order, (name, c) in enumerate(mine)
                           for row in zip(c.get("thread_ids", np.zeros(len(c["ends"]))).tolist(), c["starts"].tolist(),
                                          c["ends"].tolist(), [order] * len(c["ends"]), [name] * len(c["ends"]))])
        for path, values in part.items():
            paths[path] = [a + b for a, b in zip(paths[path], values)]
    return paths

def paths_of(report):
    names, found = [], {}
    for at, path in enumerate(report["paths"]):
        above = path["above"]
        if path["path"] != at or path["depth"] != (0 if above is None else report["paths"][above]["depth"] + 1):
            sys.exit(f"path {at} is numbered {path['path']}, at depth {path['depth']} below {above}")
        names.append((() if above is None else names[above]) + (path["region"],))
        found[names[-1]] = [path["calls"], path["total_ns"], path["exclusive_ns"]]
        if not close(path["percent"], 100 * path["total_ns"] / max(1, report["total_ns"])):
            sys.exit(f"{names[-1]}: {path['percent']} percent")
    if len(found) != len(report["paths"]):
        sys.exit("a path stands twice")
    return found

def view(files):
    calls = {}
    for file in files:
        calls.update(check_profile.load(file)[0])
    calls = {key: call for key, call in calls.items() if len(call["starts"])}
    durations = {key: call["ends"] - call["starts"] for key, call in calls.items()}
    ranks = {rank for rank, _ in calls}
    # By region, with how far apart its ranks are.
    report = lines(json.loads(run("--json", "--percentiles", *files)))
    for region in {name for _, name in calls}:
        of = {rank: durations[rank, region] for rank in ranks if (rank, region) in calls}
        found = report.pop((region, None, None))
        expect(f"{files}: {region}", found, np.concatenate(list(of.values())))
        totals = [int(of[rank].sum()) if rank in of else 0 for rank in ranks]
        if found["ranks"] != len(of) or not close(found["imbalance"], max(totals) / np.mean(totals) if any(totals) else None):
            sys.exit(f"{files}: {region}: on {found['ranks']} ranks, imbalance {found['imbalance']}, of {totals}")
    # By rank.
    by_rank, alone = lines(json.loads(run("--json", "--by", "rank", "--percentiles", *files))), {}
    for (rank, region), mine in durations.items():
        line = by_rank.pop((region, rank, None))
        expect(f"{files}: {region} on {rank}", line, mine)
        if rank not in alone:
            alone[rank] = check_profile.exclusive_of(calls, rank)
        if line["exclusive_ns"] is not None and line["exclusive_ns"] != alone[rank][region]:
            sys.exit(f"{files}: {region} on {rank}: {line['exclusive_ns']} ns exclusive, not {alone[rank][region]}")
    # By thread.
    by_thread, threads = lines(json.loads(run("--json", "--by", "thread", "--percentiles", *files))), 0
    left = {}
    for (rank, region), call in calls.items():
        lanes = call.get("thread_ids", np.full(len(call["starts"]), -1))
        for thread in set(lanes.tolist()):
            threads += thread >= 0
            key = (region, rank, None if thread < 0 else thread)
            line = by_thread.pop(key)
            expect(f"{files}: {key}", line, durations[rank, region][lanes == thread], 0.008)
            if line["exclusive_ns"] is not None:
                left[rank, region] = left.get((rank, region), 0) + line["exclusive_ns"]
    if any(alone[rank] and alone[rank][region] != ns for (rank, region), ns in left.items()):
        sys.exit(f"{files}: exclusive by thread: {left}, not {alone}")
    if report or by_rank or by_thread:
        sys.exit(f"{files}: there is more: {report} {by_rank} {by_thread}")
    # The tree.
    found, wanted = paths_of(json.loads(run("--json", "--tree", *files))), tree_of(calls)
    if found != dict(wanted):
        sys.exit(f"{files}: the tree is {found}, not {dict(wanted)}")
    return threads, len(wanted)

def trace(path, rank, regions):
    with open(path, "wb") as f:
        f.write(b"SCOPEPRF" + struct.pack("<iiq", 2, rank, len(regions)))
        for name, starts, ends in regions:
            name, order = name.encode(), np.argsort(starts, kind="stable")
            f.write(struct.pack("<i", len(name)) + name + struct.pack("<iiq", 0, -1, len(starts)))
            f.write(np.asarray(starts, "<i8")[order].tobytes() + np.asarray(ends, "<i8")[order].tobytes())
    return path

def profile(path, names, calls, **columns):
    """calls: (region, start, end) of rank 0, columns beside them, by region then by start."""
    with h5py.File(path, "w") as f:
        f.attrs["scope_profiler_schema"] = 2
        f.attrs["storage_layout"] = "columnar"
        f["region_table/names"] = names
        counts = [sum(c[0] == n for c in calls) for n in range(len(names))]
        f["rank_region_index/region_ids"] = np.arange(len(names), dtype="u4")
        f["rank_region_index/ranks"] = np.zeros(len(names), "u4")
        f["rank_region_index/event_counts"] = np.array(counts, "u8")
        f["rank_region_index/event_offsets"] = np.array([sum(counts[:n]) for n in range(len(names))], "u8")
        f["rank_region_index/source_lines"] = np.full(len(names), -1)
        for key, value in (("source_files", ""), ("source_texts", ""), ("tags", "[]")):
            f[f"rank_region_index/{key}"] = [value] * len(names)
        f["events/start_times"], f["events/end_times"] = [c[1] for c in calls], [c[2] for c in calls]
        for key, values in columns.items():
            f[f"events/{key}"] = np.array(values, "i8")
    return path

name = lambda file: os.path.join(fixtures, file)
expected = json.load(open(name("expected.json")))

# Counts, totals, minima and maxima as the fixtures' makers wrote them down.
checked = 0
for file, regions in expected.items():
    if isinstance(regions, dict) and regions and all("/" in key for key in regions) and checked < (5 if few else 100):
        found = {f"{rank}/{region}": [line["calls"], line["total_ns"], line["min_ns"], line["max_ns"]]
                 for (region, rank, _), line in lines(json.loads(run("--json", "--by", "rank", name(file)))).items()}
        if found != {key: value for key, value in regions.items() if value[0]}:
            sys.exit(f"{file}: {found}, not {regions}")
        checked += 1
if checked < (5 if few else 15):
    sys.exit(f"only {checked} fixtures were looked at")

v = [name(f"v{v}_rank0000{r}.spt") for r, v in enumerate(("2-little", "2-big", "1-little", "1-big"))]
sets = [v] + [[name(file)] for file in ("threads.h5", "recursive_rank00004.spt", "names_rank00005.spt", "python-writer.h5",
                                        "many-regions_rank00007.spt")]
# Ids that say something else than the intervals: a call that another thread's made; calls of no length in one another, the
# inner one's region first; a parent that is over, and one that is nowhere, count as none.
calls = [(0, 50, 50), (0, 300, 310), (1, 0, 1000), (2, 10, 200), (2, 50, 50), (2, 400, 500)]
odd = profile(f"{T}/odd.h5", ["inner", "main", "task"], calls, call_ids=[9, 11, 1, 2, 4, 12],
              parent_ids=[4, 2, -1, 1, 2, 1])
threads, paths = 0, 0
sets = sets[:3] if few else sets
for files in sets:
    more = view(files)
    threads, paths = threads + more[0], paths + more[1]
odd_tree = paths_of(json.loads(run("--json", "--tree", odd)))
if odd_tree != {("inner",): [1, 10, 10], ("main",): [1, 1000, 710], ("main", "task"): [2, 290, 290],
                ("main", "task", "task"): [1, 0, 0], ("main", "task", "task", "inner"): [1, 0, 0]}:
    sys.exit(f"ids are not followed: {odd_tree}")
if threads < 10:
    sys.exit(f"only {threads} rows of threads were compared")

# Many calls a thread: percentiles are no longer exact, and within what is said.
random = np.random.default_rng(7)
starts = np.cumsum(random.integers(200_000, 300_000, 3000))
ends = starts + (10 ** random.uniform(0, 5, 3000)).astype("i8")
spread = profile(f"{T}/spread.h5", ["one"], list(zip([0] * 3000, starts.tolist(), ends.tolist())), thread_ids=[4] * 3000)
with h5py.File(spread, "a") as f:
    for key, kind in (("ranks", "u4"), ("index", "i8"), ("ident", "i8"), ("native_id", "i8"), ("daemon", "i1"),
                      ("start_ns", "i8"), ("end_ns", "i8"), ("cpu_ns", "i8")):
        f[f"thread_table/{key}"] = np.array([4 if key == "index" else 0], kind)
    f["thread_table/name"] = ["t"]
report = json.loads(run("--json", "--by", "thread", "--percentiles", spread))
expect("many calls", report["regions"][0], ends - starts, 0.008)
if report["percentiles_error"] != 0.008 or "within 0.8 %" not in run("--by", "thread", "--percentiles", spread):
    sys.exit("nobody says that percentiles are not exact")

# CSV says what JSON says; sorted, cut, filtered.
for options in (["--by", "rank", "--percentiles"], ["--tree"], []):
    files = v
    key = "paths" if "--tree" in options else "regions"
    rows = list(csv.DictReader(io.StringIO(run("--csv", *options, *files))))
    for row, line in zip(rows, json.loads(run("--json", *options, *files))[key], strict=True):
        for column, value in line.items():
            if not (row[column] == ("" if value is None else value) if isinstance(value, (str, type(None)))
                    else abs(float(row[column]) - value) < 1e-3):
                sys.exit(f"{options}: CSV says {column} {row[column]}, JSON {value}")
for column in ("p95", "imbalance"):
    key = "p95_ns" if column == "p95" else column
    values = [line[key] for line in json.loads(run("--json", "--by", "rank", "--sort", column, *v))["regions"]]
    if values != sorted(values, reverse=True) or len(values) != 20:
        sys.exit(f"--sort {column}: {values}")
top = json.loads(run("--json", "--by", "rank", "--top", "3", "--regions", "s*", "--ranks", "0-2", *v))
if (len(top["regions"]), top["more"], [line["rank"] for line in top["regions"] if line["region"] == "solve"]) != (3, 3, [1, 2, 0]):
    sys.exit(f"--top 3 of two regions on three ranks: {top}")
part = json.loads(run("--json", "--tree", "--top", "1", "--regions", "solve", *v))
if [path["region"] for path in part["paths"]] != ["main", "step", "solve"] or any(path["more"] for path in part["paths"]):
    sys.exit(f"the paths that lead to solve: {part}")
if "\n    ... 2 more" not in run("--tree", "--top", "1", *v):
    sys.exit("nobody says how many paths --top leaves out")

# Names of every width: each line of numbers ends in the same column.
def width(text):
    return sum(0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
wide = ["plain", "\u89e3\u304f", "\ud574\uacb0", "l\u00f6sen", "e\u0301tape", "\U0001f600 smile", "\u0440\u0435\u0448\u0438\u0442\u044c",
        "\u89e3" * 60, "n" * 300 + "\u0301"]
file = trace(f"{T}/wide.spt", 0, [(text, [10 ** 10 * n], [10 ** 10 * n + 10 ** n]) for n, text in enumerate(wide)])
for options in ([], ["--tree", "--min-percent", "0%"], ["--by", "rank"]):
    table = run(*options, file).split("\n\n")[1].rstrip("\n").split("\n")
    if len({width(line) for line in table}) != 1 or len(table) != 10 or width(table[0]) > 180:
        sys.exit(f"{options}: lines end in columns {[width(line) for line in table]}: " + "\n".join(table))

# 490,700 paths: those beyond the limit are counted, in little memory. 10,000 deep: on a stack of 128 KiB.
regions, count = [], 700
for n in range(count):
    at = np.arange(count) * 10000
    regions.append((f"r{n}", np.append(at + 10 * n + 1, 10000 * n), np.append(at + 10 * n + 6, 10000 * n + 9000)))
file = trace(f"{T}/huge.spt", 0, regions)
table = run("--tree", "--top", "2", file)
if "490700 calls" not in table or "262144 paths: 228556 calls on further ones" not in table or \
        not re.search(r"\n\.\.\. 372 more +372 +3\.35 ms +53\.1 ", table):
    sys.exit(f"huge: nobody says what is missing: {table}")
deep = 10000
file = trace(f"{T}/deep.spt", 0, [("f", np.arange(deep), 10 * deep - np.arange(deep))])
report = json.loads(run("--json", "--tree", file, prefix="ulimit -s 128; "))
if (report["found"], report["cut_calls"], report["total_ns"]) != (deep, 0, 10 * deep):
    sys.exit(f"deep: {report['found']} paths, {report['total_ns']} ns")
for n, path in enumerate(report["paths"]):
    if (path["depth"], path["calls"], path["total_ns"], path["exclusive_ns"]) != (n, 1, 10 * deep - 2 * n, 2 if n < deep - 1 else 10 * deep - 2 * n):
        sys.exit(f"deep: call {n}: {path}")
table = run("--tree", file, prefix="ulimit -s 128; ")
if n != deep - 1 or f"{deep - 1}: f " not in table or len(table) > 200 * deep:
    sys.exit(f"deep: {n + 1} paths, {len(table)} bytes of table")

# The session that still recorded.
live = lines(json.load(open(f"{T}/live.thread")))
if len(live) != 12 or any(line["calls"] != 50 for line in live.values()) or {key[2] for key in live} != {0, 1, 2}:
    sys.exit(f"a live session by thread: {live}")
live = {path: values[0] for path, values in paths_of(json.load(open(f"{T}/live.tree"))).items()}
if live != {("outer",): 150, ("outer", "left"): 150, ("outer", "right"): 150, ("outer", "right", "deep"): 150}:
    sys.exit(f"a live session's tree: {live}")
print(f"{checked} fixtures as expected.json; {len(sets)} sets by region, rank and thread ({threads} rows), {paths} paths; "
      f"490700 paths, {deep} deep, {len(wide)} widths, live")
PYTHON
