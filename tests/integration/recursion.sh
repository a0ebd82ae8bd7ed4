#!/bin/bash
# 10,000 nested calls of one region: each has its time, its parent, and its place. Of 100,000 those beyond what a thread
# has room for are counted: in the list, the profile, spd's log and the exit status, with spd and without.
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
depth=100000 kept=16384
lost=$((depth - kept))
listed() { # SESSION STATE: one rank, in that state, with the calls lost
    spctl list --json "$1" >"$T/list" || fail "spctl list $1 fails"
    "$PY" - "$T/list" "$2" "$lost" <<'PYTHON' || fail "the list is wrong while $2: $(cat "$T/list")"
import json, sys
session, = json.load(open(sys.argv[1]))["sessions"]
rank, = session["incarnations"]
sys.exit((rank["state"], rank["dropped"], session["dropped"]) != (sys.argv[2], int(sys.argv[3]), int(sys.argv[3])))
PYTHON
}
lossy() { # PROFILE STATUS: what the merge said is in $T/merge
    (($2 == 3)) || fail "$1: status $2, not 3: $(cat "$T/merge")"
    sound "$1"
    [[ $(calls "$1" recursion) == "$kept" ]] || fail "$1: $(calls "$1" recursion) calls, not $kept"
    [[ $(metadata "$1" sp_dropped_records) == "$lost" ]] || fail "$1 counts $(metadata "$1" sp_dropped_records), not $lost"
    grep -q "dropped $lost calls while recording, since they were nested too deep" "$T/merge" ||
        fail "$1: nobody says why: $(cat "$T/merge")"
    grep -q 'ring was full' "$T/merge" && fail "$1: a full ring is blamed: $(cat "$T/merge")"
}
hold
for daemon in yes no; do
    [[ $daemon == yes ]] || stop_spd
    export SP_SESSION=$S-$daemon
    launch "$daemon" -n 10 -d $depth -e wait work
    until_true 60 grep -q '^made' "$T/out.$daemon" || fail "the calls are not made: $(cat "$T/out.$daemon")"
    listed "$S-$daemon" recording
    release
    ended $!
    until_true 20 no_segments || fail "segments are left over: $(segments)"
    listed "$S-$daemon" published
    if [[ $daemon == yes ]]; then
        grep -q " $((kept + 40)) calls, $lost dropped, 0 lost" "$T/spd.log" || fail "spd does not say what was dropped"
    fi
    spctl merge "$S-$daemon" -o "$T/$daemon.h5" >"$T/merge" 2>&1
    lossy "$T/$daemon.h5" $?
    rm "$T/hold"
    hold
done
unset SP_SESSION
(cd "$T/cwd" && spctl run -o "$T/run.h5" -- "$SP_TEST_WORK" -n 10 -d $depth work) >"$T/merge" 2>&1
lossy "$T/run.h5" $?
echo "10000 calls deep, each inside its parent; of $depth $lost counted"
