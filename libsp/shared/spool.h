/* spool.h: the append-only file of one incarnation: framed, sequenced, checksummed. docs/spool.md describes the bytes.
 * One writer at a time (the holder of byte 1); any number of readers, also while it grows. */
#ifndef SP__SPOOL_H
#define SP__SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "layout.h"

#define SP__SPOOL_VERSION 1U

/* Every frame: this head, then `length` bytes. A frame stands for itself: a bad one costs its own records only. */
struct sp__frame {
    uint32_t magic; /* "SPFR" */
    uint16_t type;  /* enum sp__frame_type */
    uint16_t lane;  /* RECORDS, OPEN, STATS, COUNTERS, THREAD; else 0 */
    uint64_t first; /* RECORDS: sequence number of the first record; REGIONS: number of the first region; see below */
    uint32_t count; /* how many records, regions, ... the payload holds */
    uint32_t length;
    uint64_t payload_hash; /* XXH3 64 of the payload */
    uint64_t head_hash;    /* XXH3 64 of the bytes before it */
};

enum sp__frame_type {
    SP__FRAME_SEGMENT = 1, /* struct sp__identity; always the first frame, and again before END, so that a damaged
                              beginning can be done without; `first` is SP__SPOOL_VERSION */
    SP__FRAME_REGIONS = 2, /* per region: u32 name length, u32 file length, i32 line, name, file; a region may come
                              again when its location was filled in later */
    SP__FRAME_RECORDS = 3, /* encoded, see sp__records_encode */
    SP__FRAME_ANCHORS = 4, /* struct sp__anchor [count] of the consumer's own */
    SP__FRAME_BASE = 5, /* u64 base [count] of lanes 0 .. count - 1: records below were reset; `first` is the epoch, the
                           highest one counts. One frame for all lanes: a reset happens whole or not at all */
    SP__FRAME_OPEN = 6, /* struct sp__open_entry [count]: the lane's open calls, outermost first, as seen at `first`
                           (ticks); the latest frame of a lane counts; none open: count 0 */
    SP__FRAME_STATS = 7,    /* struct sp__stats_entry [count] at `first` (ticks): the latest frame of a lane counts */
    SP__FRAME_COUNTERS = 8, /* struct sp__counters of the lane; the latest counts */
    SP__FRAME_END = 9,      /* u32 enum sp__end, u32 reserved, u64 ticks: no more records will come */
    SP__FRAME_THREAD = 10 /* struct sp__thread_entry: the thread that lives in the lane, as seen at `first` (ticks); the
                              latest frame of a lane counts, what its THREAD_END marker says counts more */
};

struct sp__thread_entry {
    uint32_t number; /* as in its markers */
    uint32_t reserved;
    uint64_t cpu_ns;
    char name[16]; /* NUL-padded */
};

struct sp__open_entry {
    uint64_t start; /* ticks */
    uint32_t region;
    uint32_t flags; /* 0 */
};

struct sp__stats_entry {
    uint32_t region;
    uint32_t reserved;
    struct sp__stats stats; /* ticks */
};

struct sp__region_entry { /* then the name, then the file, neither terminated */
    uint32_t name_length;
    uint32_t file_length;
    int32_t line;
};

struct sp__end_entry {
    uint32_t end; /* enum sp__end */
    uint32_t reserved;
    uint64_t ticks;
};

enum sp__end { SP__END_FINALIZED = 1, SP__END_DIED = 2 };

struct sp__counters {
    uint64_t dropped;
    uint64_t waited_ns;
    uint64_t mended;
    uint64_t unmatched;
    uint64_t too_deep;
    uint64_t lost_no_lane; /* of the whole segment, in lane 0's frame */
};

/* Calls that were made and are recorded nowhere, for whatever reason. */
static inline uint64_t sp__counters_lost(const struct sp__counters *counters)
{
    return counters->dropped + counters->lost_no_lane + counters->too_deep;
}

/* Encoding of records: at most SP__ENCODED_MOST bytes each, typically 5 to 8; self-contained per frame. */
enum { SP__ENCODED_MOST = 32, SP__FRAME_RECORDS_MOST = 8192, SP__FRAME_LENGTH_MOST = 1 << 24 };
size_t sp__records_encode(const struct sp__record *records, size_t count, unsigned char *buffer);
/* Decodes exactly `count` records from exactly `length` bytes. 0 or -EBADMSG. */
int sp__records_decode(const unsigned char *buffer, size_t length, struct sp__record *ret, size_t count);

/* Whether those bytes decode to exactly these records: what a build with -Dinstants=true asks of every frame before it is
 * written. */
bool sp__records_match(const unsigned char *buffer, size_t length, const struct sp__record *records, size_t count);

/* The writing side. */
struct sp__spool {
    int fd;
    uint64_t size; /* whole frames only */
    char path[SP__PATH_SIZE];
};

