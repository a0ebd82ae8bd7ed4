/* profiler.h: one profiler, its life, and the locks around it. */
#ifndef SP__PROFILER_H
#define SP__PROFILER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "consumer.h"
#include "layout.h"
#include "scope_profiler.h"
#include "segment.h"
#include "writer.h"

enum sp__phase {
    SP__IDLE = 0,  /* nothing behind it */
    SP__ENDED = 1, /* finalized: names and statistics are readable */
    SP__LIVE = 2,  /* recording, paused, or about to be published */
    SP__FOLLOWING =
        3 /* a forked child with SP_FORK=follow, before its first call: born.map is its parent's, read-only */
};

/* What sp_init and sp_create were told, and the environment said. */
struct sp__settings {
    char session[SP__SESSION_SIZE];
    char prefix[SP__PATH_SIZE];   /* absolute */
    char data_dir[SP__PATH_SIZE]; /* absolute; "" there is none */
    int rank;
    int asked_rank;
    uint32_t language;
    uint32_t part; /* 0, or which child of its rank */
    uint32_t mode;
    uint32_t clock;
    uint32_t ring;
    uint32_t format;
    uint64_t full_wait_ns;
    bool follow;
    bool tool; /* started by a tool: the program's sp_init publishes it */
};

/* The program's own consumer, kept between drains. It holds byte 1 only while it drains, so that spd can take over.
 * Used by whoever holds `word`. */
struct sp__own {
    _Atomic uint32_t word; /* CAS acquire, stored release: makes this process's drains exclude each other */
    struct sp__consumer *consumer;
    dev_t segment_dev, spool_dev;
    ino_t segment_ino, spool_ino;
    bool beside_output;         /* the data folder could not be used: the spool lies in the output's folder */
    char folder[SP__PATH_SIZE]; /* data folder that is used; "" before the first drain */
};

/* Names to numbers; guarded by sp_profiler.table. */
struct sp__names {
    const char **names; /* by number, in the segment */
    uint64_t *hashes;
    uint32_t count, room;
    uint32_t *buckets; /* number + 1; 0 empty */
    uint32_t bucket_count;
    uint64_t string_at, string_reserved, string_end; /* of the last chunk of strings */
    uint32_t rows_reserved;
};

/* Never freed: a pointer that outlives sp_destroy finds SP__IDLE, or a later profiler. */
struct sp_profiler {
    _Atomic uint32_t phase; /* enum sp__phase: stored seq_cst before users is looked at, and loaded seq_cst after users
                               was raised, so that one of the two sees the other */
    _Atomic uint32_t users; /* threads in here that touch the segment without `control` */
    uint32_t slot;          /* index into sp__thread.slots, constant */
    bool named;             /* ever given to the program: constant once true */
    struct sp_profiler *next;
    pthread_mutex_t control; /* init, finalize, flush, reset, destroy */
    pthread_mutex_t table;   /* regions and paths; taken after control */

    _Atomic uint64_t generation; /* no two lives of any profilers have the same; 0 before the first */
    struct sp__settings settings;
    struct sp__identity identity;
    struct sp__born born;
    struct sp__header *header;
    _Atomic uint32_t ring;           /* records that a new lane tries for */
    _Atomic uint32_t lanes_reserved; /* rows of the lane table that have blocks */
    _Atomic uint64_t lanes_freed;    /* threads that found no lane try again when this has moved */
    _Atomic uint64_t token_serial;   /* high halves of sp_scope.slot handed out */
    bool paused;                     /* by sp_pause; guarded by control */
    struct sp__own own;
    struct sp__names names;
    char path[SP__PATH_SIZE];     /* where the program itself would publish */
    char answered[SP__PATH_SIZE]; /* where the consumer does */
    uint32_t written;             /* enum sp__format of the publication, SP__FORMAT_AUTO before it */
    double tick_ns;               /* once ended; 0 before */
};

extern struct sp_profiler sp__default;
extern struct sp__header sp__dead_header; /* discarded: what writers look at when their segment is gone */

SP__HOT bool sp__active(const struct sp_profiler *p)
{
    return atomic_load_explicit(&p->phase, memory_order_relaxed) >= SP__LIVE;
}

/* Between these two the segment stays mapped. false: there is none. */
bool sp__enter(struct sp_profiler *p);
void sp__leave(struct sp_profiler *p);

/* All profilers that were ever made, in no order. */
struct sp_profiler *sp__first_profiler(void);

/* An idle explicit profiler, or a new one; NULL without memory. Its control lock is held. */
struct sp_profiler *sp__profiler_take(void);

/* birth.c. Control is held and p is idle. */
sp_status sp__settings_read(struct sp__settings *ret, const char *prefix, int rank, uint32_t language,
                            bool *ret_disabled);
sp_status sp__profiler_start(struct sp_profiler *p, const struct sp__settings *settings);

/* Around a fork: no segment is born meanwhile; in the child, births are as if none had ever been. */
void sp__births_hold(void);
void sp__births_go_on(void);
void sp__births_renew(void);
bool sp__spd_serves(const char *session);

/* Control is held. Ends it unpublished; what was finalized is only let go. */
void sp__profiler_discard(struct sp_profiler *p);

/* Control is not held. */
sp_status sp__profiler_reset(struct sp_profiler *p);

/* p's handles begin anew. */
void sp__renew_generation(struct sp_profiler *p);

/* The slot of this thread for p, and its status. */
struct sp__slot *sp__slot_of(struct sp_profiler *p);
void sp__set_error(struct sp_profiler *p, sp_status status);

/* Open calls of all threads; good while writers are held off. */
uint64_t sp__open_calls(const struct sp_profiler *p);

SP__HOT struct sp__lane *sp__lane_at(const struct sp_profiler *p, uint32_t lane)
{
    return (void *)(p->born.map + p->header->lanes_offset + (uint64_t)lane * sizeof(struct sp__lane));
}

/* nanosleep that leaves errno alone. */
void sp__sleep_ns(uint64_t ns);

#endif
