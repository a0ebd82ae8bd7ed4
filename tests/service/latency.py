#!/usr/bin/python3
"""latency.py RUNTIME SESSION LATENCIES LOAD... : what a service's clients notice of flushes.

Runs the load generator LOAD, and meanwhile lets phases of half a second take turns: no flush, ten flushes a second, no
flush, one flush after another. LATENCIES is what the load generator writes: each request's start and time. A request
belongs to the phase that it began in. Prints p50 and p99 of each kind of phase, all its phases taken together, and the
ratio to the phases without flushes right before. Never fails by time.
"""
import subprocess
import sys
import time

import numpy as np

from flushes import Control

PHASE_S, ROUNDS, WARM_S = 0.5, 15, 1.0
KINDS = (("not flushed", None), ("10 flushes/s", 0.1), ("not flushed", None), ("flush after flush", 0.0))


def phase(control, session, period):
    """Its begin and end, and how many flushes there were."""
    begin, flushes = time.monotonic_ns(), 0
    end = begin + int(PHASE_S * 1e9)
    while (now := time.monotonic_ns()) < end:
        if period is None:
            time.sleep((end - now) / 1e9)
            continue
        control.flush(session)
        flushes += 1
        due = begin + int(flushes * period * 1e9)
        time.sleep(max(0, min(due, end) - time.monotonic_ns()) / 1e9)
    return begin, time.monotonic_ns(), flushes


def main(runtime, session, latencies, *load):
    with subprocess.Popen(load) as generator:
        time.sleep(WARM_S)
        control = Control(runtime)
        phases = [(kind, *phase(control, session, period)) for _ in range(ROUNDS) for kind, period in KINDS]
        generator.terminate()
    if generator.returncode:
        return 1
    begun, took = np.fromfile(latencies, dtype="<i8").reshape(-1, 2).T
    parts = [took[(begun >= begin) & (begun < end)] for _, begin, end, _ in phases]
    for kind in ("not flushed", "10 flushes/s", "flush after flush"):
        chosen = [n for n, (other, *_) in enumerate(phases) if other == kind]
        p50, p99 = np.percentile(np.concatenate([parts[n] for n in chosen]), (50, 99)) / 1e3
        line = f"{kind:18} {sum(len(parts[n]) for n in chosen):7} requests  p50 {p50:7.1f} us  p99 {p99:7.1f} us"
        if kind != "not flushed":
            before = np.percentile(np.concatenate([parts[n - 1] for n in chosen]), (50, 99)) / 1e3
            flushes = sum(phases[n][3] for n in chosen)
            line += f"  ratio p50 {p50 / before[0]:.3f}, p99 {p99 / before[1]:.3f}; {flushes} flushes"
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
