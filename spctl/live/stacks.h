/* stacks.h: what is open in every thread of a session now, and which threads agree. */
#ifndef SPCTL_STACKS_H
#define SPCTL_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "live.h"
#include "numbers.h"

/* One life of a rank whose segment is there. */
struct stack_life {
    char incarnation[33];
    char hostname[SP__HOST_SIZE];
    uint32_t rank, pid, part;
    bool several; /* the rank has more than one: told apart by their pids */
    enum sp_rank_state state;
    int64_t silent_ns; /* dead: since its last sign of life */
    size_t threads;
};

/* One thread. */
struct stack {
    size_t life;
    struct live_thread thread; /* its calls are kept */
};

/* Threads of one state whose regions are the same, in ranks in which the same threads are so. */
struct stack_group {
    const struct stack *first;
    char *ranks;               /* "0-2,4-63" */
    char *threads;             /* "" the first one, else "1-7" */
    size_t count;              /* threads */
    int64_t least_ns, most_ns; /* how long the innermost call is open */
    int64_t silent_least_ns, silent_most_ns;
};

struct stacks {
    struct numbers regions;
    struct numbers problems;  /* what could not be read */
    struct stack_life *lives; /* sorted by rank, pid */
    size_t life_count, life_room;
    struct stack *all; /* sorted by life, thread */
    size_t count, room;
    struct stack_group *groups; /* first threads first, each by its lowest rank */
    size_t group_count;
};

void stacks_read(struct stacks *ret, const char *session);
void stacks_finish(struct stacks *stacks);

static inline const char *stacks_region(const struct stacks *stacks, uint32_t name)
{
    return stacks->regions.keys[name].bytes;
}

#endif
