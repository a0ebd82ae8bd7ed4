/* stream.h: all calls of one rank in order of start, each with its lane and what it was called from. */
#ifndef SPCTL_PAGE_STREAM_H
#define SPCTL_PAGE_STREAM_H

#include "scope.h"

struct stream_call {
    int64_t start;
    uint64_t duration;
    uint32_t line;   /* of the table: the region */
    uint32_t lane;   /* dense from 0 within the rank; UINT32_MAX: more cross each other than there are lanes for */
    uint32_t depth;  /* calls of its lane around it */
    uint32_t parent; /* what the visit of the call that it was made in returned; UINT32_MAX: it was made in none */
};

struct stream_lane {
    int64_t thread;   /* -1 unknown */
    uint32_t further; /* 0: the thread's own lane; n: the n-th further one, of calls that cross */
};

struct stream_rank {
    uint32_t rank;
    struct stream_lane *lanes; /* those met so far */
    uint32_t lane_count;
    bool ids; /* the file says of each call who made it */
};

/* Its result is the `parent` of the calls in this one. */
typedef uint32_t stream_visit(void *context, const struct stream_rank *rank, const struct stream_call *call);

/* Memory does not grow with the calls. Parents are those that the file names, else the innermost call of the lane.
 * 0, or what reading says. */
int stream_rank(const struct page_scope *scope, const struct page_rank *rank, stream_visit *visit, void *context,
                sp_error *error);

#endif
