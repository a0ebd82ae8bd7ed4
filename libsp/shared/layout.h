/* layout.h: the one definition of the shared-memory segment, included by the program's side (record/), the
 * consumer's side (consumer.c) and the readers. All sizes are bytes, all times nanoseconds or raw clock ticks.
 *
 *   0               struct sp__header      identity (constant after birth), words, answer
 *   lanes_offset    struct sp__lane []     one per thread: producer's line, consumer's line, where its memory is
 *   regions_offset  struct sp__region []   append-only table, published by sp__header.region_count
 *   heap_offset     heap                   bump-allocated pages: rings, open stacks, statistics, strings
 *
 * The file is sparse. Only what was reserved (fallocate) is ever touched by the program. Offsets count from byte 0
 * of the segment. A consumer maps no more than [0, regions_offset) and reads the rest with pread, which cannot fault
 * and does not make the consumer's resident size grow with the rings.
 *
 * Pairs: each atomic below says which load meets which store. "producer" is the thread that owns the lane,
 * "program" any thread of the recording process, "consumer" the holder of the lock on byte 1. */
#ifndef SP__LAYOUT_H
#define SP__LAYOUT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define SP__MAGIC      0x31544d4753505343ULL /* "CSPSGMT1" as a little-endian word */
#define SP__ABI_MAJOR  1U                    /* another major: not read at all */
#define SP__ABI_MINOR  0U                    /* a higher minor only appends: read */
#define SP__BYTE_ORDER 0x01020304U

enum {
    SP__LINE = 64,
    SP__PAGE = 4096,
    SP__LANES = 512,          /* lanes of one segment; fewer where the address space is limited */
    SP__REGIONS = 131072,     /* rows of the region table */
    SP__RING_DEFAULT = 32768, /* records */
    SP__RING_LEAST = 1024,    /* records; halved down to this where /dev/shm is short */
    SP__RING_MOST = 1 << 24,
    SP__STACK_MOST = 16384,  /* open calls of one lane; deeper ones are counted, not recorded */
    SP__STATS_REGIONS = 256, /* regions per block of statistics */
    SP__STATS_BLOCKS = SP__REGIONS / SP__STATS_REGIONS,
    SP__BANKS = 2,
    SP__SESSION_SIZE = 72,
    SP__HOST_SIZE = 256,
    SP__BOOT_SIZE = 40,
    SP__PATH_SIZE = 4096,
    SP__INCARNATION_SIZE = 16
};

/* The bytes of the segment that carry open-file-description locks. */
enum { SP__BYTE_PRODUCER = 0, SP__BYTE_CONSUMER = 1, SP__BYTE_NAME = 2, SP__BYTE_DOORBELL = 3 };

/* sp__header.state. Below FINALIZING a free byte 0 means that the program died. */
enum sp__state {
    SP__RECORDING = 1,
    SP__PAUSED = 2,     /* begin records nothing; set and cleared by spd, and by sp_pause */
    SP__RESETTING = 3,  /* sp_profiler_reset holds every writer off for a moment */
    SP__FINALIZING = 4, /* no more records will come; the consumer publishes */
    SP__FINALIZED = 5,  /* published, by whoever did it: the name may go */
    SP__DISCARDED = 6   /* destroyed on purpose: nothing is to be published, the spool goes */
};

enum sp__clock { SP__CLOCK_MONOTONIC = 0, SP__CLOCK_TSC = 1 };
enum sp__mode { SP__MODE_RECORDS = 0, SP__MODE_STATS = 1 };
enum sp__language { SP__LANGUAGE_C = 0, SP__LANGUAGE_FORTRAN = 1 };
enum sp__format { SP__FORMAT_AUTO = 0, SP__FORMAT_HDF5 = 1, SP__FORMAT_TRACE = 2 };

/* One reading of two clocks at once. For SP__CLOCK_MONOTONIC ticks are nanoseconds and equal mono_ns. */
struct sp__anchor {
    uint64_t ticks;
    int64_t mono_ns; /* CLOCK_MONOTONIC */
};

