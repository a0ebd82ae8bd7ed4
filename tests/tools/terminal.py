#!/usr/bin/python3
"""Programs on a terminal of their own.

Usage: terminal.py type SECONDS COMMAND... <SCRIPT   each line of the script, TEXT<tab>REGEX, is typed (python escapes), and
                                                     then the regex must appear on the screen in so many seconds
       terminal.py show COMMAND...                   prints all that the command writes to its terminal, as repr; its
                                                     status is the command's
"""
import os
import pty
import re
import select
import sys
import time


def spawn(command):
    pid, fd = pty.fork()
    if not pid:
        os.environ["TERM"] = "xterm"
        os.execvp(command[0], command)
    return pid, fd


def read(fd, until):
    """What comes until a time; None at the end."""
    if not select.select([fd], [], [], max(0, until - time.monotonic()))[0]:
        return ""
    try:
        return os.read(fd, 65536).decode("utf-8", "replace") or None
    except OSError:
        return None


def plain(text):
    """Without what moves the cursor, colours and rings."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|[\x07\r]", "", text)


def type_script(seconds, command):
    pid, fd = spawn(command)
    for line in sys.stdin.read().splitlines():
        text, wanted = line.rsplit("\t", 1)
        os.write(fd, text.encode().decode("unicode_escape").encode("latin-1"))
        seen, until = "", time.monotonic() + float(seconds)
        while not re.search(wanted, plain(seen), re.S):
            more = read(fd, until)
            if not more:
                sys.exit(f"terminal.py: after {text!r} there is no {wanted!r} but {seen!r}")
            seen += more
        while read(fd, time.monotonic() + 0.2): # what else belongs to it
            pass
    os.close(fd)
    os.waitpid(pid, 0)


def show(command):
    pid, fd = spawn(command)
    seen = ""
    while (more := read(fd, time.monotonic() + 60)):
        seen += more
    print(repr(seen))
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[1] == "type":
        type_script(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) > 2 and sys.argv[1] == "show":
        sys.exit(show(sys.argv[2:]))
    else:
        sys.exit(__doc__)
