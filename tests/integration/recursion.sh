#!/bin/bash
# 10,000 nested calls of one region: each has its time, its parent, and its place.
. "$(dirname "$0")/common.sh"
start_spd
work -n 10 -d 10000 work >"$T/out.0" 2>&1 || fail "the program failed: $(tail -n 1 "$T/out.0")"
merge "$T/out.h5" "$S"
[[ $(calls "$T/out.h5" recursion) == 10000 ]] || fail "$(calls "$T/out.h5" recursion) calls, not 10000"
counts "$T/out.h5" 10
"$PY" - "$T/out.h5" <<'PYTHON' || fail "the calls are not one inside the other"
import sys, h5py
with h5py.File(sys.argv[1]) as f:
    names = [n.decode() for n in f["region_table/names"][()]]
    index = f["rank_region_index"]
    row = [names[i] for i in index["region_ids"][()]].index("recursion")
    lo = int(index["event_offsets"][row]); hi = lo + int(index["event_counts"][row])
    ids, parents = f["events/call_ids"][lo:hi], f["events/parent_ids"][lo:hi]
    parent = dict(zip(ids.tolist(), parents.tolist()))
    depth, at = 0, max(parent)
    while at != -1: at, depth = parent[at], depth + 1
    sys.exit(depth != 10000)
PYTHON
echo "10000 calls deep, each inside its parent"
