#!/bin/bash
# Very many forks, by fork under spd, or without its handlers (_Fork, a raw clone) and without spd: every child finds the
# profiler off and is gone within a second, none of them writes anything, and the parent's calls are exact.
. "$(dirname "$(readlink -f "$0")")/common.sh"
ways=("${@:2}") each=$(short_of "$1" 500)
# On one processor, with all names bound: else most of the time goes into page tables and page faults of children.
export LD_BIND_NOW=1
[[ ${ways[0]} == fork ]] && cpu=$(($(nproc) - 1)) || cpu=0
taskset -pc $cpu $$ >/dev/null 2>&1 || echo "not on one processor"
for way in "${ways[@]}"; do
    [[ $way != fork ]] || start_spd
    export SP_SESSION=$S-$way
    life "$way" family -n "$each" -j 1 "$way"
    join "$T/$way.h5" "$SP_SESSION"
    expect "$T/$way.h5" a "$(made_by "$way")"
    files=$(find "$T/cwd" "$T/data" -name '*_rank*' ! -name '.*')
    [[ $(wc -l <<<"$files") == 1 ]] || fail "$way: a child has published: $files"
    rm -f "$T/cwd"/*
done
exact
no_segments || fail "segments are left over: $(segments)"
! grep -h . "$T"/err.* || fail "something was said on stderr"
echo "$each children each of ${ways[*]}: $(sed -n 's/.* in \([0-9]* ms\).*/\1/p' "$T"/out.* | tr '\n' ' ')"
