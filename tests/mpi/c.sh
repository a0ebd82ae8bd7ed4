#!/bin/bash
# c.sh MPI: a C program that knows of no profiler, without spd: the table of its MPI calls, and nothing besides.
. "$(dirname "$0")/common.sh"
compile mpicc calls -w -pthread "$SOURCES/calls.c"
ranks "$S" "$T/calls" "$T/file"
predicted "$SOURCES/calls.c" "$S"
[[ $(cd "$T/cwd" && echo *) == 'calls_rank00000.spt calls_rank00001.spt calls_rank00002.spt calls_rank00003.spt' ]] ||
    fail "the program's folder holds: $(ls "$T/cwd")"
[[ $(wc -l <"$T/err.$S") == 4 && $(grep -c '^scope_profiler: .*threads' "$T/err.$S") == 4 ]] ||
    fail "it says more than that a .spt has no threads: $(grep -v threads "$T/err.$S" | head -n 3)"
no_segments || fail "segments are left: $(segments)"
