#!/bin/bash
# Plug-ins that take turns at one address keep their names, also one whose file was replaced; a constructor that waits
# for a thread is not waited for by that thread's hooks. A program that uses the library itself gets the functions, too.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
. "$ROOT/tests/functions/common.sh"
preloaded turns 0 "$BUILT/functions" plugins "$BUILT"/libfunctions-{one,two}.so
places=$(grep '^0x' "$T/out.turns" | sort -u | wc -l)
((places == 1)) || fail "the plug-ins lay at $places addresses, not at one: this shows nothing"
tree turns <<<'1 1 last
1 1 main
6 1 main > run
30 1 main > run > one
30 1 main > run > two
6 6 thread
3 3 thread > one
3 3 thread > two'

preloaded own 0 "$BUILT/functions-own"
tree own <<<'1 1 before
1 1 a
1 1 a > b
1 1 a > b > c
1 1 a > b > c > d
1 1 a > b > c > d > e
1 1 a > b > c > d > e > f
1 1 a > b > c > d > e > f > g
1 1 a > b > c > d > e > f > g > h
5 1 a > b > c > d > e > f > g > h > work'
trees
echo "six lives of two plug-ins at one address, and a program with regions of its own"
