#!/bin/bash
# spctl run: a private spd for one command, its status handed on, one merged file, nothing left running.
. "$(dirname "$0")/common.sh"
unset SP_SESSION
(cd "$T/cwd" && spctl run -o "$T/run.h5" -- "$SP_TEST_WORK" -r 2 -n 3000 work) >"$T/out" 2>&1 || fail "spctl run: $(tail -n 1 "$T/out")"
grep -q outer "$T/out" || fail "no report is printed"
sound "$T/run.h5"
counts "$T/run.h5" 3000
(cd "$T/cwd" && spctl run -o "$T/killed.h5" -- "$SP_TEST_WORK" -n 200 -e kill work) >"$T/out" 2>&1 && fail "the command's death is not handed on"
counts "$T/killed.h5" 200
echo "profiled by one command, also one that is killed"
