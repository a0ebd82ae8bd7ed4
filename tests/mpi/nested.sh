#!/bin/bash
# nested.sh MPI: a program that records for itself, under the preload: MPI's calls nest in its own, what was recorded
# before its sp_init is a part of its rank, and MPI_Pcontrol pauses both.
. "$(dirname "$0")/common.sh"
compile mpicc nested -w "$SOURCES/nested.c" "${LIBSP[@]}"
ranks "$S" "$T/nested"
predicted "$SOURCES/nested.c" "$S"
"$PY" "$SOURCES/parents.py" "$T/$S.h5" step=-:11 inner=step:10 MPI_Allreduce=inner:10 MPI_Barrier=-:1,step:20 \
    MPI_Init=-:1 >"$T/found" || fail "$(head -n 5 "$T/found")"
[[ -s $T/err.$S ]] && fail "it prints: $(head -n 3 "$T/err.$S")"
no_segments || fail "segments are left: $(segments)"
