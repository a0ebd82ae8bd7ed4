/* walk.c: the calls of a rank in the order they began, each as it is entered and left, for whoever shows them one by
 * one: reports, pages, exports. */
#include <errno.h>
#include <stdlib.h>

#include "nesting_lanes.h"
#include "parts.h"
#include "results.h"

enum {
    BUDGET = 8 << 20, /* bytes of calls, all rows together */
    LEAST_ROOM = 64,
    MOST_WAITING = 4096,
    OFTEN = 1 << 14 /* calls until progress is told again */
};

/* A call whose turn it is. */
struct one {
    struct sp__nest_row *row;
    int64_t start, end;
    int64_t position;     /* of its thread in rank->threads; -1 unknown */
    int64_t call, parent; /* ids, where the rank has them */
};

/* A call that others may name as their parent. */
struct known {
    int64_t call, answer, end;
    bool used;
};

struct walk {
    const sp_results *results;
    size_t n; /* of the rank in the results */
    struct sp__rank *rank;
    bool ids; /* are read: stored, and wanted */
    const sp_walk_visitor *visitor;
    void *context;
    sp_error *error;
    size_t *regions; /* of the rank's rows; SIZE_MAX: not loaded */
    struct sp__nest_rows rows;
    struct sp__nest_lanes lanes;
    int64_t numbers;     /* of lanes that have calls */
    uint64_t done;       /* calls */
    struct known *known; /* hashed by id, open addressing */
    size_t known_count, known_room;
    /* Of calls that start and end together any may be the parent of any: those whose parent did not come yet. */
    struct one waiting[MOST_WAITING];
    size_t waiting_count;
};

static int no_memory(const struct walk *w)
{
    return sp__fail(w->error, SP_ERR_SYSTEM, ENOMEM, w->rank->parts[0]->path, NULL, "its calls cannot be walked");
}

/* ---- lanes --------------------------------------------------------------------------------------------------------
 */

static size_t depth_of(const struct sp__nest_lane *lane)
{
    return lane->frames ? (size_t)(lane->top - lane->frames) : 0;
}

static sp_walk_call top_call(const struct walk *w, const struct sp__nest_lane *lane)
{
    const struct sp__nest_frame *frame = lane->top;
    const struct sp__thread *thread = lane->position < 0 ? NULL : &w->rank->threads[lane->position];
    size_t depth = depth_of(lane);
    return (sp_walk_call){.region = w->regions[frame->row - w->rows.list],
                          .rank = w->rank->rank,
                          .lane = (size_t)lane->number,
                          .thread = thread ? thread->index : -1,
                          .thread_name = thread ? thread->name : "",
                          .depth = depth - 1,
                          .start = lane->held[depth].start,
                          .end = frame->end,
                          .above = -1,
                          .exclusive = -1};
}

static int leave_top(const struct walk *w, struct sp__nest_lane *lane)
{
    int result = 0;
    if (w->visitor->leave) {
        sp_walk_call call = top_call(w, lane);
        uint64_t own = (uint64_t)call.end - (uint64_t)call.start - lane->held[depth_of(lane)].inside;
        call.exclusive = own > INT64_MAX ? INT64_MAX : (int64_t)own;
        result = w->visitor->leave(w->context, &call);
    }
    lane->top--;
    return result < 0 ? result : 0;
}

/* The first lane of the thread where the call crosses no end, after those calls that ended before it. */
static int find_lane(struct walk *w, const struct one *call, struct sp__nest_lane **ret)
{
    size_t at = (size_t)(call->position + 1);
    for (;;) {
        struct sp__nest_lane *lane = &w->lanes.list[at];
        while (sp__nest_frame_ended(lane->top, call->start, call->end)) {
            int result = leave_top(w, lane);
            if (result)
                return result;
        }
        if (lane->top->end >= call->end) {
            *ret = lane;
            return 0;
        }
        int result = sp__nest_lanes_further(&w->lanes, &at);
        if (result == -E2BIG)
            return sp__fail(w->error, SP_ERR_TRACE_FORMAT, 0, w->rank->parts[0]->path, NULL,
                            "more than %d calls of rank %u overlap and do not nest: this is no record of threads",
                            SP__MOST_LANES, (unsigned)w->rank->rank);
        if (result < 0)
            return no_memory(w);
    }
}

