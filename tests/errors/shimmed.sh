# Sourced after common.sh: runs of a program of which chosen system calls fail, one run a step.
[[ $SP_TEST_SANITIZE == none ]] || skip "a sanitizer's own library must be preloaded first"
# WALK: steps a test takes, spread by a fixed seed; all: every one there is. SHARE: seconds that it may take.
FUNCTIONS="open:EMFILE,EIO,EINTR write:ENOSPC,EIO,EINTR,short fsync:EIO rename:EIO,ENOSPC ftruncate:EIO mmap:ENOMEM
    fallocate:ENOSPC,EINTR link:ENOSPC,EIO lock:ENOLCK,EINTR dup:EMFILE"
declare -A NUMBER=([EINTR]=4 [EIO]=5 [ENOMEM]=12 [EMFILE]=24 [ENOSPC]=28 [ENOLCK]=37 [short]=short)

# shim PROGRAM COMMAND...: in place of this (sub)shell, with the step's call failing in PROGRAM.
shim() {
    exec env LD_PRELOAD="$SP_TEST_SHIM" SHIM_PROGRAM="$1" SHIM_CALL="$function" SHIM_ERRNO="${NUMBER[$error]}" SHIM_NTH="$nth" \
        SHIM_TIMES="$times" SHIM_HIT="$T/hit" "${@:2}"
}

# walk COUNTS STEP: calls STEP for the calls that COUNTS (SHIM_COUNT's file) knows, each once failing alone and now and
# then for good; $function, $error, $nth, $times and $at say what fails.
walk() {
    local counts=$1 step=$2 entry errors total steps=0 hits=0 began=$SECONDS
    for entry in $FUNCTIONS; do
        function=${entry%:*} errors=${entry#*:}
        total=$(awk -v f="$function" '$1 == f {n += $2} END {print n + 0}' "$counts")
        for error in ${errors//,/ }; do
            for ((nth = 1; nth <= total; nth++)); do
                echo "$function $error $nth 1"
                ((nth % 4 != 1)) || [[ $error == EINTR ]] || echo "$function $error $nth 0"
            done
        done
    done >"$T/steps"
    if [[ $WALK != all ]]; then
        # A file system without locks is one that people have: that step is always taken, and first.
        grep -x 'lock ENOLCK 1 0' "$T/steps" >"$T/some"
        shuf -n "$WALK" --random-source=<(yes scope) "$T/steps" >>"$T/some" && mv "$T/some" "$T/steps"
    fi
    while read -r function error nth times <&7; do
        at="$function $error $nth$([[ $times == 1 ]] || echo " and later ones")"
        rm -f "$T/hit"
        "$step"
        steps=$((steps + 1))
        [[ ! -s $T/hit ]] || hits=$((hits + 1))
        if [[ $WALK != all ]] && ((SECONDS - began > SHARE)); then
            echo "the machine is busy: $steps of $WALK steps taken"
            break
        fi
    done 7<"$T/steps"
    ((hits * 2 > steps)) || fail "of $steps steps only $hits met the call that fails"
    echo "$steps steps, $hits of them met the call that fails"
}

# said FILE MOST: no flood: at most MOST lines, none twice.
said() {
    (($(wc -l <"$1") <= $2)) || fail "$at: more than $2 lines: $(head -n 12 "$1")"
    [[ -z $(sort "$1" | uniq -d) ]] || fail "$at: said twice: $(sort "$1" | uniq -d)"
}

# found NAME: calls that a merge of the session finds, and those that it counts as dropped or without a lane, as $kept
# and $lost; 0 where there is nothing.
found() {
    kept=0 lost=0
    timeout 20 "$SP_TEST_SPCTL" merge "$1" -o "$T/found.h5" --json >"$T/found" 2>"$T/found.err"
    local status=$?
    ((status == 0 || status == 1 || status == 3)) || fail "$at: merge ends with $status: $(tail -n 1 "$T/found.err")"
    ((status == 1)) && return
    kept=$(sed -n 's/.*"calls": *\([0-9]*\).*/\1/p' "$T/found" | head -n 1)
    lost=$(sed -n 's/.*"dropped": *\([0-9]*\).*/\1/p' "$T/found" | head -n 1)
}
