#!/bin/bash
# Two restarts at once over one dead segment, 2,000 times, with spd beside them and without; and two starts at once where
# nobody was: exactly one becomes the rank, the other is told so, the dead one's calls are kept.
. "$(dirname "$(readlink -f "$0")")/common.sh"
# The folders lie in memory: each of these many ends is synced to its disk.
memory=$(mktemp -d /dev/shm/life-XXXXXX) || skip "/dev/shm takes no folder"
trap 'rm -rf "$memory"; cleanup' EXIT
mkdir -m 700 "$memory/data" "$memory/cwd"
rmdir "$T/data" "$T/cwd"
ln -s "$memory/data" "$T/data"
ln -s "$memory/cwd" "$T/cwd"
begin() { # SESSION ROUNDS [fresh]
    mkdir "$memory/cwd/$1" # each publishes the same names
    (cd "$memory/cwd/$1" && SP_SESSION=$S-$1 exec "$LIFE/restarts" "${@:2}") >"$T/out.$1" 2>"$T/err.$1" 8>&- &
    running+=($!)
    names+=("$1")
    rounds+=("$2")
}
# Several sessions race side by side: most of the time goes into waiting for each other.
finish() {
    local i name
    for i in "${!running[@]}"; do
        name=${names[i]}
        wait "${running[i]}" || fail "$name: $(tail -n 1 "$T/err.$name")"
        join "$T/$name.h5" "$S-$name"
        expect "$T/$name.h5" a "$(made_by "$name")"
        expect "$T/$name.h5" %ranks "${rounds[i]}"
        [[ $(wc -l <"$T/err.$name") == "${rounds[i]}" ]] ||
            fail "$name: $(wc -l <"$T/err.$name") lines on stderr for ${rounds[i]} that were refused"
        ! grep -v '^scope_profiler: rank [0-9]* of session .* is in use by another process' "$T/err.$name" ||
            fail "$name: that is no clear reason"
        total=$((${total:-0} + rounds[i]))
    done
    running=() names=() rounds=()
}
each=$(short_of 150 10) # in all 2,050
for ((n = 0; n < $(short_of 11 2); n++)); do begin "alone-$n" "$each"; done
begin fresh-alone 50 fresh
finish
start_spd
begin spd "$each"
begin spd-too "$each"
begin fresh-spd 50 fresh
finish
exact
until_true 10 no_segments || fail "segments are left over: $(segments | head -n 3)"
echo "$total races, each with one winner"