/* The answer, or a negative status. `above`: that of the call it was made in, -1 none; NULL: the one around it in its
 * lane. */
static int64_t enter(struct walk *w, const struct one *one, const int64_t *above)
{
    struct sp__nest_lane *lane = NULL;
    int status = find_lane(w, one, &lane);
    if (status)
        return status;
    const int64_t around = above ? *above : lane->top->id;
    if (lane->top == lane->limit && sp__nest_lane_deepen(&w->lanes, lane) < 0)
        return no_memory(w);
    lane->held[depth_of(lane)].inside += (uint64_t)one->end - (uint64_t)one->start;
    *++lane->top = (struct sp__nest_frame){.end = one->end, .id = -1, .row = one->row};
    lane->held[depth_of(lane)] = (struct sp__nest_held){.start = one->start};
    if (lane->number < 0)
        lane->number = w->numbers++;
    if (!w->visitor->enter)
        return 0;
    sp_walk_call call = top_call(w, lane);
    call.above = around;
    call.unsure = !above && one->position < 0 && w->lanes.added_unknown > 0;
    return lane->top->id = w->visitor->enter(w->context, &call);
}

/* ---- stored ids ---------------------------------------------------------------------------------------------------
 */

static struct known *slot_of(struct known *known, size_t room, int64_t call)
{
    size_t slot = (size_t)(((uint64_t)call * 0x9e3779b97f4a7c15U) >> 20) & (room - 1);
    while (known[slot].used && known[slot].call != call)
        slot = (slot + 1) & (room - 1);
    return &known[slot];
}

/* Room for more, by forgetting what ended before `now`, which is no call's parent any more. */
static int make_room(struct walk *w, int64_t now)
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

static const struct known *parent_of(const struct walk *w, const struct one *call)
{
    if (call->parent < 0 || !w->known_room)
        return NULL;
    const struct known *known = slot_of(w->known, w->known_room, call->parent);
    return known->used && known->end >= call->start ? known : NULL;
}

/* What is inside a call that was not loaded is inside what holds that. */
static int enter_and_know(struct walk *w, const struct one *call)
{
    const struct known *parent = parent_of(w, call);
    const int64_t above = parent ? parent->answer : -1;
    int64_t answer = above;
    if (w->regions[call->row - w->rows.list] != SIZE_MAX && (answer = enter(w, call, &above)) < 0)
        return (int)answer;
    if (4 * (w->known_count + 1) > 3 * w->known_room) {
        int status = make_room(w, call->start);
        if (status < 0)
            return status;
    }
    struct known *known = slot_of(w->known, w->known_room, call->call);
    w->known_count += !known->used;
    *known = (struct known){.call = call->call, .answer = answer, .end = call->end, .used = true};
    return 0;
}

static int by_call(const void *left, const void *right)
{
    const struct one *a = left, *b = right;
    return a->call < b->call ? -1 : a->call > b->call;
}

static int enter_waiting(struct walk *w)
{
    int status = 0;
    qsort(w->waiting, w->waiting_count, sizeof *w->waiting, by_call);
    for (size_t i = 0; status == 0 && i < w->waiting_count; i++)
        status = enter_and_know(w, &w->waiting[i]);
    w->waiting_count = 0;
    return status;
}

static int enter_by_id(struct walk *w, const struct one *call)
{
    const struct one *first = w->waiting;
    if (w->waiting_count &&
        (w->waiting_count == MOST_WAITING || first->start != call->start || first->end != call->end)) {
        int status = enter_waiting(w);
        if (status)
            return status;
    }
    if (call->parent < 0 || parent_of(w, call))
        return enter_and_know(w, call);
    w->waiting[w->waiting_count++] = *call;
    return 0;
}

/* ---- the walk -----------------------------------------------------------------------------------------------------
 */

static void tell(const struct walk *w, double done)
{
    const sp_inputs *inputs = w->results->inputs;
    if (inputs->progress)
        inputs->progress(inputs->progress_context, ((double)w->n + done) / (double)w->results->rank_count);
}

