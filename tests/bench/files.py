#!/usr/bin/python3
"""files.py BUILD WHAT [--json FILE] [--runs N] [--folder DIR]: what files cost, beside a limit measured in the same run.

  flush    spctl flush of 8 ranks of 1,000,000 calls, beside cp of the files that it publishes
  merge    spctl merge of 64 ranks of 1,000,000 calls over 5 regions, beside cp -r of the inputs
  gzip     the same with --compress gzip:1, beside HDF5's own filters over the same columns in one thread
  report   spctl report of a profile of 64,000,000 calls with summaries, beside spctl --version

Both sides take turns, N times (5). Prints the least and the median of wall and CPU time (user and system, of all threads;
of a flush: spd's) of each side and the ratios of both; the last line is their summary. Never fails by time.
"""
import argparse
import glob
import json
import os
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import h5py
import numpy

REGIONS, SEED, CHUNK = 5, 3, 65536


def make_traces(folder, ranks, calls):
    """Five regions, each call of one inside a call of the one before."""
    os.mkdir(folder)
    random, each = numpy.random.default_rng(SEED), calls // REGIONS
    for rank in range(ranks):
        with open(f"{folder}/p_rank{rank:05d}.spt", "wb") as file:
            file.write(b"SCOPEPRF" + struct.pack("<iiq", 2, rank, REGIONS))
            outer = 10**15 + numpy.cumsum(random.integers(1000, 2000, each))
            for region in range(REGIONS):
                starts = outer + 40 * region + random.integers(0, 20, each)
                ends = outer + 900 - 40 * region + random.integers(0, 20, each)
                file.write(struct.pack("<i", 7) + b"region%d" % region + struct.pack("<iiq", 0, -1, each))
                file.write(starts.astype("<i8").tobytes() + ends.astype("<i8").tobytes())


def seconds_of(process_id):
    """CPU time of a running process, all threads."""
    with open(f"/proc/{process_id}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def timed(work, process_id=None):
    """Wall and CPU seconds of what `work` runs: of its children, or of the process that works for it."""
    def cpu():
        if process_id:
            return seconds_of(process_id)
        usage = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
        return sum(part.ru_utime + part.ru_stime for part in usage)
    cpu_before, begun = cpu(), time.monotonic()
    work()
    return time.monotonic() - begun, cpu() - cpu_before


def run(*command, **more):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **more)


def remove(*paths):
    for path in paths:
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)


def take_turns(runs, ours, limit, clean, process_id=None):
    sides = {"ours": [], "limit": []}
    for _ in range(runs):
        clean()
        sides["limit"].append(timed(limit))
        clean()
        sides["ours"].append(timed(ours, process_id))
    clean()
    return sides


