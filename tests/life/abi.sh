#!/bin/bash
# A segment of another ABI version: spd, spctl and a program that wants its name say which two versions meet and leave it
# alone; the others are served.
. "$(dirname "$(readlink -f "$0")")/common.sh"
hold
launch 0 -r 0 -n 50 -e wait other
pid=$!
made 1
name=$(segments)
cp --sparse=always "$name" "$T/copy"
release
ended $pid
no_segments || fail "segments are left over: $(segments)"
"$PY" - "$T/copy" <<'PYTHON'
import struct, sys
with open(sys.argv[1], "r+b") as f:
    f.seek(8)
    assert struct.unpack("<I", f.read(4))[0] == 1, "abi_major is not where it is thought to be"
    f.seek(8)
    f.write(struct.pack("<I", 7))
PYTHON
cp --sparse=always "$T/copy" "$name"
chmod 600 "$name"
# Its tables, and that it is the same file: the rest is hundreds of megabytes of nothing.
look() { stat -c '%i %a %s %b' "$name" && head -c 65536 "$name" | sha256sum; }
before=$(look)
untouched() { [[ $(look) == "$before" ]] || fail "$1 touched it: $(look)"; }
start_spd
has_said() { grep -q 'version 7\.[0-9]*, this program reads 1\.' "$T/spd.log"; }
until_true 5 has_said || fail "spd does not name the two versions: $(tail -n 2 "$T/spd.log")"
work -r 1 -n 2000 work >"$T/out.1" 2>&1 || fail "another rank is not served: $(tail -n 1 "$T/out.1")"
grep -qF "$T/data/$S" "$T/out.1" || fail "another rank is not served by spd: $(tail -n 1 "$T/out.1")"
spctl list --json "$S" >"$T/listed" 2>"$T/err"
status=$?
((status == 0 || status == 3)) || fail "spctl list fails: $(cat "$T/err")"
spctl gc --yes "$S" >"$T/gc" 2>&1
untouched "spd or spctl"
sleep 2.5 # a scan
[[ $(grep -c 'version 7\.' "$T/spd.log") == 1 ]] || fail "spd says it $(grep -c 'version 7\.' "$T/spd.log") times"
work -r 0 -n 100 other >"$T/out.0" 2>"$T/err.0" || fail "the program of that name failed: $(tail -n 1 "$T/err.0")"
grep -q '^init [1-9]' "$T/out.0" || fail "sp_init succeeds over a segment of another version"
grep -q 'version 7\.[0-9]*' "$T/err.0" || fail "the program does not name the versions: $(cat "$T/err.0")"
one_line "$T/err.0"
untouched "the program"
spctl merge "$S" -o "$T/out.h5" >"$T/merge" 2>&1 && fail "merge takes a segment of another version: $(cat "$T/merge")"
grep -q 'version 7\.[0-9]*, this program reads 1\.' "$T/merge" || fail "merge does not name the versions: $(cat "$T/merge")"
join "$T/out.h5" --skip-bad "$S"
expect "$T/out.h5" outer 2050
exact
untouched "the merge"
stop_spd
rm "$name"
echo "version 7 is left alone by four that read version 1"
