/* walk.c: the calls of a rank in the order they began, each as it is entered and left, for whoever shows them one by
 * one. The order and the lanes are those of nesting.c; here nothing is handed on in rows. */
#include <errno.h>
#include <stdlib.h>

#include "parts.h"
#include "results.h"

enum {
    BUDGET = 8 << 20, /* bytes of calls, all rows together */
    LEAST_ROOM = 16,
    MOST_ROOM = 4096,
    MOST_LANES = 4096 /* beyond that a file is not a record of threads */
};

struct frame {
    int64_t start, end;
    uint64_t inside; /* time of the calls that it holds directly */
    size_t region;
};

struct lane {
    struct frame *frames;
    size_t depth, room;
    int64_t position; /* of its thread in the rank's table; -1 unknown */
    int64_t number;   /* as visitors know it; -1: no call yet */
    size_t next;      /* a further lane of the same thread; 0 none */
};

struct row {
    struct sp__cursor *cursor;
    struct sp__calls calls;
    size_t pos, have, room, region;
};

struct walk {
    struct sp__rank *rank;
    const sp_walk_visitor *visitor;
    void *context;
    sp_error *error;
    struct row *rows, **heap;
    size_t row_count, heap_count;
    int64_t *memory;
    struct lane *lanes; /* [0] unknown thread, [1 + position] the threads', then further ones */
    size_t lane_count, lane_room, lane_numbers;
};

static int no_memory(const struct walk *walk)
{
    return sp__fail(walk->error, SP_ERR_SYSTEM, ENOMEM, walk->rank->parts[0]->path, NULL, "its calls cannot be walked");
}

/* ---- which call is next -------------------------------------------------------------------------------------------
 */

static bool comes_before(const struct row *a, const struct row *b)
{
    int64_t x = a->calls.start[a->pos], y = b->calls.start[b->pos];
    if (x != y)
        return x < y;
    x = a->calls.end[a->pos];
    y = b->calls.end[b->pos];
    return x != y ? x > y : a < b;
}

static void sift_down(struct walk *walk, size_t at)
{
    struct row *row = walk->heap[at];
    for (size_t child; (child = 2 * at + 1) < walk->heap_count; at = child) {
        if (child + 1 < walk->heap_count && comes_before(walk->heap[child + 1], walk->heap[child]))
            child++;
        if (!comes_before(walk->heap[child], row))
            break;
        walk->heap[at] = walk->heap[child];
    }
    walk->heap[at] = row;
}

static int refill(struct walk *walk, struct row *row)
{
    row->pos = row->have = 0;
    return sp__cursor_fill(row->cursor, &row->calls, row->room, &row->have, walk->error);
}

/* Each row's share of one piece of memory. */
static int make_buffers(struct walk *walk)
{
    const size_t columns = 3;
    uint64_t share = (uint64_t)BUDGET / sizeof(int64_t) / columns / walk->row_count, sum = 0;
    share = share < LEAST_ROOM ? LEAST_ROOM : share > MOST_ROOM ? MOST_ROOM : share;
    for (size_t i = 0; i < walk->row_count; i++)
        sum += walk->rows[i].room = walk->rows[i].room < share ? walk->rows[i].room : (size_t)share;
    int64_t *at = walk->memory = malloc((sum * columns + 1) * sizeof *at);
    if (!at)
        return no_memory(walk);
    for (size_t i = 0; i < walk->row_count; i++) {
        struct row *row = &walk->rows[i];
        row->calls = (struct sp__calls){.start = at, .end = at + row->room};
        if (walk->rank->threaded)
            row->calls.thread = at + 2 * row->room;
        at += columns * row->room;
    }
    return 0;
}

