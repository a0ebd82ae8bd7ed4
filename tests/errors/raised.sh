#!/bin/bash
# A set-user-id program: whoever starts it cannot say by the environment where it writes, what it is called, or that it
# does not record.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
((EUID == 0)) || skip "only root can make a program of another user's"
id nobody >/dev/null 2>&1 || skip "there is no user nobody"
chmod 711 "$T"
mkdir -m 777 "$T/open" "$T/told"
cp "$SP_TEST_RAISED" "$T/raised"
chown nobody "$T/raised"
chmod 4755 "$T/raised"

# The kernel says whether it takes the bit here: a mount may be nosuid.
export SP_DATA_DIR=$T/told SP_RUNTIME_DIR=$T/told SP_RANK=5 SP_DISABLE=1 SP_RING=1000000000
(cd "$T/open" && "$T/raised" -r -1 -n 100 raised) >"$T/out" 2>&1 || fail "the program ended with $?: $(cat "$T/out")"
owner=$(stat -c %U "$T"/open/* 2>/dev/null | head -n 1)
[[ $owner != root ]] || skip "set-user-id programs are not taken here"
[[ $owner == nobody ]] || fail "SP_DISABLE is obeyed, or nothing is written: $(cat "$T/out")"
[[ -s $T/open/raised_rank00000.spt ]] || fail "SP_RANK is obeyed: $(ls "$T/open")"
[[ -z $(ls -A "$T/told") ]] || fail "SP_DATA_DIR is obeyed: $(ls -A "$T/told")"
grep -q "$S" <(find "$T/open" / -maxdepth 1 -name "*$S*") && fail "SP_SESSION is obeyed"
counts "$T/open/raised_rank00000.spt" 100
echo "a set-user-id program takes nothing from the environment"
