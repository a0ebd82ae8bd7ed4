/* visit.c: the calls of a rank one by one, each with what was answered for the call that it was made in. */
#include <errno.h>
#include <stdlib.h>

#include "results.h"

enum { NEST_BYTES = 24 << 20, LEAST_ROOM = 64, MOST_WAITING = 4096 };

/* A call that others may name as their parent. */
struct known {
    int64_t call, value, end;
    bool used;
};

struct showing {
    struct sp__rank *rank;
    const size_t *regions; /* of the rank's rows; SIZE_MAX: not loaded */
    int64_t (*visit)(void *context, const sp_visit *call);
    void *context;
    sp_error *error;
    struct known *known; /* hashed by id, open addressing */
    size_t known_count, known_room;
    /* Of calls that start and end together any may be the parent of any: those whose parent did not come yet. */
    struct sp__nest_visit waiting[MOST_WAITING];
    size_t waiting_count;
};

static int no_memory(const struct showing *w)
{
    return sp__fail(w->error, SP_ERR_SYSTEM, ENOMEM, w->rank->parts[0]->path, NULL, "its calls cannot be nested");
}

static struct known *slot_of(struct known *known, size_t room, int64_t call)
{
    size_t slot = (size_t)(((uint64_t)call * 0x9e3779b97f4a7c15U) >> 20) & (room - 1);
    while (known[slot].used && known[slot].call != call)
        slot = (slot + 1) & (room - 1);
    return &known[slot];
}

/* Room for more, by forgetting what ended before `now`, which is no call's parent any more. */
static int make_room(struct showing *w, int64_t now)
{
    size_t open = 0, room = LEAST_ROOM;
    for (size_t i = 0; i < w->known_room; i++)
        open += w->known[i].used && w->known[i].end >= now;
    while (room < 4 * open)
        room *= 2;
    struct known *known = calloc(room, sizeof *known);
    if (!known)
        return no_memory(w);
    for (size_t i = 0; i < w->known_room; i++)
        if (w->known[i].used && w->known[i].end >= now)
            *slot_of(known, room, w->known[i].call) = w->known[i];
    free(w->known);
    w->known = known;
    w->known_room = room;
    w->known_count = open;
    return 0;
}

static const struct known *parent_of(const struct showing *w, const struct sp__nest_visit *call)
{
    if (call->parent < 0 || !w->known_room)
        return NULL;
    const struct known *known = slot_of(w->known, w->known_room, call->parent);
    return known->used && known->end >= call->start ? known : NULL;
}

/* The answer, or a negative status. */
static int64_t show(struct showing *w, const struct sp__nest_visit *call, int64_t above)
{
    size_t region = w->regions[call->row];
    if (region == SIZE_MAX)
        return above < 0 ? INT64_MAX : above;
    sp_visit shown = {.region = region,
                      .rank = w->rank->rank,
                      .start = call->start,
                      .end = call->end,
                      .thread = call->position < 0 ? -1 : w->rank->threads[call->position].index,
                      .above = above == INT64_MAX ? -1 : above};
    return w->visit(w->context, &shown);
}

/* Of a file that holds ids. */
static int64_t show_and_know(struct showing *w, const struct sp__nest_visit *call)
{
    const struct known *parent = parent_of(w, call);
    int64_t answer = show(w, call, parent ? parent->value : -1);
    if (answer < 0)
        return answer;
    if (4 * (w->known_count + 1) > 3 * w->known_room) {
        int status = make_room(w, call->start);
        if (status < 0)
            return status;
    }
    struct known *known = slot_of(w->known, w->known_room, call->call);
    w->known_count += !known->used;
    *known = (struct known){.call = call->call, .value = answer, .end = call->end, .used = true};
    return answer;
}

static int by_call(const void *left, const void *right)
{
    const struct sp__nest_visit *a = left, *b = right;
    return a->call < b->call ? -1 : a->call > b->call;
}

static int64_t show_waiting(struct showing *w)
{
    int64_t answer = 0;
    qsort(w->waiting, w->waiting_count, sizeof *w->waiting, by_call);
    for (size_t i = 0; answer >= 0 && i < w->waiting_count; i++)
        answer = show_and_know(w, &w->waiting[i]);
    w->waiting_count = 0;
    return answer;
}

static int64_t visit(void *context, const struct sp__nest_visit *call, sp_error *error)
{
    struct showing *w = context;
    (void)error;
    if (!w->rank->ids)
        return show(w, call, call->above);
    if (w->waiting_count &&
        (w->waiting_count == MOST_WAITING || w->waiting[0].start != call->start || w->waiting[0].end != call->end)) {
        int64_t answer = show_waiting(w);
        if (answer < 0)
            return answer;
    }
    if (call->parent < 0 || parent_of(w, call))
        return show_and_know(w, call);
    w->waiting[w->waiting_count++] = *call;
    return 0;
}

/* The first of the results' rows that are of the rank; those follow one another. */
static size_t first_row(const sp_results *results, size_t rank)
{
    size_t low = 0, high = results->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (results->rows[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t *regions_of(const sp_results *results, size_t rank)
{
    size_t count = results->ranks[rank]->row_count;
    size_t *regions = malloc((count + 1) * sizeof *regions);
    for (size_t i = 0; regions && i < count; i++)
        regions[i] = SIZE_MAX;
    for (size_t n = first_row(results, rank); regions && n < results->row_count && results->rows[n].rank == rank; n++)
        regions[results->rows[n].row] = results->rows[n].region;
    return regions;
}

static int show_all(struct showing *w)
{
    struct sp__nest_settings settings = {.budget = NEST_BYTES, .keep = true, .visit = visit, .context = w};
    struct sp__nest_result nested;
    int status = sp__nest(w->rank, &settings, &nested, w->error);
    if (!status && w->waiting_count) {
        int64_t answer = show_waiting(w);
        status = answer < 0 ? (int)answer : 0;
    }
    if (!status && nested.overlap)
        status =
            sp__fail(w->error, SP_ERR_NO_NESTING, 0, w->rank->parts[0]->path, NULL,
                     "calls of rank %u overlap, and nothing says which thread made which", (unsigned)w->rank->rank);
    return status;
}

int sp_results_visit(sp_results *results, uint32_t rank, int64_t (*each)(void *context, const sp_visit *call),
                     void *context, sp_error *error)
{
    size_t at = 0;
    if (!results || !each)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "calls are shown of results, and to somebody");
    while (at < results->rank_count && results->ranks[at]->rank != rank)
        at++;
    if (at == results->rank_count)
        return sp__fail(error, SP_ERR_NOT_FOUND, 0, results->path_count ? results->paths[0] : NULL, NULL,
                        "there is no rank %u", (unsigned)rank);
    size_t first = first_row(results, at);
    if (first == results->row_count || results->rows[first].rank != at) /* nothing of it was loaded */
        return 0;
    int status = sp__results_has_events(results, first, error);
    if (status)
        return status;
    struct showing *w = calloc(1, sizeof *w);
    size_t *regions = regions_of(results, at);
    if (w && regions) {
        *w = (struct showing){
            .rank = results->ranks[at], .regions = regions, .visit = each, .context = context, .error = error};
        status = show_all(w);
        free(w->known);
    } else {
        status = sp__results_no_memory(error);
    }
    free(regions);
    free(w);
    return status;
}