static int open_rows(struct walk *walk, const sp_results *results, size_t n)
{
    size_t most = walk->rank->row_count + 1;
    walk->rows = calloc(most, sizeof *walk->rows);
    walk->heap = calloc(most, sizeof(struct row *));
    size_t *numbers = calloc(most, sizeof *numbers);
    int result = walk->rows && walk->heap && numbers ? 0 : no_memory(walk);
    for (size_t i = 0; result == 0 && i < results->row_count; i++) {
        const struct sp__result_row *from = &results->rows[i];
        if (from->rank != n || !walk->rank->rows[from->row].calls)
            continue;
        uint64_t calls = walk->rank->rows[from->row].calls;
        numbers[walk->row_count] = from->row;
        walk->rows[walk->row_count++] =
            (struct row){.region = from->region, .room = calls < MOST_ROOM ? (size_t)calls + LEAST_ROOM : MOST_ROOM};
    }
    if (result == 0 && walk->row_count)
        result = make_buffers(walk);
    for (size_t i = 0; result == 0 && i < walk->row_count; i++) {
        struct row *row = &walk->rows[i];
        result = sp__cursor_open_with(&row->cursor, walk->rank, numbers[i], row->room, SP__WITH_THREADS, walk->error);
        if (result == 0)
            result = refill(walk, row);
        walk->heap[walk->heap_count++] = row;
    }
    free(numbers);
    for (size_t at = walk->heap_count / 2; result == 0 && at--;)
        sift_down(walk, at);
    return result;
}

/* ---- lanes --------------------------------------------------------------------------------------------------------
 */

static sp_walk_call call_of(const struct walk *walk, const struct lane *lane)
{
    const struct frame *frame = &lane->frames[lane->depth - 1];
    const struct sp__thread *thread = lane->position < 0 ? NULL : &walk->rank->threads[lane->position];
    return (sp_walk_call){.region = frame->region,
                          .rank = walk->rank->rank,
                          .lane = (size_t)lane->number,
                          .thread = thread ? thread->index : -1,
                          .thread_name = thread ? thread->name : "",
                          .depth = lane->depth - 1,
                          .start = frame->start,
                          .end = frame->end,
                          .exclusive = -1};
}

static int leave_top(struct walk *walk, struct lane *lane)
{
    sp_walk_call call = call_of(walk, lane);
    uint64_t own = (uint64_t)call.end - (uint64_t)call.start - lane->frames[lane->depth - 1].inside;
    call.exclusive = own > INT64_MAX ? INT64_MAX : (int64_t)own;
    lane->depth--;
    return walk->visitor->leave ? walk->visitor->leave(walk->context, &call) : 0;
}

static int leave_ended(struct walk *walk, struct lane *lane, int64_t start, int64_t end)
{
    int result = 0;
    while (result == 0 && lane->depth) {
        const struct frame *top = &lane->frames[lane->depth - 1];
        if (top->end > start || (top->end == start && start == end)) /* one of no length at the very end is inside */
            break;
        result = leave_top(walk, lane);
    }
    return result;
}

/* A new lane for the thread of lane `of`, which is the last one of its thread. */
static int add_lane(struct walk *walk, size_t of)
{
    if (walk->lane_count - walk->rank->thread_known > MOST_LANES)
        return sp__fail(walk->error, SP_ERR_TRACE_FORMAT, 0, walk->rank->parts[0]->path, NULL,
                        "more than %d calls of rank %u overlap and do not nest: this is no record of threads",
                        MOST_LANES, (unsigned)walk->rank->rank);
    if (walk->lane_count == walk->lane_room) {
        size_t room = walk->lane_room * 2;
        struct lane *lanes = realloc(walk->lanes, room * sizeof *lanes);
        if (!lanes)
            return no_memory(walk);
        walk->lanes = lanes;
        walk->lane_room = room;
    }
    int64_t position = walk->lanes[of].position;
    if (position >= 0 && (position = sp__rank_add_lane(walk->rank, position)) < 0)
        return no_memory(walk);
    walk->lanes[of].next = walk->lane_count;
    walk->lanes[walk->lane_count++] = (struct lane){.position = position, .number = -1};
    return 0;
}

