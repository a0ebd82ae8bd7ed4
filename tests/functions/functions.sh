#!/bin/bash
# Functions of a C program without a line changed: every call once, under its caller, whatever way a function is left.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
. "$ROOT/tests/functions/common.sh"
FACTORIAL='1 1 main > tree > factorial
1 1 main > tree > factorial > factorial
1 1 main > tree > factorial > factorial > factorial
1 1 main > tree > factorial > factorial > factorial > factorial
1 1 main > tree > factorial > factorial > factorial > factorial > factorial'
TREE="1 1 last
1 1 main
1 1 main > tree
3 1 main > tree > outer
6 1 main > tree > outer > inner
$FACTORIAL"

preloaded tree 0 "$BUILT/functions" tree
tree tree <<<"$TREE"
[[ -s $T/cwd/functions_rank00000.spt ]] || fail "no functions_rank00000.spt where the program was started"
[[ ! -s $T/out.tree ]] || fail "something is printed: $(head -n 1 "$T/out.tree")"
strip "$BUILT/functions" -o "$T/stripped"
preloaded stripped 0 "$T/stripped" tree
stripped='(stripped\+0x[0-9a-f]+( > )?)+'
tree stripped <<<"1 1 /$stripped/
3 1 /$stripped/
6 1 /$stripped/"

PRELOAD='' preloaded linked 0 "$BUILT/functions-linked" tree
tree linked <<<"$TREE"

preloaded jumps 0 "$BUILT/functions" jumps
tree jumps <<<'1 1 last
1 1 main
1 1 main > jumps
1000 1 main > jumps > inner
1000 1 main > jumps > middle
1000 1 main > jumps > middle > fails
2 1 main > jumps > attempt
2 1 main > jumps > attempt > middle
2 1 main > jumps > attempt > middle > fails
2 1 main > jumps > attempt > large
2 1 main > jumps > attempt > large > inner
1 1 main > jumps > by_context
1 1 main > jumps > by_context > left'

preloaded threads 0 "$BUILT/functions" threads
tree threads <<<'1 1 last
1 1 main
1 1 main > threads
4 4 thread
4000 4 thread > work
4000 4 thread > work > inner'

# exit ends the calls that it is made in; _exit and death leave them open.
preloaded exit 3 "$BUILT/functions" exit
tree exit <<<'1 1 main
1 1 main > leave
1 1 main > leave > inner
1 1 main > leave > last'
for way in _exit kill; do
    preloaded "$way" "$([[ $way == kill ]] && echo 137 || echo 3)" "$BUILT/functions" "$way"
    tree "$way" <<<'1 1 inner'
    open=$(spctl report "$T/$way.h5" | grep -A 1 '^Still open')
    [[ $open == *"rank 0 thread 0: main > leave, "* ]] || fail "$way: open calls are '$open', not main > leave"
done

preloaded forks 0 "$BUILT/functions" forks
tree forks <<<'1 1 last
1 1 main
1 1 main > forks
1 1 main > forks > outer
2 1 main > forks > outer > inner'
SP_FORK=follow preloaded follow 0 "$BUILT/functions" forks
tree follow <<<'2 2 last
1 1 main
1 1 main > forks
1 1 main > forks > outer
2 1 main > forks > outer > inner
1 1 outer
2 1 outer > inner'

# The library's own calls of the program's malloc disturb nothing that is open.
$CC -O1 -fno-builtin -finstrument-functions -pthread -o "$T/malloc" "$ROOT/tests/functions/malloc.c" 2>"$T/log" ||
    fail "malloc.c: $(head -n 3 "$T/log")"
preloaded malloc 0 "$T/malloc"
"$PY" "$TOOLS/call_tree.py" "$T/malloc.h5" | grep -E ' (main|thread|early)( > work)?$' >"$T/tree"
[[ $(sort "$T/tree") == $'1 1 early\n1 1 main\n1 1 thread\n1 1 thread > work\n2 1 main > work' ]] ||
    fail "a program with a malloc of its own: $(paste -sd ';' "$T/tree")"

# Deeper than anything is kept, twice, the second time left by longjmp: each call is recorded or counted.
MERGED=3 preloaded deep 0 "$BUILT/functions" deep
grep -q '^deep 150000$' "$T/out.deep" || fail "a program of 150,000 nested calls prints $(tail -n 1 "$T/out.deep")"
n=$(counted "$T/deep.h5" main all_deep inner last deep):$(grep -aoh '"too_deep":[1-9][0-9]*' "$T/data/$SP_SESSION"/*.note*)
[[ $n == '1 1 2 1 32764:"too_deep":267238' ]] ||
    fail "of main, all_deep, inner, last, and deep twice 150,001 times, 16,382 to be kept: $n"
trees
echo "call trees of a C program: plain, stripped, linked, left by longjmp, setcontext, exit, death and pthread_exit; an own malloc"
