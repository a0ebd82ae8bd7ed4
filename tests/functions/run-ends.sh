#!/bin/bash
# spctl run, whatever becomes of the command: the status is the command's, what was recorded is in the profile, and what
# can be known before is said before the command runs.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
unset SP_SESSION
cd "$T/cwd" || exit 1

# ends STATUS CALLS COMMAND...: CALLS of outer are in the profile; "-": there is none.
ends() {
    local wanted=$1 made=$2 status n
    rm -f "$T/run.h5"
    spctl run -o "$T/run.h5" -- "${@:3}" >"$T/out" 2>&1 8>&-
    status=$?
    ((status == wanted)) || fail "${*:3}: status $status, not $wanted: $(tail -n 2 "$T/out")"
    n=$([[ -e $T/run.h5 ]] && spctl report --csv "$T/run.h5" | sed -n 's/^"outer",\([0-9]*\),.*/\1/p')
    [[ ${n:--} == "$made" ]] || fail "${*:3}: ${n:-no} calls are in the profile, not $made"
}
echo 'not a program' >"$T/cwd/text"
ends 127 - ./none
ends 126 - ./text
ends 126 - "$T"
grep -q "cannot run $T: Permission denied" "$T/out" || fail "a folder as command: $(cat "$T/out")"
ends 0 30 "$SP_TEST_WORK" -n 30 work
ends 5 - sh -c 'exit 5'
ends 1 - true
grep -q 'true recorded nothing' "$T/out" || fail "a command that records nothing: $(cat "$T/out")"
ends 137 40 "$SP_TEST_WORK" -n 40 -e kill work
ends 143 - sh -c 'kill -TERM $$'
ends 7 60 sh -c '"$1" -n 20 work && "$1" -r 1 -n 40 work | cat; exit 7' sh "$SP_TEST_WORK"
# A program that goes on in the background: what it had recorded when the command ended.
hold
ends 0 50 sh -c '"$1" -n 50 -e wait work <"$2" >made 2>&1 & until grep -qs "^made" made; do sleep 0.05; done' \
    sh "$SP_TEST_WORK" "$T/hold"
release
# One within another: the inner one's profile is its own.
ends 1 - "$SP_TEST_SPCTL" run -o "$T/inner.h5" -- "$SP_TEST_WORK" -n 25 work
n=$(spctl report --csv "$T/inner.h5" | sed -n 's/^"outer",\([0-9]*\),.*/\1/p')
[[ $n == 25 ]] || fail "a run within a run records $n calls, not 25"

# refused TEXT OPTION...: the command never runs.
refused() {
    local text=$1
    shift
    "$@" -- "$(command -v touch)" "$T/ran" >"$T/out" 2>&1
    local status=$?
    ((status == 1)) && [[ ! -e $T/ran && $(wc -l <"$T/out") == 1 && $(cat "$T/out") == *"$text"* ]] ||
        fail "$*: status $status, the command $([[ -e $T/ran ]] && echo ran || echo did not run): $(cat "$T/out")"
}
ln -s none.h5 "$T/link.h5"
refused "$T/link.h5: is no regular file" "$SP_TEST_SPCTL" run -o "$T/link.h5"
refused "cannot write $T/none/run.h5" "$SP_TEST_SPCTL" run -o "$T/none/run.h5"
refused "cannot make a private folder in $T/cwd/text" "$SP_TEST_SPCTL" run -o "$T/run.h5" --runtime-dir "$T/cwd/text"
mkdir "$T/bin"
cp "$SP_TEST_SPCTL" "$T/bin/spctl"
export LD_LIBRARY_PATH=$SP_TEST_BIN/libsp/io
refused "cannot start spd" env "PATH=$T" "$T/bin/spctl" run -o "$T/run.h5"
refused "there is no libsp_mpi.so: $T/bin/../" "$T/bin/spctl" run --mpi -o "$T/run.h5"
refused "there is no libsp_instrument.so: $T/bin/../" "$T/bin/spctl" run --functions -o "$T/run.h5"
unset LD_LIBRARY_PATH

# Ctrl-Z and fg.
set -m
spctl run -o "$T/run.h5" -- sh -c 'echo $$ >pid; until [ -e go ]; do sleep 0.1; done; exec "$1" -n 10 work' sh "$SP_TEST_WORK" >"$T/out" 2>&1 &
set +m
until_true 10 test -s pid || fail "the command did not start"
state() { [[ $(sed 's/.*) //; s/ .*//' "/proc/$2/stat") == "$1" ]]; }
kill -TSTP -- -$!
until_true 10 state T "$(cat pid)" && until_true 10 state T $! || fail "SIGTSTP does not stop spctl run and its command"
: >go
kill -CONT -- -$!
wait $! || fail "a command that was stopped and went on: status $?: $(tail -n 1 "$T/out")"
n=$(spctl report --csv "$T/run.h5" | sed -n 's/^"outer",\([0-9]*\),.*/\1/p')
[[ $n == 10 ]] || fail "a command that was stopped and went on: $n calls, not 10"
echo "ends of a command, and what keeps it from being run: each with its status and its calls"
