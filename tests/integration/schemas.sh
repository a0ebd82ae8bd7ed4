#!/bin/bash
# Profiles as h5py writes them, of every schema and in many ways of storing, are merged to the calls that they hold, by
# one that was told of every call apart; check finds them sound and names what is wrong in damaged ones.
. "$(dirname "$0")/common.sh"

cat >"$T/write.py" <<'END'
import json, random, sys
import h5py, numpy as np

folder = sys.argv[1]
random.seed(7)
TEXT = h5py.string_dtype()
NAMES = ["main", "I/O: write", "I/O: write/flush", "größe ✓", "halo exchange", "I", "empty"]
STORED = [{}, {"chunks": (16,), "maxshape": (None,)}, {"compression": "gzip", "shuffle": True},
          {"compression": "lzf"}, {"compression": "lzf", "chunks": (7,), "shuffle": True}]


def calls(count):
    starts = np.cumsum([random.choice((0, 1, 5, 1000)) for _ in range(count)]).astype("i8") + 7_000_000_000_000
    return starts, starts + np.array([random.randrange(900) for _ in range(count)], "i8")


def rows(ranks):
    return {(rank, name): calls(0 if name == "empty" else random.randrange(1, 300))
            for rank in ranks for name in NAMES}


def say(name, content):
    expected = {}
    for (rank, region), (starts, ends) in content.items():
        if len(starts):
            took = ends - starts
            expected[f"{rank}/{region}"] = [len(took), int(took.sum()), int(took.min()), int(took.max())]
    with open(f"{folder}/{name}.json", "w") as out:
        json.dump(expected, out)


def schema1(name, ordered, ids):
    content = rows([0, 3, 12])
    with h5py.File(f"{folder}/{name}.h5", "w", track_order=ordered) as f:
        f.create_group("metadata").attrs["hostname"] = "node01"
        for at, ((rank, region), (starts, ends)) in enumerate(content.items()):
            if f"rank{rank}" not in f:
                f.create_group(f"rank{rank}/regions", track_order=ordered)
            group = f.require_group(f"rank{rank}/regions/{region}")
            group.attrs["source_file"], group.attrs["source_lineno"] = "solver.py", at
            group.attrs["source_text"] = "solve()"
            group.attrs.create("tags", ["hot", "a \"b\""] if at % 2 else [], dtype=TEXT)
            stored = STORED[at % len(STORED)] if len(starts) else {}
            group.create_dataset("start_times", data=starts, **stored)
            group.create_dataset("end_times", data=ends.astype("u8"), **stored)
            if ids:
                numbers = np.arange(len(starts)) + 1000 * NAMES.index(region)
                group.create_dataset("call_ids", data=numbers)
                group.create_dataset("parent_ids", data=np.full(len(starts), -1, "i4"))
        f.create_group("rank7/regions")
    say(name, content)


def columns(name, schema, stored, deltas):
    content = rows([0, 1])
    with h5py.File(f"{folder}/{name}.h5", "w") as f:
        f.attrs["scope_profiler_schema"] = np.int16(schema)
        f["region_table/names"] = np.array(NAMES, dtype=TEXT)
        keys = list(content)
        counts = [len(content[key][0]) for key in keys]
        f["rank_region_index/region_ids"] = np.array([NAMES.index(key[1]) for key in keys], "u1")
        f["rank_region_index/ranks"] = np.array([key[0] for key in keys], "i8")
        f["rank_region_index/event_offsets"] = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype("u8")
        f["rank_region_index/event_counts"] = np.array(counts, "i2")
        starts = np.concatenate([content[key][0] for key in keys])
        ends = np.concatenate([content[key][1] for key in keys])
        if deltas:
            gaps = np.concatenate([np.diff(content[key][0], prepend=0) for key in keys])
            f.create_dataset("events/start_deltas", data=gaps.astype("u8"), **stored)
            f.create_dataset("events/durations", data=(ends - starts).astype("u2"), **stored)
        else:
            f.create_dataset("events/start_times", data=starts.astype(">i8"), **stored)
            f.create_dataset("events/end_times", data=ends, **stored)
        f["rank1/likwid/region/metrics"] = np.arange(5.0)
    say(name, content)


schema1("one-by-name", False, False)
schema1("one-in-order", True, False)
schema1("one-with-ids", True, True)
for at, stored in enumerate(STORED):
    columns(f"two-{at}", 2, stored, False)
    columns(f"three-{at}", 3, stored, True)
columns("two-with-deltas", 2, {}, True)
END
cat >"$T/compare.py" <<'END'
import glob, json, os, sys
sys.path.insert(0, sys.argv[1])
import check_profile, h5py

count = 0
for name in glob.glob(f"{sys.argv[2]}/files/*.json"):
    profile = f"{sys.argv[2]}/{os.path.basename(name)[:-5]}.h5"
    found = {f"{rank}/{region}": [row["calls"], row["total"], row["minimum"], row["maximum"]]
             for region, ranks in check_profile.show(profile)["regions"].items() for rank, row in ranks.items()}
    wanted = json.load(open(name))
    for key in sorted(found.keys() | wanted.keys()):
        if found.get(key) != wanted.get(key):
            sys.exit(f"{profile}: {key}: {found.get(key)}, not {wanted.get(key)}")
    with h5py.File(profile) as f:
        if "one-" not in profile and list(f["rank1/likwid/region/metrics"]) != [0, 1, 2, 3, 4]:
            sys.exit(f"{profile}: /rank1/likwid is not what it was")
        if "one-in-order" in profile and f["region_table/names"][0] != b"main":
            sys.exit(f"{profile}: regions do not stand in the order in which they were made")
    count += 1
print(f"{count} profiles by h5py: sound, and merged to the calls that they hold")
END
mkdir "$T/files"
$PY "$T/write.py" "$T/files" || fail "h5py does not write the profiles"
for wanted in "$T"/files/*.json; do
    name=$(basename "$wanted" .json)
    file=$T/files/$name.h5
    spctl check "$file" >"$T/said" 2>&1 || fail "$name: $(cat "$T/said")"
    case $name in
    one-*) schema=1 ;;
    two-*) schema=2 ;;
    *) schema=3 ;;
    esac
    grep -q "sound, HDF5 schema $schema, " "$T/said" || fail "$name: $(cat "$T/said")"
    merge_lossy "$T/$name.h5" "$file"
done
$PY "$T/compare.py" "$TOOLS" "$T" >"$T/said" 2>&1 || fail "$(cat "$T/said")"
cat "$T/said"
grep -q '^14 ' "$T/said" || fail "not all of 14"

# Damage is named by dataset and row, and leaves no output.
cp "$T/files/three-0.h5" "$T/bad.h5"
$PY - "$T/bad.h5" <<'END'
import h5py, sys
with h5py.File(sys.argv[1], "r+") as f:
    del f["events/durations"]
    f["events/durations"] = [3] * (len(f["events/start_deltas"]) - 1) + [-1]
END
spctl check "$T/bad.h5" >"$T/said" 2>&1
[[ $? == 1 ]] && grep -q '/events/durations row [0-9]*.*before its start' "$T/said" || fail "check: $(cat "$T/said")"
spctl merge "$T/bad.h5" -o "$T/none.h5" >"$T/said" 2>&1
[[ $? == 1 && ! -e $T/none.h5 ]] && grep -q '/events/durations row' "$T/said" || fail "merge: $(cat "$T/said")"
echo "a negative duration is named by dataset and row"
