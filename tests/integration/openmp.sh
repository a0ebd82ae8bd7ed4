#!/bin/bash
# OpenMP of gcc: loops, nested teams and tasks of both kinds, in exact numbers, each call in its own thread's.
. "$(dirname "$0")/common.sh"
echo 'int main(void) { return 0; }' >"$T/try.c"
${CC:-cc} -fopenmp -o "$T/try" "$T/try.c" 2>/dev/null || skip "${CC:-cc} has no OpenMP"
${CC:-cc} -std=c17 -D_GNU_SOURCE -O2 -Wall -Wextra -fopenmp -I"$ROOT/libsp" -o "$T/openmp" \
    "$ROOT/tests/integration/openmp.c" -L"$SP_TEST_BIN/libsp/record" "-Wl,-rpath,$SP_TEST_BIN/libsp/record" -lsp \
    2>"$T/log" || fail "$(head -n 3 "$T/log")"
ldd "$T/openmp" | grep -q libgomp || skip "${CC:-cc} has an OpenMP that is not gcc's"
start_spd
(cd "$T/cwd" && OMP_WAIT_POLICY=passive "$T/openmp" omp 4) >"$T/out" 2>&1 || fail "status $?: $(tail -n 2 "$T/out")"
[[ $(<"$T/out") == 'moved 0' ]] || fail "libgomp moved tasks between threads: $(<"$T/out")"
spctl merge "$S" -o "$T/omp.h5" >/dev/null || fail "spctl merge: status $?"
echo around "$T/omp.h5" loop=4@- body=4000@loop outside=100@- inside=100@outside inside=100@- 'task=500@*' \
    'child=1000@*' 'untied=2000@*' 'part=2000@*' >"$T/questions"
"$PY" "$ROOT/tests/integration/thread_table.py" "$T/questions" >"$T/said" 2>&1 || fail "$(tail -n 1 "$T/said")"
echo "9804 calls of loops, nested teams, tied and untied tasks"
