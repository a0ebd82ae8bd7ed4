#!/bin/bash
# cpp.sh PROGRAM: scopes and macros in a real C++ program, by both compilers, with and without exceptions and spd;
# counts are read back. A file with SP_DISABLE_PROFILING needs nothing of the library.
. "$(dirname "$0")/common.sh"
program=$(readlink -f "$1")
names=("in the new one" "literal" "literal by macro" "void literals(int)" "around sp_finalize" "in a static variable")
want="1 70 70 70 0 0"
held() { # WHAT FILE
    local n
    n=$(calls "$2" "${names[@]}")
    [[ $n == "$want" ]] || fail "$1: $n calls of ${names[*]}, not $want"
}
(cd "$T/cwd" && "$program") >"$T/out" 2>&1 || fail "without spd: $(head -n 3 "$T/out")"
held "without spd" "$T/cwd/scopes_rank00000.spt"
start_spd
(cd "$T/cwd" && SP_SESSION=$S-spd "$program") >"$T/out" 2>&1 || fail "under spd: $(head -n 3 "$T/out")"
merge_lossy "$T/out.h5" "$S-spd"
held "under spd" "$T/out.h5"
stop_spd

# The program with other compilers' objects and options, linked with a file that does not record.
alone='int off_calls(int); int faults; int main() { return off_calls(3) != 3; }'
build() { # OUTPUT COMPILER OPTION...
    local options=(-I"$ROOT/libsp" -Wall -Wextra -Wpedantic -Wshadow -Werror "${@:3}")
    "$2" "${options[@]}" -DSP_DISABLE_PROFILING -c "$HERE/scopes_off.cpp" -o "$T/off.o" 2>"$T/cc" ||
        fail "$2 of scopes_off.cpp: $(head -n 3 "$T/cc")"
    found=$(nm "$T/off.o" | grep sp_) && fail "SP_DISABLE_PROFILING leaves symbols: $found"
    "$2" -o "$T/off" -x c++ - -x none "$T/off.o" <<<"$alone" 2>"$T/cc" ||
        fail "SP_DISABLE_PROFILING needs more than its own file: $(head -n 3 "$T/cc")"
    "$T/off" || fail "the program without a library fails"
    [[ $SP_TEST_SANITIZE == none ]] || return 0
    "$2" "${options[@]}" "$HERE/scopes.cpp" "$T/off.o" -o "$T/$1" -Wl,--wrap=sp_profiler_region_at \
        -L"$SP_TEST_BIN/libsp/record" "-Wl,-rpath,$SP_TEST_BIN/libsp/record" -lsp -pthread 2>"$T/cc" ||
        fail "$2 ${*:3}: $(head -n 3 "$T/cc")"
    (cd "$T/cwd" && SP_SESSION=$S-$1 "$T/$1") >"$T/out" 2>&1 || fail "$2 ${*:3}: $(head -n 3 "$T/out")"
    held "$2 ${*:3}" "$T/cwd/scopes_rank00000.spt"
}
if command -v clang++ >/dev/null; then
    build bare clang++ -std=c++11 -O0 -fno-exceptions -fno-rtti
    echo "C++ programs of two compilers, every scope ended, every literal looked up once"
else
    build bare g++ -std=c++11 -O0 -fno-exceptions -fno-rtti
    echo "a C++ program, every scope ended, every literal looked up once; not checked: clang++ (there is none)"
fi
