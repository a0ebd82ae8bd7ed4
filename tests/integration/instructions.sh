#!/bin/bash
# instructions.sh ARCHITECTURE COMPILER: a begin/end pair takes more instructions than it did. Callgrind counts them, so that
# neither the machine's speed nor its noise matters; the figures are those of instructions.txt, and 5 per cent more is too
# many. Fewer are welcome: then the figures are lowered.
. "$(dirname "$(readlink -f "$0")")/common.sh"
command -v valgrind >/dev/null || skip "valgrind is not installed"
N=20000 # less than half a ring: no drain falls among them

# count WAY OPTION...: instructions a pair, its loop included.
count() {
    (cd "$T/cwd" && valgrind --tool=callgrind --callgrind-out-file="$T/callgrind.$1" --collect-atstart=no \
        --toggle-collect=measured "$SP_TEST_PAIRS" "${@:2}" $N) >"$T/out" 2>"$T/valgrind" ||
        fail "$1: valgrind ended with status $?: $(tail -n 2 "$T/valgrind")"
    awk -v way="$1" -v n=$N '/^(summary|totals):/ && !said++ {printf "%s %.2f\n", way, $2 / n}' "$T/callgrind.$1" >>"$T/counted"
}
export SP_CLOCK=tsc SP_RING=262144
count records
SP_MODE=stats count stats
count inactive -i
SP_DISABLE=1 count disabled

awk -v key="$1 $2" '
    FNR == NR { if ($1 " " $2 == key) was[$3] = $4; next }
    !($1 in was) { unknown = 1 }
    { printf "%-9s %7.2f instructions a pair, %s\n", $1, $2, $1 in was ? "were " was[$1] : "no figure to compare with" }
    $2 < 2 || ($1 in was && $2 > was[$1] * 1.05) { print "FAILED: " $1 ": more than they were, and 5 per cent"; bad = 1 }
    END { exit bad ? 1 : FNR != 4 ? 1 : unknown ? 77 : 0 }' "$HERE/instructions.txt" "$T/counted"
status=$?
((status != 77)) || skip "instructions.txt has no figures for $1 and $2"
exit $status
