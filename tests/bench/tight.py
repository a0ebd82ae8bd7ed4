#!/usr/bin/python3
"""tight.py BUILD [--json]: 60 million calls in one loop under spd on the other core: calls a second, what was lost, and how
many bytes of spool each call took. Three runs; the median one is shown. Never fails by time."""
import json
import os
import subprocess
import sys
import tempfile
import time

BUILD, CALLS, RUNS = sys.argv[1], 60_000_000, 3
MUST = {"rate": 20e6, "lost": 0, "bytes": 8}
ENVIRONMENT = {**os.environ, "LD_LIBRARY_PATH": f"{BUILD}/libsp/record:{BUILD}/libsp/io"}


def run(folder, number):
    session = f"bench-tight-{os.getpid()}-{number}"
    environment = {**ENVIRONMENT, "SP_DATA_DIR": f"{folder}/data", "SP_RUNTIME_DIR": f"{folder}/run", "SP_SESSION": session}
    spd = subprocess.Popen([f"{BUILD}/spd/spd", "--session", session], env=environment, stderr=subprocess.DEVNULL)
    while not os.path.exists(f"{folder}/run/control"):
        time.sleep(0.05)
    work = subprocess.Popen([f"{BUILD}/tests/integration/work", "-n", str(CALLS // 4), "-e", "wait", "tight"], env=environment,
                            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    seconds = int(work.stdout.readline().split()[3]) / 1000
    listed = {"undrained": 1}
    while listed["undrained"]:
        time.sleep(0.3)
        said = subprocess.run([f"{BUILD}/spctl/spctl", "list", "--json"], env=environment, capture_output=True, check=True)
        listed = json.loads(said.stdout)["sessions"][0]
    spool = sum(entry.stat().st_size for entry in os.scandir(f"{folder}/data/{session}") if entry.name.endswith(".spool"))
    for process in (spd, work):  # what was recorded is spooled: it need not be published
        process.kill()
        process.wait()
    for name in os.listdir("/dev/shm"):
        if session in name:
            os.unlink(f"/dev/shm/{name}")
    return {"seconds": seconds, "rate": CALLS / seconds, "lost": listed["dropped"], "bytes": spool / CALLS}


with tempfile.TemporaryDirectory() as scratch:
    runs = []
    for n in range(RUNS):
        place = f"{scratch}/{n}"
        for part in ("", "/data", "/run"):
            os.mkdir(place + part, 0o700)
        runs.append(run(place, n))
median = sorted(runs, key=lambda one: one["rate"])[RUNS // 2]
median["lost"] = max(one["lost"] for one in runs)
if "--json" in sys.argv:
    print(json.dumps({"tight": median, "must": MUST}))
else:
    print(f"{CALLS:,} calls in one loop, spd beside it     must")
    print(f"million calls a second   {median['rate'] / 1e6:10.1f} {MUST['rate'] / 1e6:12.1f}")
    print(f"lost                     {median['lost']:10} {MUST['lost']:12}")
    print(f"bytes of spool a call    {median['bytes']:10.2f} {MUST['bytes']:12}")
