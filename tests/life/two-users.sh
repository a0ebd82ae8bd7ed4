#!/bin/bash
# Two users with the same session name, an spd each: neither reads, lists, flushes, merges or disturbs the other's. Names
# that the other user took beforehand (segment, runtime folder with lock and socket, session folder) give a clear status,
# and nothing of the other's is touched. umask 000 and 077: everything that is made is private.
. "$(dirname "$(readlink -f "$0")")/common.sh"
need_root
command -v setpriv >/dev/null || skip "setpriv (util-linux) is not installed"
one=64801 two=64802 # numbers are enough: no account is made
getent passwd $one $two >/dev/null && skip "the uids $one and $two are somebody's"
chmod 711 "$T"
mkdir -m 755 "$T/bin"
cp "$SP_TEST_SPD" "$SP_TEST_SPCTL" "$SP_TEST_WORK" "$T/bin/" # the build's folder may be closed to them
cp -P "$SP_TEST_BIN"/libsp/record/libsp.so* "$SP_TEST_BIN"/libsp/io/libspio.so* "$T/bin/" 2>/dev/null
export LD_LIBRARY_PATH=$T/bin
for u in $one $two; do
    mkdir -m 700 "$T/$u" "$T/$u/run" "$T/$u/data" "$T/$u/cwd" "$T/$u/tmp"
    chown -R $u:$u "$T/$u"
done
# as UID COMMAND...: with folders of its own, in its own folder; the umask is $MASK.
MASK=022
as() { (become "$@"); }
# become: the same, and this shell is it: for the background.
become() {
    local u=$1
    shift
    cd "$T/$u/cwd" && umask $MASK && SP_DATA_DIR=${DATA-$T/$u/data} SP_RUNTIME_DIR=${RUN-$T/$u/run} exec setpriv --reuid $u --regid $u --clear-groups "$@"
}
spd_of() { # UID
    become "$1" "$T/bin/spd" --data-dir "$T/$1/data" --runtime-dir "$T/$1/run" --session "$S*" 2>>"$T/spd.$1" 8>&- &
    until_true 10 grep -q ': ready' "$T/spd.$1" || fail "the spd of $1 does not come up: $(tail -n 1 "$T/spd.$1")"
}
refused() { # UID WHAT COMMAND...: must fail and say something, and give away nothing.
    local u=$1 what=$2
    shift 2
    as "$u" "$@" >"$T/said" 2>&1 && fail "$what: user $u may: $(head -n 2 "$T/said")"
    [[ -s $T/said ]] || fail "$what: user $u is not told why"
}
private() { # WHAT FOLDER...: no right for anybody else on what was made below.
    local open
    open=$(find "${@:2}" -mindepth 1 -perm /077 ! -type l -printf '%m %p\n')
    [[ -z $open ]] || fail "$1: others have rights: $(head -n 3 <<<"$open")"
}