/* The first lane of the thread where the call crosses no end. */
static int find_lane(struct walk *walk, int64_t position, int64_t start, int64_t end, size_t *ret)
{
    for (size_t at = (size_t)(position + 1);; at = walk->lanes[at].next) {
        struct lane *lane = &walk->lanes[at];
        int result = leave_ended(walk, lane, start, end);
        if (result)
            return result;
        if (!lane->depth || lane->frames[lane->depth - 1].end >= end) {
            *ret = at;
            return 0;
        }
        if (!lane->next && (result = add_lane(walk, at)))
            return result;
    }
}

static int enter(struct walk *walk, struct row *row)
{
    int64_t start = row->calls.start[row->pos], end = row->calls.end[row->pos];
    size_t at = 0;
    int result = find_lane(walk, row->calls.thread ? row->calls.thread[row->pos] : -1, start, end, &at);
    if (result)
        return result;
    struct lane *lane = &walk->lanes[at];
    if (lane->depth == lane->room) {
        size_t room = lane->room ? 2 * lane->room : 16;
        struct frame *frames = realloc(lane->frames, room * sizeof *frames);
        if (!frames)
            return no_memory(walk);
        lane->frames = frames;
        lane->room = room;
    }
    if (lane->depth)
        lane->frames[lane->depth - 1].inside += (uint64_t)end - (uint64_t)start;
    if (lane->number < 0)
        lane->number = (int64_t)walk->lane_numbers++;
    lane->frames[lane->depth++] = (struct frame){.start = start, .end = end, .region = row->region};
    const sp_walk_call call = call_of(walk, lane);
    return walk->visitor->enter ? walk->visitor->enter(walk->context, &call) : 0;
}

/* ---- the walk -----------------------------------------------------------------------------------------------------
 */

static int walk_all(struct walk *walk)
{
    int result = 0;
    while (result == 0 && walk->heap_count) {
        struct row *row = walk->heap[0];
        if (row->pos == row->have) {
            walk->heap[0] = walk->heap[--walk->heap_count];
        } else {
            result = enter(walk, row);
            if (result == 0 && ++row->pos == row->have && (result = refill(walk, row)) == 0 && !row->have)
                walk->heap[0] = walk->heap[--walk->heap_count];
        }
        if (result == 0 && walk->heap_count)
            sift_down(walk, 0);
    }
    for (size_t i = 0; result == 0 && i < walk->lane_count; i++)
        while (result == 0 && walk->lanes[i].depth)
            result = leave_top(walk, &walk->lanes[i]);
    return result;
}

static int make_lanes(struct walk *walk)
{
    walk->rank->thread_count = walk->rank->thread_known; /* lanes of an earlier pass */
    walk->lane_count = 1 + walk->rank->thread_count;
    walk->lane_room = walk->lane_count + 4;
    walk->lanes = calloc(walk->lane_room, sizeof *walk->lanes);
    if (!walk->lanes)
        return no_memory(walk);
    for (size_t i = 0; i < walk->lane_count; i++)
        walk->lanes[i] = (struct lane){.position = (int64_t)i - 1, .number = -1};
    return 0;
}

int sp_results_walk(sp_results *results, size_t n, const sp_walk_visitor *visitor, void *context, sp_error *error)
{
    if (!results || !visitor || n >= results->rank_count)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "a walk needs results, one of their ranks, and a visitor");
    struct walk walk = {.rank = results->ranks[n], .visitor = visitor, .context = context, .error = error};
    int result = 0;
    for (size_t i = 0; result == 0 && i < results->row_count; i++)
        if (results->rows[i].rank == n)
            result = sp__results_has_events(results, i, error);
    if (result == 0)
        result = make_lanes(&walk);
    if (result == 0)
        result = open_rows(&walk, results, n);
    if (result == 0)
        result = walk_all(&walk);
    for (size_t i = 0; i < walk.row_count; i++)
        sp__cursor_close(walk.rows[i].cursor);
    for (size_t i = 0; walk.lanes && i < walk.lane_count; i++)
        free(walk.lanes[i].frames);
    free(walk.rows);
    free(walk.heap);
    free(walk.memory);
    free(walk.lanes);
    sp__rank_rest(walk.rank);
    return result;
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
