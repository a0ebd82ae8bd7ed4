#!/bin/bash
# fortran-names.sh PROGRAM: every call form of the module, names of all kinds, statuses and messages; the same with
# flang, from the module's source; a program in fixed form; the module in every standard.
. "$(dirname "$0")/common.sh"
export SP_RANK=3
held() { # PROGRAM
    local n
    rm -f "$T"/cwd/*.spt
    (cd "$T/cwd" && SP_SESSION=$S-$(basename "$1") "$1") >"$T/out" 2>&1 || fail "$1: $(head -n 3 "$T/out")"
    [[ -s $T/out ]] && fail "$1 prints: $(head -n 1 "$T/out")"
    n=$(calls "$T/cwd/names_rank00003.spt" a zero two four f fo fou five tw "zero one" "" deferred cut \
        "größer als π" "  blanks before, within and after" "deferred and longer still" statuses)
    [[ $n == "3 3 2 4 2 2 2 1 1 1 4 1 2 1 2 1 1" ]] || fail "$1: the trace holds $n calls"
    (cd "$T/cwd" && "$1" messages) >"$T/out" 2>&1 || fail "$1 messages: $(head -n 3 "$T/out")"
    n=$(sed 's/ (said once.*//' "$T/out")
    [[ $n == "scope_profiler: sp_end of handle 1: no such call is open in this thread
scope_profiler: sp_begin of handle 4712: an argument is not valid
scope_profiler: sp_reset: calls are still open
within a write: 0" ]] || fail "$1: 401 mistakes of three kinds print: $n"
}
held "$(readlink -f "$1")"
words=gfortran

# FILE OPTION...: compiles a program with what is built here, and links it.
build() {
    gfortran "${@:2}" "-I$(dirname "$MOD")" -o "$T/built" "$1" -L"$SP_TEST_BIN/fortran" -L"$SP_TEST_BIN/libsp/record" \
        "-Wl,-rpath,$SP_TEST_BIN/fortran:$SP_TEST_BIN/libsp/record" -lsp_fortran -lsp 2>"$T/log" ||
        fail "$1: $(head -n 5 "$T/log")"
}
MOD=$(find "$SP_TEST_BIN/fortran" -maxdepth 1 -name scope_profiler.mod)
[[ -n $MOD ]] || fail "there is no scope_profiler.mod"
cat >"$T/fixed.f" <<'F'
C     Fixed form, as old as it gets.
      PROGRAM FIXED
      USE SCOPE_PROFILER
      INTEGER STEP, I
      CALL SP_INIT('fixed')
      STEP = SP_REGION('a step', 'fixed.f',
     &                 6)
      DO 10 I = 1, 25
      CALL SP_BEGIN(STEP)
   10 CALL SP_END(STEP)
      CALL SP_FINALIZE
      END
F
build "$T/fixed.f" -std=legacy -Wall -Werror
(cd "$T/cwd" && "$T/built") >"$T/out" 2>&1 || fail "fixed form: $(head -n 3 "$T/out")"
[[ $(calls "$T/cwd/fixed_rank00003.spt" "a step") == 25 ]] || fail "fixed form: not 25 calls"
for options in "-std=f2008" "-std=f2018" "-fdefault-integer-8"; do
    gfortran -fsyntax-only -pedantic -Wall -Wextra -Werror -J "$T" $options "$ROOT/fortran/scope_profiler.f90" \
        2>"$T/log" || fail "the module with $options: $(head -n 5 "$T/log")"
done

flang=$(compgen -c flang | grep -E '^flang(-new)?-[0-9]+$' | sort -V | tail -n 1)
if [[ -z $flang ]]; then
    echo "every call form and kind of name, $words; not checked: flang (there is none; flang-16 takes 760 MB)"
    exit 0
fi
# Debian's flang does not find its own run-time library.
runtime=$(find /usr/lib/llvm-"${flang##*-}"/lib -name libFortranRuntime.a 2>/dev/null)
(cd "$T" && "$flang" -c -O2 "$ROOT/fortran/scope_profiler.f90" && "$flang" -c "$ROOT/fortran/names.f90" &&
    "$flang" -o flang names.o scope_profiler.o -L"$SP_TEST_BIN/libsp/record" "-Wl,-rpath,$SP_TEST_BIN/libsp/record" \
        -lsp -L"$(dirname "$runtime")" -lstdc++ -lm) >"$T/log" 2>&1 || fail "$flang: $(head -n 5 "$T/log")"
held "$T/flang"
echo "every call form and kind of name, $words and $flang"
