#!/bin/bash
# Ranks, regions and times: what is asked for and nothing else; windows that touch add up to the whole.
. "$(dirname "$0")/common.sh"
wrong() {
    local want=$1 words=$2 status
    shift 2
    spctl merge "$@" "$T/in" -o "$T/no.h5" >"$T/said" 2>&1
    status=$?
    ((status == want)) || fail "merge $* exits $status, not $want: $(cat "$T/said")"
    grep -q -- "$words" "$T/said" || fail "merge $* does not say \"$words\": $(cat "$T/said")"
    [[ ! -e $T/no.h5 ]] || fail "merge $* leaves an output"
}
mkdir "$T/in"
start_spd
for r in 0 1 2 5; do work -r "$r" -n 400 w >/dev/null 2>&1 || fail "the program failed"; done
work -r 6 -t 3 -n 100 w >/dev/null 2>&1 || fail "the program failed"
published 5
stop_spd
cp "$T/data/$S"/*.spt "$T/data/$S"/*.h5 "$T/data/$S"/*.note "$T/in"
merge "$T/whole.h5" "$T/in"
counts "$T/whole.h5" 1900
spctl merge "$T/in" --schema 3 --compress gzip -o "$T/schema3.h5" >"$T/merge" 2>&1 || fail "schema 3: $(cat "$T/merge")"
same "$T/whole.h5" "$T/schema3.h5"

# kept OUT PYTHON: OUT holds just those calls of the whole for which the expression over r, n, s (ns of the run) is true.
kept() {
    snippet "$TOOLS" "$T/whole.h5" "$1" "$2" <<'PYTHON' || fail "$1 does not hold what was asked for: $2"
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import check_profile
whole, part = check_profile.load(sys.argv[2])[0], check_profile.load(sys.argv[3])[0]
zero = min(int(call["starts"].min()) for call in whole.values())
test = eval("lambda r, n, s: " + sys.argv[4])
wrong = False
for (r, n), call in whole.items():
    keep = np.array([test(r, n, s) for s in (call["starts"] - zero).tolist()], bool)
    had = part.pop((r, n), {"starts": [], "ends": []})
    wrong = wrong or not np.array_equal(call["starts"][keep], had["starts"]) or \
        not np.array_equal(call["ends"][keep], had["ends"])
sys.exit(bool(wrong or part))
PYTHON
}
merge "$T/ranks.h5" "$T/in" --ranks 0-2,6
kept "$T/ranks.h5" 'r in (0, 1, 2, 6)'
merge "$T/one.h5" "$T/in" --ranks 5
kept "$T/one.h5" 'r == 5'
merge "$T/regions.h5" --regions 'l*' "$T/in" --regions deep
kept "$T/regions.h5" 'n in ("left", "deep")'
merge "$T/some.h5" --regions '[lo]*' --ranks 1,6 "$T/in" --label 'a, b'
kept "$T/some.h5" 'r in (1, 6) and n in ("left", "outer")'
[[ $(metadata "$T/some.h5" label) == "a, b" ]] || fail "the label is $(metadata "$T/some.h5" label)"

# ---- times, at calls' own starts too, of every kind of input
length=$($PY -c '
import h5py, sys
starts = h5py.File(sys.argv[1])["events/start_times"][()]
print(int(starts.max() - starts.min()))' "$T/whole.h5")
seconds() { printf '%d.%09d' $(($1 / 1000000000)) $(($1 % 1000000000)); }
start=$($PY -c '
import h5py, sys
starts = sorted(h5py.File(sys.argv[1])["events/start_times"][()].tolist())
print(starts[len(starts) // 3] - starts[0])' "$T/whole.h5")
marks=(0 $((length / 7)) "$start" $((start + 1)) $((length * 3 / 5)) $((length + 1)))
for input in "$T/in" "$T/whole.h5" "$T/schema3.h5"; do
    parts=()
    for ((i = 1; i < ${#marks[@]}; i++)); do
        ((marks[i - 1] < marks[i])) || fail "the run was too short: ${marks[*]}"
        merge "$T/part$i.h5" "$input" --from "$(seconds "${marks[i - 1]}")" --to "$(seconds "${marks[i]}")"
        kept "$T/part$i.h5" "${marks[i - 1]} <= s < ${marks[i]}"
        parts+=("$T/part$i.h5")
    done
    snippet "$T/whole.h5" "${parts[@]}" <<'PYTHON' || fail "$input: windows that touch do not add up to the whole"
import sys, h5py
count = [len(h5py.File(name)["events/start_times"]) for name in sys.argv[1:]]
sys.exit(count[0] != sum(count[1:]) or min(count) == 0 and sum(count[1:]) == 0)
PYTHON
done
merge "$T/rest.h5" "$T/in" --from "$(seconds "$start")"
kept "$T/rest.h5" "s >= $start"
merge "$T/head.h5" "$T/in" --to "$(seconds "$start")" --ranks 0,5 --regions outer
kept "$T/head.h5" "s < $start and r in (0, 5) and n == 'outer'"
merge "$T/window.h5" "$T/whole.h5" --from "$(seconds "$start")"
same "$T/window.h5" "$T/rest.h5"
# ids are those of the calls that are left
snippet "$T/window.h5" <<'PYTHON' || fail "ids of a window are not its own"
import sys, h5py
with h5py.File(sys.argv[1]) as f: sys.exit(bool("call_ids" not in f["events"] or f["events/call_ids"][()].min() != 0))
PYTHON
merge "$T/late.h5" "$T/in" --from 100000
[[ $(calls "$T/late.h5" outer) == 0 ]] || fail "calls long after the end"

# ---- what fits nothing, and wrong values
wrong 1 'there are 0-2, 5-6' --ranks 3
wrong 1 'no rank from 7 to 9' --ranks 0-2,7-9
wrong 1 'there are outer, left' --regions outer --regions 'x*'
for value in 1-0 a 1, ,1 1--2 99999999999 1-; do wrong 2 "$value" --ranks "$value"; done
for value in 1.2.3 -1 a 1e3 1.0000000001 . 99999999999; do wrong 2 "$value" --from "$value"; done
wrong 2 later --from 2 --to 1
wrong 2 later --to 0
wrong 2 schema --schema 4
for value in gzip:0 gzip:10 lzf gzip: gzip:a; do wrong 2 "$value" --compress "$value"; done
echo "ranks, regions and windows hold what was asked for"
