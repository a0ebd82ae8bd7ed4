#!/bin/bash
# SP_MODE=stats: totals without single calls, exact to the last one, with spd and without, also after SIGKILL.
. "$(dirname "$0")/common.sh"
export SP_MODE=stats

# aggregate FILE N: the layout and N calls of each region, without a word of this project.
aggregate() {
    "$PY" - "$1" "$2" <<'PY' || fail "$1 does not hold $2 calls of each region in the aggregate layout"
import sys, h5py
profile, wanted = h5py.File(sys.argv[1]), int(sys.argv[2])
assert profile.attrs["storage_layout"] == "aggregate" and "events" not in profile
index = profile["rank_region_index"]
column = lambda name: index["aggregate_" + name][()]
assert [column(c).dtype.str for c in ("counts", "totals", "minimums", "maximums", "exclusives")] == ["<u8"] + ["<i8"] * 4
assert index["region_ids"].dtype == index["ranks"].dtype == "<u4"
names = [name.decode() for name in profile["region_table/names"][()]]
calls, totals, alone = dict.fromkeys(names, 0), dict.fromkeys(names, 0), dict.fromkeys(names, 0)
for n, region in enumerate(index["region_ids"][()]):
    calls[names[region]] += int(column("counts")[n])
    totals[names[region]] += int(column("totals")[n])
    alone[names[region]] += int(column("exclusives")[n])
    assert 0 <= column("minimums")[n] <= column("maximums")[n] <= column("totals")[n]
assert calls == dict.fromkeys(("outer", "left", "right", "deep"), wanted), calls
# What outer has beyond its children; ticks become ns each for itself, so a few ns may go.
assert abs(totals["outer"] - totals["left"] - totals["right"] - alone["outer"]) < 1000, (totals, alone)
assert abs(totals["right"] - totals["deep"] - alone["right"]) < 1000, (totals, alone)
PY
}
# reported N INPUT: what spctl report says.
reported() {
    spctl report --json "$2" | "$PY" -c '
import json, sys
report = json.load(sys.stdin)
calls = {region["region"]: region["calls"] for region in report["regions"]}
sys.exit(calls != dict.fromkeys(("outer", "left", "right", "deep"), int(sys.argv[1])) or report["start_ns"] is not None)' "$1" ||
        fail "spctl report $2 does not show $1 calls of each region"
}
sound() { spctl check "$1" >"$T/check" || fail "$1 is not sound: $(head -n 3 "$T/check")"; }
listed() {
    spctl list --json "$S" >"$T/list" || fail "spctl list fails"
    "$PY" -c 'import json, sys
sys.exit(sum(s["calls"] for s in json.load(open(sys.argv[1]))["sessions"]) != int(sys.argv[2]))' "$T/list" "$1" ||
        fail "spctl list does not show $1 calls: $(cat "$T/list")"
}

# Without spd.
work -r 0 -n 5000 -t 3 here >"$T/out.0" 2>&1 || fail "without spd: $(tail -n 1 "$T/out.0")"
spool=$(sed -n 's/^finalize 0 //p' "$T/out.0")
[[ -f $spool && $spool == "$T/data/$S/"*.spool ]] || fail "sp_output_path: $(cat "$T/out.0")"
grep -qF "$spool; \"spctl report $S\"" "$T/out.0" || fail "nobody says where the statistics are: $(cat "$T/out.0")"
work -r 1 -n 700 -e leave here >"$T/out.1" 2>&1
work -r 2 -n 300 -s -e kill here >"$T/out.2" 2>&1
[[ -z $(ls "$T/cwd") ]] || fail "a file without calls stands in the program's folder: $(ls "$T/cwd")"
merge "$T/alone.h5" "$S"
aggregate "$T/alone.h5" 16000
reported 16000 "$S"
reported 15000 "$spool"
reported 16000 "$T/alone.h5"
listed 64000
spctl gc --yes "$SP_SESSION" >/dev/null || fail "spctl gc fails"
reported 16000 "$S"
no_segments || fail "segments are left over: $(segments)"

# Beside events.
SP_SESSION=$S-2 SP_MODE=records work -r 5 -n 10 events >/dev/null 2>&1
spctl merge "$T/alone.h5" "$T/cwd/events_rank00005.spt" -o "$T/mixed.h5" 2>"$T/mixed" && fail "statistics and events are merged"
grep -F alone.h5 "$T/mixed" | grep -qF events_rank00005.spt || fail "the error does not name both: $(cat "$T/mixed")"

# With spd, whatever the format; killed ones count to their last call.
for format in auto spt merged; do
    export SP_SESSION=$S-$format
    start_spd --format "$format"
    work -r 0 -n 4000 -t 2 work >"$T/out.0" 2>&1 || fail "under spd --format $format: $(tail -n 1 "$T/out.0")"
    work -r 1 -n 2500 -s -e kill work >"$T/out.1" 2>&1
    # A second life of a rank adds up with the first.
    work -r 0 -n 500 work >"$T/out.2" 2>&1 || fail "a second life of rank 0: $(tail -n 1 "$T/out.2")"
    until_true 10 no_segments || fail "segments are left over: $(segments)"
    stop_spd
    merge "$T/$format.h5" "$SP_SESSION"
    aggregate "$T/$format.h5" 11000
    reported 11000 "$SP_SESSION"
    [[ -z $(find "$T" -name '*.spt' ! -name 'events*') ]] || fail "statistics were published as a trace"
    if [[ $format != merged ]]; then
        f=$(sed -n 's/^finalize 0 //p' "$T/out.0")
        sound "$f"
        aggregate "$f" 8000
        grep -qF "$f: publish: statistics" "$T/spd.log" || fail "spd does not say why it is HDF5"
        [[ $(grep -l '"calls":10000' "$T/data/$SP_SESSION/"*.note | wc -l) == 1 ]] || fail "the note of the dead one is wrong"
        [[ $(spctl report --json "$SP_SESSION" | grep -c ' died after ') == 1 ]] || fail "the death is not reported"
    fi
done

# A spool that is left beside its profile goes once that holds as many calls, and not before.
export SP_SESSION=$S-gc
work -r 0 -n 50 work >"$T/out.0" 2>&1
spool=$(sed -n 's/^finalize 0 //p' "$T/out.0")
merge "$T/data/$SP_SESSION/gc.h5" "$SP_SESSION"
note=${spool%.spool}.note
sed -i "s|\"file\":\"[^\"]*\",\"format\":\"spool\",\"final\":false|\"file\":\"$T/data/$SP_SESSION/gc.h5\",\"format\":\"h5\",\"final\":true|" "$note"
sed -i 's/"calls":200,/"calls":201,/' "$note"
spctl gc --yes "$SP_SESSION" >/dev/null
[[ -f $spool ]] || fail "spctl gc removed statistics that no file holds"
sed -i 's/"calls":201,/"calls":200,/' "$note"
spctl gc --yes "$SP_SESSION" >/dev/null
[[ ! -f $spool ]] || fail "spctl gc keeps a spool whose statistics are published"
echo "statistics are exact with spd, without it and after SIGKILL"
