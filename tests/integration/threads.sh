#!/bin/bash
# Eight threads: each has a lane, calls keep to it, and without spd they are joined with a warning.
. "$(dirname "$0")/common.sh"
start_spd
work -t 8 -n 5000 work >"$T/out.0" 2>&1 || fail "the program failed: $(tail -n 1 "$T/out.0")"
[[ $(rank_files) == *.h5 ]] || fail "a rank of eight threads is published as $(rank_files)"
merge "$T/out.h5" "$S"
counts "$T/out.h5" 40000
lanes=$(ask show "$T/out.h5" |
    "$PY" -c 'import json, sys; print(json.load(sys.stdin)["regions"]["outer"]["0"]["threads"])')
[[ $lanes == 8 ]] || fail "calls of $lanes threads, not of 8"
rows=$("$PY" -c 'import h5py, sys; t = h5py.File(sys.argv[1])["thread_table"]; print(len(set(t["native_id"][()].tolist())))' "$T/out.h5")
((rows >= 8)) || fail "thread_table names $rows native threads"
stop_spd

SP_SESSION=$S-alone work -t 4 -n 1000 alone >"$T/out.1" 2>"$T/warning" || fail "without spd: $(tail -n 1 "$T/out.1")"
counts "$T/cwd/alone_rank00000.spt" 4000
[[ $(wc -l <"$T/warning") == 1 ]] || fail "without spd: $(wc -l <"$T/warning") lines of warning, not 1"
merge "$T/alone.h5" "$S-alone"
counts "$T/alone.h5" 4000
lanes=$(ask show "$T/alone.h5" |
    "$PY" -c 'import json, sys; print(json.load(sys.stdin)["regions"]["outer"]["0"]["threads"])')
[[ $lanes == 4 ]] || fail "without spd a merge by session shows $lanes threads, not 4"
echo "176000 calls, every thread in a lane of its own"
