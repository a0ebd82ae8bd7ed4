/* recording.h: everything that one incarnation recorded, opened for reading: one or more spools, and for a merge over a
 * living segment what stands in its rings. Records are joined by (lane, sequence), repeated ones dropped, reset ones
 * left out, gaps counted, times converted to CLOCK_MONOTONIC ns, and calls stand in rows: one row a region, calls of
 * all threads ascending by (start, descending end). Memory is bounded; calls lie in an unlinked scratch file. */
#ifndef SP__RECORDING_H
#define SP__RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"
#include "spool.h"

struct sp__recording_source {
    const char *const *spools; /* paths, at least one unless live is given */
    const uint64_t *ends;      /* per spool: read no further than this byte; NULL: as far as it goes */
    size_t spool_count;
    const char *live;        /* name below SP__SHM_DIR of a segment to copy undrained records from first, or NULL */
    const char *incarnation; /* 32 hex digits: whose segment `live` was when somebody looked; NULL: anybody's */
    const char *scratch_dir; /* where the scratch file lies: the output's folder */
    const char *trace;       /* where a .spt of it is going to stand, or NULL: calls go straight to the file that
                              * sp__trace_write renames, where that is possible (one thread, and rows come in order) */
    bool tables;             /* no call is going to be read: they are counted, not put in order */
};

struct sp__row {
    uint32_t region;  /* number in its segment: the order of registration */
    const char *name; /* UTF-8; owned by the recording */
    uint32_t name_length;
    const char *file; /* "" unknown */
    uint32_t file_length;
    int32_t line;   /* -1 unknown */
    uint64_t calls; /* stats mode: that the statistics count */
};

struct sp__thread {
    int64_t index; /* 0 .. threads-1, thread_ids of calls */
    int64_t ident;
    int64_t native_id;
    int64_t start_ns; /* absolute, -1 unknown; end_ns -1 alive or unknown */
    int64_t end_ns;
    int64_t cpu_ns; /* -1 unknown */
    bool main;
    bool daemon;   /* Python's word for a thread that nobody waits for */
    bool signal;   /* calls that signal handlers made over another lane's append */
    char name[64]; /* Linux gives 15 bytes; profiles of others hold more */
};

struct sp__open_call {
    int64_t thread; /* index */
    uint32_t region;
    uint32_t depth;
    int64_t start_ns;
    int64_t seen_ns; /* when it was still open: the death or the flush */
};

struct sp__region_stats { /* stats mode: ns */
    uint32_t region;
    uint64_t calls;
    int64_t total, minimum, maximum, exclusive;
};

struct sp__recording {
    struct sp__identity identity;
    struct sp__row *rows; /* every registered region, in order; calls may be 0 */
    size_t row_count;
    struct sp__thread *threads; /* those with a marker; sorted by index */
    size_t thread_count;
    struct sp__open_call *open_calls;
    size_t open_call_count;
    struct sp__region_stats *stats;
    size_t stats_count;
    uint64_t calls;               /* in rows */
    struct sp__counters counters; /* summed over lanes */
    uint64_t gaps;                /* sequence numbers that no source holds */
    uint64_t bad_bytes;           /* of spools */
    uint64_t bad_frames;
    bool ended; /* an END frame */
    bool died;
    int64_t end_ns;         /* of the END frame, else the last anchor */
    int64_t start_ns;       /* smallest start of a call, -1 none */
    int64_t clock_error_ns; /* bound that neighbouring anchors give */
    unsigned clock_breaks;
    uint64_t last[SP__LANES]; /* one past the highest sequence seen, per lane: for the note */
    struct sp__recording_file *private_file;
};

/* 0; -EINVAL: the sources are of different incarnations; -ENODATA: not one sound frame; -ENOENT: a spool is gone, or
 * `live` has become another one's or is drained into a spool that was not named: whoever looks again finds where it all
 * is; -ENOSPC of the scratch folder; -errno. `ret_why` (256 bytes, may be NULL) words a failure. Heap;
 * sp__recording_destroy frees. */
int sp__recording_create(struct sp__recording **ret, const struct sp__recording_source *source, char ret_why[256]);
void sp__recording_destroy(struct sp__recording *recording);

/* Calls [first, first + count) of a row, in its order. threads may be NULL. Thread-safe over one recording (pread).
 * 0 or -errno. */
int sp__recording_read(const struct sp__recording *recording, size_t row, uint64_t first, size_t count, int64_t *starts,
                       int64_t *ends, int32_t *threads);

#endif
