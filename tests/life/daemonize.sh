#!/bin/bash
# A program that becomes a daemon closes what it does not know and takes the numbers for its own files, under a limit of
# descriptors that leaves the profiler none but low numbers too: those files hold its own bytes only, and it records on,
# or stops, and its status says so.
. "$(dirname "$(readlink -f "$0")")/common.sh"
export SP_RING=1024 SP_FULL_WAIT=20000000 # nothing is dropped, however busy the machine is
run() { # WHEN LIMIT RECORDED CALLS: by the one that goes on; in all
    rm -rf "$T/cwd"
    mkdir -m 700 "$T/cwd"
    (cd "$T/cwd" && ulimit -n "$2" && exec "$LIFE/daemonize" "$1") >"$T/out" 2>"$T/err"
    status=$?
    ((status != 3)) || fail "$SP_SESSION: its files hold strange bytes: $(cd "$T/cwd" && grep -v '^own' own.* | head -n 3)"
    ((status == 0)) || fail "$SP_SESSION: status $status: $(tail -n 1 "$T/err")"
    [[ ! -s $T/err ]] || fail "$SP_SESSION: $(cat "$T/err")"
    made=$(cat "$T/cwd/made")
    ((made == $3)) || fail "$SP_SESSION: the one that goes on records $made calls, not $3"
    join "$T/$SP_SESSION.h5" "$SP_SESSION"
    expect "$T/$SP_SESSION.h5" a "$4"
}
for daemon in no yes; do
    [[ $daemon == yes ]] && start_spd
    for limit in 1024 24; do
        export SP_FORK=stop SP_SESSION=$S-here-$limit-$daemon
        run here $limit 40000 40000
        SP_SESSION=$S-first-$limit-$daemon
        run first $limit 20000 20000
        SP_SESSION=$S-stop-$limit-$daemon
        run child $limit 0 20000
        grep -qx 'finalize 0 0' "$T/cwd/ended" || fail "$SP_SESSION: the child believes that it records: $(cat "$T/cwd/ended")"
        export SP_FORK=follow SP_SESSION=$S-follow-$limit-$daemon
        run child $limit 20000 40000
    done
done
exact
no_segments || fail "segments are left over: $(segments)"
echo "own files hold own bytes, and all calls are there"
