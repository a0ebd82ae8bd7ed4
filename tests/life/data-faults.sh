#!/bin/bash
# The data folder full or read-only under recording programs, with spd: what cannot be written stays in the rings, only
# full rings drop, counted; it is said once and goes on when there is room. Without spd the calls go beside the output.
. "$(dirname "$(readlink -f "$0")")/common.sh"
need_root
need_mounts
export SP_RING=2048 SP_FULL_WAIT=20000
cat >"$T/in" <<'IN'
mount -t tmpfs -o size=1m,mode=700 tmpfs "$T/data" && mount -t tmpfs tmpfs /dev/shm || exit 9
"$SP_TEST_SPD" --data-dir "$T/data" --runtime-dir "$T/run" --session "$S*" 2>"$T/spd.log" &
spd=$!
trap 'kill -KILL $spd ${program-} 2>/dev/null' EXIT
until [[ -S $T/run/control ]]; do sleep 0.05; done
cd "$T/cwd"
wait_for() { local end=$((SECONDS + 15)); until grep -q "$1" "$T/spd.log"; do ((SECONDS < end)) || exit "$2"; sleep 0.05; done; }
case $1 in
full) head -c 900k /dev/zero >"$T/data/fill" ;; # room for the spool's beginning
readonly) mount -o remount,ro "$T/data" || exit 8 ;;
esac
mkfifo "$T/go"
exec 8<>"$T/go"
"$SP_TEST_WORK" -r 0 -n 30000 -e wait work <"$T/go" >"$T/out.0" 2>"$T/err.0" 8>&- &
program=$!
# Read-only from the beginning, the program may be its own consumer before spd has come to say anything.
[[ $1 == readonly ]] || wait_for 'append to\|attach: \|cannot write' 10
until grep -q ^made "$T/out.0"; do sleep 0.05; done
kill -0 $spd || exit 11
case $1 in
full) mount -o remount,size=64m "$T/data" ;;
readonly) mount -o remount,rw,size=64m "$T/data" ;;
esac
sleep 2.2 # spd tries again each second
"$SP_TEST_WORK" -r 2 -n 500 work >"$T/out.2" 2>&1 || exit 12
exec 8>&-
wait $program || exit 13
"$SP_TEST_SPCTL" merge "$S" -o "$T/out.h5" >"$T/merge" 2>&1
status=$?
kill -TERM $spd
wait $spd || exit 15
[[ $status == 0 || $status == 3 ]] || exit 16
[[ -z $(ls /dev/shm) ]] || exit 17
exit 0
IN
export T S
for how in full readonly; do
    rm -rf "$T/cwd"/* "$T"/out.* "$T"/err.* "$T/go" "$T/run"/*
    export SP_SESSION=$S
    timeout 100 unshare -m bash "$T/in" $how || fail "$how: step $? $(tail -n 2 "$T/spd.log" "$T/merge" 2>/dev/null)"
    made=$((30000 * 4 + 500 * 4))
    kept=$(($(calls "$T/out.h5" outer left right deep | tr ' ' +)))
    lost=$(metadata "$T/out.h5" sp_dropped_records)
    ((kept + lost == made)) || fail "$how: $kept published + $lost counted is not $made made"
    [[ $how == readonly ]] || ((lost > 0)) || fail "$how: nothing was dropped, so that the folder was never in the way"
    grep -Eq "^finalize 0 $T/data/$S/" "$T/out.2" || fail "$how: it does not go on when there is room: $(tail -n 1 "$T/out.0")"
    says=$(grep -c 'append to .*make room\|attach: ' "$T/spd.log")
    ((says <= 2)) || fail "$how: spd says $says times that it cannot append"
    one_line "$T/err.0" 2
    (($(wc -l <"$T/spd.log") < 30)) || fail "$how: spd floods its log: $(head -n 40 "$T/spd.log")"
    result+="$how: $kept published, $lost counted; "
done
echo "$result"
