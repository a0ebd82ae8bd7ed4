#!/usr/bin/python3
"""spctl list --json | pid.py SESSION RANK: the process id of a rank that records."""
import json
import sys


def main(session, rank):
    for entry in json.load(sys.stdin)["sessions"]:
        if entry["session"] == session:
            for info in entry["incarnations"]:
                if info["rank"] == rank and info["state"] == "recording":
                    print(info["pid"])
                    return 0
    print(f"no rank {rank} of session {session} records", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
