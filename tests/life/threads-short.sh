#!/bin/bash
# 100,000 short threads, and more threads at once than there are lanes, with spd and without: memory stays flat, no lane
# is lost, calls made = calls published + calls counted for want of a lane.
. "$(dirname "$(readlink -f "$0")")/common.sh"
n=$(short_of 100000 4000) many=600
export SP_RING=4096 SP_FULL_WAIT=20000000
check() { # NAME WITHOUT_A_LANE
    local made counted
    made=$(made_by "$1")
    counted=$(sed -n 's/.* ms, \([0-9]*\) without.*/\1/p' "$T/out.$1")
    ((counted == $2)) || fail "$1: $counted calls found no lane, not $2"
    join "$T/$1.h5" "$SP_SESSION"
    ((counted == 0)) || grep -q "dropped $counted calls while recording, of threads without a place" "$T/merge" ||
        fail "$1: the merge does not say why calls are missing: $(cat "$T/merge")"
    grep -q 'ring was full' "$T/merge" && fail "$1: a full ring is blamed: $(cat "$T/merge")"
    expect "$T/$1.h5" outer $(((made - counted) / 2))
    expect "$T/$1.h5" inner $(((made - counted) / 2))
    expect "$T/$1.h5" @sp_dropped_records "$counted"
    total=$((${total:-0} + made))
}
for daemon in no yes; do
    [[ $daemon == yes ]] && start_spd
    export SP_SESSION=$S-short-$daemon
    life "short-$daemon" crowd short "$n"
    check "short-$daemon" 0
    if [[ $SP_TEST_SANITIZE == none ]]; then
        read -r grown segment < <(sed -n 's/.*grown \(-*[0-9]*\) kB, segment \(-*[0-9]*\) kB/\1 \2/p' "$T/out.short-$daemon")
        ((grown < 2048)) || fail "spd $daemon: the program grew by $grown kB"
        ((segment < 512)) || fail "spd $daemon: the segment grew by $segment kB"
    fi
    export SP_SESSION=$S-many-$daemon
    life "many-$daemon" crowd many $many
    check "many-$daemon" $(((many - 512) * 40))
    grep -q 'more than 512 threads' "$T/err.many-$daemon" || fail "nobody says that lanes ran out"
    one_line "$T/err.many-$daemon" 2
done
if [[ $SP_TEST_SANITIZE == none ]]; then
    # A publication needs some 2 kB of memory for a thread, and none for a call.
    rss=$(awk '/VmHWM/{print $2}' "/proc/$SPD/status")
    ((rss < 65536 + n * 3)) || fail "spd grew to $rss kB"
fi
exact
no_segments || fail "segments are left over: $(segments)"
echo "$total calls of $n short threads and $many at once, each with spd and without"