/* What an existing spool already holds, so that a new consumer goes on where the last one stopped. */
struct sp__spool_state {
    uint64_t next[SP__LANES]; /* per lane: one past the last sequence number that stands in a whole frame */
    bool seen[SP__LANES];     /* there is such a frame: next means something */
    uint32_t regions;
    uint32_t epoch;
    bool ended;
    uint64_t torn; /* bytes of a torn end that were cut off */
};

/* Makes "<folder>/<stem>.spool" (0600, O_EXCL, folder made) and writes its first frame; or, where it exists and its
 * first frame is the same incarnation, cuts a torn end and appends. `path` names the file itself.
 * 0; -EEXIST: there, but another incarnation's or not a regular file of ours; -errno. */
int sp__spool_open(struct sp__spool *ret, const char *path, const struct sp__identity *identity,
                   struct sp__spool_state *ret_state);
/* The same for a spool that must be there already: -ENOENT where it is not. The path may come from anybody: symbolic
 * links are not followed, nothing but a regular file of this user's with the right first frame is written to. */
int sp__spool_reopen(struct sp__spool *ret, const char *path, const struct sp__identity *identity,
                     struct sp__spool_state *ret_state);
/* One without a name below `folder`, for a copy that goes when it is closed. */
int sp__spool_open_unnamed(struct sp__spool *ret, const char *folder, const struct sp__identity *identity);
void sp__spool_close(struct sp__spool *spool);

/* A file in `folder` without a name (0600, O_CLOEXEC): its descriptor or -errno. */
int sp__unnamed_file(const char *folder);
/* All of it at `at`, or -errno. Never raises SIGXFSZ: past the process's limit it is -EFBIG. */
int sp__write_at(int fd, const void *data, size_t length, uint64_t at);
/* All of it, or -EBADMSG where the file ends before; -errno. */
int sp__read_at(int fd, void *buffer, size_t length, uint64_t at);

/* Appends one frame in one go; after a short or failed write the torn part is cut off again and nothing is said to
 * be written. 0 or -errno (-ENOSPC, -EIO, -EDQUOT). */
int sp__spool_append(struct sp__spool *spool, uint16_t type, uint16_t lane, uint64_t first, uint32_t count,
                     const void *payload, uint32_t length);
int sp__spool_sync(struct sp__spool *spool); /* fdatasync */

/* For an open spool whose name somebody removed, or the folders above it: makes them again and gives the name to a
 * copy, on which `spool` goes on. 0; -EEXIST: another file has the name; -errno, and `spool` is as it was. */
int sp__spool_restore(struct sp__spool *spool);

uint64_t sp__frame_head_hash(const struct sp__frame *head);
uint64_t sp__frame_payload_hash(const void *payload, size_t length);

/* What a reader wants to see of each frame. Payloads that were not read were not verified either. */
enum sp__reading {
    SP__READ_ALL,
    SP__READ_TABLES, /* payloads of all but RECORDS, which are left out */
    SP__READ_HEADS   /* no payload */
};

/* What a reader steps over. */
enum sp__damage {
    SP__DAMAGED_BYTES,   /* no sound frame begins there */
    SP__DAMAGED_PAYLOAD, /* a sound head, whose payload is not */
    SP__TORN             /* a frame that the end of the file cuts off, or that is just being written */
};

/* The reading side: frames in file order, up to `end` bytes (UINT64_MAX: as far as whole frames go at the opening). */
struct sp__spool_reader {
    int fd;
    uint64_t at;
    uint64_t end;
    uint64_t whole; /* where the last whole frame seen ends */
    enum sp__reading reading;
    uint64_t bad_bytes;  /* skipped: no sound frame began there, or the payload was not sound */
    uint64_t bad_frames; /* heads that were sound over payloads that were not */
    uint64_t torn;       /* bytes of a frame at the end that is not all there (or is just being written) */
    unsigned char *payload;
    size_t room;
    unsigned char *window; /* bytes [window_at, window_at + window_length): most frames are short */
    uint64_t window_at;
    size_t window_length;
    /* Told of each such place, may be NULL; `head` is the frame's where it is sound, else NULL. */
    void (*damaged)(void *context, enum sp__damage what, uint64_t at, uint64_t length, const struct sp__frame *head);
    void *context;
};
/* 0; -ENODATA: no frame says whose spool it is; -EPROTONOSUPPORT: of another version; -errno. */
int sp__spool_reader_open(struct sp__spool_reader *ret, const char *path, uint64_t end,
                          struct sp__identity *ret_identity);
/* The same over a descriptor, which the reader owns from then on, also on failure. */
int sp__spool_reader_open_fd(struct sp__spool_reader *ret, int fd, uint64_t end, struct sp__identity *ret_identity);
/* 1: *ret is the next sound frame, its payload in reader->payload; 0: the end; -errno. Bad bytes are counted and
 * skipped by searching for the next sound head. */
int sp__spool_reader_next(struct sp__spool_reader *reader, struct sp__frame *ret);
void sp__spool_reader_rewind(struct sp__spool_reader *reader); /* counts start again, too */
void sp__spool_reader_close(struct sp__spool_reader *reader);

#endif
