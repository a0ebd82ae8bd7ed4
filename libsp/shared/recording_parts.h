/* recording_parts.h: what the files of recording*.c share. A recording is made in three passes over its spools: tables
 * (all but records), then records for what has to be known before any call is stored (how many a row has, who owned a
 * lane when, clock anchors), then records again to put the calls into their rows. */
#ifndef SP__RECORDING_PARTS_H
#define SP__RECORDING_PARTS_H

#include "clock.h"
#include "durable.h"
#include "recording.h"

/* Sequence numbers that were taken already: sorted, disjoint, neighbours joined. They are seen as signed, so that a
 * lane may run across 2^64. */
struct sp__range {
    int64_t from, to;
};

struct sp__ranges {
    struct sp__range *list;
    size_t count, room;
};

/* Takes the first piece of [*from, to) that was not taken before. 1: it is [*from, *ret_to); 0: none; -ENOMEM. */
int sp__ranges_take(struct sp__ranges *ranges, int64_t *from, int64_t to, int64_t *ret_to);

/* How many of the numbers from `low` to the last one taken were not. */
uint64_t sp__ranges_missing(const struct sp__ranges *ranges, int64_t low);

/* A marker of a thread, kept until all spools were read: their order in a lane is that of sequence. */
struct sp__marker {
    int64_t sequence;
    uint64_t start, end;
    uint32_t number;
    uint16_t lane, kind;
};

struct sp__owner { /* of a lane from this record on */
    int64_t sequence;
    uint32_t thread; /* place in recording->threads */
};

struct sp__part_lane {
    struct sp__ranges ranges;
    struct sp__owner *owners;
    size_t owner_count;
    bool called;
    int64_t first_call, end;        /* sequence numbers: of the lowest call, one past the highest record */
    uint64_t open_seen, stats_seen; /* ticks of the frames that count */
    struct sp__open_entry *open;    /* region UINT32_MAX: has ended meanwhile */
    struct sp__stats_entry *stats;
    struct sp__thread_entry living; /* what was last seen of a thread that lived */
    uint64_t living_seen;
    bool lived;
    uint32_t open_count, stats_count;
    bool opened, measured;
    struct sp__counters counters;
    int64_t reached; /* sequence numbers below were drained, into whichever spool; 0: nobody says */
};

/* Where one row's columns lie in the file: int64 starts, int64 ends, int32 threads (of a trace: none). */
struct sp__extent {
    uint64_t starts, ends, threads;
    uint64_t capacity, filled;
    int64_t last_start, last_end;
    bool unsorted;
};

struct sp__recording_file {
    int fd;                    /* a scratch file, or the trace's */
    struct sp__durable *trace; /* the .spt that is to be, or NULL */
    uint64_t size;
    struct sp__extent *extents; /* one a row */
};

struct sp__region_text {
    char *name, *file; /* NULL: not known */
    uint32_t name_length, file_length;
    int32_t line;
};

struct sp__making {
    struct sp__recording *recording;
    struct sp__spool_reader *readers;
    size_t reader_count;
    bool observed;      /* the first reader is a copy of the living segment */
    bool live_is_gone;  /* the living segment was not there any more, or was another's */
    bool live_has_more; /* it was drained into a spool that was not named, or is published */
    struct sp__part_lane lanes[SP__LANES];
    struct sp__region_text *regions; /* SP__REGIONS of them; in pages of their own, of which few are touched, as are */
    uint64_t *calls;                 /* these, per region, */
    uint32_t *row_of;                /* and these: which row is whose */
    uint32_t region_count;           /* one past the highest that a table or a record names */
    uint64_t epoch;
    uint64_t bases[SP__LANES];
    uint32_t base_count;
    struct sp__anchor *anchors;
    size_t anchor_count, anchor_room;
    struct sp__marker *markers;
    size_t marker_count, marker_room;
    uint64_t end_ticks;
    struct sp__clock_map *map;
    struct sp__record *records; /* SP__FRAME_RECORDS_MOST */
    uint64_t strange;           /* records that name no possible region */
};

/* Grows a heap array so that it has room for one more. 0 or -ENOMEM. */
int sp__grow(void **list, size_t *room, size_t count, size_t size);

int64_t sp__making_ns(const struct sp__making *making, uint64_t ticks);
int sp__making_anchor(struct sp__making *making, uint64_t ticks, int64_t mono_ns);

/* recording_tables.c: one frame of the first pass; afterwards: the recording's open calls, counters and statistics. */
int sp__tables_frame(struct sp__making *making, const struct sp__frame *frame, const unsigned char *payload);
void sp__tables_ended(struct sp__part_lane *lane, const struct sp__record *record); /* an open call that has ended */
int sp__tables_finish(struct sp__making *making);

/* recording_threads.c: threads and owners from the markers; who owned a lane at a record. */
int sp__threads_finish(struct sp__making *making);
size_t sp__threads_owner(const struct sp__part_lane *lane, int64_t sequence); /* owner_count where there is none */

/* recording_rows.c: calls into their rows, in order. Where the file is a trace, a row that does not come in order is
 * SP__UNSORTED. */
#define SP__UNSORTED (-EXFULL)
struct sp__rows;
int sp__rows_create(struct sp__rows **ret, struct sp__making *making, const uint32_t *row_of);
int sp__rows_add(struct sp__rows *rows, const struct sp__record *record, int32_t thread);
int sp__rows_finish(struct sp__rows *rows); /* what is buffered, and the order of rows whose threads overlap */
void sp__rows_destroy(struct sp__rows *rows);

/* trace.c: begins the file that is to stand at `path`; writes all but the columns of a trace, and says where those go. */
int sp__trace_begin(struct sp__recording_file *file, const char *path);
int sp__trace_lay_out(const struct sp__recording *recording);
/* An unfinished trace, or the scratch file, goes. */
void sp__recording_file_close(struct sp__recording_file *file);

#endif
