#!/bin/bash
# table.sh MPI: the numbers of arguments and the names of what is wrapped, against that MPI's header and libraries.
. "$(dirname "$0")/common.sh"
command -v "mpifort.$MPI" >/dev/null || skip "mpifort.$MPI is not installed"
"$PY" "$SOURCES/table.py" "$ROOT/libsp/mpi/calls.inc" "$PRELOAD" "$MPI" >"$T/found" 2>&1 ||
    fail "$(head -n 10 "$T/found")"
cat "$T/found"
