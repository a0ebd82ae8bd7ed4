#!/bin/bash
# Whoever removes the spools of a merged file can die between two of them: a rank that lived twice is still counted once.
. "$(dirname "$0")/common.sh"
start_spd --format merged
work -r 0 -n 3000 -e kill work >"$T/out.0" 2>&1
work -r 0 -n 2000 work >"$T/out.1" 2>&1 || fail "the second life failed: $(tail -n 1 "$T/out.1")"
stop_spd
mapfile -t spools < <(find "$T/data/$S" -name '*.spool')
[[ ${#spools[@]} == 2 ]] || fail "there are ${#spools[@]} spools of two lives: ${spools[*]}"
mkdir "$T/aside"
cp "${spools[@]}" "$T/aside"
spctl gc --yes "$S" >"$T/gc" 2>&1 || fail "gc: $(cat "$T/gc")"
[[ -z $(find "$T/data/$S" -name '*.spool') ]] || fail "gc leaves spools whose calls are published: $(cat "$T/gc")"
merge "$T/none.h5" "$S"
counts "$T/none.h5" 5000
for spool in "$T/aside"/*; do
    cp "$spool" "$T/data/$S/"
    merge "$T/one.h5" "$S"
    counts "$T/one.h5" 5000
    rm "$T/data/$S/${spool##*/}"
done
cp "$T/aside"/* "$T/data/$S/"
merge "$T/both.h5" "$S"
counts "$T/both.h5" 5000
echo "20000 calls of two lives, each once, whichever spool was removed first"
