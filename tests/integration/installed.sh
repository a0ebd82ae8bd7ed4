#!/bin/bash
# What is installed is enough: a program built through pkg-config, spd and spctl that find their library, clean exports.
. "$(dirname "$0")/common.sh"
meson install -C "$SP_TEST_BIN" --no-rebuild --destdir "$T/root" >"$T/log" 2>&1 || fail "meson install: $(tail -n 1 "$T/log")"
pc=$(find "$T/root" -name libsp.pc) || fail "no libsp.pc"
[[ -n $pc ]] || fail "no libsp.pc is installed"
export PKG_CONFIG_PATH=$(dirname "$pc") PKG_CONFIG_SYSROOT_DIR=$T/root
lib=$(dirname "$(dirname "$pc")")
[[ $(pkg-config --modversion libsp) =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || fail "libsp.pc has the version '$(pkg-config --modversion libsp)'"
cc -Wall -Wextra -Werror -o "$T/work" "$HERE/work.c" $(pkg-config --cflags --libs libsp) "-Wl,-rpath,$lib" -pthread 2>"$T/log" ||
    fail "a program does not build: $(head -n 3 "$T/log")"
needed=$(readelf -d "$lib/libsp.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so\.6|ld-linux.*)$')
[[ -z $needed ]] || fail "libsp.so links $needed"
readelf -d "$lib/libsp.so" | grep -q 'SONAME.*libsp\.so\.1' || fail "libsp.so has no soname"
foreign=$(nm -D --defined-only "$lib/libsp.so" "$lib/libspio.so" | awk '$2 ~ /[A-Z]/ && $3 !~ /^sp_[a-z]/ && $2 != "A" {print $3}')
[[ -z $foreign ]] || fail "exported besides sp_*: $foreign"
if command -v g++ >/dev/null; then
    printf '#include <scope_profiler.hpp>\nint main() { sp_init("cpp", 0); { SP_PROFILE_FUNCTION(); } %s }\n' \
        'return sp_finalize();' >"$T/use.cpp"
    g++ -Wall -Wextra -Werror -o "$T/cpp" "$T/use.cpp" $(pkg-config --cflags --libs libsp) "-Wl,-rpath,$lib" 2>"$T/log" ||
        fail "a C++ program does not build: $(head -n 3 "$T/log")"
    (cd "$T/cwd" && "$T/cpp") || fail "the C++ program fails"
    [[ $(calls "$T/cwd/cpp_rank00000.spt" "int main()") == 1 ]] || fail "the C++ program does not make its call"
else
    echo "not checked: a C++ program (there is no g++)"
fi
if [[ -f $(dirname "$pc")/libsp_fortran.pc ]]; then
    gfortran -cpp -o "$T/heat" "$ROOT/fortran/heat.f90" $(pkg-config --cflags --libs libsp_fortran) \
        "-Wl,-rpath,$lib" 2>"$T/log" || fail "a Fortran program does not build: $(head -n 3 "$T/log")"
    (cd "$T/cwd" && SP_SESSION=$S-heat "$T/heat") >"$T/log" 2>&1 ||
        fail "the Fortran program fails: $(tail -n 1 "$T/log")"
    [[ $(calls "$T/cwd/heat_rank00000.spt" step update) == '200 200' ]] ||
        fail "the Fortran program does not make its calls"
else
    echo "not checked: a Fortran program (the module was not built)"
fi
share=$(find "$T/root" -type d -name bash-completion -path '*share*') && share=${share%/*}
for file in man/man1/spctl-export.1 man/man1/spd.1 man/man3/libsp.3 man/man5/scope-profiler-formats.5 \
    man/man7/scope-profiler-environment.7 bash-completion/completions/spctl bash-completion/completions/spd zsh/site-functions/_spctl; do
    [[ -s $share/$file ]] || fail "$file is not installed"
done
if command -v systemd-analyze >/dev/null; then
    unit=$(find "$T/root" -path '*/systemd/user/spd.service')
    [[ -n $unit ]] || fail "no user unit is installed"
    sed "s|^ExecStart=.*|ExecStart=$(find "$T/root" -name spd -path '*bin*')|" "$unit" >"$T/spd.service"
    XDG_RUNTIME_DIR=$T/run systemd-analyze --user --man=no verify "$T/spd.service" >"$T/log" 2>&1 ||
        fail "systemd-analyze verify: $(head -n 1 "$T/log")"
    grep -F "$T/spd.service" "$T/log" && fail "systemd-analyze finds fault with the unit"
else
    echo "not checked: the systemd unit (there is no systemd-analyze)"
fi
SP_TEST_SPD=$(find "$T/root" -name spd -path '*bin*') SP_TEST_SPCTL=$(find "$T/root" -name spctl -path '*bin*') SP_TEST_WORK=$T/work
start_spd
work -n 700 work >"$T/out.0" 2>&1 || fail "$(tail -n 1 "$T/out.0")"
merge "$T/out.h5" "$S"
counts "$T/out.h5" 700
stop_spd
echo 'int main(void) { return 0; }' >"$T/hooked.c"
cc -finstrument-functions -o "$T/hooked" "$T/hooked.c" $(pkg-config --libs libsp_instrument) "-Wl,-rpath,$lib" 2>"$T/log" ||
    fail "a program does not link libsp_instrument: $(head -n 3 "$T/log")"
(cd "$T/cwd" && "$T/hooked") && [[ -s $T/cwd/hooked_rank00000.spt ]] || fail "a program that links libsp_instrument has no profile"
(cd "$T/cwd" && spctl run --functions -o "$T/hooked.h5" -- "$T/hooked") >"$T/log" 2>&1 ||
    fail "an installed spctl run --functions: $(tail -n 1 "$T/log")"
echo "installed, linked through pkg-config, run"
