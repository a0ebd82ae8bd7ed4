#!/bin/bash
# The example of the reading library, built as a user would build it, says what the fixtures' own description says.
. "$(dirname "$0")/common.sh"
lib=$SP_TEST_BIN/libsp/io
fixtures=$ROOT/tests/fixtures
${CC:-cc} -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$ROOT/libsp" "$ROOT/docs/examples/average.c" -o "$T/average" \
    -L"$lib" -lspio "-Wl,-rpath,$lib" 2>"$T/cc" || fail "the example does not build: $(head -n 3 "$T/cc")"
for file in v2-little_rank00000.spt gzip.h5 python-writer.h5 aggregate.h5; do
    want=$($PY -c '
import json, sys
calls, total = json.load(open(sys.argv[1]))[sys.argv[2]]["0/solve"][:2]
print(f"solve: {total / calls * 1e-9:.9f} s on average over {calls} calls")' "$fixtures/expected.json" "$file")
    got=$("$T/average" "$fixtures/$file" solve 2>&1) || fail "$file: $got"
    [[ $got == "$want" ]] || fail "$file: \"$got\", not \"$want\""
done
got=$("$T/average" "$fixtures/gzip.h5" nothing 2>&1) && fail "a region that is not there has an average: $got"
[[ $got == *'no region "nothing"'* ]] || fail "a missing region is not named: $got"
got=$("$T/average" "$fixtures/v1-big_rank00003.spt" solve 2>&1) && fail "a rank that is not there has an average: $got"
[[ $got == *'on rank 0'* ]] || fail "a missing rank is not named: $got"
got=$("$T/average" "$fixtures/cut-at-643.spt" solve 2>&1) && fail "a cut file has an average: $got"
[[ $got == *cut-at-643.spt*byte*truncated* ]] || fail "damage is not named: $got"
echo "docs/examples/average.c: four kinds of files, three refusals"
