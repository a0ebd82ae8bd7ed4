#!/bin/bash
# What spctl config prints compiles and runs programs, also where the prefix was moved after it was installed.
. "$(dirname "$0")/common.sh"
meson install -C "$SP_TEST_BIN" --no-rebuild --destdir "$T/first" >"$T/log" 2>&1 || fail "meson install: $(tail -n 1 "$T/log")"
mv "$T/first" "$T/moved"
SP_TEST_SPCTL=$(find "$T/moved" -name spctl -path '*bin*')
config() { spctl config "$@" 2>"$T/log" || fail "config $*: $(tail -n 1 "$T/log")"; }
[[ -f $(config --include-dir)/scope_profiler.h ]] || fail "--include-dir: $(config --include-dir)"
[[ $(config --version) =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "--version: $(config --version)"
[[ $(config --cflags --libs | wc -l) == 2 ]] || fail "two options do not give two lines"
spctl config 2>"$T/log" && fail "config without an option succeeds"
[[ $(spctl config 2>/dev/null | wc -c) == 0 ]] || fail "config without an option prints"
"${CC:-cc}" $(config --cflags) -o "$T/work" "$HERE/work.c" $(config --libs) -pthread 2>"$T/log" ||
    fail "a C program does not build: $(head -n 3 "$T/log")"
SP_TEST_WORK=$T/work
work -n 50 work >"$T/out" 2>&1 || fail "$(tail -n 1 "$T/out")"
counts "$T/cwd/work_rank00000.spt" 50

source=$(config --fortran-source)
[[ -f $source ]] || fail "--fortran-source: $source"
if ! command -v gfortran >/dev/null; then
    echo "a C program with what config prints; not checked: Fortran (there is no gfortran)"
    exit 0
fi
ran() { # EXECUTABLE
    (cd "$T/cwd" && rm -f heat_rank*.spt && SP_SESSION=$S-$(basename "$1") "$1") >"$T/out" 2>&1 || fail "$(basename "$1"): $(tail -n 1 "$T/out")"
    [[ $(calls "$T"/cwd/heat_rank00000.spt step update) == '200 200' ]] || fail "$(basename "$1") does not make its calls"
}
(cd "$T" && gfortran -c "$source" && gfortran -cpp -o from-source "$ROOT/fortran/heat.f90" scope_profiler.o $(config --libs)) \
    2>"$T/log" || fail "the module's source does not build: $(head -n 3 "$T/log")"
ran "$T/from-source"
words="from the module's source"
if spctl config --fortran-mod-dir >"$T/mod" 2>"$T/log"; then
    mkdir "$T/empty"
    (cd "$T/empty" && gfortran -cpp "-I$(cat "$T/mod")" -o "$T/from-module" "$ROOT/fortran/heat.f90" -lsp_fortran $(config --libs)) \
        2>"$T/log" || fail "the module is not usable: $(head -n 3 "$T/log")"
    ran "$T/from-module"
    words+=" and from the installed one"
fi
echo "a C program and a Fortran one, $words"
