#!/bin/bash
# Each --format writes what it says, with the same calls; h5dump and h5py read it.
. "$(dirname "$0")/common.sh"
command -v h5dump >/dev/null || skip "h5dump (hdf5-tools) is not installed"
base=$S
for format in spt h5 merged auto; do
    export SP_SESSION=$base-$format
    S=$SP_SESSION
    start_spd --format "$format"
    for r in 0 1; do launch "$r" -r "$r" -n 1500 work; programs[r]=$!; done
    launch 2 -r 2 -t 3 -n 500 work
    programs[2]=$!
    ended "${programs[@]}"
    until_true 5 no_segments || fail "$format: segments are left over: $(segments)"
    stop_spd
    have=$(cd "$T/data/$S" && find . \( -name '*.spt' -o -name '*.h5' \) ! -name '.*' | sort | tr '\n' ' ')
    case $format in
    spt) want='./work_rank00000.spt ./work_rank00001.spt ./work_rank00002.spt ' ;;
    h5) want='./work_rank00000.h5 ./work_rank00001.h5 ./work_rank00002.h5 ' ;;
    merged) want="./$S.$(hostname).h5 " ;;
    auto) want='./work_rank00000.spt ./work_rank00001.spt ./work_rank00002.h5 ' ;;
    esac
    [[ $have == "$want" ]] || fail "$format: published $have, not $want"
    for f in "$T/data/$S"/*.h5; do
        [[ -e $f ]] || continue
        sound "$f"
        h5dump -H "$f" >"$T/dump" || fail "$format: h5dump does not read $f"
        grep -q summary_statistics "$T/dump" || fail "$format: $f has no summary_statistics"
    done
    # In a joined trace the calls of threads overlap: a merge can't tell which holds which, and says so.
    if [[ $format == spt ]]; then merge_lossy "$T/$format.h5" "$S"; else merge "$T/$format.h5" "$S"; fi
    counts "$T/$format.h5" 4500
    rm -f "$T"/out.*
done
S=$base
echo "spt, h5, merged and auto: 18000 calls each"
