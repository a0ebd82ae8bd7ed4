# Sourced by each script after integration/common.sh: programs whose functions are recorded, and their call trees.
BUILT=$SP_TEST_BIN/tests/functions # functions, functions-{linked,own}, libfunctions-{one,two}.so
PRELOAD=$SP_TEST_BIN/libsp/instrument/libsp_instrument.so

# preloaded NAME STATUS PROGRAM ARGUMENT...: runs a program that knows nothing of the library, in a session of its own,
# which is merged into $T/NAME.h5, with status $MERGED where that is set. Its output goes to $T/out.NAME.
preloaded() {
    local name=$1 wanted=$2 status
    shift 2
    export SP_SESSION=$S-$name
    (cd "$T/cwd" && LD_PRELOAD=$PRELOAD exec timeout 30 "$@") >"$T/out.$name" 2>&1
    status=$?
    ((status == wanted)) ||
        fail "$name: the program ended with status $status, not $wanted: $(tail -n 2 "$T/out.$name")"
    spctl merge "$SP_SESSION" -o "$T/$name.h5" >"$T/merge" 2>&1
    status=$?
    ((status == ${MERGED:-0})) || fail "$name: spctl merge ends with $status: $(tail -n 1 "$T/merge")"
}

# tree NAME <<<EXPECTED: the call tree of $T/NAME.h5 has to be exactly that, once `trees` is called: see call_tree.py.
tree() { cat >"$T/$1.expected"; }
trees() { "$PY" "$TOOLS/call_tree.py" --expect "$T" >"$T/diff" || fail "$(head -n 8 "$T/diff")"; }

# counted FILE REGION...: calls of each region, on one line.
counted() {
    local region
    for region in "${@:2}"; do
        spctl report --csv "$1" | sed -n "s/^\"$region\",\([0-9]*\),.*/\1/p"
    done | paste -sd ' '
}
