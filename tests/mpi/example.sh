#!/bin/bash
# example.sh MPI: the Fortran example on 4 ranks beside a C program on 4 ranks, in one session under one spd and the
# preload: each rank of the session has the regions of both, and MPI's calls nest in them.
. "$(dirname "$0")/common.sh"
command -v "mpifort.$MPI" >/dev/null || skip "mpifort.$MPI is not installed"
MODULE=$SP_TEST_BIN/fortran
[[ -e $MODULE/scope_profiler.mod ]] || skip "the Fortran module was not built"
heat=("$ROOT/fortran/heat_mpi.F90" -O2 "-I$MODULE" "-L$MODULE" "-Wl,-rpath,$MODULE" -lsp_fortran "${LIBSP[@]}")
way=mpi_f08
(compile mpifort heat "${heat[@]}") >/dev/null || { way=mpi; compile mpifort heat -DUSE_MPI_MODULE "${heat[@]}"; }
compile mpicc nested -w "$SOURCES/nested.c" "${LIBSP[@]}"
start_spd
ranks "$S" "$T/nested" &
c=$!
(cd "$T/cwd" && SP_SESSION=$S LD_PRELOAD=$PRELOAD timeout 60 "${RUN[@]}" -n 4 "$T/heat" 50) \
    >"$T/out.heat" 2>"$T/err.heat" ||
    fail "the example under $MPI: status $?: $(tail -n 5 "$T/out.heat" "$T/err.heat")"
wait $c || fail "$(tail -n 3 "$T/err.$S")"
grep -q 'heat left: 1.000000 on 4 ranks after 50 steps' "$T/out.heat" ||
    fail "the example prints $(head -n 3 "$T/out.heat")"
merge "$T/both.h5" "$S"
"$PY" "$SOURCES/parents.py" "$T/both.h5" 'time step=-:50' 'exchange=time step:50' 'update=time step:50' \
    'residual=time step:5' MPI_Sendrecv=exchange:100 MPI_Allreduce=residual:5,inner:10 MPI_Reduce=-:1 step=-:11 \
    MPI_Init=-:2 >"$T/found" || fail "$(head -n 5 "$T/found")"
echo "$MPI: the example by $way and a C program, 4 ranks of each"
