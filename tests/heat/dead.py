#!/usr/bin/python3
"""dead.py PROFILE RANKS: the profile of a run whose ranks were all killed says so, and names what was open."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import check_profile  # noqa: E402


def main(profile, ranks):
    _, metadata = check_profile.load(profile)
    deaths, opened = (list(metadata.get(key, [])) for key in ("sp_deaths", "sp_open_calls"))
    if len(deaths) != ranks or sum("main" in line for line in opened) != ranks:
        print(f"{len(deaths)} deaths and {len(opened)} open stacks are named, not {ranks} of each")
        return 1
    print(f"{ranks} deaths are named, and for each what was open; nothing open was given an end")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