class Bench:
    def __init__(self, arguments, folder):
        self.runs, self.folder, self.build = arguments.runs, folder, os.path.abspath(arguments.build)
        self.spctl = os.path.join(self.build, "spctl/spctl")
        self.inputs, self.output = self.path("in"), self.path("out.h5")

        self.started = []

    def end(self):
        for process in reversed(self.started):
            if process.stdin:
                process.stdin.close()
            else:
                process.terminate()
            process.wait()

    def path(self, name):
        return os.path.join(self.folder, name)

    def flush(self):
        """Ranks that made their calls and wait; each flush publishes all of them again."""
        ranks, iterations, session = 8, 250000, f"bench-flush-{os.getpid()}"
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SP_")}
        environment.update(SP_FULL_WAIT="60000000", SP_SESSION=session, SP_DATA_DIR=self.path("data"), SP_RUNTIME_DIR=self.path("run"))
        os.mkdir(self.path("run"), 0o700)
        with open(self.path("spd.log"), "wb") as log:
            spd = subprocess.Popen([os.path.join(self.build, "spd/spd"), "--session", session], env=environment,
                                   stderr=log)
        while not os.path.exists(self.path("run/control")):
            time.sleep(0.01)
        work = os.path.join(self.build, "tests/integration/work")
        self.started.append(spd)
        for rank in range(ranks):
            self.started.append(subprocess.Popen([work, "-r", str(rank), "-n", str(iterations), "-e", "wait", "bench"],
                                             env=environment, cwd=self.folder, stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE))
            self.started[-1].stdout.readline()  # one after another, so that no ring overflows
        files = self.path(f"data/{session}/*.spt")
        run(self.spctl, "flush", session, env=environment)
        sides = take_turns(self.runs, lambda: run(self.spctl, "flush", session, env=environment),
                           lambda: (os.mkdir(self.path("copy")), run("cp", *glob.glob(files), self.path("copy"))),
                           lambda: remove(self.path("copy")), spd.pid)
        size = sum(map(os.path.getsize, glob.glob(files)))
        return sides, size, ranks * iterations * 4, "spctl flush", "cp"

    def merge(self, *more):
        make_traces(self.inputs, 64, 1000000)
        run("cp", "-r", self.inputs, self.path("copy"))
        sides = take_turns(self.runs, lambda: run(self.spctl, "merge", self.inputs, "-o", self.output, *more),
                           lambda: run("cp", "-r", self.inputs, self.path("copy")),
                           lambda: remove(self.output, self.path("copy")))
        return sides, 64 * 16000000, 64000000, "spctl merge", "cp -r"

    def gzip(self):
        make_traces(self.inputs, 64, 1000000)
        run(self.spctl, "merge", self.inputs, "-o", self.path("plain.h5"))
        with h5py.File(self.path("plain.h5")) as file:
            columns = {name: file["events"][name][()] for name in ("start_times", "end_times")}
        remove(self.path("plain.h5"))

        def filters():
            with h5py.File(self.path("peer.h5"), "w") as file:
                for name, values in columns.items():
                    file.create_dataset(name, data=values, chunks=(CHUNK,), shuffle=True, compression="gzip",
                                        compression_opts=1)
            sizes["peer"] = os.path.getsize(self.path("peer.h5"))

        def ours():
            run(self.spctl, "merge", self.inputs, "-o", self.output, "--compress", "gzip:1")
            sizes["ours"] = os.path.getsize(self.output)
        sizes = {}
        sides = take_turns(min(self.runs, 3), ours, filters, lambda: remove(self.output, self.path("peer.h5")))
        print(f"bytes: ours {sizes['ours']:,}, HDF5's filters {sizes['peer']:,}")
        return sides, 64 * 16000000, 64000000, "spctl merge gzip:1", "HDF5's filters"

    def report(self):
        make_traces(self.inputs, 64, 1000000)
        run(self.spctl, "merge", self.inputs, "-o", self.output)
        sides = take_turns(max(self.runs, 9), lambda: run(self.spctl, "report", self.output),
                           lambda: run(self.spctl, "--version"), lambda: None)
        return sides, os.path.getsize(self.output), 64000000, "spctl report", "spctl --version"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build")
    parser.add_argument("what", choices=("flush", "merge", "gzip", "report"))
    parser.add_argument("--json")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="sp-bench-", dir=arguments.folder)
    bench = Bench(arguments, folder)
    try:
        sides, size, calls, ours, limit = getattr(bench, arguments.what)()
    finally:
        bench.end()
        shutil.rmtree(folder)
    figures = {"benchmark": arguments.what, "ours": ours, "limit": limit, "calls": calls, "bytes": size}
    for side, name in (("ours", ours), ("limit", limit)):
        for kind, values in zip(("wall", "cpu"), zip(*sides[side])):
            figures[f"{side}_{kind}_s"] = {"least": min(values), "median": statistics.median(values)}
        wall, cpu = figures[f"{side}_wall_s"], figures[f"{side}_cpu_s"]
        print(f"{name:20} wall least {wall['least']:7.3f} s, median {wall['median']:7.3f} s   "
              f"CPU least {cpu['least']:7.3f} s, median {cpu['median']:7.3f} s   "
              f"{wall['least'] * 1e9 / calls:6.2f} ns a call")
    for kind in ("wall", "cpu"):
        figures[f"ratio_{kind}"] = {how: figures[f"ours_{kind}_s"][how] / (figures[f"limit_{kind}_s"][how] or 1e-9)
                                    for how in ("least", "median")}
    print("ratio: wall least {least:.2f}, median {median:.2f}".format(**figures["ratio_wall"]),
          "CPU least {least:.2f}, median {median:.2f}".format(**figures["ratio_cpu"]), sep="; ")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
