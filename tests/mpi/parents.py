#!/usr/bin/python3
"""parents.py PROFILE REGION=PARENT:CALLS...: each rank has CALLS calls of REGION directly inside a call of PARENT ("-":
inside none), and no other calls of REGION."""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import check_profile  # noqa: E402

calls, _ = check_profile.load(sys.argv[1])
owner = {(rank, int(number)): name for (rank, name), call in calls.items() for number in call["call_ids"]}
found = {}
for (rank, name), call in calls.items():
    for parent in call["parent_ids"]:
        of = found.setdefault(name, {}).setdefault(rank, collections.Counter())
        of[owner[rank, int(parent)] if parent >= 0 else "-"] += 1
wrong, expected = [], {}
for argument in sys.argv[2:]:
    name, rest = argument.split("=")
    expected[name] = {parent: int(n) for parent, n in (pair.split(":") for pair in rest.split(","))}
for name, parents in expected.items():
    for rank in sorted({rank for rank, _ in calls}):
        have = dict(found.get(name, {}).get(rank, {}))
        if have != parents:
            wrong.append(f"{name} of rank {rank}: inside {have}, not {parents}")
print("\n".join(wrong))
sys.exit(bool(wrong))
