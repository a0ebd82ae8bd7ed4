#!/bin/bash
# Four ranks of the heat solver under one command, as an MPI user starts them.
. "$(dirname "$0")/common.sh"
command -v mpicc >/dev/null && command -v mpirun >/dev/null || skip "Open MPI (openmpi-bin, libopenmpi-dev) is not installed"
mpicc -std=c17 -D_GNU_SOURCE -O2 -Wall -Wextra -I"$ROOT/libsp" -o "$T/heat" "$ROOT/tests/heat/heat.c" \
    -L"$SP_TEST_BIN/libsp/record" "-Wl,-rpath,$SP_TEST_BIN/libsp/record" -lsp -lm 2>"$T/log" || fail "mpicc: $(head -n 3 "$T/log")"
unset SP_SESSION
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
(cd "$T/cwd" && spctl run -o "$T/heat.h5" -- mpirun --oversubscribe -n 4 "$T/heat" --seconds 3 --tally "$T/tally") >"$T/out" 2>&1 ||
    fail "spctl run of mpirun: $(tail -n 3 "$T/out")"
sound "$T/heat.h5"
steps=$("$PY" "$ROOT/tests/heat/tally.py" "$T/heat.h5" "$T/tally" 4) || fail "$steps"
echo "$steps"
