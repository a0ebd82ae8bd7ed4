#!/usr/bin/python3
"""Answers the questions of one test: loading h5py takes longer than most of them, so it is loaded once.

  ask.py REQUESTS      a FIFO; a request is a line of fields between US characters: the FIFO for the reply, the folder to
                       be in, and the question
  show|check|same ...  as of check_profile.py
  calls FILE REGION... calls of each region over all ranks, on one line
  metadata FILE KEY    an attribute of /metadata; lists one a line
  connect SOCKET       does somebody listen?
  run CODE ARG...      Python, as `python3 - ARG...` reads it

The reply is a line with the exit status, then standard output and error."""
import contextlib
import io
import os
import socket
import sys
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import check_profile  # noqa: E402
import h5py  # noqa: E402


def calls(path, *names):
    regions = check_profile.show(path)["regions"]
    print(*(sum(rank["calls"] for rank in regions.get(name, {}).values()) for name in names))


def metadata(path, key):
    value = check_profile.show(path)["metadata"].get(key, "")
    print("\n".join(map(str, value)) if isinstance(value, list) else value)


def connect(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1)
        client.connect(path)


def run(code, *arguments):
    sys.argv = ["-", *arguments]
    exec(compile(code, "<test>", "exec"), {"__name__": "__main__"})  # noqa: S102


OWN = {"calls": calls, "metadata": metadata, "connect": connect, "run": run}


def answer(question):
    try:
        if question[0] not in OWN:
            return check_profile.main(question)
        OWN[question[0]](*question[1:])
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
    except ConnectionError:
        pass
    except Exception:  # whatever a test asks, the next one is answered too
        traceback.print_exc()
    return 1


def close_files():
    """What a traceback or a cycle still holds would be read from memory after it was replaced."""
    for opened in h5py.h5f.get_obj_ids(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE):
        h5py.File(opened).close()


with open(sys.argv[1], "r+b", buffering=0) as requests, io.BufferedReader(requests) as lines:
    for line in lines:
        reply, folder, *asked = os.fsdecode(line[:-1]).replace("\x1e", "\n").split("\x1f")
        os.chdir(folder)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = answer(asked)
        close_files()
        with open(reply, "w", encoding="utf-8", errors="surrogateescape") as out:
            out.write(f"{status}\n{said.getvalue()}")
