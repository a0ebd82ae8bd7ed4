#!/bin/bash
# Damaged profiles, bytes set and ends cut, through report, merge, and merge --skip-bad beside a sound file: HDF5 itself
# crashes or loops over some of them, spctl over none. It says which file it was, and leaves nothing behind.
. "$(dirname "$0")/common.sh"
mkdir "$T/in" "$T/out"
$PY - "$SP_TEST_SPCTL" "$ROOT/tests/fixtures" "$T" <<'PYTHON' || fail "$(tail -n 1 "$T/why")"
import os, random, subprocess, sys
spctl, fixtures, folder = sys.argv[1:]
damaged, output, said = f"{folder}/in/damaged.h5", f"{folder}/out/merged.h5", f"{folder}/said"
sound = f"{fixtures}/v2-little_rank00000.spt"
random.seed(20)
ends, crashed, skipped = {}, 0, 0

def stop(name, n, words):
    print(f"{name}, damage {n}: {words}", file=open(f"{folder}/why", "w"))
    sys.exit(1)

def damage(data):
    data = bytearray(data)
    if random.random() < 0.1:
        return data[:random.randrange(len(data))]
    for _ in range(random.choice((1, 1, 2, 4, 8))):
        data[random.randrange(len(data))] = random.choice((0, 255, 1, 128, random.randrange(256)))
    return data

def run(name, n, *arguments):
    with open(said, "wb") as err:
        child = subprocess.Popen([spctl, *arguments], stdout=subprocess.DEVNULL, stderr=err)
        try:
            child.wait(timeout=30)
        except subprocess.TimeoutExpired:
            child.kill()
            stop(name, n, f"{arguments[0]} comes to no end")
    words, left = open(said, errors="replace").read(), os.listdir(f"{folder}/out")
    if child.returncode not in (0, 1, 3):
        stop(name, n, f"{arguments[0]} ends with status {child.returncode}")
    if child.returncode == 1 and damaged not in words:
        stop(name, n, f"{arguments[0]} fails and does not name the file: {words}")
    if child.returncode == 1 and left:
        stop(name, n, f"{arguments[0]} fails and leaves {left} behind")
    if child.returncode != 1 and arguments[0] == "merge" and left != ["merged.h5"]:
        stop(name, n, f"merge ends with status {child.returncode}, and there is {left}")
    for each in left:
        os.remove(f"{folder}/out/{each}")
    ends[child.returncode] = ends.get(child.returncode, 0) + 1
    return words

for name, count in ("c-writer_rank00003", 30), ("python-writer", 20), ("gzip", 12), ("threads", 9), ("schema1", 9):
    data = open(f"{fixtures}/{name}.h5", "rb").read()
    for n in range(count):
        open(damaged, "wb").write(damage(data))
        used = os.times()
        words = run(name, n, "report", damaged)
        crashed += "HDF5 itself" in words
        run(name, n, "merge", "-o", output, damaged)
        skipped += "skipped: " in run(name, n, "merge", "--skip-bad", "-o", output, sound, damaged)
        now = os.times()
        seconds = now.children_user + now.children_system - used.children_user - used.children_system
        if seconds > 6:
            stop(name, n, f"three commands took {seconds:.1f} s of processor time")
if not crashed or not skipped or not ends.get(0) or not ends.get(1):
    stop("all", 0, f"too little happened: HDF5 failed over {crashed}, {skipped} were skipped, statuses {ends}")
print(f"statuses {ends}; HDF5 itself failed over {crashed}, {skipped} were skipped")
PYTHON
