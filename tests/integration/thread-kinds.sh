#!/bin/bash
# Threads of C11, and threads that end in all ways or not at all: exact counts, parents of their own, and in
# thread_table the name, the times and the CPU time that each thread read from its own clocks.
. "$(dirname "$0")/common.sh"
question() { echo "$@" >>"$T/questions"; }
run() { # KIND [PREFIX]: in a session of its own
    (cd "$T/cwd" && SP_SESSION=$S-${2:-$1} exec "$SP_TEST_THREAD_KINDS" "$1" "${2:-$1}" "$T/truth.${2:-$1}") \
        >"$T/out.$1" 2>&1 8>&- || fail "$1: status $?: $(tail -n 2 "$T/out.$1")"
}
expect() { # KIND THREADS ended|alive|-
    local n=$(($2 * 2000))
    [[ -e $T/$1.h5 ]] || spctl merge "$S-$1" -o "$T/$1.h5" >"$T/merge" 2>&1 ||
        fail "spctl merge $S-$1: $(tail -n 1 "$T/merge")"
    question around "$T/$1.h5" "outer=$n@-" "inner=$n@outer" "leaf=$n@inner"
    [[ $3 == - ]] || question "$3" "$T/$1.h5" "$T/truth.${1%-now}"
}
start_spd
run c11
run ends
run lives
run _exit
expect c11 4 -
expect ends 3 ended
expect lives 2 alive
expect _exit 2 alive

hold
(cd "$T/cwd" && SP_SESSION=$S-flushed exec "$SP_TEST_THREAD_KINDS" flushed flushed "$T/truth.flushed") \
    <"$T/hold" >"$T/out.flushed" 2>&1 8>&- &
program=$!
flushed() { grep -q flushed "$T/out.flushed"; }
until_true 20 flushed || fail "the program does not come to its flush"
cp "$(find "$T/data/$S-flushed" -name '*.h5' ! -name '.*')" "$T/flushed-now.h5"
cp "$T/truth.flushed" "$T/truth.flushed-now"
expect flushed-now 2 alive
echo >&8
release
ended "$program"
expect flushed 2 ended
stop_spd

run lives alone
expect alone 2 alive
"$PY" "$ROOT/tests/integration/thread_table.py" "$T/questions" >"$T/said" 2>&1 || fail "$(tail -n 1 "$T/said")"
echo "90000 calls; names, times and CPU times of 11 threads as they knew them themselves"
