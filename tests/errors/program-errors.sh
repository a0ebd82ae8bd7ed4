#!/bin/bash
# Every system call that a program's own profiler makes fails once, or from there on, without an spd: the program
# ends as it would, what was recorded is found or counted, and at most one line says so a cause.
WALK=${SP_WALK:-60} SHARE=${SP_WALK_SECONDS:-15} # before other settings of this name are cleared
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
. "$(dirname "$(readlink -f "$0")")/shimmed.sh"
export SP_RING=1024 SP_FULL_WAIT=1000
number=0

program() {
    local status
    number=$((number + 1))
    export SP_SESSION=$S-$number
    (cd "$T/cwd" && shim work timeout -s KILL 20 "$SP_TEST_WORK" -n 2000 work) >"$T/out" 2>"$T/err"
    status=$?
    ((status == 0 || status == 1)) || fail "$at: the program ended with status $status: $(cat "$T/err")"
    grep -qE '^made 2000 ' "$T/out" || fail "$at: its own output is harmed: $(cat "$T/out")"
    [[ -z $(grep -vE '^(made|init|finalize) ' "$T/out") ]] || fail "$at: its own output is harmed: $(cat "$T/out")"
    [[ -z $(grep -v '^scope_profiler: ' "$T/err") ]] || fail "$at: its stderr is harmed: $(cat "$T/err")"
    said "$T/err" 4
    ((status == 0)) || [[ -s $T/err ]] || fail "$at: finalize fails and nothing is said"
    if grep -q '^init' "$T/out"; then
        [[ -s $T/err ]] || fail "$at: sp_init fails and nothing is said: $(cat "$T/out")"
    else
        found "$SP_SESSION"
        # Without the data folder the spool lies beside the profile, which is found by its name.
        local file=$T/cwd/work_rank00000.spt
        ((kept > 0)) || [[ ! -f $file ]] || found "$file"
        if ((kept + lost < 8000)); then
            # Regions and lanes that could not be had are told of, and their calls counted where there is a lane.
            grep -qE 'no room|not recorded|dropped' "$T/err" ||
                fail "$at: $kept kept and $lost counted of 8000: $(cat "$T/out" "$T/err" "$T/found.err")"
        fi
        ((kept + lost <= 8000)) || fail "$at: $kept kept and $lost counted of 8000"
    fi
    no_segments || fail "$at: segments are left over: $(segments)"
    find "$T/cwd" -name '.*.tmp' | grep -q . && fail "$at: temporaries are left over: $(ls -A "$T/cwd")"
    rm -rf "${T:?}/data" "$T/cwd/"*
}

function=none error=EIO nth=0 times=1 at="nothing"
(cd "$T/cwd" && SHIM_COUNT=$T/counts shim work "$SP_TEST_WORK" -n 2000 work) >"$T/out" 2>&1 || fail "$(cat "$T/out")"
[[ -s $T/counts ]] || fail "the shim counts nothing"
rm -rf "${T:?}/data" "$T/cwd/"*
walk "$T/counts" program
