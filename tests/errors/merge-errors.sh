#!/bin/bash
# Every system call of "spctl merge" fails once, or from there on: the old output or the new one is there, whole, the
# inputs are as they were, and it says in few lines what could not be done.
WALK=${SP_WALK:-60} SHARE=${SP_WALK_SECONDS:-15} # before other settings of this name are cleared
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
. "$(dirname "$(readlink -f "$0")")/shimmed.sh"
mkdir "$T/out"

# What is merged: a rank whose lanes stay in its spool, one that published, one that died.
work -r 0 -n 500 -t 2 work >"$T/log" 2>&1 || fail "$(cat "$T/log")"
work -r 1 -n 500 work >"$T/log" 2>&1 || fail "$(cat "$T/log")"
work -r 2 -n 500 -e kill work >"$T/log" 2>&1
merge_lossy "$T/out/all.h5" "$S" # drains what the dead one left in its segment
counts "$T/out/all.h5" 2000
inputs() { (cd "$T" && find data cwd -type f ! -name '*.tmp' -exec md5sum {} + | sort); }
before=$(inputs)

merge_once() {
    local status old
    old=$(md5sum <"$T/out/all.h5")
    (shim spctl timeout -s KILL 20 "$SP_TEST_SPCTL" merge "$S" -o "$T/out/all.h5") >"$T/text" 2>"$T/err"
    status=$?
    case $status in
    0 | 3)
        "$SP_TEST_SPCTL" check "$T/out/all.h5" >/dev/null 2>"$T/check" || fail "$at: the output is not sound: $(cat "$T/check")"
        found "$T/out/all.h5"
        ((kept == 8000)) || ((status == 3)) || fail "$at: ends with 0 and $kept calls of 8000"
        ((kept == 8000)) || cp "$T/whole.h5" "$T/out/all.h5"
        ;;
    1)
        [[ -s $T/err ]] || fail "$at: ends with 1 and says nothing"
        if [[ $old != "$(md5sum <"$T/out/all.h5")" ]]; then
            found "$T/out/all.h5" # the new one, of which only the folder could not be synced
            ((kept == 8000)) || fail "$at: neither the old output nor the new one: $(cat "$T/err")"
        fi
        ;;
    *) fail "$at: merge ends with $status: $(cat "$T/err")" ;;
    esac
    said "$T/err" 8
    [[ $(ls -A "$T/out") == all.h5 ]] || fail "$at: left beside the output: $(ls -A "$T/out")"
    [[ $(inputs) == "$before" ]] || fail "$at: the inputs are not what they were"
}

cp "$T/out/all.h5" "$T/whole.h5"
function=none error=EIO nth=0 times=1 at="nothing"
(SHIM_COUNT=$T/counts shim spctl "$SP_TEST_SPCTL" merge "$S" -o "$T/out/all.h5") >"$T/log" 2>&1
[[ -s $T/counts ]] || fail "the shim counts nothing"
walk "$T/counts" merge_once
merge_lossy "$T/out/all.h5" "$S"
counts "$T/out/all.h5" 2000

# HDF5 without a lock to be had.
rm -f "$T/hit"
function=lock error=ENOLCK nth=1 times=0
(shim spctl "$SP_TEST_SPCTL" merge "$T/out/all.h5" -o "$T/again.h5") >"$T/text" 2>"$T/err"
status=$?
[[ -s $T/hit ]] || fail "a merge of HDF5 asks for no lock"
((status == 0 || status == 3)) || fail "without locks HDF5 is not read: $(cat "$T/err")"
counts "$T/again.h5" 2000
