#!/bin/bash
# Summaries of a large profile are read without touching a byte of its events: strace's reads against the places where the
# file keeps them. That reading percentiles does touch them shows that the count would see it.
. "$(dirname "$0")/common.sh"
command -v strace >/dev/null || skip "strace is not installed"
strace -o "$T/try" true 2>/dev/null || skip "strace may not trace here"
lib=$SP_TEST_BIN/libsp/io
cat >"$T/load.c" <<'C'
#include <scope_profiler_io.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    sp_results *results;
    sp_statistics statistics;
    sp_error error = {0};
    double percents[] = {50}, found;
    int whole = argc > 2;
    int status = (whole ? sp_load_h5 : sp_load_h5_summary)(&results, argv[1], NULL, &error);
    if (status == 0)
        status = sp_results_statistics(results, 0, SP_ALL_RANKS, &statistics, &error);
    if (status == 0 && whole)
        status = sp_results_percentiles(results, 0, SP_ALL_RANKS, percents, 1, &found, &error);
    if (status == 0)
        status = sp_results_print_summary(results, stdout, &error);
    if (status < 0)
        return puts(error.text), 1;
    sp_results_destroy(results);
    return 0;
}
C
${CC:-cc} -Wall -Wextra -Werror -I"$ROOT/libsp" "$T/load.c" -o "$T/load" -L"$lib" -lspio "-Wl,-rpath,$lib" 2>"$T/cc" ||
    fail "a program over libspio does not build: $(head -n 3 "$T/cc")"

$PY - "$T/in" <<'PYTHON'
import os, struct, sys
import numpy as np
os.mkdir(sys.argv[1])
random = np.random.default_rng(1)
for rank in range(3):
    with open(f"{sys.argv[1]}/p_rank{rank:05d}.spt", "wb") as f:
        f.write(b"SCOPEPRF" + struct.pack("<iiq", 2, rank, 4))
        for region in range(4):
            starts = 10**15 + 1000 * np.arange(100_000, dtype="<i8") + 40 * region + random.integers(0, 20, 100_000)
            f.write(struct.pack("<i", 7) + b"region%d" % region + struct.pack("<iiq", 0, -1, len(starts)))
            f.write(starts.tobytes() + (starts + random.integers(800, 820, 100_000) - 90 * region).tobytes())
PYTHON

# touched FILE COMMAND...: bytes of the event datasets of FILE that COMMAND reads, and of the whole file.
touched() {
    local file=$1
    shift
    strace -f -y -o "$T/trace" -e trace=read,pread64,readv,preadv,preadv2,lseek,_llseek,mmap,sendfile,copy_file_range \
        "$@" >"$T/said" 2>&1 || fail "$* ends with status $?: $(tail -n 1 "$T/said")"
    $PY - "$file" "$T/trace" <<'PYTHON'
import os, re, sys
import h5py
path = os.path.realpath(sys.argv[1])
events = []
with h5py.File(path, "r") as f:
    for dataset in f["events"].values():
        if dataset.chunks:
            for n in range(dataset.id.get_num_chunks()):
                info = dataset.id.get_chunk_info(n)
                events.append((info.byte_offset, info.byte_offset + info.size))
        else:
            events.append((dataset.id.get_offset(), dataset.id.get_offset() + dataset.nbytes))
if sum(end - start for start, end in events) < 1_000_000:
    sys.exit("the events are too few to be missed")
place, total, inside = {}, 0, 0
for line in open(sys.argv[2], encoding="utf-8", errors="replace"):
    call = re.match(r"\d+ +(\w+)\((?:[^<]*, )?(\d+)<([^>]*)>(.*)\) += (-?\d+|0x[0-9a-f]+)", line)
    if not call or call[3] != path:
        continue
    name, fd, result = call[1], (line.split()[0], call[2]), int(call[5], 0)
    if name in ("mmap", "sendfile", "copy_file_range", "readv", "preadv", "preadv2"):
        sys.exit(f"{name} of the file is not followed here")
    if name in ("lseek", "_llseek"):
        place[fd] = result
        continue
    if result <= 0:
        continue
    start = int(call[4].rsplit(", ", 1)[1]) if name == "pread64" else place.get(fd, 0)
    if name == "read":
        place[fd] = start + result
    total += result
    inside += sum(max(0, min(end, start + result) - max(begin, start)) for begin, end in events)
print(inside, total)
PYTHON
}

for compress in none gzip; do
    merge "$T/$compress.h5" "$T/in" --compress "$compress"
    for how in report load; do
        case $how in
        report) got=$(touched "$T/$compress.h5" "$SP_TEST_SPCTL" report "$T/$compress.h5" 2>&1) || fail "$how: $got" ;;
        load) got=$(touched "$T/$compress.h5" "$T/load" "$T/$compress.h5" 2>&1) || fail "$how: $got" ;;
        esac
        grep -q 300000 "$T/said" || fail "$how of $compress: its table does not say 300000 calls"
        read -r inside total <<<"$got"
        ((total > 1000)) || fail "$how of $compress: only $total bytes of the file are seen to be read"
        ((inside == 0)) || fail "$how of $compress reads $inside bytes of events"
        ((total < 200000)) || fail "$how of $compress reads $total bytes"
    done
    got=$(touched "$T/$compress.h5" "$T/load" "$T/$compress.h5" whole 2>&1) || fail "percentiles: $got"
    read -r inside total <<<"$got"
    ((inside > 100000)) || fail "percentiles are seen to read only $inside bytes of events"
done
echo "1.2 million calls: no byte of events is read for report and summary; for percentiles $inside are"
