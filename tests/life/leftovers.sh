#!/bin/bash
# 200 programs killed in a row, under spd and without one, and all names taken away while programs record: no segment,
# lock, socket, descriptor or temporary file is left over, every call is there, nobody floods stderr.
. "$(dirname "$(readlink -f "$0")")/common.sh"
n=$(short_of 200 30)
fds() { find "/proc/$SPD/fd" -mindepth 1 2>/dev/null | wc -l; }
kill_in_a_row() { # under SP_SESSION
    for ((i = 0; i < n; i++)); do
        work -r $((i % 4)) -n 3 -e kill work >>"$T/out.row" 2>>"$T/err.row"
    done
} 2>/dev/null
start_spd
before=$(fds)
kill_in_a_row
until_true 20 no_segments || fail "segments are left over: $(segments)"
until_true 5 eval '(($(fds) <= before))' || fail "spd had $before descriptors, has $(fds)"
[[ $(find "$T/run" -mindepth 1 -printf '%f ') =~ ^(control spd.lock|spd.lock control)\ $ ]] || fail "$(find "$T/run") is left over"
spools=$(find "$T/data" -name '*.spool' -o -name '*.tmp' -o -name '.scratch*')
[[ -z $spools ]] || fail "left over: $(head -n 3 <<<"$spools")"
join "$T/spd.h5" "$S"
expect "$T/spd.h5" outer $((3 * n))

# The names of living ones go: what is mapped stays good, with spd and without, and also for one that is killed then.
for daemon in yes no; do
    export SP_SESSION=$S-removed-$daemon SP_RING=1024 SP_FULL_WAIT=20000000
    exec 8<&-
    rm -f "$T/hold" "$T"/out.*
    hold
    rm -f "$T/cwd"/*.spt
    launch long -r 0 -n 8000 -p 20 work
    pids=($!)
    launch waits -r 1 -n 5000 -e wait work
    pids+=($!)
    launch killed -r 2 -n 8000 -p 20 -e kill work
    killed=$!
    made 1
    segments | xargs -r rm -f
    launch late -r 3 -n 5000 -p 20 work
    pids+=($!)
    until_true 5 eval '! no_segments'
    segments | xargs -r rm -f
    made 4
    wait $killed 2>/dev/null
    release
    ended "${pids[@]}"
    (($(cat "$T"/out.* | grep -c '^scope_profiler:') <= 4)) || fail "a flood of messages: $(grep -h '^scope' "$T"/out.* | head -n 9)"
    if [[ $daemon == yes ]]; then
        have_death() { grep -q "$SP_SESSION rank 2: died, published" "$T/spd.log"; }
        until_true 10 have_death || fail "the death of a nameless one is not seen"
        (($(wc -l <"$T/spd.log") < 3 * n + 100)) || fail "spd's log has $(wc -l <"$T/spd.log") lines"
        join "$T/removed-$daemon.h5" "$SP_SESSION"
        expect "$T/removed-$daemon.h5" outer 26000
        until_true 5 eval '(($(fds) <= before))' || fail "spd had $before descriptors, has $(fds)"
        stop_spd
    else
        # Killed without a name and without a consumer: what its ring held at the end is gone with it, and only that.
        join "$T/removed-$daemon.h5" "$SP_SESSION"
        expect "$T/removed-$daemon.h5" %ranks 4
        for r in 0 1 3; do expect "$(find "$T/cwd" -name "work_rank0000$r.spt")" outer $((r == 0 ? 8000 : 5000)); done
    fi
done

export SP_SESSION=$S-alone
unset SP_RING SP_FULL_WAIT
kill_in_a_row
(($(segments | wc -l) <= 4)) || fail "more segments than ranks are left: $(segments)"
join "$T/alone.h5" "$SP_SESSION"
no_segments || fail "a merge leaves segments: $(segments)"
expect "$T/alone.h5" outer $((3 * n))
exact
echo "twice $n programs killed in a row, and eight without a name: nothing is left over"
