#!/usr/bin/python3
"""flushed.py RUNTIME SESSION TALLY N SPCTL: flushes N times and looks at the file each time.
flushed.py RUNTIME SESSION TALLY last FILE CONNECTIONS: does the last file hold exactly what the service counted?"""
import concurrent.futures
import os
import subprocess
import sys
import time

from flushes import NESTED, WORKERS, Control, Tally, counts

SPCTL_EVERY = 100


def look_at(number, path, before, after):
    """A file that nobody writes to any more: what was asked for by one flush. Removes it."""
    found = counts(path, deep=number % 20 == 0)
    for region in NESTED:
        calls = found.get(region, 0)
        if not before <= calls <= after + WORKERS:
            raise ValueError(f"flush {number}: {calls} calls of {region}; {before} had ended before, {after} after")
    os.unlink(path)
    return sum(found.values())


def flush_often(runtime, session, tally, times, spctl):
    control, took, looks, began = Control(runtime), [], [], time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(1) as looker:
        for number in range(times):
            before = tally.finished()
            if number % SPCTL_EVERY == 0:
                done = subprocess.run([spctl, "flush", session], capture_output=True, text=True, check=True)
                files = done.stdout.split()
                subprocess.run([spctl, "check", *files], capture_output=True, check=True)
            else:
                files, ns = control.flush(session)
                took.append(ns / 1e6)
            if len(files) != 1:
                raise ValueError(f"flush {number}: {len(files)} files, not 1")
            if files[0].endswith(".h5"):  # else no second thread has called anything yet
                kept = os.path.join(runtime, f"flush-{number}.h5")
                os.link(files[0], kept)  # the next flush puts another file in its place
                looks.append(looker.submit(look_at, number, kept, before, tally.finished()))
                while len(looks) > 50 and not looks[-50].done():
                    time.sleep(0.001)
        sizes = [look.result() for look in looks]
    took.sort()
    if len(sizes) < times * 0.9 or sizes[-1] <= sizes[0]:
        raise ValueError(f"{len(sizes)} of {times} flushes found calls of threads")
    print(f"{times} flushes in {time.monotonic() - began:.1f} s, each file whole; a flush takes "
          f"{took[len(took) // 2]:.1f} ms (median), {took[-1]:.1f} ms (most); {sizes[-1]} calls in the last")


def look_at_last(tally, path, connections):
    found, finished = counts(path, deep=True), tally.finished()
    if found != {"accept": connections, **dict.fromkeys(NESTED, finished)}:
        raise ValueError(f"the service finished {finished} requests, the last file holds {found}")
    print(f"the last file holds each of {finished} requests, and {connections} accepts, once")


def main(runtime, session, tally, times, *rest):
    try:
        if times == "last":
            look_at_last(Tally(tally), rest[0], int(rest[1]))
        else:
            flush_often(runtime, session, Tally(tally), int(times), rest[0])
    except (OSError, ValueError, KeyError, subprocess.CalledProcessError) as error:
        print(f"{type(error).__name__}: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
