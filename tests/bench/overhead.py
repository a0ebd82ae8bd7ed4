#!/usr/bin/python3
"""overhead.py BUILD [RUNS]: what recording costs whole programs: the heat solver (tests/heat, one rank, 400 x 400
cells) and the service (tests/service) with four clients that ask as fast as they are answered.

Four ways take turns, RUNS times (10): the same source without any call; all calls made under SP_DISABLE=1; recorded
without spd; recorded under spd. Prints the CPU time (user and system) and the wall time of the whole process, from exec
to exit, and the ratio to the way without calls of the same turn: median, and in brackets the least and the most. The
CPU time is the figure to look at where other work shares the machine. Never fails by time.
"""
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STEPS, SIZE, CONNECTIONS, REQUESTS = 4000, 400, 4, 15000
WAYS = ("without calls", "SP_DISABLE=1", "recorded, no spd", "recorded, spd")


class Place:
    """Folders of this run, and the environment for each way."""

    def __init__(self, build, folder):
        self.build, self.folder, self.serial = build, folder, 0
        for name in ("data", "run", "here"):
            os.mkdir(os.path.join(folder, name), 0o700)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def environment(self, way):
        self.serial += 1
        clean = {key: value for key, value in os.environ.items() if not key.startswith("SP_")}
        clean.update(SP_SESSION=f"overhead-{os.getpid()}-{self.serial}", SP_DATA_DIR=self.path("data"),
                     SP_RUNTIME_DIR=self.path("run"), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        if way == "SP_DISABLE=1":
            clean["SP_DISABLE"] = "1"
        return clean


class Daemon:
    def __init__(self, place):
        log = open(place.path("spd.log"), "ab")
        self.process = subprocess.Popen(
            [os.path.join(place.build, "spd/spd"), "--data-dir", place.path("data"), "--runtime-dir", place.path("run"),
             "--session", f"overhead-{os.getpid()}-*"], stderr=log, stdout=log)
        while not os.path.exists(place.path("run", "control")):
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def wait_for(process, begun):
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise OSError(f"{process.args[0]} ended with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begun


def run_heat(place, way):
    program = place.path("heat-bare" if way == WAYS[0] else "heat")
    begun = time.monotonic()
    process = subprocess.Popen([program, "--steps", str(STEPS), "--size", str(SIZE)], cwd=place.path("here"),
                               env=place.environment(way), stdout=subprocess.DEVNULL)
    return wait_for(process, begun)


def run_service(place, way):
    folder = os.path.join(place.build, "tests/service")
    at, begun = place.path("socket"), time.monotonic()
    process = subprocess.Popen([os.path.join(folder, "service-bare" if way == WAYS[0] else "service"), at,
                                place.path("tally")], cwd=place.path("here"), env=place.environment(way))
    while not os.path.exists(at):
        time.sleep(0.001)
    subprocess.run([os.path.join(folder, "load"), at, str(CONNECTIONS), str(REQUESTS), "0"], check=True)
    process.send_signal(signal.SIGTERM)
    spent = wait_for(process, begun)
    os.unlink(at)
    return spent


def compile_heat(place):
    if not shutil.which("mpicc"):
        return False
    source, libsp = os.path.join(ROOT, "tests/heat/heat.c"), os.path.join(place.build, "libsp/record")
    command = ["mpicc", "-std=c17", "-D_GNU_SOURCE", "-O2", "-o"]
    subprocess.run([*command, place.path("heat"), "-I", os.path.join(ROOT, "libsp"), source, "-L", libsp,
                    f"-Wl,-rpath,{libsp}", "-lsp", "-lm"], check=True)
    subprocess.run([*command, place.path("heat-bare"), "-I", os.path.join(ROOT, "tests/bench/bare"), source, "-lm"],
                   check=True)
    return True


def turn(place, run):
    spent = {}
    for way in WAYS:
        if way == WAYS[3]:
            with Daemon(place):
                spent[way] = run(place, way)
        else:
            spent[way] = run(place, way)
    return spent


def spread(values, form):
    return f"{statistics.median(values):{form}} [{min(values):{form}}, {max(values):{form}}]"


def measure(name, place, run, runs):
    turn(place, run)  # files are in memory from now on
    turns = [turn(place, run) for _ in range(runs)]
    print(f"\n{name}, {runs} turns")
    for way in WAYS:
        columns = []
        for kind in (0, 1):
            columns.append(spread([t[way][kind] for t in turns], ".3f") + " s")
            columns.append(spread([t[way][kind] / t[WAYS[0]][kind] for t in turns], ".3f"))
        print(f"{way:18} CPU {columns[0]:26} ratio {columns[1]:23}  wall {columns[2]:26} ratio {columns[3]}")


def main(build, runs="10"):
    print(f"load {open('/proc/loadavg', encoding='ascii').read().split()[0]}, {os.cpu_count()} processors, clocksource",
          open("/sys/devices/system/clocksource/clocksource0/current_clocksource", encoding="ascii").read().strip())
    with tempfile.TemporaryDirectory() as folder:
        place = Place(os.path.abspath(build), folder)
        if compile_heat(place):
            measure(f"heat solver, {STEPS} steps of {SIZE} x {SIZE} cells", place, run_heat, int(runs))
        else:
            print("heat solver: left out: mpicc is not installed")
        measure(f"service, {CONNECTIONS} clients, {CONNECTIONS * REQUESTS} requests", place, run_service, int(runs))
    print(f"\nload {open('/proc/loadavg', encoding='ascii').read().split()[0]} at the end")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