/* Who recorded. Written before the segment gets its name and constant from then on; also the first frame of a spool. */
struct sp__identity {
    char session[SP__SESSION_SIZE]; /* NUL-terminated, as all strings here */
    char hostname[SP__HOST_SIZE];
    char boot_id[SP__BOOT_SIZE];
    char prefix[SP__PATH_SIZE]; /* absolute path without "_rank..." */
    uint8_t incarnation[SP__INCARNATION_SIZE];
    uint64_t name_hash; /* of session and prefix: the 16 hex digits of names */
    int32_t rank;
    uint32_t uid;
    uint32_t pid;       /* a label: liveness is byte 0 */
    uint32_t clock;     /* enum sp__clock: what lanes hold */
    uint32_t mode;      /* enum sp__mode */
    uint32_t language;  /* enum sp__language */
    uint32_t part;      /* 0, or the number of an SP_FORK=follow child within its rank */
    uint32_t pid_space; /* inode of the pid namespace that pid counts in; 0 unknown */
    struct sp__anchor birth;
    int64_t birth_realtime_ns; /* CLOCK_REALTIME at birth.mono_ns */
};

/* What the consumer tells the program. A seqlock: the consumer makes seq odd, writes, makes it even (release); a
 * reader takes an even seq (acquire), copies, and takes seq again. */
struct sp__answer {
    _Atomic uint32_t seq;
    uint32_t status;          /* sp_status of the publication */
    int32_t error;            /* errno where status is not 0 */
    uint32_t format;          /* enum sp__format that was written */
    char path[SP__PATH_SIZE]; /* where it is, or is going to be (status 0, flushes_done unchanged) */
};

struct sp__header {
    /* Constant after birth. */
    uint64_t magic;
    uint32_t abi_major;
    uint32_t abi_minor;
    uint32_t byte_order;
    uint32_t header_size; /* sizeof(struct sp__header) of the writer */
    uint64_t segment_size;
    uint64_t lanes_offset;
    uint64_t regions_offset;
    uint64_t heap_offset;
    uint32_t lane_capacity;
    uint32_t lane_stride;
    uint32_t region_capacity;
    uint32_t region_stride;
    uint32_t record_size;
    uint32_t stack_entry_size;
    uint32_t stats_entry_size;
    uint32_t stats_block_regions;
    struct sp__identity identity;

    /* The word that every begin and end looks at; its line is written a few times in a life. */
    _Alignas(SP__LINE) _Atomic uint32_t state; /* program and spd store release; writers load relaxed on the fast
                                                  path and acquire on the slow one; consumers load acquire */
    _Atomic uint32_t format; /* enum sp__format that the program asked for; stored and loaded relaxed */
    _Atomic uint32_t epoch;  /* resets so far: stored release after every lane's base[(epoch + 1) & 1];
                                the consumer's acquire load pairs with it */
    _Atomic uint32_t bank;   /* statistics bank in use: stored release by rotation, loaded acquire */

    /* Written on slow paths by the program. */
    _Alignas(SP__LINE) _Atomic uint32_t region_count; /* stored release after the row; loaded acquire by readers */
    _Atomic uint32_t lanes_used;                      /* highest lane ever claimed + 1: release / acquire */
    _Atomic uint32_t threads;                         /* thread numbers handed out: fetch_add */
    _Atomic uint32_t flush_request;                   /* fetch_add release by the program; acquire by the consumer */
    _Atomic uint64_t heap_next;    /* offset of the first free heap page: CAS among program threads */
    _Atomic uint64_t lost_no_lane; /* calls of threads that found no lane: fetch_add relaxed */
    _Atomic uint64_t lost_regions; /* names refused: table or heap full: fetch_add relaxed */
    _Atomic uint32_t bell_cpu;     /* 1 + the processor that rang last, 0 unknown: relaxed, a hint for the consumer */

    /* Written by the consumer. */
    _Alignas(SP__LINE) _Atomic uint32_t spool_chosen; /* 1 after spool[] is written (release); loaded acquire by a
                                                         later consumer */
    _Atomic uint32_t flush_done;                      /* the flush_request that answer speaks of: release / acquire */
    _Atomic uint32_t spooled;          /* 1: all of a finalizing segment is in the spool: release / acquire */
    _Atomic uint32_t published;        /* 1: final publication done or refused, see answer: release / acquire */
    _Atomic uint64_t consumer_beat_ns; /* CLOCK_MONOTONIC of the last look at the lanes: relaxed */
    struct sp__answer answer;
    char spool[SP__PATH_SIZE]; /* absolute path that the first consumer chose */
};

