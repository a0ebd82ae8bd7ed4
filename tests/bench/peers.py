#!/usr/bin/python3
"""peers.py PROGRAM [--json]: runs bench-peers under a private session daemon of LTTng, whose sub-buffers hold every event,
and prints what a pair takes beside libsp's. Exit status 77 where LTTng is not there. Never fails by time.

Root's daemon always uses /run/lttng: it gets a /run of its own, in a mount namespace that ends with this process.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time


def lttng(*arguments):
    result = subprocess.run(["lttng", "--no-sessiond", *arguments], capture_output=True, text=True, timeout=60)
    if result.returncode:
        raise OSError(f"lttng {' '.join(arguments)}: {(result.stderr or result.stdout).strip()}")
    return result.stdout


def trace(program, folder):
    """Runs the program; what it printed, and the events that LTTng discarded."""
    lttng("create", "peers", "--output", os.path.join(folder, "trace"))
    lttng("enable-channel", "--userspace", "--session", "peers", "--subbuf-size", "8M", "--num-subbuf", "8", "events")
    lttng("enable-event", "--userspace", "--session", "peers", "--channel", "events", "sp_bench:*")
    lttng("start", "peers")
    result = subprocess.run([program], capture_output=True, text=True, timeout=200)
    if result.returncode:
        raise OSError(f"{program} ended with status {result.returncode}: {result.stderr.strip()}")
    lttng("stop", "peers")
    discarded = re.findall(r"[Dd]iscarded events: (\d+)", lttng("list", "peers"))
    lttng("destroy", "peers")
    return json.loads(result.stdout), sum(map(int, discarded)) if discarded else None


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--json"]
    as_json = "--json" in sys.argv
    if not arguments or not shutil.which("lttng-sessiond") or not shutil.which("lttng"):
        print("skipped: LTTng was not there when this was built, or is not now: apt-get install lttng-tools liblttng-ust-dev")
        return 77
    if os.geteuid() == 0 and "SP_BENCH_PEERS_INSIDE" not in os.environ:
        inside = dict(os.environ, SP_BENCH_PEERS_INSIDE="1")
        os.execvpe("unshare", ["unshare", "--mount", sys.executable, *sys.argv], inside)
    if os.geteuid() == 0:
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    with tempfile.TemporaryDirectory(prefix="sp-peers-") as folder:
        os.environ.update(LTTNG_HOME=folder, HOME=folder, LTTNG_UST_REGISTER_TIMEOUT="-1")
        with open(os.path.join(folder, "sessiond.log"), "wb") as log:
            daemon = subprocess.Popen(["lttng-sessiond", "--no-kernel", "--quiet"], stdout=log, stderr=log)
        try:
            for _ in range(100):
                if subprocess.run(["lttng", "--no-sessiond", "list"], capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)
            report, discarded = trace(os.path.abspath(arguments[0]), folder)
        finally:
            daemon.terminate()
            daemon.wait()
    report["discarded"] = discarded
    if as_json:
        print(json.dumps(report))
    else:
        print(f"{'a pair':30} {'ns':>9} {'to libsp':>9}")
        for row in report["rows"]:
            print(f"{row['name']:30} {row['ns']:9.2f} {row['to_libsp']:9.3f}")
        print(f"LTTng discarded {'an unknown number' if discarded is None else discarded} of {report['tracepoints']} events")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        print(f"peers.py: {error}", file=sys.stderr)
        sys.exit(1)
