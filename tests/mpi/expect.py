#!/usr/bin/python3
"""expect.py SOURCE PROFILE[:TAG]...: each PROFILE is sound, and every region of it whose name begins with MPI_ is as
often called in each rank as the lines "expect: NAME N" of SOURCE say (or N for each of the ranks 0, 1, 2 and 3), and
none is missing; with TAG the lines "expect-TAG:" count too."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import check_profile  # noqa: E402



def compare(profile, expected):
    calls, _ = check_profile.load(profile)
    got = {(rank, name): len(call["starts"]) for (rank, name), call in calls.items() if name.startswith("MPI_")}
    wrong = check_profile.check(profile)
    for name in sorted(set(expected) | {name for _, name in got}):
        counts = expected.get(name, [0])
        for rank in range(4):
            want, have = counts[rank % len(counts)], got.get((rank, name), 0)
            if want != have:
                wrong.append(f"{name}: {have} calls of rank {rank}, not {want}")
    if {rank for rank, _ in calls} != {0, 1, 2, 3}:
        wrong.append(f"ranks {sorted({rank for rank, _ in calls})}")
    print("\n".join(f"{profile}: {line}" for line in wrong) if wrong else
          f"{os.path.basename(profile)}: {len(expected)} functions, {sum(got.values())} calls")
    return not wrong


with open(sys.argv[1], encoding="utf-8") as lines:
    found = re.findall(r"expect(?:-(\w+))?: (MPI_\w+)((?: \d+)+)", lines.read())
good = True
for path, _, only in (argument.partition(":") for argument in sys.argv[2:]):
    good &= compare(path, {name: [int(n) for n in counts.split()] for tag, name, counts in found if tag in ("", only)})
sys.exit(not good)
