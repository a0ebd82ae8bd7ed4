#!/usr/bin/python3
"""The tree of calls in a schema-2 profile, by parent_ids: one line "COUNT THREADS main > outer > inner" for each path.
THREADS is how many threads made them.

Usage: call_tree.py FILE.h5             prints it, sorted
       call_tree.py --expect FOLDER     for each NAME.expected in FOLDER, NAME.h5 there must be sound and have that tree: in any
                                        order, blank lines and indentation aside; a path may be a regular expression in
                                        slashes, which stands for all paths that match it. What differs goes to stdout;
                                        exit status 1
"""
import collections
import glob
import os
import re
import sys

import h5py

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check_profile  # noqa: E402


def tree(file):
    calls, counts, threads = {}, collections.Counter(), collections.defaultdict(set)
    with h5py.File(file) as f:
        rows = check_profile.load_columns(f)
    for (rank, name), call in rows.items():
        lanes = call.get("thread_ids", [0] * len(call["starts"]))
        for number, parent, thread in zip(call["call_ids"].tolist(), call["parent_ids"].tolist(), lanes):
            calls[rank, number] = (name, parent, int(thread))
    paths = {}
    for (rank, number), (name, parent, thread) in sorted(calls.items()):  # a parent's number is smaller
        path = name if parent < 0 else paths[rank, parent] + " > " + name
        paths[rank, number] = path
        counts[path] += 1
        threads[path].add((rank, thread))
    return sorted(f"{count} {len(threads[path])} {path}" for path, count in counts.items())


def differences(expected, found):
    """Lines that only one of the two has, the patterns taken as those that they match."""
    patterns = {line for line in expected if re.fullmatch(r"\d+ \d+ /.*/", line)}
    for line in patterns:
        count, threads, pattern = line.split(" ", 2)
        number = sum(1 for each in found if re.fullmatch(f"\\d+ \\d+ {pattern[1:-1]}", each))
        found = [each for each in found if not re.fullmatch(f"{count} {threads} {pattern[1:-1]}", each)]
        if number == 0:
            yield "missing: " + line
    for line in sorted(set(expected) - patterns - set(found)):
        yield "missing: " + line
    for line in sorted(set(found) - set(expected)):
        yield "not expected: " + line


def main():
    if sys.argv[1] != "--expect":
        print("\n".join(tree(sys.argv[1])))
        return
    wrong = 0
    for expectation in sorted(glob.glob(os.path.join(sys.argv[2], "*.expected"))):
        with open(expectation, encoding="utf-8") as f:
            expected = [line.strip() for line in f if line.strip()]
        file = expectation[: -len(".expected")] + ".h5"
        for line in check_profile.check(file) + list(differences(expected, tree(file))):
            print(f"{os.path.basename(file)}: {line[:300]}")
            wrong = 1
    sys.exit(wrong)


main()
