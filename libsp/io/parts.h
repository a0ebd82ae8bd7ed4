/* parts.h: what joining the parts of a rank (rank.c) and reading them (cursor.c) share. */
#ifndef SP__PARTS_H
#define SP__PARTS_H

#include "rank.h"

struct sp__rank_link {
    size_t part, row;
};

struct sp__thread_number {
    int64_t index; /* the part's own */
    int64_t position;
};

struct sp__rank_part {
    int64_t base;                     /* position of its first thread */
    size_t count;                     /* threads */
    bool threaded;                    /* its calls say which thread */
    bool dense;                       /* its indexes are 0 .. count-1 in order */
    bool alone;                       /* all calls are of the one thread at base */
    size_t left;                      /* rows being read: at 0 its file is closed */
    struct sp__thread_number *sorted; /* where not dense */
};

#endif