static int enter_next(struct walk *w, struct sp__nest_row *row)
{
    const bool ids = w->ids;
    const size_t pos = row->pos;
    const struct one one = {.row = row,
                            .start = row->calls.start[pos],
                            .end = row->calls.end[pos],
                            .position = row->calls.thread ? row->calls.thread[pos] : -1,
                            .call = ids ? row->calls.call[pos] : -1,
                            .parent = ids ? row->calls.parent[pos] : -1};
    if (++w->done % OFTEN == 0)
        tell(w, (double)w->done / (double)w->rank->calls);
    if (ids)
        return enter_by_id(w, &one);
    if (w->regions[row - w->rows.list] == SIZE_MAX)
        return 0;
    int64_t answer = enter(w, &one, NULL);
    return answer < 0 ? (int)answer : 0;
}

static int walk_all(struct walk *w)
{
    struct sp__nest_rows *rows = &w->rows;
    int result = 0;
    while (rows->turns[0]->have) {
        struct sp__nest_row *row = rows->turns[0];
        result = enter_next(w, row);
        if (result == 0 && ++row->pos == row->have)
            result = sp__nest_row_fill(rows, row);
        if (result)
            return result;
        rows->starts[0] = sp__nest_row_start(row);
        if (rows->many)
            sp__nest_rows_replay(rows->starts, rows->turns, rows->list, rows->count);
        else
            sp__nest_rows_reorder(rows->starts, rows->turns);
    }
    result = enter_waiting(w);
    for (size_t i = 0; result == 0 && i < w->lanes.count; i++)
        while (result == 0 && depth_of(&w->lanes.list[i]))
            result = leave_top(w, &w->lanes.list[i]);
    return result;
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

static int open_and_walk(struct walk *w)
{
    const unsigned flags = SP__WITH_THREADS | (w->ids ? SP__WITH_IDS : 0U);
    w->regions = regions_of(w->results, w->n);
    int result = sp__nest_rows_open(&w->rows, w->rank, BUDGET, flags, w->ids, NULL, w->error);
    if (result == 0 &&
        (!w->regions || sp__nest_lanes_begin(&w->lanes, w->rank, &w->rows.list[w->rows.count], true) < 0))
        result = no_memory(w);
    if (result == 0)
        result = walk_all(w);
    sp__nest_lanes_finish(&w->lanes);
    sp__nest_rows_close(&w->rows);
    free(w->regions);
    free(w->known);
    sp__rank_rest(w->rank);
    tell(w, 1);
    return result;
}

int sp_results_walk(sp_results *results, size_t n, const sp_walk_visitor *visitor, void *context, sp_error *error)
{
    if (!results || !visitor || n >= results->rank_count)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "a walk needs results, one of their ranks, and a visitor");
    size_t first = first_row(results, n);
    if (first == results->row_count || results->rows[first].rank != n) /* nothing of it was loaded */
        return 0;
    int status = sp__results_has_events(results, first, error);
    if (status)
        return status;
    struct walk *w = calloc(1, sizeof *w);
    if (!w)
        return sp__results_no_memory(error);
    w->results = results;
    w->n = n;
    w->rank = results->ranks[n];
    w->ids = w->rank->ids && visitor->callers;
    w->visitor = visitor;
    w->context = context;
    w->error = error;
    status = open_and_walk(w);
    free(w);
    return status;
}

int sp_results_first_start(sp_results *results, int64_t *ret_ns, sp_error *error)
{
    int64_t first = INT64_MAX;
    if (!results || !ret_ns)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "the first call is that of results, put somewhere");
    for (size_t i = 0; i < results->row_count; i++) {
        struct sp__rank *rank = results->ranks[results->rows[i].rank];
        const struct sp__rank_row *row = &rank->rows[results->rows[i].row];
        for (size_t link = 0; link < row->links && !rank->aggregate; link++) {
            const struct sp__rank_link *from = &rank->links[row->link + link];
            struct sp__source *part = rank->parts[from->part];
            int64_t start, end;
            const struct sp__calls one = {.start = &start, .end = &end};
            if (!part->rows[from->row].calls)
                continue;
            int result = part->read(part, from->row, 0, 1, &one, error);
            if (result < 0)
                return result;
            first = start < first ? start : first;
        }
        if (i + 1 == results->row_count || results->rows[i + 1].rank != results->rows[i].rank)
            sp__rank_rest(rank);
    }
    *ret_ns = first;
    return 0;
}
