/* live.h: what a segment shows at one moment, its program living, stopped or dead, drained or not. Takes no lock, and
 * reads by pread alone: a segment that is cut short meanwhile is an error, not the end of this process. */
#ifndef SPCTL_LIVE_H
#define SPCTL_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "numbers.h"
#include "scope_profiler_io.h"
#include "segment.h"
#include "spool.h"

/* Calls of one region. Times in ns. */
struct tally {
    uint64_t calls; /* that have ended, dropped records included */
    uint64_t open;
    int64_t total, minimum, maximum; /* of the ended ones; 0 without any */
    int64_t exclusive;               /* -1 unknown */
};
void tally_add(struct tally *to, const struct tally *more);

struct live {
    struct sp__segment segment; /* its mapping is never looked into */
    char incarnation[33];
    enum sp_rank_state state;
    bool gone; /* finalized or discarded: its files tell, or nothing is to be told */
    uint32_t lanes;
    uint32_t region_count;
    struct sp__counters counters;
    uint64_t undrained;
    uint64_t spool_bytes;
    struct sp__anchor now;
    double tick_ns;
    uint64_t last_sign; /* ticks: the latest thing seen of a dead one */

    struct numbers *names;
    uint32_t *regions;       /* numbers of names by handle, NO_NAME: not looked up yet */
    struct sp__region *rows; /* of them, the first row_count */
    uint32_t row_count;
    char *window; /* a piece of the heap: names lie close together */
    uint64_t window_at;
    size_t window_length;
};

/* Opens SP__SHM_DIR/name and takes its state and counters. `names` gets the regions' names. 0; -ENOENT; -EACCES:
 * somebody else's; else -errno with the reason in ret_why. */
int live_open(struct live *ret, const char *name, struct numbers *names, char ret_why[256]);
void live_close(struct live *live);

/* Calls `each` for every segment of this user whose name is of the session, until it returns non-zero. */
int live_each(const char *session, int (*each)(const char *name, void *context), void *context);

/* The name's number in `names`. */
uint32_t live_region(struct live *live, uint32_t region);

/* Statistics over all lanes, both banks: `each` is told of every region with an ended call. Exact where the program
 * stands still; while it runs, a call that ends at this moment may be in one of its figures and not in another. */
int live_statistics(struct live *live, void (*each)(void *context, uint32_t name, const struct tally *tally),
                    void *context);

/* A call that is open, outermost first. */
struct live_open_call {
    uint32_t name;
    bool recorded; /* false: begun in a pause */
    int64_t ns;    /* since it began, whether its program lives or not */
};

struct live_thread {
    uint32_t number, native_id;
    bool signal;   /* handlers that interrupted an append record there */
    bool changing; /* what lies deeper came and went while it was read: `calls` are those that stood */
    char name[17]; /* "" unknown */
    struct live_open_call *calls;
    uint32_t count;
};

/* Every thread that has a lane now. The calls are those that were open together at one moment: either nothing of the
 * stack changed around a reading of its depth, or only as much as did not is told. */
int live_threads(struct live *live, int (*each)(void *context, const struct live_thread *thread), void *context);

#endif
