#!/bin/bash
# harmless.sh MPI: what the preload does to programs that use no MPI, to launchers and shells: nothing; and to one
# without a launcher, whose MPI lies in a plug-in's scope, that it is recorded, and not under SP_DISABLE=1.
. "$(dirname "$0")/common.sh"
out=$(cd "$T/cwd" && LD_PRELOAD=$PRELOAD bash -c 'echo one; (sleep 0; echo two) | cat; exec sh -c "exit 3"' 2>&1)
[[ $? == 3 && $out == $'one\ntwo' ]] || fail "a shell prints $out"
ranks "$S" bash -c 'ls / >/dev/null && echo "$0"' done
[[ $(sort -u "$T/out.$S") == done && $(wc -l <"$T/out.$S") == 4 && ! -s $T/err.$S ]] ||
    fail "the launcher of 4 shells prints $(head -n 3 "$T/out.$S" "$T/err.$S")"
[[ -z $(ls "$T/cwd") && ! -d $T/data/$S ]] || fail "left behind: $(ls "$T/cwd" "$T/data")"

compile mpicc plugin.so -w -shared -fPIC "$SOURCES/plugin.c"
"${CC%% *}" -w -DHOST -o "$T/host" "$SOURCES/plugin.c" -ldl || fail "the host of a plug-in cannot be compiled"
plugin() {
    (cd "$T/cwd" && SP_SESSION=$S-plugin LD_PRELOAD=$PRELOAD timeout 60 "$T/host" "$T/plugin.so") >"$T/out" 2>&1 ||
        fail "a plug-in under $MPI without a launcher: status $?: $(head -n 5 "$T/out")"
}
SP_DISABLE=1 plugin
left=$(find "$T/cwd" "$T/data" -mindepth 1; head -n 1 "$T/out")
[[ -z $left ]] || fail "SP_DISABLE=1 leaves $left"
plugin
n=$(calls "$T/cwd/host_rank00000.spt" MPI_Allreduce MPI_Finalize)
[[ $n == '5 1' ]] || fail "a plug-in's calls of MPI_Allreduce and MPI_Finalize: $n, not 5 1"
no_segments || fail "segments are left: $(segments)"
echo "$MPI: shells, the launcher, and a plug-in"
