#!/bin/bash
# Many inputs, many regions, many calls: memory, open files and time stay within limits, and no call is lost.
. "$(dirname "$0")/common.sh"
cat >"$T/make.py" <<'PYEOF'
# make.py FOLDER RANKS REGIONS CALLS: traces of nested calls, CALLS of each region on each rank; make.py h5 FOLDER N: profiles
import os, struct, sys
import h5py, numpy as np

if sys.argv[1] == "h5":
    os.mkdir(sys.argv[2])
    for rank in range(int(sys.argv[3])):
        with h5py.File(f"{sys.argv[2]}/p_rank{rank:05d}.h5", "w") as f:
            f.attrs["scope_profiler_schema"] = 2
            f["region_table/names"] = np.array(["outer", "inner"], h5py.string_dtype())
            for name, value in (("region_ids", [0, 1]), ("ranks", [rank] * 2), ("event_offsets", [0, 3]), ("event_counts", [3, 3])):
                f["rank_region_index/" + name] = np.array(value, "<u4" if name in ("region_ids", "ranks") else "<u8")
            starts = 10**15 + 1000 * np.arange(3)
            f["events/start_times"] = np.concatenate((starts, starts + 100))
            f["events/end_times"] = np.concatenate((starts + 900, starts + 800))
    sys.exit()
folder, (ranks, regions, calls) = sys.argv[1], map(int, sys.argv[2:])
os.mkdir(folder)
starts = 10**15 + 4 * regions * np.arange(calls)
for rank in range(ranks):
    with open(f"{folder}/p_rank{rank:05d}.spt", "wb") as f:
        f.write(b"SCOPEPRF" + struct.pack("<iiq", 2, rank, regions))
        for k in range(regions):
            name = b"region%d" % k
            f.write(struct.pack("<i", len(name)) + name + struct.pack("<iiq", 0, -1, calls))
            f.write((starts + k).astype("<i8").tobytes() + (starts + 3 * regions - k).astype("<i8").tobytes())
PYEOF

# limited NAME MIB INPUT: merges under the limits; its peak memory, but for programs that check memory, is at most MIB.
limited() {
    local begun=$SECONDS
    $PY - "$3" "$T/$1.h5" "$2" "$SP_TEST_SPCTL" "$SP_TEST_SANITIZE" <<'PYEOF' >"$T/said" 2>&1 || fail "$1: $(tail -n 2 "$T/said")"
import os, resource, sys
source, output, most, spctl, sanitize = sys.argv[1:]
child = os.fork()
if not child:
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    if sanitize == "none":
        resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))
    os.execv(spctl, [spctl, "merge", source, "-o", output])
_, status, usage = os.wait4(child, 0)
if status:
    sys.exit(f"spctl merge {source} ends with {status}")
if sanitize == "none" and usage.ru_maxrss > int(most) * 1024:
    sys.exit(f"the merge took {usage.ru_maxrss} KiB")
print(usage.ru_maxrss // 1024, "MiB")
PYEOF
    ((SECONDS - begun < 60)) || fail "$1: the merge took $((SECONDS - begun)) s"
    echo "$1: $(tail -n 1 "$T/said"), $((SECONDS - begun)) s"
}

# holds NAME RANKS REGIONS CALLS: exactly so many of each.
holds() {
    $PY - "$T/$1.h5" "${@:2}" <<'PYEOF' || fail "$1: the merged profile is not what its inputs were"
import h5py, sys
import numpy as np
f, (ranks, regions, calls) = h5py.File(sys.argv[1]), map(int, sys.argv[2:])
index = f["rank_region_index"]
assert (index["event_counts"][:] == calls).all() and len(index["ranks"]) == ranks * regions
assert (index["ranks"][:] == np.repeat(np.arange(ranks), regions)).all()
assert len(f["events/start_times"]) == len(f["events/end_times"]) == ranks * regions * calls
duration = f["events/end_times"][:] - f["events/start_times"][:]
assert (duration.reshape(-1, calls).sum(1) == index["summary_statistics"]["total"]).all()
# each region holds the next one alone, the last holds nothing
total = index["summary_statistics"]["total"].reshape(ranks, regions)
assert (index["exclusive_totals"][:].reshape(ranks, regions)[:, :-1] == total[:, :-1] - total[:, 1:]).all()
assert (index["exclusive_totals"][:].reshape(ranks, regions)[:, -1] == total[:, -1]).all()
PYEOF
}

[[ $SP_TEST_SANITIZE == none ]] || echo "sanitizers need the address space: no limit to it and to memory"
$PY "$T/make.py" "$T/ranks" 4096 5 10 && $PY "$T/make.py" "$T/regions" 1 50000 2 && $PY "$T/make.py" "$T/calls" 2 5 600000 &&
    $PY "$T/make.py" h5 "$T/profiles" 300 || fail "no inputs can be made"
limited ranks 104 "$T/ranks" # 64 MiB and 2 KiB a row
holds ranks 4096 5 10
limited regions 164 "$T/regions"
holds regions 1 50000 2
limited calls 64 "$T/calls"
holds calls 2 5 600000
limited profiles 66 "$T/profiles"
holds profiles 300 2 3