/* sp__record.kind. Everything but a CALL is a marker: it takes a sequence number like a call. */
enum sp__kind {
    SP__CALL = 0,
    SP__THREAD_BEGIN = 1, /* start ticks, end native thread id, region thread number */
    SP__THREAD_IDENT = 2, /* start pthread_self, end 1 for the main thread, 2 for a signal lane, region thread number */
    SP__THREAD_NAME = 3,  /* start and end: 16 bytes of name, NUL-padded, region thread number */
    SP__THREAD_END = 4,   /* start ticks, end CPU time in ns, region thread number */
    SP__ANCHOR = 5        /* start ticks, end CLOCK_MONOTONIC ns */
};

struct sp__record {
    uint64_t start;
    uint64_t end;
    uint32_t region;
    uint16_t depth; /* open calls around it in its lane; 0 outermost */
    uint16_t kind;  /* enum sp__kind */
};

enum { SP__OPEN_UNRECORDED = 1 }; /* begun while paused: its end closes it and records nothing */

struct sp__open {
    uint64_t start;  /* ticks */
    uint64_t nested; /* ticks spent in direct children that have ended */
    uint32_t region;
    uint32_t flags;
    uint64_t token; /* what sp_scope.slot holds: unique in the profiler */
};

struct sp__stats {
    uint64_t calls;
    uint64_t total; /* ticks, as the rest */
    uint64_t minimum;
    uint64_t maximum;
    uint64_t exclusive;
    uint64_t histogram; /* heap offset; 0: none */
};

struct sp__lane {
    /* Producer's lines. */
    _Alignas(SP__LINE) _Atomic uint64_t head; /* records published: stored release after the record; loaded acquire by
                                                 the consumer */
    _Atomic uint32_t depth;   /* entries of the open stack: stored release after the entry; loaded acquire
                                 by readers, who take a stack that changed meanwhile as a hint */
    _Atomic uint32_t claimed; /* 0 free, 1 owned: CAS among program threads; readers relaxed */
    _Atomic uint64_t dropped; /* records dropped because the ring stayed full. These five: stored relaxed
                                 by the producer, loaded relaxed */
    _Atomic uint64_t waited_ns;
    _Atomic uint64_t mended;    /* ends set to their start because the clock stepped back */
    _Atomic uint64_t unmatched; /* ends without a begin */
    _Atomic uint64_t too_deep;  /* begins beyond SP__STACK_MOST */
    _Atomic uint64_t owner;     /* native thread id << 32 | thread number; 0 none. A label: stored and loaded relaxed */

    /* Consumer's line. */
    _Alignas(SP__LINE) _Atomic uint64_t tail; /* records that are in the spool: stored release by the consumer after the
                                            block is written; loaded acquire by the producer before it reuses them */

    /* Where the lane's memory is. Written at the first claim before head is, constant afterwards. */
    _Alignas(SP__LINE) uint64_t ring_offset;
    uint64_t ring_records;    /* a power of two */
    uint64_t stack_offset;    /* SP__STACK_MOST entries of address space, reserved page by page */
    uint64_t stats_offset;    /* uint64_t [SP__BANKS][SP__STATS_BLOCKS]: heap offset of each block, 0 none */
    _Atomic uint64_t base[2]; /* records below base[epoch & 1] were reset; see sp__header.epoch */
    _Atomic uint32_t ready;   /* 1 when the offsets above are good: release / acquire */
    uint32_t signal_lane;     /* 1: records what signal handlers did over another lane's append */
};

struct sp__region {
    uint64_t name_offset;
    uint32_t name_length;
    int32_t line;                 /* -1 unknown; filled in before file_offset */
    _Atomic uint64_t file_offset; /* 0 unknown; stored release when a later call gives the location; loaded acquire */
    uint32_t file_length;
    uint32_t reserved;
};

#define SP__AT(type, member, offset)                                                                                   \
    _Static_assert(offsetof(struct type, member) == (offset), #type "." #member " moved")
#define SP__IS(type, size) _Static_assert(sizeof(struct type) == (size), #type " changed size")

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "segments and spools are little-endian");
_Static_assert(sizeof(_Atomic uint64_t) == 8 && sizeof(_Atomic uint32_t) == 4, "atomics are plain words");

#include "layout_check.h"

#endif
