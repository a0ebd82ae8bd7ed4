# Sourced by each script: a scratch folder, a session of its own, a private spd, programs, and questions to profiles.
# A script ends with 0 (holds), 77 (skipped: the machine lacks something) or 1; the last line says why.
set -u
HERE=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
ROOT=$(dirname "$(dirname "$HERE")")
PY=/usr/bin/python3
TOOLS=$ROOT/tests/tools

fail() { echo "FAILED: $*"; exit 1; }
skip() { echo "skipped: $*"; exit 77; }
$PY -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("h5py"))' || skip "python3-h5py is not installed"

T=$(mktemp -d) || exit 1
NAME=$(basename "$0" .sh)
S=t-$NAME-$$
SPD=
mkdir -m 700 "$T/run" "$T/data" "$T/cwd"
for variable in $(compgen -v SP_ | grep -v '^SP_TEST_'); do unset "$variable"; done
unset XDG_STATE_HOME XDG_RUNTIME_DIR
export SP_SESSION=$S SP_DATA_DIR=$T/data SP_RUNTIME_DIR=$T/run

cleanup() {
    local status=$? running
    running=$(jobs -p)
    if [[ -n $running ]]; then
        kill -CONT $running 2>/dev/null
        kill -KILL $running 2>/dev/null
        wait $running 2>/dev/null
    fi
    if ((status != 0 && status != 77)) && [[ -s $T/spd.log ]]; then
        echo "---- the end of spd's log:"
        tail -n 20 "$T/spd.log"
    fi
    kill "$ASK" 2>/dev/null
    find /dev/shm -maxdepth 1 -name "*$S*" -delete 2>/dev/null
    rm -rf "$T"
}
trap cleanup EXIT

# ask QUESTION...: of ask.py, which is up for as long as the test. Prints what it says, returns its status.
mkfifo "$T/asked"
"$PY" "$HERE/ask.py" "$T/asked" </dev/null >"$T/ask.log" 2>&1 &
ASK=$!
disown
ask() {
    local question reply=$T/reply.$BASHPID status
    mkfifo "$reply"
    question=$(IFS=$'\x1f'; printf '%s' "$reply"$'\x1f'"$PWD"$'\x1f'"$*")
    kill -0 "$ASK" 2>/dev/null || fail "ask.py has ended: $(tail -n 1 "$T/ask.log")"
    printf '%s\n' "${question//$'\n'/$'\x1e'}" >"$T/asked"
    { read -r status; cat; } <"$reply"
    rm "$reply"
    return "$status"
}
# snippet ARG...: runs the Python on standard input, as "$PY - ARG..." does.
snippet() { ask run "$(cat)" "$@"; }

spctl() { "$SP_TEST_SPCTL" "$@"; }
work() { (cd "$T/cwd" && exec "$SP_TEST_WORK" "$@"); }

# launch NAME OPTION...: work in the background: its process is $!, its output goes to $T/out.NAME, its input is $INPUT.
INPUT=/dev/null
launch() {
    local name=$1
    shift
    (cd "$T/cwd" && exec "$SP_TEST_WORK" "$@") <"$INPUT" >"$T/out.$name" 2>&1 8>&- &
}

# hold: what `-e wait` programs read is a pipe, which stays open until release.
hold() {
    mkfifo "$T/hold"
    exec 8<>"$T/hold"
    INPUT=$T/hold
}
release() { exec 8>&-; }

# ended PID...: waits for programs that must end well.
ended() {
    local pid
    for pid in "$@"; do wait "$pid" || fail "a program ended with status $?: $(tail -n 2 "$T"/out.*)"; done
}

reachable() { ask connect "${1:-$T/run}/control" >/dev/null; }

# start_spd OPTION...: this test's spd, which answers when the function returns.
start_spd() {
    "$SP_TEST_SPD" --data-dir "$T/data" --runtime-dir "$T/run" --session "$S*" "$@" >>"$T/spd.log" 2>&1 8>&- &
    SPD=$!
    until_true 10 spd_answers || fail "spd did not come up: $(tail -n 1 "$T/spd.log")"
}
spd_answers() {
    kill -0 "$SPD" 2>/dev/null || fail "spd ended: $(tail -n 1 "$T/spd.log")"
    reachable
}

# stop_spd: SIGTERM, and it must end well.
stop_spd() {
    kill -TERM "$SPD"
    wait "$SPD" || fail "spd ended with status $? on SIGTERM"
    SPD=
}

# until_true SECONDS COMMAND...: repeats it until it succeeds.
until_true() {
    local end=$((SECONDS + $1 + 1))
    shift
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}

# made N: waits until N programs whose output goes to $T/out.* have made all their calls.
made() { until_true 60 have_made "$1" || fail "not all of $1 programs got to the end of their calls: $(tail -n 1 "$T"/out.*)"; }
have_made() { (($(cat "$T"/out.* 2>/dev/null | grep -c '^made') >= $1)); }

segments() { find /dev/shm -maxdepth 1 -name "*$S*"; }
no_segments() { [[ -z $(segments) ]]; }
rank_files() { find "$T/data/$S" \( -name '*_rank*.spt' -o -name '*_rank*.h5' \) ! -name '.*' 2>/dev/null; }
have_published() { (($(rank_files | wc -l) >= $1)); }
published() { until_true 20 have_published "$1" || fail "$(rank_files | wc -l) rank files are published, not $1"; }

# calls FILE REGION...: calls of each region over all ranks, on one line.
calls() { ask calls "$@"; }

# counts FILE N: does it hold what `work -n` makes: N x outer { left, right { deep } }?
counts() {
    local n
    n=$(calls "$1" outer left right deep)
    [[ $n == "$2 $2 $2 $2" ]] || fail "$1 holds $n calls of outer, left, right, deep, not $2 of each"
}

# metadata FILE KEY: an attribute of /metadata; lists one a line.
metadata() { ask metadata "$@"; }

sound() { ask check "$1" >"$T/check" || fail "$1 is not sound: $(head -n 3 "$T/check")"; }
same() { ask same "$1" "$2" >"$T/same" || fail "$1 is not $2: $(head -n 3 "$T/same")"; }

# merge OUT INPUT...: status 0 only. merge_lossy also takes 3 (done, and something was lost or mended).
merge() {
    spctl merge "${@:2}" -o "$1" >"$T/merge" 2>&1 || fail "spctl merge ${*:2} exits $?: $(tr "\n" " " <"$T/merge")"
    sound "$1"
}
merge_lossy() {
    spctl merge "${@:2}" -o "$1" >"$T/merge" 2>&1
    local status=$?
    ((status == 0 || status == 3)) || fail "spctl merge ${*:2} exits $status: $(tr "\n" " " <"$T/merge")"
    sound "$1"
}
