#include "paths.h"

#include <stdlib.h>

#include "say.h"

/* What a walk is answered for a call on a further path: the path that it counts as a part of, or none. */
static const int64_t cut_mark = (int64_t)1 << 32;

int64_t paths_add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static struct path *new_path(struct paths *paths, size_t region, size_t above, size_t depth)
{
    if (paths->count == paths->room) {
        paths->room = paths->room ? 2 * paths->room : 256;
        paths->list = need(realloc(paths->list, paths->room * sizeof *paths->list));
    }
    paths->list[paths->count] = (struct path){.region = region, .above = above, .depth = depth};
    return &paths->list[paths->count++];
}

/* The path that goes on from `above`, or NULL where there is no room for another. */
static struct path *path_below(struct paths *paths, size_t region, size_t above)
{
    size_t depth = above == SIZE_MAX ? 0 : paths->list[above].depth + 1;
    bool full = paths->count == PATHS_MOST || (paths->deepest && depth == paths->deepest);
    size_t n = pairs_number(&paths->pairs, above + 1, region, full ? PAIRS_NONE : paths->count);
    if (n == PAIRS_NONE)
        return NULL;
    return n == paths->count ? new_path(paths, region, above, depth) : &paths->list[n];
}

int64_t paths_enter(void *context, const sp_walk_call *call)
{
    struct paths *paths = context;
    int64_t duration = call->end - call->start;
    size_t above = call->above < 0 ? SIZE_MAX : (size_t)(call->above & (cut_mark - 1));
    paths->start = paths->calls == 0 || call->start < paths->start ? call->start : paths->start;
    paths->end = paths->calls == 0 || call->end > paths->end ? call->end : paths->end;
    paths->unsure = paths->unsure || call->unsure;
    ++paths->calls;
    if (call->above >= cut_mark) {
        ++paths->cut;
        return call->above;
    }
    if (above == SIZE_MAX)
        paths->total = paths_add(paths->total, duration);
    struct path *path = path_below(paths, call->region, above);
    if (!path) {
        ++paths->cut;
        return above == SIZE_MAX ? 2 * cut_mark : (int64_t)above | cut_mark;
    }
    ++path->calls;
    path->total = paths_add(path->total, duration);
    path->exclusive = paths_add(path->exclusive, duration);
    if (above != SIZE_MAX)
        paths->list[above].exclusive = paths_add(paths->list[above].exclusive, -duration);
    return path - paths->list;
}

void paths_finish(struct paths *paths)
{
    free(paths->list);
    pairs_finish(&paths->pairs);
}
