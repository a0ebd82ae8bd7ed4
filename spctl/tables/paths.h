/* paths.h: paths of regions, as "main > step > solve", and what their calls took, over the ranks of a walk. */
#ifndef SPCTL_PATHS_H
#define SPCTL_PATHS_H

#include "pairs.h"
#include "scope_profiler_io.h"

struct path {
    size_t region;
    size_t above; /* stands before it; SIZE_MAX: none */
    size_t depth;
    uint64_t calls;
    int64_t total, exclusive; /* ns; the largest number there is where that is too small */
};

enum { PATHS_MOST = 1 << 18 }; /* in all: calls on further ones count as a part of the path above them */

/* Zeroed at first, save for `deepest`. */
struct paths {
    struct path *list;
    size_t count, room;
    size_t deepest; /* paths that are longer are further ones; 0: there are none */
    uint64_t calls; /* in all */
    uint64_t cut;   /* of these, on further paths */
    int64_t total;  /* of calls made in no other */
    int64_t start, end;
    bool unsure;        /* a call was: the caller's to clear between ranks */
    struct pairs pairs; /* (path above + 1, region): the path */
};

/* The `enter` of a walk's visitor, whose context is the paths or holds them. Out of memory ends the program. */
int64_t paths_enter(void *paths, const sp_walk_call *call);
void paths_finish(struct paths *paths);

/* The sum, or the number next to it that there is. */
int64_t paths_add(int64_t a, int64_t b);

/* What views of who called whom say where they do not quite know: so many ranks, of so many. */
#define CALLERS_UNSURE                                                                                                 \
    "on %zu of %zu ranks calls cross and nothing says which thread made which: who called whom there is as their "     \
    "times nest, in as few lanes as keep crossing calls apart"

#endif
