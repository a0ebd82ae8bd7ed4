#!/bin/bash
# Views that disagree on who called whom: the paths, calls and times of the tree, of folded stacks and of the page's flame
# graph, where threads are told apart, where calls cross and they are not, and where stored ids and the times disagree.
. "$(dirname "$0")/common.sh"
F=$ROOT/tests/fixtures

# main 0-100 holds a 10-40, which crosses b 30-60; c 32-38 is in a by its lane alone.
cat >"$T/cross.json" <<'JSON'
{"rank": 0, "version": 2, "order": "<", "regions": [
 {"name": "main", "source_file": "", "source_line": -1, "starts": [0], "ends": [100]},
 {"name": "a", "source_file": "", "source_line": -1, "starts": [10], "ends": [40]},
 {"name": "b;", "source_file": "", "source_line": -1, "starts": [30], "ends": [60]},
 {"name": "c", "source_file": "", "source_line": -1, "starts": [32], "ends": [38]}]}
JSON
$PY "$TOOLS/spt.py" make "$T/cross.spt" "$T/cross.json" || fail "no trace can be made"
$PY - "$T/ids.h5" <<'PYTHON' || fail "no profile can be made"
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w") as f:  # a task that the first step made runs in the second one's time; an orphan
    f.attrs["scope_profiler_schema"], f.attrs["storage_layout"] = 2, "columnar"
    f["region_table/names"] = ["step", "task"]
    index = {"region_ids": np.arange(2, dtype="u4"), "ranks": np.zeros(2, "u4"), "event_counts": np.array([2, 2], "u8"),
             "event_offsets": np.array([0, 2], "u8"), "source_lines": [-1, -1], "source_files": [""] * 2,
             "source_texts": [""] * 2, "tags": ["[]"] * 2}
    for key, value in index.items():
        f[f"rank_region_index/{key}"] = value
    for key, value in {"start_times": [0, 10, 20, 400], "end_times": [100, 90, 30, 450], "call_ids": [1, 2, 3, 4],
                       "parent_ids": [-1, 1, 1, 99]}.items():
        f[f"events/{key}"] = np.array(value, "i8")
PYTHON

for file in "$F/threads.h5" "$F/recursive_rank00004.spt" "$F/python-writer.h5" "$F/names_rank00005.spt" "$T/cross.spt" "$T/ids.h5"; do
    spctl report --tree --json "$file" >"$T/tree" 2>&1 && spctl export "$file" -f folded -o "$T/folded" >/dev/null 2>"$T/said" &&
        spctl report "$file" -o "$T/page.html" >/dev/null || fail "a view of $file: $(<"$T/said")"
    $PY - "$T" "$TOOLS" "$file" <<'PYTHON' || fail "the views of $file, as named above"
import json, os, sys
folder, tools, file = sys.argv[1:]
sys.path.insert(0, tools)
import page
tree, named, chains = json.load(open(f"{folder}/tree")), {}, {}
for path in tree["paths"]:
    named[path["path"]] = named.get(path["above"], ()) + (path["region"],)
    chains[named[path["path"]]] = (path["calls"], path["total_ns"], path["exclusive_ns"])
escaped = lambda s: "".join("\\\\" if c == "\\" else f"\\x{ord(c):02x}" if ord(c) < 32 or c in ";\x7f" else c for c in s)
lines = [line.rpartition(" ") for line in open(f"{folder}/folded", encoding="utf-8", newline="\n").read().split("\n")[:-1]]
folded = {stack: int(ns) for stack, _, ns in lines}
wanted = {";".join(map(escaped, names)): figures[2] for names, figures in chains.items()}
if folded != wanted or len(lines) != len(folded):
    sys.exit(f"folded {folded}, tree {wanted}")
document, _ = page.read(f"{folder}/page.html")
if page.paths(document) != chains:
    sys.exit(f"flame graph {page.paths(document)}, tree {chains}")
unsure = {"cross.spt": 1}.get(os.path.basename(file), 0)
said = [text for text in [open(f"{folder}/said").read(), *document["notes"]] if f"on {unsure} of {tree['ranks']} ranks" in text]
if tree["unsure_ranks"] != unsure or len(said) != (2 if unsure else 0):
    sys.exit(f"{tree['unsure_ranks']} ranks are a guess, not {unsure}; said is {said}")
own = {"cross.spt": {("main",): (1, 100, 70), ("main", "a"): (1, 30, 24), ("main", "a", "c"): (1, 6, 6), ("b;",): (1, 30, 30)},
       "ids.h5": {("step",): (1, 100, 10), ("step", "step"): (1, 80, 80), ("step", "task"): (1, 10, 10), ("task",): (1, 50, 50)}}
if chains != own.get(os.path.basename(file), chains):
    sys.exit(f"paths {chains}")
PYTHON
done
echo "six files, each with the same paths in three views"
