# Sourced by each script here: what the integration tests share, the programs of this folder, root, other users and
# mount namespaces of one's own.
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../integration/common.sh"
LIFE=$SP_TEST_BIN/tests/life

# short_of N M: N, or M where a sanitizer makes everything many times slower.
short_of() { if [[ $SP_TEST_SANITIZE == none ]]; then echo "$1"; else echo "$2"; fi; }

# life NAME PROGRAM ARGUMENT...: one of the programs here, its output in $T/out.NAME.
life() {
    (cd "$T/cwd" && exec "$LIFE/$2" "${@:3}") >"$T/out.$1" 2>"$T/err.$1" 8>&- ||
        fail "$2 ${*:3}: status $?: $(tail -n 1 "$T/out.$1") $(head -n 2 "$T/err.$1")"
}

# made_by NAME: the number after "made" that a program printed.
made_by() { sed -n 's/^made \([0-9]*\) .*/\1/p' "$T/out.$1"; }

# join OUT INPUT...: a merge that may say that something was lost. What OUT holds is asked for by expect.
join() {
    spctl merge "${@:2}" -o "$1" >"$T/merge" 2>&1
    local status=$?
    ((status == 0 || status == 3)) || fail "spctl merge ${*:2} exits $status: $(tr "\n" " " <"$T/merge")"
}

# expect FILE WHAT NUMBER: notes it (see exact.py); exact: asks for everything that was noted, at once.
expect() { printf '%s\t%s\t%s\n' "$@" >>"$T/list"; }
exact() {
    "$PY" "$HERE/../life/exact.py" "$T/list" >"$T/wrong" 2>&1 || fail "$(head -n 5 "$T/wrong")"
    rm "$T/list"
}

# one_line FILE: no more than one line for one cause, and each says who speaks.
one_line() {
    (($(wc -l <"$1") <= ${2:-1})) || fail "more than ${2:-1} line on stderr: $(head -n 5 "$1")"
    ! grep -v '^scope_profiler: ' "$1" || fail "a line on stderr does not say whose it is"
}

need_root() { ((EUID == 0)) || skip "this needs root"; }
need_mounts() { unshare -m true 2>/dev/null || skip "unshare -m needs a privilege that is not here"; }
