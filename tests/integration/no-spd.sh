#!/bin/bash
# No spd at all: the trace is where the program asked for it, exact, found by file, folder and session.
. "$(dirname "$0")/common.sh"
work -r 7 -n 40000 here >"$T/out.7" 2>&1 || fail "the program failed: $(tail -n 1 "$T/out.7")"
f=$T/cwd/here_rank00007.spt
[[ -f $f ]] || fail "there is no here_rank00007.spt where the program ran"
grep -qxF "finalize 0 $f" "$T/out.7" || fail "sp_output_path: $(tail -n 1 "$T/out.7")"
"$TOOLS/spt.py" dump "$f" >/dev/null || fail "the trace is not sound"
counts "$f" 40000
work -r 8 -n 500 -e open here >"$T/out.8" 2>&1

spctl list --json >"$T/list" || fail "spctl list fails without spd"
grep -qF "$S" "$T/list" || fail "spctl list does not show the session"
merge "$T/file.h5" "$f"
"$PY" "$TOOLS/check_profile.py" same "$f" "$T/file.h5" || fail "merge changed the calls"
merge "$T/folder.h5" "$T/cwd"
counts "$T/folder.h5" 40000
merge_lossy "$T/session.h5" "$S"
counts "$T/session.h5" 40500
spctl check "$f" "$T/file.h5" >/dev/null || fail "spctl check finds fault with them"
spctl report "$T/session.h5" | grep -q outer || fail "spctl report does not show a region"
no_segments || fail "segments are left over: $(segments)"

# Where it cannot publish, the program keeps everything and says so.
if ((EUID != 0)); then
    chmod 500 "$T/cwd"
    work -r 9 -n 10 here >"$T/out.9" 2>&1 && fail "finalize in a folder without write permission succeeds"
    chmod 700 "$T/cwd"
fi
echo "162000 calls without a daemon"
