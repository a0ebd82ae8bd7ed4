#!/bin/bash
# /dev/shm of 64 KiB, full, read-only or missing: the program runs as if it were not instrumented, and one line on stderr
# names path, need, what is free and what to set; spd lives through it too. One that fills up later costs no call that was
# recorded.
. "$(dirname "$(readlink -f "$0")")/common.sh"
need_root
need_mounts
cat >"$T/in" <<'IN'
set -e
case $1 in
small) mount -t tmpfs -o size=64k tmpfs /dev/shm ;;
full) mount -t tmpfs -o size=1m tmpfs /dev/shm; head -c 2m /dev/zero >/dev/shm/fill 2>/dev/null || true ;;
readonly) mount -t tmpfs -o ro tmpfs /dev/shm ;;
missing)
    mkdir -p "$T/dev"
    mount -t tmpfs tmpfs "$T/dev"
    for f in null zero full urandom random; do
        : >"$T/dev/$f"
        mount --bind "/dev/$f" "$T/dev/$f"
    done
    ln -s /proc/self/fd "$T/dev/fd"
    mount --rbind "$T/dev" /dev
    [[ ! -e /dev/shm ]]
    ;;
file) mkdir -p "$T/none"; mount --bind "$T/none" /dev/shm; mount -o remount,bind,ro /dev/shm ;;
esac
shift
set +e
exec "$@"
IN
inside() { T=$T exec unshare -m bash "$T/in" "$@"; } # for a subshell, which it becomes
for how in small full readonly missing file; do
    rm -rf "$T/cwd"/* "$T/data"/* "$T/dev" "$T/none"
    (cd "$T/cwd" && inside $how "$SP_TEST_WORK" -r 0 -n 5000) >"$T/out" 2>"$T/err" || fail "$how: the program ended with $?: $(tail -n 1 "$T/err")"
    grep -q '^made 5000 ' "$T/out" || fail "$how: it did not make its calls"
    # In 64 KiB there is room for the segment, and for no ring.
    [[ $how == small ]] || grep -q '^init 18 ' "$T/out" || fail "$how: sp_init does not give SP_ERR_NO_SPACE (18): $(head -n 1 "$T/out")"
    [[ $(wc -l <"$T/err") == 1 ]] || fail "$how: $(wc -l <"$T/err") lines on stderr, not one: $(cat "$T/err")"
    grep -Eq '^scope_profiler: /dev/shm: .*[1-9][0-9]* bytes needed, [0-9]+ free\)?;.*remount,size=.*SP_RING' "$T/err" ||
        fail "$how: the line lacks something: $(cat "$T/err")"
    [[ $how == small || -z $(find "$T/cwd" "$T/data" -mindepth 1) ]] || fail "$how: files are made: $(find "$T/cwd" "$T/data" -mindepth 1)"
    # As long as without: it may not wait for anything.
    ms=$(sed -n 's/^made .* in \([0-9]*\) ms$/\1/p' "$T/out")
    ((ms < 1000)) || fail "$how: 5000 iterations took $ms ms"
    # spd comes up, says what it cannot see, and ends when it is told to.
    inside $how "$SP_TEST_SPD" --data-dir "$T/data" --runtime-dir "$T/run" --session "$S*" >"$T/spd.log" 2>&1 &
    holder=$!
    until_true 10 reachable || fail "$how: spd does not come up: $(tail -n 1 "$T/spd.log")"
    spctl list >/dev/null 2>&1
    (($? <= 3)) || fail "$how: spctl list fails"
    sleep 0.3
    pid=$("$PY" -c 'import json, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b"{\"v\":1,\"op\":\"ping\"}\n"); print(json.loads(s.recv(4096))["pid"])' "$T/run/control")
    kill -TERM "$pid"
    wait $holder || fail "$how: spd ended with $?: $(tail -n 1 "$T/spd.log")"
    (($(grep -c warning "$T/spd.log") <= 2)) || fail "$how: spd floods its log: $(cat "$T/spd.log")"
done

# It fills up under a program whose threads come later: what was recorded is published, the others' calls are counted.
unshare -m bash -c 'mount -t tmpfs -o size=2m tmpfs /dev/shm; (sleep 0.3; head -c 4m /dev/zero >/dev/shm/fill 2>/dev/null) & cd "$1" && exec "$2" -s -p 1000 -t 6 -n 1000 late' - \
    "$T/cwd" "$SP_TEST_WORK" >"$T/out" 2>"$T/err" || fail "filled up: the program ended with $?: $(tail -n 1 "$T/err")"
join "$T/late.h5" "$S"
kept=$(($(calls "$T/late.h5" outer left right deep | tr ' ' +)))
lost=$(metadata "$T/late.h5" sp_dropped_records)
((kept + lost == 26000)) || fail "filled up: $kept published + $lost counted is not 26000"
((kept >= 2000 && lost > 0)) || fail "filled up: $kept published, $lost counted"
one_line "$T/err" 3
echo "five kinds of /dev/shm harm nobody; filled up later, $kept calls are published and $lost counted"
