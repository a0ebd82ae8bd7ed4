#!/bin/bash
# spctl run --functions and --mpi: the libraries reach the command, its children and every rank that a launcher starts
# here, beside what is preloaded already.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
. "$ROOT/tests/functions/common.sh"
unset SP_SESSION
cd "$T/cwd" || exit 1
LD_PRELOAD=libm.so.6 spctl run --functions -o "$T/shell.h5" -- sh -c '"$1" tree | cat; "$1" tree; echo "$LD_PRELOAD"' \
    sh "$BUILT/functions" >"$T/out" 2>&1 || fail "spctl run --functions: status $?: $(tail -n 2 "$T/out")"
grep -q '^/.*/libsp_instrument\.so[.0-9]*:libm\.so\.6$' "$T/out" || fail "LD_PRELOAD is $(head -n 1 "$T/out")"
n=$(counted "$T/shell.h5" main outer inner factorial)
[[ $n == "2 6 12 10" ]] || fail "two programs of a shell made $n calls of main, outer, inner, factorial, not 2 6 12 10"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
launched=
mpi() {
    local kind=$1 options=(--functions)
    shift
    command -v "mpicc.$kind" >/dev/null && command -v "mpirun.$kind" >/dev/null || return 0
    [[ -e $SP_TEST_BIN/libsp/mpi/libsp_mpi.so ]] && options+=(--mpi)
    "mpicc.$kind" -finstrument-functions -o "$T/$kind" "$ROOT/tests/functions/ring.c" 2>"$T/log" ||
        fail "mpicc.$kind: $(head -n 3 "$T/log")"
    timeout 60 "$SP_TEST_SPCTL" run "${options[@]}" -o "$T/$kind.h5" -- "mpirun.$kind" "$@" "$T/$kind" >"$T/out" 2>&1 ||
        fail "spctl run ${options[*]} of mpirun.$kind: status $?: $(tail -n 2 "$T/out")"
    if ((${#options[@]} == 2)); then
        tree "$kind" <<'TREE'
2 2 main
2 2 main > MPI_Init
20 2 main > step
20 2 main > step > MPI_Sendrecv
2 2 main > MPI_Finalize
TREE
    else
        tree "$kind" <<<$'2 2 main\n20 2 main > step'
    fi
    launched+=" $kind"
}
mpi openmpi --oversubscribe -n 2
mpi mpich -n 2
[[ -n $launched ]] ||
    skip "no MPI is installed (openmpi-bin libopenmpi-dev, mpich libmpich-dev); a shell's children were recorded"
trees
echo "functions of a shell's children, and with MPI's calls those of two ranks of:$launched"
