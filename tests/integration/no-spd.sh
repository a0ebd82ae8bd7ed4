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
ask same "$f" "$T/file.h5" || fail "merge changed the calls"
merge "$T/folder.h5" "$T/cwd"
counts "$T/folder.h5" 40000
merge_lossy "$T/session.h5" "$S"
rm -f "$T"/out.*
counts "$T/session.h5" 40500
spctl check "$f" "$T/file.h5" >/dev/null || fail "spctl check finds fault with them"
spctl report "$T/session.h5" | grep -q outer || fail "spctl report does not show a region"
no_segments || fail "segments are left over: $(segments)"

# Where it cannot publish, the program keeps everything and says so; a merge by session has it all the same.
mkdir "$T/cwd/gone"
export SP_SESSION=$S-gone
mkfifo "$T/hold"
exec 8<>"$T/hold"
INPUT=$T/hold
launch 9 -n 300 -e wait gone/work
last=$!
made 1
rmdir "$T/cwd/gone"
release
wait "$last" && fail "finalize succeeds where its folder is gone"
grep -q '^finalize 4 ' "$T/out.9" || fail "finalize does not give SP_ERR_IO (4): $(tail -n 1 "$T/out.9")"
grep -qF "$T/cwd/gone" "$T/out.9" || fail "what could not be written is not named: $(head -n 1 "$T/out.9")"
merge_lossy "$T/gone.h5" "$S-gone"
counts "$T/gone.h5" 300
# Runs with one prefix in one folder: the last one's file stands where the others' was, which a merge of those says, whether
# it holds as many calls or not.
for n in 10 20 21; do
    SP_SESSION=$S-over-$n work -r 0 -n $((n / 10 * 10)) over >"$T/out.over" 2>&1 || fail "a program fails: $(cat "$T/out.over")"
done
for n in 10 20; do
    spctl merge "$S-over-$n" -o "$T/over.h5" >"$T/merge" 2>&1 && fail "the calls of another session are merged"
    grep -q "holds 80 calls.*that had $((4 * n)), or.*: another run has written over it" "$T/merge" ||
        fail "merge: $(cat "$T/merge")"
done
merge "$T/over.h5" "$S-over-21"
counts "$T/over.h5" 20
echo "163320 calls without a daemon"
