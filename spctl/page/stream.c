#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "say.h"

enum {
    BUDGET = 1 << 16, /* calls that are in memory at once, over all regions; each gets room for 64 */
    LEAST_ROOM = 64,
    MOST_ROOM = 8192,
    MOST_LANES = 4096,
    COLUMNS = 5,
    PARENTS_SOUGHT = 64 /* calls around one, from the innermost, that may be the parent a file names */
};

struct frame {
    int64_t end, id;
    uint32_t tag;
};

struct lane {
    struct frame *frames;
    size_t depth, room;
    uint32_t next; /* further lane of the thread; 0: none, since lane 0 is nobody's further one */
};

struct row {
    sp_calls *calls;
    sp_call_columns columns;
    size_t at, have;
    uint32_t line;
};

struct stream {
    const struct page_scope *scope;
    struct stream_rank rank;
    struct lane *lanes;
    uint32_t lane_room;
    uint32_t *by_thread; /* first lanes of threads, by thread */
    uint32_t thread_count;
    uint32_t last; /* first lane of the last call's thread */
    struct row *rows;
    size_t row_count, room;
    struct row **heap;
    size_t heap_count;
    int64_t *memory;
};

/* Calls of one start come longest first, so that what holds others comes before them. */
static bool before(const struct row *a, const struct row *b)
{
    int64_t left = a->columns.start[a->at], right = b->columns.start[b->at];
    if (left != right)
        return left < right;
    left = a->columns.end[a->at];
    right = b->columns.end[b->at];
    return left != right ? left > right : a < b;
}

