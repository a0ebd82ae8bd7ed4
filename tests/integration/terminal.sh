#!/bin/bash
# Colours or progress where nobody looks at a terminal, none where somebody does, or a line of progress that stays.
. "$(dirname "$0")/common.sh"
F=$ROOT/tests/fixtures
shown() { $PY "$TOOLS/terminal.py" show "$@" >"$T/shown" || fail "$*: $(tail -n 2 "$T/shown")"; }
has() { grep -q -- "$1" "$T/shown" || fail "$2: $(<"$T/shown")"; }
lacks() { ! grep -q -- "$1" "$T/shown" || fail "$2: $(<"$T/shown")"; }
export SP_TEST_INPUT=$F/many-calls_rank00006.spt

# Titles and large shares have colours, on a terminal and without NO_COLOR.
shown "$SP_TEST_SPCTL" report "$F/v2-little_rank00000.spt"
has 'x1b\[1mregion\\x1b\[0m .*solve .*x1b\[31m[0-9.]*\\x1b\[0m' "no colours on a terminal"
cp "$T/shown" "$T/coloured"
NO_COLOR=1 shown "$SP_TEST_SPCTL" report "$F/v2-little_rank00000.spt"
lacks x1b "colours in spite of NO_COLOR"
[[ $(sed 's/\\x1b\[[0-9]*m//g' "$T/coloured") == "$(<"$T/shown")" ]] || fail "colours change what is said, or the columns"
spctl report "$F/v2-little_rank00000.spt" >"$T/shown" 2>&1 || fail "report: $(<"$T/shown")"
lacks $'\x1b' "colours in a pipe"
has '^region' "no table"

# A reader that is slow makes an export take over a second: 16,384 of 20,000 calls are 82 %.
slow='"$SP_TEST_SPCTL" export "$SP_TEST_INPUT" -f csv | { sleep 1.5; wc -l >"$SP_TEST_LINES"; }; read -r n <"$SP_TEST_LINES"; echo "$n"'
SP_TEST_LINES=$T/lines shown bash -c "$slow"
has 'exporting 82 %.*\\r\\x1b\[K20001' "no progress, or it is not wiped"
SP_TEST_LINES=$T/lines bash -c "$slow" >"$T/shown" 2>&1
[[ $(<"$T/shown") == 20001 ]] || fail "progress in a pipe: $(<"$T/shown")"
shown "$SP_TEST_SPCTL" check "$F/threads.h5"
lacks checking "progress of what takes no second"
echo "colours and progress on terminals alone"
