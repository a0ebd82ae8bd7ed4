#!/bin/bash
# Runtime folders with long paths, and whatever may stand at the socket's path: spd works or says why it does not; there
# are never two at one socket, and nobody else's file is removed.
. "$(dirname "$0")/common.sh"

# folder LENGTH: a runtime folder whose path has so many bytes.
folder() {
    local path=$T/r pad
    pad=$(($1 - ${#path}))
    ((pad > 0)) || fail "$T is too long for a runtime folder of $1 bytes"
    path=$path$(printf '%*s' "$pad" '' | tr ' ' x)
    mkdir -m 700 -p "$path"
    echo "$path"
}

# serve FOLDER: an spd there, which has said that it is ready.
serve() {
    : >"$T/spd.log"
    "$SP_TEST_SPD" --data-dir "$T/data" --runtime-dir "$1" --session "$S*" 2>"$T/spd.log" &
    SPD=$!
    until_true 10 ready || fail "spd in $1 did not come up: $(tail -n 1 "$T/spd.log")"
}
ready() { kill -0 "$SPD" 2>/dev/null && grep -q 'spd: ready' "$T/spd.log"; }

# refused FOLDER WORDS: an spd there ends with status 1 and says so.
refused() {
    timeout 10 "$SP_TEST_SPD" --data-dir "$T/data" --runtime-dir "$1" --session "$S*" 2>"$T/refused"
    local status=$?
    ((status == 1)) || fail "spd in $1 ends with status $status, not 1: $(tail -n 1 "$T/refused")"
    grep -qF -- "$2" "$T/refused" || fail "spd does not say '$2' but '$(tail -n 1 "$T/refused")'"
    grep -qF -- "$1" "$T/refused" || fail "spd does not name $1: $(tail -n 1 "$T/refused")"
}

for length in 60 99 100 108 140; do
    run=$(folder "$length")
    serve "$run"
    hold
    SP_RUNTIME_DIR=$run launch "$length" -n 10 -e wait "work$length"
    program=$!
    until_true 10 have_made 1 || fail "the program did not make its calls"
    spctl flush "$S" --runtime-dir "$run" >"$T/flush" 2>&1 || fail "flush over $length bytes: $(tail -n 1 "$T/flush")"
    [[ -S $run/control ]] || fail "there is no socket in a folder of $length bytes"
    release
    ended "$program"
    rm -f "$T/hold" "$T"/out.*
    stop_spd
    [[ ! -e $run/control ]] || fail "the socket in a folder of $length bytes stays"
done

# Stale: nobody is behind it.
run=$(folder 120)
serve "$run"
kill -KILL "$SPD"
wait "$SPD" 2>/dev/null
[[ -S $run/control ]] || fail "there is no stale socket to try"
serve "$run"

# Two at once, also where the lock file was removed under the first.
refused "$run" "another spd serves"
rm "$run/spd.lock"
refused "$run" "something answers there already"
spctl flush nobody --runtime-dir "$run" >"$T/flush" 2>&1
grep -q 'has no rank' "$T/flush" || fail "the first spd does not answer any more: $(tail -n 1 "$T/flush")"

# Put in the socket's place while spd runs.
rm "$run/control"
echo precious >"$run/control"
stop_spd
[[ $(cat "$run/control") == precious ]] || fail "spd removed a file that was not its socket"

for length in 80 120; do
    run=$(folder "$length")
    rm -rf "${run:?}/control"
    echo precious >"$T/kept"
    ln -s "$T/kept" "$run/control"
    refused "$run" "no socket of ours"
    [[ -L $run/control && $(cat "$T/kept") == precious ]] || fail "spd touched a symbolic link, or what it names"
    ln -sfn "$T/nowhere" "$run/control"
    refused "$run" "no socket of ours"
    [[ -L $run/control && ! -e $T/nowhere ]] || fail "spd touched a dangling link"
    rm "$run/control"
    mkdir "$run/control"
    refused "$run" "no socket of ours"
    [[ -d $run/control ]] || fail "spd removed a folder"
    rmdir "$run/control"
    echo precious >"$run/control"
    refused "$run" "no socket of ours"
    [[ $(cat "$run/control") == precious ]] || fail "spd removed a plain file"
    rm "$run/control"
    mkfifo "$run/control"
    refused "$run" "no socket of ours"
    [[ -p $run/control ]] || fail "spd removed a pipe"
    rm "$run/control"
done

# Somebody else's program listens there.
run=$(folder 80)
$PY - "$run/control" "$T/listening" <<'PYTHON' &
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(1)
open(sys.argv[2], "w").close()
while True:
    s.accept()
PYTHON
listener=$!
until_true 10 test -e "$T/listening" || fail "the other listener did not come up"
refused "$run" "something answers there already"
reachable "$run" || fail "spd took another program's socket away"
kill "$listener"
wait "$listener" 2>/dev/null

# The lock file, and the folder itself.
run=$(folder 70)
ln -s "$T/kept" "$run/spd.lock"
refused "$run" "plain file of this user"
rm "$run/spd.lock"
mkfifo "$run/spd.lock"
refused "$run" "plain file of this user"
rm "$run/spd.lock"
mkdir "$run/spd.lock"
refused "$run" "plain file of this user"
rmdir "$run/spd.lock"
chmod 770 "$run"
refused "$run" "others may write into it"
ln -s "$(folder 60)" "$T/link"
refused "$T/link" "not a link"
refused "$T/kept" "runtime folder"
[[ $(cat "$T/kept") == precious ]] || fail "spd wrote into a file that was named as a folder"
echo "folders of 60 to 140 bytes work; what is not spd's own socket stays"
