"""flushes.py: a session's flushes, asked for over spd's control socket, and what stands in the file after each."""
import json
import mmap
import os
import socket
import struct
import time

import h5py
import numpy as np

WORKERS = 3
COLUMNS = ("start_times", "end_times", "thread_ids", "call_ids", "parent_ids")
NESTED = ("request", "read", "work", "parse", "digest", "reply")
PARENTS = {"request": None, "read": "request", "work": "request", "parse": "work", "digest": "work", "reply": "request",
           "accept": None}


class Tally:
    """Requests that the service counted itself, after the last call of each had ended."""

    def __init__(self, path):
        with open(path, "rb") as handle:
            self.words = mmap.mmap(handle.fileno(), 64 * WORKERS, prot=mmap.PROT_READ)

    def finished(self):
        return sum(struct.unpack_from("<Q", self.words, 64 * worker)[0] for worker in range(WORKERS))


class Control:
    def __init__(self, runtime):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(os.path.join(runtime, "control"))
        self.lines = self.socket.makefile("r", encoding="utf-8")

    def flush(self, session):
        """The files, and how many ns it took."""
        start = time.monotonic_ns()
        self.socket.sendall(json.dumps({"v": 1, "id": start, "op": "flush", "session": session}).encode() + b"\n")
        reply = json.loads(self.lines.readline())
        if not reply.get("ok") or reply["id"] != start or reply["dropped"]:
            raise ValueError(f"flush: {reply}")
        return reply["files"], time.monotonic_ns() - start


def counts(path, deep=False):
    """Calls of each region. ValueError where the file is not whole; deep: parents, too."""
    with h5py.File(path, "r") as f:
        names = [name.decode() for name in f["region_table/names"][()]]
        index, events = f["rank_region_index"], f["events"]
        offsets, lengths = index["event_offsets"][()].astype("i8"), index["event_counts"][()].astype("i8")
        columns = {name: events[name][()] for name in COLUMNS}
        found = {names[region]: int(length) for region, length in zip(index["region_ids"][()], lengths)}
        threads = set(f["thread_table/index"][()].tolist())
    total = int(lengths.sum())
    if any(len(column) != total for column in columns.values()) or \
            not np.array_equal(offsets, np.concatenate([[0], np.cumsum(lengths)[:-1]])):
        raise ValueError(f"{path}: columns and rows do not fit")
    if np.any(columns["end_times"] < columns["start_times"]) or np.any(columns["start_times"] <= 0):
        raise ValueError(f"{path}: a call ends before it begins")
    for offset, length in zip(offsets, lengths):
        if np.any(np.diff(columns["start_times"][offset:offset + length]) < 0):
            raise ValueError(f"{path}: starts do not ascend")
    if len(np.unique(columns["call_ids"])) != total or not set(columns["thread_ids"].tolist()) <= threads:
        raise ValueError(f"{path}: a call stands twice, or is nobody's")
    if deep:
        check_parents(path, columns, [names[region] for region in index_regions(path)], offsets, lengths)
    return found


def index_regions(path):
    with h5py.File(path, "r") as f:
        return f["rank_region_index/region_ids"][()].tolist()


def check_parents(path, columns, names, offsets, lengths):
    """Each call lies where the program made it, in its own thread; what is around it may still be open."""
    row = np.repeat(np.arange(len(names)), lengths)
    order = np.argsort(columns["call_ids"])
    ids = columns["call_ids"][order]
    parents = columns["parent_ids"]
    place = order[np.minimum(np.searchsorted(ids, parents), len(ids) - 1)]
    has = parents != -1
    if np.any(columns["call_ids"][place[has]] != parents[has]):
        raise ValueError(f"{path}: a parent is not there")
    if np.any(columns["thread_ids"][place[has]] != columns["thread_ids"][has]):
        raise ValueError(f"{path}: a parent is another thread's call")
    for number, name in enumerate(names):
        around = {names[row[at]] for at in place[has & (row == number)]}
        if not around <= {PARENTS[name]}:
            raise ValueError(f"{path}: {name} lies in {around}")