for MASK in 000 077; do
    export SP_SESSION=$S-$MASK
    hold
    for u in $one $two; do
        : >"$T/spd.$u"
        spd_of $u
        spds[u]=$!
        become $u "$T/bin/work" -r 0 -n $((u - 60000)) -e wait work <"$T/hold" >"$T/out.$u" 2>&1 8>&- &
        programs[u]=$!
    done
    made 2
    for u in $one $two; do
        has_spool() { [[ -n $(find "$T/$u/data" -name '*.spool') ]]; }
        until_true 10 has_spool || fail "user $u is not served"
        as $u "$T/bin/spctl" list --json >"$T/said" 2>&1
        ! grep -q "sp\.$((one + two - u))\.\|/$((one + two - u))/" "$T/said" || fail "user $u is shown the other's ranks: $(cat "$T/said")"
        as $u "$T/bin/spctl" flush "$SP_SESSION" >"$T/said" 2>&1 || fail "user $u cannot flush: $(cat "$T/said")"
        grep -q "$T/$u/data/" "$T/said" || fail "a flush gives user $u: $(cat "$T/said")"
        other=$((one + two - u))
        ! grep -q "/$other/" "$T/said" || fail "a flush of user $u publishes the other's"
        RUN=$T/$other/run refused $u "flush over the other's socket" "$T/bin/spctl" flush "$SP_SESSION"
        RUN=$T/$other/run refused $u "the daemon's status" "$T/bin/spctl" flush "$SP_SESSION" --data-dir "$T/$other/data"
        DATA=$T/$other/data refused $u "merge of the other's session" "$T/bin/spctl" merge "$SP_SESSION" -o "$T/$u/cwd/stolen.h5"
        [[ ! -e $T/$u/cwd/stolen.h5 ]] || fail "user $u has merged the other's calls"
        segment=$(find /dev/shm -name "sp.$other.$SP_SESSION.*")
        [[ -n $segment ]] || fail "user $other has no segment"
        refused $u "read the segment" cat "$segment"
        as $u sh -c "rm -f '$segment'" 2>/dev/null
        [[ -e $segment ]] || fail "user $u has removed the other's segment"
        as $u "$T/bin/spctl" gc --yes >/dev/null 2>&1
    done
    [[ -z $(find /dev/shm -name "*$SP_SESSION*" -perm /077) ]] || fail "umask $MASK: a segment is open to others"
    private "umask $MASK, while it records" "$T/$one/run" "$T/$two/run" "$T/$one/data" "$T/$two/data"
    release
    ended "${programs[@]}"
    for u in $one $two; do
        as $u "$T/bin/spctl" merge "$SP_SESSION" -o "$T/$u/cwd/$MASK.h5" >"$T/merge" 2>&1 || fail "user $u cannot merge: $(cat "$T/merge")"
        expect "$T/$u/cwd/$MASK.h5" outer $((u - 60000))
        # Without spd too, where the program publishes in a folder of its own.
        RUN=$T/$u/tmp SP_SESSION=$SP_SESSION-alone as $u "$T/bin/work" -r 1 -n 10 -e finalize alone$MASK >"$T/said" 2>&1 || fail "alone: $(cat "$T/said")"
    done
    private "umask $MASK" "$T/$one/run" "$T/$two/run" "$T/$one/data" "$T/$two/data"
    [[ -z $(find "$T/$one/cwd" -name '*.spt' -perm /022) ]] || fail "umask $MASK: a trace can be written by others"
    [[ -n $(find "$T/$one/data" -name 'node-*.json') ]] || fail "there is no node file to look at"
    for u in $one $two; do
        kill -TERM "${spds[u]}"
        wait "${spds[u]}" || fail "the spd of $u ended with $?"
    done
    rm -f "$T/hold" "$T"/out.*
done
exact
MASK=022

# A segment's name, taken by the other user: as a file, a link to a file of the victim's own, a fifo.
export SP_SESSION=$S-taken
hold
become $one "$T/bin/work" -r 0 -n 5 -e wait work <"$T/hold" >"$T/out.n" 2>&1 8>&- &
program=$!
made 1
name=$(find /dev/shm -name "sp.$one.$SP_SESSION.*")
release
ended $program
rm -f "$T/hold"
as $one sh -c "echo mine >'$T/$one/cwd/precious'"
: >"$T/spd.$one"
spd_of $one
spds[one]=$!
for kind in file link fifo; do
    case $kind in
    file) as $two sh -c "echo theirs >'$name'; chmod 666 '$name'" ;;
    link) as $two ln -s "$T/$one/cwd/precious" "$name" ;;
    fifo) as $two mkfifo -m 666 "$name" ;;
    esac
    sleep 0.3
    timeout 20 setpriv --reuid $one --regid $one --clear-groups env -C "$T/$one/cwd" SP_DATA_DIR="$T/$one/data" SP_RUNTIME_DIR="$T/$one/run" \
        "$T/bin/work" -r 0 -n 100 work >"$T/said" 2>"$T/err" || fail "$kind at its segment's name: status $?: $(cat "$T/err")"
    grep -q '^init 17 ' "$T/said" || fail "$kind: no SP_ERR_RANK_IN_USE: $(head -n 1 "$T/said")"
    grep -q '^made 100 ' "$T/said" || fail "$kind: the program does not run on"
    one_line "$T/err"
    grep -q 'another user' "$T/err" || fail "$kind: the line does not say whose the name is: $(cat "$T/err")"
    grep -qF "${name##*/}" "$T/err" || fail "$kind: the line does not say which name: $(cat "$T/err")"
    [[ $kind != file || $(cat "$name") == theirs ]] || fail "the other user's file was touched"
    [[ $(cat "$T/$one/cwd/precious") == mine ]] || fail "a file behind a link was touched"
    [[ -e $name || -L $name ]] || fail "the other user's $kind was removed"
    as $one "$T/bin/spctl" gc --yes >/dev/null 2>&1
    [[ -e $name || -L $name ]] || fail "gc removed the other user's $kind"
    rm -f "$name"
