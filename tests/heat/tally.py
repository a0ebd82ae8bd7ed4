#!/usr/bin/python3
"""tally.py PROFILE PREFIX RANKS: is every step that the ranks of heat counted themselves in the profile, and no other?

A rank counts a step just after it has ended, so one that was killed in between has one step more in its profile.
Prints one line of what was compared; exits 1 where something differs.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import check_profile  # noqa: E402


def main(profile, prefix, ranks):
    calls, _ = check_profile.load(profile)

    def count(rank, region):
        return len(calls[rank, region]["starts"]) if (rank, region) in calls else 0

    found, steps = [], 0
    for rank in range(ranks):
        with open(f"{prefix}.{rank}", "rb") as handle:
            counted = struct.unpack("<Q", handle.read(8))[0]
        step = count(rank, "step")
        steps += step
        if not counted <= step <= counted + 1:
            found.append(f"rank {rank} counted {counted} finished steps, its profile holds {step}")
        # Inside a step that was cut short, what had ended is there too.
        for region in ("halo exchange", "post", "MPI_Waitall", "solve"):
            if not step <= count(rank, region) <= step + 1:
                found.append(f"rank {rank}: {count(rank, region)} calls of {region!r} in {step} steps")
        if not step // 10 <= count(rank, "residual") <= step // 10 + 1:
            found.append(f"rank {rank}: {count(rank, 'residual')} calls of 'residual' in {step} steps")
    for complaint in found:
        print(complaint)
    if not found:
        print(f"{steps} steps of {ranks} ranks, each as often in the profile as the ranks counted themselves")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
