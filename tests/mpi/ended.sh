#!/bin/bash
# ended.sh MPI: runs that MPI_Abort and SIGKILL end, without spd: every call that had ended is in the profile.
. "$(dirname "$0")/common.sh"
compile mpicc ended -w "$SOURCES/ended.c"
for way in abort kill; do
    (ranks "$S-$way" "$T/ended" "$way") >"$T/out" &&
        fail "$way ends with status 0"
    spctl merge "$S-$way" -o "$T/$way.h5" >"$T/merge" 2>&1
    status=$?
    ((status == 0 || status == 3)) || fail "spctl merge after $way exits $status: $(head -n 3 "$T/merge")"
    sound "$T/$way.h5"
    n=$(calls "$T/$way.h5" MPI_Init MPI_Barrier MPI_Recv MPI_Abort)
    [[ $n == '4 40 3 0' ]] || fail "$n calls of MPI_Init, MPI_Barrier, MPI_Recv, MPI_Abort after $way, not 4 40 3 0"
    [[ $way == kill ]] || metadata "$T/$way.h5" sp_open_calls | grep -q 'rank 1 .*MPI_Abort' ||
        fail "MPI_Abort is not open: $(metadata "$T/$way.h5" sp_open_calls)"
done
echo "$MPI: 40 barriers after MPI_Abort, and after SIGKILL"
