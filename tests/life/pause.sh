#!/bin/bash
# Pause and resume inside open calls, and resets under threads that record while spd, or the program, drains: no call is
# mistimed, none that was forgotten comes back.
. "$(dirname "$(readlink -f "$0")")/common.sh"
export SP_RING=2048 SP_FULL_WAIT=20000000
for daemon in no yes; do
    [[ $daemon == yes ]] && start_spd
    export SP_SESSION=$S-$daemon
    life "$daemon" pause
    [[ ! -s $T/err.$daemon ]] || [[ $daemon == no ]] || fail "$(head -n 1 "$T/err.$daemon")"
    ! grep '^pause:' "$T/err.$daemon" || fail "spd $daemon: statistics differ"
    read -r made around b unseen < <(sed -n 's/^made \([0-9]*\) and \([0-9]*\) around, \([0-9]*\) of b, \([0-9]*\) unseen/\1 \2 \3 \4/p' "$T/out.$daemon")
    ((unseen == 0)) || fail "spd $daemon: $unseen calls that began in a pause are counted"
    ((b > 0)) || fail "spd $daemon: no call of b is left"
    join "$T/$daemon.h5" "$SP_SESSION"
    expect "$T/$daemon.h5" a "$made"
    expect "$T/$daemon.h5" around "$around"
    expect "$T/$daemon.h5" b "$b"
    expect "$T/$daemon.h5" unseen 0
done
exact
"$PY" - "$T/no.h5" "$T/yes.h5" "$TOOLS" <<'PYTHON' || fail "calls are mistimed"
import sys
sys.path.insert(0, sys.argv[3])
import check_profile
for path in sys.argv[1:3]:
    calls, _ = check_profile.load(path)
    a, around, b = (calls[0, name] for name in ("a", "around", "b"))
    # Of the two calls of "a" in a round the first lies within "around", the second follows it.
    starts, ends = a["starts"], a["ends"]
    order = starts.argsort()
    starts, ends = starts[order], ends[order]
    outer = around["starts"].argsort()
    outer_starts, outer_ends = around["starts"][outer], around["ends"][outer]
    assert (starts[0::2] >= outer_starts).all() and (ends[0::2] <= outer_ends).all(), "a call left its parent"
    assert (starts[1::2] >= outer_ends).all() and (ends[1:-1:2] <= outer_starts[1:]).all(), "a call runs over the next"
    assert b["ends"].max() <= outer_starts[0], "a call that was forgotten came back"
PYTHON
until_true 5 no_segments || fail "segments are left over: $(segments)"
echo "$((2 * made + 2 * around)) calls beside as many pauses, and 120 resets"
