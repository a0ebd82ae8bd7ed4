/* write.h: one profile being written: what write.c prepares and the writers of the two formats share. */
#ifndef SP__WRITE_H
#define SP__WRITE_H

#include <pthread.h>

#include "nesting.h"
#include "rank.h"

struct sp__writing {
    const char *output;
    const sp_write_settings *settings;
    struct sp_inputs *inputs;
    struct sp__rank **ranks; /* ascending */
    size_t rank_count;
    bool aggregate;       /* of all ranks alike: statistics without events */
    uint64_t calls, done; /* in all; written so far */
    sp_write_report report;
    sp_error *error;
    pthread_mutex_t lock; /* of `done`, the lists below, the report's warnings and the callers' functions */
    char **warnings;
    size_t warning_count;
    char **bad; /* inputs that turned out bad while they were read, by path */
    size_t bad_count;
};

/* Groups the inputs by rank. *ret_ranks is the caller's to give to sp__ranks_destroy. */
int sp__ranks_create(struct sp__rank ***ret_ranks, size_t *ret_count, const struct sp_inputs *inputs, sp_error *error);
void sp__ranks_destroy(struct sp__rank **ranks, size_t count);

/* The next three may be called by several threads at once. */

/* Something was skipped, mended or left out: one line, counted; told once the profile is written. */
__attribute__((format(printf, 2, 3))) void sp__writing_warn(struct sp__writing *writing, const char *format, ...);
void sp__writing_progress(struct sp__writing *writing, uint64_t calls);
/* A rank could not be read, for this reason. 0: it was told of, and the writer goes on with the next rank, so that one
 * bad input does not hide another; in the end it gives its file up, since writing->bad_count is no longer 0, and
 * returns any negative status with writing->error untouched. Negative: the writer ends with that, writing->error is
 * filled. */
int sp__writing_bad(struct sp__writing *writing, const sp_error *why);

int sp__write_h5(struct sp__writing *writing);
int sp__write_trace(struct sp__writing *writing);

/* ---- metadata.c: what stands in /metadata -------------------------------------------------------------------------
 */

struct sp__metadata {
    struct sp__attribute *attributes; /* strings owned */
    size_t count;
};

struct sp__metadata_facts {
    const char *label, *session;
    int64_t start_ns, end_ns; /* of all calls; start INT64_MAX: there are none */
};

/* Of the ranks ascending: the lowest that knows a thing says it, lists are joined, counts are summed. Attributes that
 * inputs carry beyond those are taken over. 0 or -ENOMEM. */
int sp__metadata_make(struct sp__metadata *ret, struct sp__rank *const *ranks, size_t rank_count,
                      const struct sp__metadata_facts *facts);
void sp__metadata_finish(struct sp__metadata *metadata);
const struct sp__attribute *sp__metadata_find(const struct sp__metadata *metadata, const char *name);

/* True where all parts count on one clock; else *ret_hosts (256 bytes) names them. */
bool sp__one_clock(struct sp__rank *const *ranks, size_t rank_count, char ret_hosts[256]);

#endif