static void sift(struct stream *stream, size_t at)
{
    struct row **heap = stream->heap, *moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < stream->heap_count; at = child) {
        child += child + 1 < stream->heap_count && before(heap[child + 1], heap[child]);
        if (!before(heap[child], moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static int fill(struct stream *stream, struct row *row, sp_error *error)
{
    row->at = row->have = 0;
    return sp_calls_next(row->calls, &row->columns, stream->room, &row->have, error);
}

static int open_rows(struct stream *stream, const struct page_rank *rank, sp_error *error)
{
    stream->rows = need(calloc(rank->rows, sizeof *stream->rows));
    stream->heap = need(calloc(rank->rows, sizeof(struct row *)));
    stream->room = BUDGET / rank->rows;
    stream->room = stream->room < LEAST_ROOM ? LEAST_ROOM : stream->room > MOST_ROOM ? MOST_ROOM : stream->room;
    stream->memory = need(calloc(rank->rows * stream->room, COLUMNS * sizeof(int64_t)));
    for (size_t i = 0; i < rank->rows; ++i) {
        sp_result result;
        int status = sp_results_row(stream->scope->results, rank->row + i, &result);
        const struct page_region *region = status ? NULL : page_region_find(stream->scope, result.region);
        if (!region || result.calls == 0)
            continue;
        struct row *row = &stream->rows[stream->row_count];
        int64_t *memory = stream->memory + stream->row_count * stream->room * COLUMNS;
        row->line = (uint32_t)region->line;
        row->columns = (sp_call_columns){.start = memory,
                                         .end = memory + stream->room,
                                         .thread = memory + 2 * stream->room,
                                         .call = memory + 3 * stream->room,
                                         .parent = memory + 4 * stream->room};
        status = sp_calls_open(&row->calls, stream->scope->results, region->position, rank->rank, error);
        if (status < 0)
            return status;
        ++stream->row_count;
        stream->rank.ids = sp_calls_have_ids(row->calls);
    }
    return 0;
}

/* Once all are open: a file rests as soon as nothing that is open has calls left in it. */
static int fill_rows(struct stream *stream, sp_error *error)
{
    for (size_t i = 0; i < stream->row_count; ++i) {
        int status = fill(stream, &stream->rows[i], error);
        if (status < 0)
            return status;
        if (stream->rows[i].have > 0)
            stream->heap[stream->heap_count++] = &stream->rows[i];
    }
    for (size_t i = stream->heap_count / 2; i-- > 0;)
        sift(stream, i);
    return 0;
}

static uint32_t add_lane(struct stream *stream, int64_t thread, uint32_t further)
{
    struct stream_rank *rank = &stream->rank;
    if (rank->lane_count == stream->lane_room) {
        stream->lane_room = stream->lane_room ? 2 * stream->lane_room : 8;
        stream->lanes = need(realloc(stream->lanes, stream->lane_room * sizeof *stream->lanes));
        rank->lanes = need(realloc(rank->lanes, stream->lane_room * sizeof *rank->lanes));
        stream->by_thread = need(realloc(stream->by_thread, stream->lane_room * sizeof *stream->by_thread));
    }
    stream->lanes[rank->lane_count] = (struct lane){0};
    rank->lanes[rank->lane_count] = (struct stream_lane){.thread = thread, .further = further};
    return rank->lane_count++;
}

/* The first lane of a thread. */
static uint32_t lane_of(struct stream *stream, int64_t thread)
{
    if (stream->thread_count > 0 && stream->rank.lanes[stream->last].thread == thread)
        return stream->last;
    uint32_t low = 0, high = stream->thread_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int64_t there = stream->rank.lanes[stream->by_thread[middle]].thread;
        if (there == thread)
            return stream->last = stream->by_thread[middle];
        if (there < thread)
            low = middle + 1;
        else
            high = middle;
    }
    uint32_t lane = add_lane(stream, thread, 0);
    memmove(stream->by_thread + low + 1, stream->by_thread + low, (stream->thread_count - low) * sizeof(uint32_t));
    stream->by_thread[low] = lane;
    ++stream->thread_count;
    return stream->last = lane;
}

/* The lane in which the call is nested, after those calls that ended before it; a new one where it crosses an end. */
static uint32_t place(struct stream *stream, uint32_t at, int64_t start, int64_t end)
{
    for (;;) {
        struct lane *lane = &stream->lanes[at];
        while (lane->depth > 0) {
            int64_t above = lane->frames[lane->depth - 1].end;
            if (above > start || (above == start && end == start))
                break;
            --lane->depth;
        }
        if (lane->depth == 0 || lane->frames[lane->depth - 1].end >= end)
            return at;
        if (!lane->next) {
            if (stream->rank.lane_count >= MOST_LANES + stream->thread_count)
                return UINT32_MAX;
            const struct stream_lane *known = &stream->rank.lanes[at];
            uint32_t further = add_lane(stream, known->thread, known->further + 1);
            stream->lanes[at].next = further;
        }
        at = stream->lanes[at].next;
    }
}

static uint32_t parent_of(const struct stream *stream, const struct lane *lane, int64_t id)
{
    if (stream->rank.ids && id < 0)
        return UINT32_MAX;
    for (size_t i = 1; stream->rank.ids && i <= lane->depth && i <= PARENTS_SOUGHT; ++i)
        if (lane->frames[lane->depth - i].id == id)
            return lane->frames[lane->depth - i].tag;
    return lane->depth ? lane->frames[lane->depth - 1].tag : UINT32_MAX;
}

static void one_call(struct stream *stream, const struct row *row, stream_visit *visit, void *context)
{
    int64_t start = row->columns.start[row->at], end = row->columns.end[row->at];
    end = end < start ? start : end;
    struct stream_call call = {.start = start,
                               .duration = (uint64_t)end - (uint64_t)start,
                               .line = row->line,
                               .parent = UINT32_MAX,
                               .lane = place(stream, lane_of(stream, row->columns.thread[row->at]), start, end)};
    if (call.lane == UINT32_MAX) {
        visit(context, &stream->rank, &call);
        return;
    }
    struct lane *lane = &stream->lanes[call.lane];
    call.depth = (uint32_t)lane->depth;
    call.parent = parent_of(stream, lane, row->columns.parent[row->at]);
    uint32_t tag = visit(context, &stream->rank, &call);
    if (lane->depth == lane->room) {
        lane->room = lane->room ? 2 * lane->room : 8;
        lane->frames = need(realloc(lane->frames, lane->room * sizeof *lane->frames));
    }
    lane->frames[lane->depth++] = (struct frame){.end = end, .id = row->columns.call[row->at], .tag = tag};
}

static int pass(struct stream *stream, stream_visit *visit, void *context, sp_error *error)
{
    while (stream->heap_count > 0) {
        struct row *row = stream->heap[0];
        one_call(stream, row, visit, context);
        if (++row->at == row->have) {
            int status = fill(stream, row, error);
            if (status < 0)
                return status;
            if (row->have == 0)
                stream->heap[0] = stream->heap[--stream->heap_count];
        }
        if (stream->heap_count > 0)
            sift(stream, 0);
    }
    return 0;
}

int stream_rank(const struct page_scope *scope, const struct page_rank *rank, stream_visit *visit, void *context,
                sp_error *error)
{
    struct stream stream = {.scope = scope, .rank = {.rank = rank->rank}};
    int status = rank->calls ? open_rows(&stream, rank, error) : 0;
    if (status == 0)
        status = fill_rows(&stream, error);
    if (status == 0)
        status = pass(&stream, visit, context, error);
    for (size_t i = 0; i < stream.row_count; ++i)
        sp_calls_close(stream.rows[i].calls);
    for (uint32_t i = 0; i < stream.rank.lane_count; ++i)
        free(stream.lanes[i].frames);
    free(stream.lanes);
    free(stream.rank.lanes);
    free(stream.by_thread);
    free(stream.rows);
    free(stream.heap);
    free(stream.memory);
    return status;
}
