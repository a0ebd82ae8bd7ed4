#!/bin/bash
# ended.sh MPI: runs that MPI_Abort and SIGKILL end, without spd: every call that had ended is in the profile.
. "$(dirname "$0")/common.sh"
compile mpicc ended -w "$SOURCES/ended.c"
inits=4
for way in abort kill; do
    if [[ $way == kill ]]; then # what is set is no rank of MPI's: recording starts anew after MPI_Init, with MPI's
        export SP_RANK=9
        inits=0
    fi
    (ranks "$S-$way" "$T/ended" "$way") >"$T/out" &&
        fail "$way ends with status 0"
    spctl merge "$S-$way" -o "$T/$way.h5" >"$T/merge" 2>&1
    status=$?
    ((status == 0 || status == 3)) || fail "spctl merge after $way exits $status: $(head -n 3 "$T/merge")"
    n=$(calls "$T/$way.h5" MPI_Init MPI_Barrier MPI_Recv MPI_Abort)
    [[ $n == "$inits 40 3 0" ]] ||
        fail "after $way $n calls of MPI_Init, MPI_Barrier, MPI_Recv, MPI_Abort, not $inits 40 3 0"
    [[ $way == kill ]] && continue
    open=$(metadata "$T/$way.h5" sp_open_calls)
    [[ $open == *'rank 1 '*MPI_Abort* ]] || fail "MPI_Abort is not among what is open: $open"
done
echo "$MPI: 40 barriers after MPI_Abort, and after SIGKILL"
