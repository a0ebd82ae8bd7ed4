#!/usr/bin/python3
"""Runs a command on a terminal of its own and types there.

Usage: keys.py WHEN KEYS COMMAND [ARGUMENT]...

WHEN is a text that the terminal shows, or a number of seconds; KEYS are letters with Ctrl, typed then. What the command
prints goes to stdout. The exit status is the command's, 128 + the signal's number where one ended it, 99 after a minute.
"""
import os
import pty
import select
import sys
import time


def main():
    when, keys, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    start, shown, typed = time.monotonic(), b"", False
    while time.monotonic() - start < 60:
        ready, _, _ = select.select([terminal], [], [], 0.05)
        if ready:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                break
            if not data:
                break
            shown += data
        due = time.monotonic() - start >= float(when) if when.replace(".", "").isdigit() else when.encode() in shown
        if due and not typed:
            typed = True
            for key in keys:
                os.write(terminal, bytes([ord(key) & 31]))
    else:
        os.kill(pid, 9)
    sys.stdout.write(shown.decode("utf-8", "replace").replace("\r", ""))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.exit(99 if time.monotonic() - start >= 60 else 128 - status if status < 0 else status)


main()
