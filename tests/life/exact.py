#!/usr/bin/python3
"""exact.py LIST: are the profiles sound, and do they hold what LIST says? A line of it: FILE<tab>WHAT<tab>NUMBER, where
WHAT is a region, whose calls over all ranks are meant, @KEY for a metadata attribute, or %ranks for how many ranks
there are. Loading h5py takes longer than all of it, so many files are one run."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import check_profile  # noqa: E402

seen, wrong, checked = {}, 0, 0
with open(sys.argv[1], encoding="utf-8") as lines:
    for line in lines:
        path, what, number = line.rstrip("\n").split("\t")
        if path not in seen:
            if path.endswith(".h5"):
                problems = check_profile.check(path)
                if problems:
                    print(f"{path} is not sound: {problems}")
                    wrong += 1
            calls, metadata = check_profile.load(path)
            totals = {}
            for (_, region), entry in calls.items():
                totals[region] = totals.get(region, 0) + len(entry["starts"])
            seen[path] = (totals, metadata, {rank for rank, _ in calls})
        totals, metadata, ranks = seen[path]
        if what.startswith("@"):
            found = metadata.get(what[1:], 0)
        elif what == "%ranks":
            found = len(ranks)
        else:
            found = totals.get(what, 0)
        checked += 1
        if int(found) != int(number):
            print(f"{path}: {what} is {found}, not {number}")
            wrong += 1
sys.exit(1 if wrong or not checked else 0)
