#!/bin/bash
# Ctrl-C on a terminal, and SIGINT to the process group: the profile so far, and status 130, also where a launcher that
# ends its ranks makes another status of it.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
. "$ROOT/tests/functions/common.sh"
unset SP_SESSION
cd "$T/cwd" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

# so_far WHAT STATUS RANKS: status 130 and a profile of RANKS ranks with their main still open.
so_far() {
    local steps open
    (($2 == 130)) || fail "$1: status $2, not 130: $(tail -n 3 "$T/out")"
    steps=$(counted "$T/$1.h5" step)
    open=$(spctl report "$T/$1.h5" | grep -c '^  rank [01] thread 0: main > loop')
    ((steps >= 20)) && ((open == $3)) ||
        fail "$1: $steps steps, $open open calls of main, of $3 ranks: $(tail -n 3 "$T/out")"
    [[ -z $(find "$T/run" -mindepth 1) ]] || fail "$1: left behind: $(ls "$T/run")"
}
typed() {
    local name=$1 ranks=$2
    shift 2
    "$PY" "$TOOLS/keys.py" looping C "$SP_TEST_SPCTL" run --functions -o "$T/$name.h5" -- "$@" "$BUILT/functions" loop \
        >"$T/out" 2>&1
    so_far "$name" $? "$ranks"
}
typed terminal 1 env
launched=
for kind in openmpi mpich; do
    command -v "mpirun.$kind" >/dev/null || continue
    options=(-n 2)
    [[ $kind == openmpi ]] && options+=(--oversubscribe)
    typed "$kind" 2 "mpirun.$kind" "${options[@]}"
    launched+=" $kind"
done

set -m
spctl run --functions -o "$T/group.h5" -- "$BUILT/functions" loop >"$T/out" 2>&1 &
set +m
until_true 20 grep -q looping "$T/out" || fail "the command did not start"
kill -INT -- -$!
wait $!
so_far group $? 1
echo "interrupted: a program on a terminal and in a process group, launchers:${launched:- none is installed}"
