#!/bin/bash
# Signal handlers over malloc and over the hooks: no deadlock, every call of a function that is known, and of one that
# only handlers call all but the first few.
. "$(dirname "$(readlink -f "$0")")/../integration/common.sh"
. "$ROOT/tests/functions/common.sh"
preloaded signals 0 "$BUILT/functions" signals
handled=$(sed -n 's/^handled //p' "$T/out.signals")
read -r known jumped < <(counted "$T/signals.h5" known interrupted)
met=$(spctl report --csv "$T/signals.h5" | sed -n 's/^"m_metm_met.*~[0-9a-f]\{16\}",\([0-9]*\),.*/\1/p')
((known == handled + 1)) || fail "$known calls of a function that handlers called $handled times, and main once"
((met <= handled && met >= handled - 128)) ||
    fail "$met calls of 64 functions that only handlers called, $handled times"
((jumped == 100)) || fail "$jumped calls, not 100, of a function that a handler jumped out of"
echo "$handled handlers over malloc and hooks: $known and $met calls"
