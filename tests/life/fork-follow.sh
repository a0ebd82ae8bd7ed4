#!/bin/bash
# SP_FORK=follow: every child is a further part of its parent's rank, however it was made and however it ends.
. "$(dirname "$(readlink -f "$0")")/common.sh"
export SP_FORK=follow SP_RING=1024 SP_FULL_WAIT=20000000
n=$(short_of 9 6)
for daemon in no yes; do
    [[ $daemon == yes ]] && start_spd
    for way in fork _Fork clone; do
        export SP_SESSION=$S-$way-$daemon
        life "$way-$daemon" family -f -k -n "$n" -j 4 -t 2 "$way"
        until_true 10 no_segments || [[ $daemon == no ]] || fail "$way: segments are left over: $(segments)"
        join "$T/$way-$daemon.h5" "$SP_SESSION"
        expect "$T/$way-$daemon.h5" a "$(made_by "$way-$daemon")"
        expect "$T/$way-$daemon.h5" "child's own" $((3 * n))
        expect "$T/$way-$daemon.h5" %ranks 1
        no_segments || fail "$way, spd $daemon: segments are left over: $(segments)"
        total=$((${total:-0} + $(made_by "$way-$daemon")))
    done
done
exact
echo "$total calls of parents and $((6 * n)) children that follow, every third of them killed"
