#!/bin/bash
# Containers: pid namespaces that share /dev/shm with spd, where several programs have the same pid; a mount namespace with
# a /dev/shm of its own, whose program stands alone though spd's lock is in sight.
. "$(dirname "$(readlink -f "$0")")/common.sh"
need_root
need_mounts
unshare --pid --fork --mount-proc true 2>/dev/null || skip "unshare --pid needs a privilege that is not here"
# The program is the second process of its namespace, as in most containers: the first one cannot be killed from within.
apart() { (cd "$T/cwd" && exec unshare --pid --fork --mount-proc bash -c '"$@"; exit $?' - "$SP_TEST_WORK" "$@"); }
start_spd
for r in 0 1 2; do
    apart -r $r -n 4000 -p 20 work >"$T/out.$r" 2>&1 &
    pids[r]=$!
done
apart -r 3 -n 700 -e kill work >"$T/out.3" 2>&1 && fail "a kill in a pid namespace is not handed on"
apart -r 4 -n 900 -e open work >"$T/out.4" 2>&1
SP_FORK=follow apart -r 5 -n 1000 work >"$T/out.5" 2>&1 || fail "in a pid namespace: $(cat "$T/out.5")"
ended "${pids[@]}"
have_died() { (($(grep -c 'died, published' "$T/spd.log") == 2)); }
until_true 10 have_died || fail "deaths in pid namespaces are not seen"
until_true 5 no_segments || fail "segments are left over: $(segments)"
for r in 0 1 2 5; do grep -q "^finalize 0 $T/data/$S/" "$T/out.$r" || fail "rank $r was not served by spd: $(tail -n 1 "$T/out.$r")"; done
# The same rank in two containers at once.
hold
(cd "$T/cwd" && exec unshare --pid --fork --mount-proc "$SP_TEST_WORK" -r 6 -n 10 -e wait work) <"$T/hold" >"$T/out.first" 2>&1 8>&- &
first=$!
until_true 10 grep -q ^made "$T/out.first" || fail "rank 6 does not come up"
apart -r 6 -n 10 work >"$T/second" 2>&1 || fail "the second of rank 6 fails: $(cat "$T/second")"
grep -q '^init 17 ' "$T/second" || fail "rank 6 is not refused in a second container: $(head -n 1 "$T/second")"
release
ended $first
rm -f "$T"/out.*
join "$T/out.h5" "$S"
expect "$T/out.h5" outer $((3 * 4000 + 700 + 900 + 1000 + 10))
expect "$T/out.h5" %ranks 7

# Its own /dev/shm: spd's lock says that this session is served, but nobody comes.
export SP_SESSION=$S-own
since=$(date +%s%N)
(cd "$T/cwd" && exec unshare -m bash -c 'mount -t tmpfs tmpfs /dev/shm && exec "$1" -r 0 -n 3000 own' - "$SP_TEST_WORK") >"$T/out.own" 2>"$T/err.own" ||
    fail "with a /dev/shm of its own: $(cat "$T/out.own" "$T/err.own")"
ms=$((($(date +%s%N) - since) / 1000000))
((ms < 8000)) || fail "with a /dev/shm of its own it takes $ms ms"
grep -qxF "finalize 0 $T/cwd/own_rank00000.spt" "$T/out.own" || fail "it does not stand alone: $(tail -n 1 "$T/out.own")"
[[ ! -s $T/err.own ]] || fail "it complains: $(cat "$T/err.own")"
expect "$T/cwd/own_rank00000.spt" outer 3000
# And killed there, where nobody can come by: what it drained for itself is found by a merge of the session.
{ SP_RING=1024 unshare -m bash -c 'mount -t tmpfs tmpfs /dev/shm && cd "$2" && exec "$1" -r 1 -n 5000 -e kill own' - "$SP_TEST_WORK" "$T/cwd" >"$T/out.k" 2>&1; } 2>/dev/null
join "$T/own.h5" "$SP_SESSION"
expect "$T/own.h5" %ranks 2
exact
stop_spd
echo "seven containers under one spd, two on their own"
