#!/bin/bash
# A program that returns from main without sp_finalize is published as if it had called it, and is no death.
. "$(dirname "$0")/common.sh"
work -r 0 -n 2000 -e leave alone >"$T/out.0" 2>&1 || fail "without spd: status $?"
counts "$T/cwd/alone_rank00000.spt" 2000
start_spd
work -r 1 -n 2000 -e leave served >"$T/out.1" 2>&1 || fail "under spd: status $?"
published 1
merge "$T/out.h5" "$S"
counts "$T/out.h5" 4000
[[ -z $(metadata "$T/out.h5" sp_deaths) ]] || fail "taken for a death: $(metadata "$T/out.h5" sp_deaths)"
until_true 5 no_segments || fail "segments are left over: $(segments)"
echo "published by the destructor, with and without spd"
