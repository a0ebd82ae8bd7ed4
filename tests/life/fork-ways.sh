#!/bin/bash
# Children of every kind under threads that record into full rings, with spd and without: nothing in a wrong lane, no
# duplicate. What vfork and posix_spawn run is a program of its own. A child that lives on hides no death.
. "$(dirname "$(readlink -f "$0")")/common.sh"
export SP_RING=1024 SP_FULL_WAIT=20000000 # nothing is dropped, however busy the machine is
n=$(short_of 40 12)
for daemon in no yes; do
    [[ $daemon == yes ]] && start_spd
    for way in fork _Fork clone vfork spawn; do
        export SP_SESSION=$S-$way-$daemon
        life "$way-$daemon" family -n "$n" -j 4 -t 2 "$way"
        join "$T/$way-$daemon.h5" "$SP_SESSION"
        expect "$T/$way-$daemon.h5" a "$(made_by "$way-$daemon")"
        expect "$T/$way-$daemon.h5" @sp_dropped_records 0
        total=$((${total:-0} + $(made_by "$way-$daemon")))
    done
done
no_segments || fail "segments are left over: $(segments)"

for way in fork _Fork clone; do
    export SP_SESSION=$S-orphan-$way
    { (cd "$T/cwd" && exec "$LIFE/family" -o "$way") >"$T/out.o"; } 2>/dev/null
    child=$(sed -n 's/^child //p' "$T/out.o")
    published_there() { [[ -n $(find "$T/data/$SP_SESSION" -name 'family_rank00000.*' ! -name '.*') ]]; }
    until_true 5 published_there || { kill -KILL "$child"; fail "$way: a child hides the death of its parent"; }
    until_true 2 no_segments || { kill -KILL "$child"; fail "$way: $(segments) stays"; }
    kill -KILL "$child" || fail "$way: the child did not live on"
    join "$T/orphan-$way.h5" "$SP_SESSION"
    expect "$T/orphan-$way.h5" a 500
done
exact
echo "$total calls beside $((n * 10)) children, and three orphans"
