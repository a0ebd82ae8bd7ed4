#!/bin/bash
# Where the Python package scope-profiler is to be had, its read_h5, inspect and plot open what spctl merges.
. "$(dirname "$0")/common.sh"

# The package: that of this machine, else one that pip installs into this test's folder.
python=
for candidate in "$PY" python3; do
    "$candidate" -c 'import scope_profiler' 2>/dev/null && python=$(command -v "$candidate") && break
done
if [[ -z $python ]]; then
    $PY -m pip install -q --timeout 10 --retries 0 --target "$T/site" scope-profiler matplotlib >"$T/pip" 2>&1 ||
        skip "the package scope-profiler is not installed, and pip does not get it: $(grep -m 1 -iE 'error|no module' "$T/pip")"
    python=$PY
    export PYTHONPATH=$T/site
fi

# One profile of each kind, from threads and from a trace.
start_spd
launch 0 -r 0 -t 3 -n 200 work
programs=($!)
launch 1 -r 1 -n 200 work
ended "${programs[@]}" $!
stop_spd
merge "$T/schema2.h5" "$S"
spctl merge --schema 3 "$S" -o "$T/schema3.h5" >"$T/merge" 2>&1 || fail "spctl merge --schema 3 exits $?: $(<"$T/merge")"
merge "$T/gzip.h5" --compress gzip "$S"
merge "$T/fixture.h5" "$ROOT/tests/fixtures/c-writer_rank00003.h5"

command_line() { "$python" -c 'import sys
from importlib.metadata import entry_points
for point in entry_points(group="console_scripts"):
    if point.name == "scope-profiler":
        sys.argv[0] = point.name
        sys.exit(point.load()())
sys.exit(127)' "$@"; }

# offers NAME: whether the command line knows it. Another version may not.
offers() { command_line "$1" --help >"$T/help" 2>&1; }

did=()
for file in "$T"/*.h5; do
    name=$(basename "$file")
    "$python" - "$file" >"$T/out" 2>&1 <<'PYTHON' || { (($? == 3)) || fail "read_h5 does not open $name: $(tail -n 3 "$T/out")"; }
import importlib, pkgutil, sys
import scope_profiler
read_h5 = getattr(scope_profiler, "read_h5", None)
for module in pkgutil.walk_packages(scope_profiler.__path__, "scope_profiler."):
    if read_h5:
        break
    try:
        read_h5 = getattr(importlib.import_module(module.name), "read_h5", None)
    except Exception: # a part that needs what is not installed
        pass
if not read_h5:
    print("there is no read_h5")
    sys.exit(3)
print("read_h5:", read_h5(sys.argv[1]))
PYTHON
    grep -q '^read_h5:' "$T/out" && did+=("$name by read_h5")
    if offers inspect; then
        command_line inspect "$file" >"$T/out" 2>&1 || fail "inspect does not open $name: $(tail -n 3 "$T/out")"
        grep -q outer "$T/out" || [[ $name == fixture.h5 ]] || fail "inspect of $name does not show the region outer"
        did+=("$name by inspect")
    fi
    if offers plot; then
        mkdir "$T/figures-$name"
        MPLBACKEND=Agg command_line plot default "$file" -o "$T/figures-$name" >"$T/out" 2>&1 ||
            fail "plot does not open $name: $(tail -n 3 "$T/out")"
        [[ -n $(find "$T/figures-$name" -type f) ]] || fail "plot of $name makes no figure"
        did+=("$name by plot")
    fi
done
((${#did[@]})) || skip "the package offers neither read_h5, inspect nor plot"
printf 'opened: %s\n' "${did[@]}"
