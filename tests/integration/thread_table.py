#!/usr/bin/python3
"""thread_table.py QUESTIONS: asks profiles what stands in QUESTIONS, one question a line, and names the first that is
answered wrongly.

ended|alive FILE TRUTH: does the profile say of each thread what the thread said of itself? ended: the threads have an
end; alive: they have none, and what they used so far.
around FILE REGION=COUNT@PARENT...: so many calls of the region lie directly in PARENT ("-" for none; "*" for any), each
in its own thread; and no others. The file is sound besides."""
import os
import sys

import h5py
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import check_profile  # noqa: E402

COLUMNS = ("start_times", "end_times", "thread_ids", "call_ids", "parent_ids")
CPU_SHARE, CPU_NS = 0.05, 6_000_000  # of CPU time; the kernel may count a tick of 4 ms late


def rows(path):
    with h5py.File(path, "r") as f:
        names = [name.decode() for name in f["region_table/names"][()]]
        index, events = f["rank_region_index"], f["events"]
        region = np.repeat(index["region_ids"][()], index["event_counts"][()].astype("i8"))
        columns = {name: events[name][()] for name in COLUMNS}
        table = {name: f["thread_table"][name][()] for name in ("index", "native_id", "start_ns", "end_ns", "cpu_ns")}
        table["name"] = [name.decode() for name in f["thread_table/name"][()]]
        return names, region, columns, table, int(f["metadata"].attrs["start_time_ns"])


def compare(path, truth, ended):
    _, _, columns, table, origin = rows(path)
    for line in open(truth, encoding="utf-8"):
        native, name, first, last, cpu = [int(word) if word.isdigit() else word for word in line.split()]
        at = [row for row, number in enumerate(table["native_id"]) if number == native]
        if len(at) != 1:
            raise ValueError(f"thread {native} stands {len(at)} times in the table")
        row = at[0]
        mine = columns["thread_ids"] == table["index"][row]
        start, end = int(table["start_ns"][row]) + origin, int(table["end_ns"][row])
        starts, ends = columns["start_times"][mine], columns["end_times"][mine]
        if table["name"][row] != name:
            raise ValueError(f"thread {native} is called '{table['name'][row]}', not '{name}'")
        # Two clocks that are read one after the other: some are converted ticks.
        if not (first - 2000 <= starts.min() and ends.max() <= last + 2000 and start <= starts.min()):
            raise ValueError(f"'{name}' begins at {start}, its calls are of {starts.min()} to {ends.max()}; by its own "
                             f"clock of {first} to {last}")
        if ended != (end >= 0) or (ended and end + origin < ends.max()):
            raise ValueError(f"'{name}' ends at {end}; its last call at {ends.max() - origin}")
        if not -CPU_NS <= int(table["cpu_ns"][row]) - cpu <= CPU_NS + cpu * CPU_SHARE:
            raise ValueError(f"'{name}' used {table['cpu_ns'][row]} ns of a processor; by its own clock {cpu}")


def around(path, wanted):
    names, region, columns, _, _ = rows(path)
    place = {number: at for at, number in enumerate(columns["call_ids"].tolist())}
    found = {}
    for at, parent in enumerate(columns["parent_ids"].tolist()):
        above = "-"
        if parent != -1:
            above = names[region[place[parent]]]
            if columns["thread_ids"][place[parent]] != columns["thread_ids"][at]:
                raise ValueError(f"a call of {names[region[at]]} lies in another thread's call")
        for key in ((names[region[at]], above), (names[region[at]], "*")):
            found[key] = found.get(key, 0) + 1
    expected = {}
    for word in wanted:
        name, rest = word.split("=")
        count, parent = rest.split("@")
        expected[name, parent] = int(count)
        if found.get((name, parent), 0) != int(count):
            raise ValueError(f"{found.get((name, parent), 0)} calls of {name} lie in {parent}, not {count}")
    for name, parent in found:
        if parent != "*" and (name, parent) not in expected and (name, "*") not in expected:
            raise ValueError(f"{found[name, parent]} calls of {name} lie in {parent}, none should")


def ask(how, path, *rest):
    if how == "around":
        for complaint in check_profile.check(path):
            raise ValueError(complaint)
        around(path, rest)
    else:
        compare(path, rest[0], how == "ended")


def main(questions):
    for question in open(questions, encoding="utf-8"):
        try:
            ask(*question.split())
        except (OSError, ValueError, KeyError) as error:
            print(f"{question.split()[0]} {os.path.basename(question.split()[1])}: {type(error).__name__}: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
