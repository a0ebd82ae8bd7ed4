#!/bin/bash
# A forked child records nothing, writes nothing, and does not hide its parent's death.
. "$(dirname "$0")/common.sh"
for daemon in no yes; do
    [[ $daemon == yes ]] && start_spd
    work -r 0 -n 4000 -f "fork-$daemon" >"$T/out.$daemon" 2>&1 || fail "spd $daemon: $(tail -n 1 "$T/out.$daemon")"
done
merge "$T/out.h5" "$S"
counts "$T/out.h5" 8000
[[ $(find "$T/cwd" "$T/data" -name '*_rank*' ! -name '.*' | wc -l) == 2 ]] || fail "a child has published: $(find "$T/cwd" "$T/data" -name '*_rank*')"
no_segments || fail "segments are left over: $(segments)"
echo "the children left no trace"