done
kill -TERM "${spds[one]}"
wait "${spds[one]}" || fail "spd ended with $?"

# The runtime folder of no environment at all, in the temporary folder, made by the other user, with a lock that is held
# and a socket that answers: nobody believes them.
mkdir -m 1777 "$T/shared"
fake=$T/shared/spd-$one
as $two sh -c "mkdir '$fake'; chmod 777 '$fake'"
become $two "$PY" -c 'import fcntl, os, socket, struct, sys, time
os.umask(0)
lock = open(sys.argv[1] + "/spd.lock", "w+b")
fcntl.fcntl(lock, 37, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 1, 0))
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1] + "/control"); s.listen(9)
print("ready", flush=True)
while True:
    try:
        s.accept()[0].sendall(b"{\"v\":1,\"ok\":true,\"files\":[\"/etc/passwd\"],\"ranks\":1,\"dropped\":0}\n")
    except OSError:
        pass' "$fake" >"$T/fake" 2>"$T/fake.err" &
impostor=$!
until_true 10 grep -qs ready "$T/fake" || fail "the impostor does not come up: $(tail -n 1 "$T/fake.err")"
plain=(env -u SP_RUNTIME_DIR -u XDG_RUNTIME_DIR TMPDIR="$T/shared")
export SP_SESSION=$S-fake
refused $one "flush by an impostor" "${plain[@]}" "$T/bin/spctl" flush "$SP_SESSION"
! grep -q passwd "$T/said" || fail "an impostor is believed: $(cat "$T/said")"
refused $one "spd in the other's folder" "${plain[@]}" timeout 10 "$T/bin/spd" --data-dir "$T/$one/data"
grep -q "another user" "$T/said" || fail "spd does not say whose the folder is: $(cat "$T/said")"
since=$(date +%s%N)
as $one "${plain[@]}" "$T/bin/work" -r 0 -n 40 fake >"$T/said" 2>&1 || fail "beside an impostor: $(cat "$T/said")"
ms=$((($(date +%s%N) - since) / 1000000))
grep -qxF "finalize 0 $T/$one/cwd/fake_rank00000.spt" "$T/said" || fail "beside an impostor: $(cat "$T/said")"
((ms < 1000)) || fail "a program waits $ms ms for an spd that another user pretends to"
[[ $(stat -c %u "$fake/spd.lock" "$fake/control" "$fake" | sort -u) == $two ]] || fail "the other user's folder was touched"
kill $impostor
wait $impostor 2>/dev/null

# The session's folder in a data folder that both share, taken by the other user, closed and open to all.
mkdir -m 1777 "$T/pool"
for mode in 755 777; do
    export SP_SESSION=$S-pool-$mode
    as $two sh -c "mkdir '$T/pool/$SP_SESSION'; chmod $mode '$T/pool/$SP_SESSION'; echo theirs >'$T/pool/$SP_SESSION/kept'"
    DATA=$T/pool RUN=$T/$one/tmp SP_RING=1024 as $one "$T/bin/work" -r 0 -n 3000 pool$mode >"$T/said" 2>"$T/err" || fail "pool $mode: $(cat "$T/said" "$T/err")"
    f=$(sed -n 's/^finalize 0 //p' "$T/said")
    [[ $f == "$T/$one/cwd/"* ]] || fail "pool $mode: published as $f"
    expect "$f" outer 3000
    one_line "$T/err" 2
    [[ $(find "$T/pool/$SP_SESSION" -mindepth 1 -printf '%f ') == "kept " ]] ||
        fail "pool $mode: calls of user $one went to the other's folder: $(find "$T/pool/$SP_SESSION" -mindepth 1)"
    [[ $(cat "$T/pool/$SP_SESSION/kept") == theirs ]] || fail "pool $mode: the other user's file was touched"
done
exact
[[ -z $(find /dev/shm -name "*$S*") ]] || fail "segments are left over: $(find /dev/shm -name "*$S*")"
echo "two users, one session name, nothing shared"
