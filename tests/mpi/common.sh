# Sourced by each script here, which has the MPI's name as its argument: openmpi or mpich.
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../integration/common.sh"
MPI=$1
SOURCES=$ROOT/tests/mpi
PRELOAD=$SP_TEST_BIN/libsp/mpi/libsp_mpi.so
LIBSP=("-I$ROOT/libsp" "-L$SP_TEST_BIN/libsp/record" "-Wl,-rpath,$SP_TEST_BIN/libsp/record" -lsp)
case $MPI in
    openmpi) RUN=(mpirun.openmpi --allow-run-as-root --oversubscribe --mca btl_vader_single_copy_mechanism none) ;;
    mpich) RUN=(mpirun.mpich) ;;
esac
for command in "mpicc.$MPI" "mpirun.$MPI"; do
    command -v "$command" >/dev/null || skip "$command is not installed"
done

# compile COMPILER OUT ARGUMENT...
compile() { "$1.$MPI" -o "$T/$2" "${@:3}" >"$T/log" 2>&1 || fail "$1.$MPI ${*:3}: $(head -n 5 "$T/log")"; }

# ranks SESSION PROGRAM ARGUMENT...: four of them under the preload; nothing but what they print is printed.
ranks() {
    (cd "$T/cwd" && SP_SESSION=$1 LD_PRELOAD=$PRELOAD timeout 60 "${RUN[@]}" -n 4 "${@:2}") \
        >"$T/out.$1" 2>"$T/err.$1" ||
        fail "${*:2} under $MPI: status $?: $(tail -n 5 "$T/out.$1" "$T/err.$1")"
}

# predicted SOURCE SESSION[:TAG]...: the table of MPI calls is what the source predicts.
predicted() {
    local session profiles=()
    for session in "${@:2}"; do
        spctl merge "${session%:*}" -o "$T/${session%:*}.h5" >"$T/merge" 2>&1 ||
            fail "spctl merge ${session%:*} exits $?: $(head -n 3 "$T/merge")"
        profiles+=("$T/${session/:/.h5:}")
        [[ $session == *:* ]] || profiles[-1]+=.h5
    done
    "$PY" "$SOURCES/expect.py" "$1" "${profiles[@]}" >"$T/found" 2>&1 || fail "$1: $(head -n 8 "$T/found")"
    sed "s/^/$MPI /" "$T/found"
}
