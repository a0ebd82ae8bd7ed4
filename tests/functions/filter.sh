#!/bin/bash
# SP_FILTER: only the functions that its globs name are recorded, and what is wrong with it is said in one line.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
. "$ROOT/tests/functions/common.sh"

printf '# what takes long\n\n  out*  \ninner\nmai?\n! ma*\n' >"$T/filter"
SP_FILTER=$T/filter preloaded some 0 "$BUILT/functions" tree
tree some <<<'3 1 outer
6 1 outer > inner'
[[ ! -s $T/out.some ]] || fail "a good filter: $(head -n 1 "$T/out.some")"

printf '!factorial\n!last' >"$T/filter"
SP_FILTER=$T/filter preloaded others 0 "$BUILT/functions" tree
tree others <<<'1 1 main
1 1 main > tree
3 1 main > tree > outer
6 1 main > tree > outer > inner'

printf 'outer\n!\n[a-\ninner\\\n' >"$T/cwd/filter"
SP_FILTER=filter preloaded bad 0 "$BUILT/functions" tree
tree bad <<<'3 1 outer'
grep -v 'joined calls' "$T/out.bad" >"$T/said"
[[ $(cat "$T/said") == "scope_profiler: $T/cwd/filter, line 2: "*"ignored, and so are the faulty lines 3 4" ]] ||
    fail "a filter with three bad lines: $(cat "$T/said")"

SP_FILTER=$T/none preloaded none 3 "$BUILT/functions" exit
tree none <<<'1 1 main
1 1 main > leave
1 1 main > leave > inner
1 1 main > leave > last'
[[ $(cat "$T/out.none") == "scope_profiler: SP_FILTER: $T/none cannot be read: "*"; all functions are recorded" ]] ||
    fail "a filter that is not there: $(cat "$T/out.none")"

# What would hang the program, or never end, is not read.
mkfifo "$T/fifo"
truncate -s 1048577 "$T/large"
for file in "$T/fifo" /dev/zero "$T" "$T/large"; do
    name=odd-${file//\//-}
    SP_FILTER=$file preloaded "$name" 3 "$BUILT/functions" exit
    cp "$T/none.expected" "$T/$name.expected"
    [[ $(cat "$T/out.$name") == "scope_profiler: SP_FILTER: $file cannot be read: it is "*": write "*"; all functions are recorded" ]] ||
        fail "SP_FILTER=$file: $(cat "$T/out.$name")"
done
trees
echo "filters: globs, exclusions, bad lines, no such file, no regular file, too large a one"
