#!/bin/bash
# A merge that is killed at any instant, or finds the disk full, leaves the old output or the new one, whole, and no
# litter that the next merge or gc does not know.
. "$(dirname "$0")/common.sh"
mkdir "$T/in" "$T/out"
$PY - "$T/in" <<'PYTHON' || fail "no inputs could be made"
import array, struct, sys
for rank in range(4):
    with open(f"{sys.argv[1]}/k_rank{rank:05d}.spt", "wb") as f:
        f.write(b"SCOPEPRF" + struct.pack("<iiq", 2, rank, 3))
        for region in range(3):
            n = 40000
            f.write(struct.pack("<i4siiq", 4, b"r%03d" % region, 0, -1, n))
            starts = array.array("q", range(1000 + region * 7 * n, 1000 + (region + 1) * 7 * n, 7))
            f.write(starts.tobytes() + array.array("q", (s + 5 for s in starts)).tobytes())
PYTHON

# Kills merges to one output, each labelled with its number, after a random while; the output is looked at each time.
$PY - "$SP_TEST_SPCTL" "$T/in" "$T/out/out.h5" <<'PYTHON' || fail "a killed merge left what it must not"
import os, random, signal, subprocess, sys, time
import h5py, numpy as np
spctl, inputs, output = sys.argv[1:]
folder = os.path.dirname(output)
def command(label):
    return [spctl, "merge", inputs, "-o", output, "--label", str(label)]
def look():
    with h5py.File(output, "r") as f:
        starts, ends = f["events/start_times"][()], f["events/end_times"][()]
        counts = f["rank_region_index/event_counts"][()]
        if len(starts) != 480000 or not np.all(ends - starts == 5) or not np.all(counts == 40000):
            sys.exit(f"the output is not whole: {len(starts)} calls")
        return int(f["metadata"].attrs["label"])
took = []
for label in range(3):
    began = time.monotonic()
    subprocess.run(command(label), check=True, stdout=subprocess.DEVNULL)
    took.append(time.monotonic() - began)
last, kept, litter, done = look(), 0, 0, 0
end = time.monotonic() + 60
label = 3
while time.monotonic() < end and not (label >= 103 and kept > 20 and done > 2 and litter > 10):
    process = subprocess.Popen(command(label), stdout=subprocess.DEVNULL)
    time.sleep(random.uniform(0, 1.1 * max(took)))
    process.send_signal(signal.SIGKILL)
    process.wait()
    now = look()
    if now not in (last, label):
        sys.exit(f"the output is of merge {now}, neither the last whole one, {last}, nor {label}")
    kept += now == last
    done += now == label
    last = now
    others = [name for name in os.listdir(folder) if name != "out.h5"]
    if len(others) > 1 or any(not name.startswith(".out.h5.") or not name.endswith(".tmp") for name in others):
        sys.exit(f"left beside the output: {others}")
    litter += len(others)
    label += 1
print(f"{label - 3} merges killed: {kept} left the old output, {done} the new one, {litter} a temporary")
sys.exit(0 if kept > 10 and done > 0 and litter > 5 else "too few of them were hit in the middle")
PYTHON

# The next merge clears what the last one left; in a session's folder gc does too. A merge held at its output's end:
killed_midway() {
    local n pid folder=${1%/*}
    for ((n = 0; n < 200; n++)); do
        "$SP_TEST_SPCTL" merge "$T/in" -o "$1" >/dev/null 2>&1 &
        pid=$!
        until compgen -G "$folder/.*.tmp" >/dev/null || ! kill -0 $pid 2>/dev/null; do :; done
        kill -KILL $pid 2>/dev/null
        wait $pid 2>/dev/null
        compgen -G "$folder/.*.tmp" >/dev/null && return
    done
    fail "200 merges were killed, none with a temporary"
}
killed_midway "$T/out/out.h5"
merge "$T/out/out.h5" "$T/in"
[[ $(ls -A "$T/out") == out.h5 ]] || fail "the next merge leaves $(ls -A "$T/out")"
work -n 10 w >/dev/null 2>&1 || fail "the program failed"
killed_midway "$T/data/$S/all.h5"
spctl gc "$S" >"$T/gc" 2>&1
grep -q 'all.h5.*killed' "$T/gc" || fail "gc does not know the temporary: $(cat "$T/gc")"
spctl gc --yes "$S" >/dev/null 2>&1
[[ -z $(find "$T/data" -name '.*.tmp') ]] || fail "gc leaves the temporary"

# ---- a full disk
mkdir "$T/small"
if mount -t tmpfs -o size=2m tmpfs "$T/small" 2>/dev/null; then
    trap 'umount "$T/small"; cleanup' EXIT
    spctl merge "$T/in/k_rank00000.spt" --regions r000 -o "$T/small/out.h5" >"$T/said" 2>&1 || fail "it does not fit: $(cat "$T/said")"
    before=$(cksum <"$T/small/out.h5")
    for how in none gzip:1; do
        spctl merge "$T/in" -o "$T/small/out.h5" --compress $how >"$T/said" 2>&1
        status=$?
        [[ $how == gzip:1 && $status == 0 ]] && continue
        ((status == 1)) || fail "a full disk ends with $status: $(cat "$T/said")"
        grep -q "$T/small/out.h5.*No space left" "$T/said" || fail "what is full is not said: $(cat "$T/said")"
        [[ $(cksum <"$T/small/out.h5") == "$before" ]] || fail "a full disk changed the old output"
        [[ $(ls -A "$T/small") == out.h5 ]] || fail "a full disk leaves $(ls -A "$T/small")"
    done
    spctl merge "$T/in" --skip-bad -o "$T/small/out.h5" >"$T/said" 2>&1
    (($? == 1)) || fail "a full disk counts as a bad input: $(cat "$T/said")"
else
    echo "the full disk is left out: no small file system can be mounted here"
fi
# gc knows what a killed merge left in the folder where it is run, and touches nothing else there.
mkdir "$T/left"
"$SP_TEST_SPCTL" merge "$T/in" -o "$T/left/killed.h5" >/dev/null 2>&1 &
merge=$!
until compgen -G "$T/left/.killed.h5.*.tmp" >/dev/null || [[ -e $T/left/killed.h5 ]]; do :; done
kill -STOP "$merge" 2>/dev/null
temporary=$(compgen -G "$T/left/.killed.h5.*.tmp")
kill -KILL "$merge" 2>/dev/null
wait "$merge" 2>/dev/null
rm -f "$T/left/killed.h5"
[[ -n $temporary ]] || : >"$T/left/.killed.h5.$merge-0.tmp" # it was too quick: what it would have left
: >"$T/left/notes.tmp"
# With a /dev/shm of its own: without a session's name, gc recovers whatever has died on this machine.
if unshare -m true 2>/dev/null; then
    (cd "$T/left" && unshare -m bash -c 'mount -t tmpfs tmpfs /dev/shm && exec "$0" gc --yes' "$SP_TEST_SPCTL") \
        >"$T/said" 2>&1 || fail "gc ends with $?: $(cat "$T/said")"
    [[ $(ls -A "$T/left") == notes.tmp ]] || fail "after gc there is $(ls -A "$T/left"): $(cat "$T/said")"
else
    echo "gc without a session is left out: it takes a mount namespace"
fi
echo "killed merges leave the old output or the new one"
