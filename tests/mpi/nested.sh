#!/bin/bash
# nested.sh MPI: a program that records for itself, under the preload: MPI's calls nest in its own, what was recorded
# before its sp_init is a part of its rank, and MPI_Pcontrol pauses both. SP_DISABLE=1 keeps both off.
. "$(dirname "$0")/common.sh"
compile mpicc nested -w "$SOURCES/nested.c" "${LIBSP[@]}"
ranks "$S" "$T/nested"
predicted "$SOURCES/nested.c" "$S"
"$PY" "$SOURCES/parents.py" "$T/$S.h5" step=-:11 inner=step:10 MPI_Allreduce=inner:10 MPI_Barrier=-:1,step:20 \
    MPI_Init=-:1 >"$T/found" || fail "$(head -n 5 "$T/found")"
[[ -s $T/err.$S ]] && fail "it prints: $(head -n 3 "$T/err.$S")"
no_segments || fail "segments are left: $(segments)"
rm -f "$T"/cwd/*
SP_DISABLE=1 ranks "$S-off" "$T/nested" 2>"$T/off"
[[ -z $(ls "$T/cwd") && ! -d $T/data/$S-off ]] || fail "SP_DISABLE=1 leaves $(ls "$T/cwd" "$T/data")"
