#!/bin/bash
# fortran.sh MPI: a Fortran program that knows of no profiler, by mpi_f08, mpi and mpif.h, under spd.
. "$(dirname "$0")/common.sh"
command -v "mpifort.$MPI" >/dev/null || skip "mpifort.$MPI is not installed"
start_spd
for way in F08 MODULE MPIF; do
    compile mpifort "$way" -w "-D$way" -fallow-argument-mismatch "$SOURCES/calls.F90"
    ranks "$S-$way" "$T/$way" "$T/file.$way"
    [[ -s $T/err.$S-$way ]] && fail "it prints: $(head -n 3 "$T/err.$S-$way")"
done
predicted "$SOURCES/calls.F90" "$S-F08:module" "$S-MODULE:module" "$S-MPIF:mpif"
