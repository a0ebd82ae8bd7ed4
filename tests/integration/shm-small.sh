#!/bin/bash
# A /dev/shm with room for hardly more than one small ring: wherever a smaller one records, a larger one does too.
. "$(dirname "$(readlink -f "$0")")/common.sh"
unshare -m true 2>/dev/null || skip "unshare -m needs a privilege that is not here"

cd "$T/cwd" || exit 1
for size in 96 128 160 192 256 1024; do
    rm -f ./*.spt
    unshare -m bash -c 'mount -t tmpfs -o size="$1"k tmpfs /dev/shm && exec "$2" -r 0 -n 5000' - \
        "$size" "$SP_TEST_WORK" >"$T/out" 2>"$T/err" || fail "$size KiB: the program ended with $?: $(tail -n 1 "$T/err")"
    (($(wc -l <"$T/err") <= 1)) || fail "$size KiB: more than one line on stderr: $(cat "$T/err")"
    counts "$(find . -name '*_rank00000*.spt')" 5000
    rm -rf "${T:?}/data/$S"
done
echo "5000 steps each in six sizes of /dev/shm"
