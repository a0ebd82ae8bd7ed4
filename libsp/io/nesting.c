/* nesting.c: the pass over a rank's calls in order. Its loop runs once per call and is compiled once per combination of
 * what is wanted, so that it branches on data alone. */
#include "nesting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 key_type;

enum {
    LEAST_ROOM = 16,
    MOST_ROOM = 16384, /* calls a row and turn: small enough to stay in a cache, 128 KiB a column and write */
    FEW_ROWS = 8,
    MOST_LANES = 4096,     /* of crossed calls, in a rank: beyond that a file is not a record of threads */
    IN_ONE_PIECE = 1 << 18 /* bytes of a rank that goes to the writer in one piece */
};

#define FOR_EACH_CALL static inline __attribute__((always_inline))
static const key_type no_key = ~(key_type)0;

struct frame {
    int64_t end;
    int64_t id;
    size_t row;
};

struct lane {
    struct frame *frames;
    size_t depth, room;
    int64_t next; /* further lane of the same thread, as a position; -1 none */
};

struct row {
    struct sp__calls calls; /* the row's part of the arena */
    size_t pos, have, room;
    uint64_t emitted;
    int64_t exclusive;
    struct sp__cursor *cursor;
};

struct nest {
    struct sp__rank *rank;
    const struct sp__nest_settings *settings;
    struct sp__nest_result result;
    sp_error *error;
    struct row *rows;
    size_t row_count;
    key_type *keys;     /* of each row's next call; no_key at its end */
    size_t *losers;     /* of many rows: a tree of comparisons, [0] the winner */
    struct lane *lanes; /* [0] calls of unknown lanes, [1 + position] */
    size_t lane_count, lane_room;
    int64_t *arena;
    bool threaded, stored, whole;
    struct sp__calls base; /* the whole arena's columns */
};

/* Ascending by start, then descending by end. */
FOR_EACH_CALL key_type key_of(int64_t start, int64_t end)
{
    return (key_type)((uint64_t)start ^ (uint64_t)1 << 63) << 64 | (uint64_t)~end;
}

static int no_memory(struct nest *nest)
{
    const char *path = nest->rank->parts[0]->path;
    return sp__fail(nest->error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "its calls cannot be nested");
}

static struct sp__calls offset(const struct sp__calls *calls, size_t n)
{
    return (struct sp__calls){.start = calls->start + n,
                              .end = calls->end + n,
                              .thread = calls->thread ? calls->thread + n : NULL,
                              .call = calls->call ? calls->call + n : NULL,
                              .parent = calls->parent ? calls->parent + n : NULL};
}

static int emit(struct nest *nest, uint64_t first, size_t count, const struct sp__calls *calls)
{
    if (!count || !nest->settings->emit)
        return 0;
    if (nest->threaded && !nest->rank->positions)
        for (size_t i = 0; i < count; i++)
            if (calls->thread[i] >= 0)
                calls->thread[i] = nest->rank->threads[calls->thread[i]].index;
    return nest->settings->emit(nest->settings->context, first, count, calls, nest->error);
}

/* Hands on what the row's buffer held and fills it again. */
static int refill(struct nest *nest, size_t r)
{
    struct row *row = &nest->rows[r];
    int result = 0;
    if (!nest->whole)
        result = emit(nest, nest->rank->rows[r].first + row->emitted, row->have, &row->calls);
    row->emitted += row->have;
    row->pos = row->have = 0;
    if (result == 0 && row->emitted < nest->rank->rows[r].calls)
        result = sp__cursor_fill(row->cursor, &row->calls, row->room, &row->have, nest->error);
    if (result < 0)
        return result;
    nest->keys[r] = row->have ? key_of(row->calls.start[0], row->calls.end[0]) : no_key;
    return 0;
}

/* ---- which row is next --------------------------------------------------------------------------------------------
 */

static int plant(struct nest *nest)
{
    size_t count = nest->row_count;
    size_t *winner = malloc(2 * count * sizeof *winner);
    nest->losers = malloc((count + 1) * sizeof *nest->losers);
    if (!winner || !nest->losers) {
        free(winner);
        return no_memory(nest);
    }
    for (size_t r = 0; r < count; r++)
        winner[count + r] = r;
    for (size_t node = count - 1; node; node--) {
        size_t a = winner[2 * node], b = winner[2 * node + 1];
        bool second = nest->keys[b] < nest->keys[a] || (nest->keys[b] == nest->keys[a] && b < a);
        winner[node] = second ? b : a;
        nest->losers[node] = second ? a : b;
    }
    nest->losers[0] = winner[1];
    free(winner);
    return 0;
}

/* The winner's key has changed: plays its way up again. */
FOR_EACH_CALL size_t replay(const struct nest *nest, size_t winner)
{
    size_t *losers = nest->losers;
    const key_type *keys = nest->keys;
    for (size_t node = (nest->row_count + winner) / 2; node; node /= 2) {
        size_t other = losers[node];
        bool loses = keys[other] < keys[winner] || (keys[other] == keys[winner] && other < winner);
        losers[node] = loses ? winner : other;
        winner = loses ? other : winner;
    }
    losers[0] = winner;
    return winner;
}

FOR_EACH_CALL size_t scan(const key_type *keys, size_t count)
{
    key_type least = keys[0];
    size_t row = 0;
    for (size_t r = 1; r < count; r++) {
        bool less = keys[r] < least;
        least = less ? keys[r] : least;
        row = less ? r : row;
    }
    return row;
}

/* ---- lanes --------------------------------------------------------------------------------------------------------
 */

FOR_EACH_CALL void pop_ended(struct lane *lane, int64_t start, int64_t end)
{
    while (lane->depth) {
        int64_t top = lane->frames[lane->depth - 1].end;
        if (top > start || (top == start && start == end))
            break;
        lane->depth--;
    }
}

static int deepen(struct lane *lane)
{
    size_t room = lane->room ? lane->room * 2 : 64;
    struct frame *frames = realloc(lane->frames, room * sizeof *frames);
    if (!frames)
        return -ENOMEM;
    lane->frames = frames;
    lane->room = room;
    return 0;
}

/* A lane of the thread, other than its first, where the call crosses no end. NULL: the lane is unknown, or there are
 * too many, and `overlap` says so; or no memory. */
static struct lane *further_lane(struct nest *nest, int64_t *position, int64_t start, int64_t end)
{
    for (;;) {
        if (*position < 0 || nest->result.lanes == MOST_LANES) {
            nest->result.overlap = true;
            return NULL;
        }
        struct lane *lane = &nest->lanes[*position + 1];
        if (lane->next < 0) {
            if (nest->lane_count == nest->lane_room) {
                size_t room = nest->lane_room * 2;
                struct lane *lanes = realloc(nest->lanes, room * sizeof *lanes);
                if (!lanes)
                    return NULL;
                nest->lanes = lanes;
                nest->lane_room = room;
            }
            int64_t added = sp__rank_add_lane(nest->rank, *position);
            if (added < 0)
                return NULL;
            nest->lanes[*position + 1].next = added;
            nest->lanes[nest->lane_count++] = (struct lane){.next = -1};
            nest->result.lanes++;
            *position = added;
            return &nest->lanes[added + 1];
        }
        *position = lane->next;
        lane = &nest->lanes[*position + 1];
        pop_ended(lane, start, end);
        if (!lane->depth || lane->frames[lane->depth - 1].end >= end)
            return lane;
    }
}

/* ---- the pass -----------------------------------------------------------------------------------------------------
 */

FOR_EACH_CALL int walk(struct nest *nest, const bool threaded, const bool number, const bool many)
{
    struct row *rows = nest->rows;
    key_type *keys = nest->keys;
    const size_t row_count = nest->row_count;
    int64_t id = 0;
    size_t r = many ? nest->losers[0] : scan(keys, row_count);
    while (keys[r] != no_key) {
        struct row *row = &rows[r];
        size_t pos = row->pos;
        int64_t start = row->calls.start[pos], end = row->calls.end[pos];
        int64_t position = threaded ? row->calls.thread[pos] : -1;
        struct lane *lane = &nest->lanes[position + 1];
        pop_ended(lane, start, end);
        if (lane->depth && lane->frames[lane->depth - 1].end < end) {
            struct lane *other = further_lane(nest, &position, start, end);
            if (!other && !nest->result.overlap)
                return no_memory(nest);
            lane = other ? other : lane;
            if (threaded && other)
                row->calls.thread[pos] = position;
        }
        if (lane->depth == lane->room && deepen(lane) < 0)
            return no_memory(nest);
        struct frame *top = &lane->frames[lane->depth];
        int64_t duration = end - start, parent = -1;
        row->exclusive += duration;
        if (lane->depth) {
            parent = top[-1].id;
            rows[top[-1].row].exclusive -= duration;
        }
        *top = (struct frame){.end = end, .id = id, .row = r};
        lane->depth++;
        if (number) {
            row->calls.call[pos] = id;
            row->calls.parent[pos] = parent;
        }
        id++;
        row->pos = ++pos;
        if (pos < row->have) {
            keys[r] = key_of(row->calls.start[pos], row->calls.end[pos]);
        } else {
            int result = refill(nest, r);
            if (result < 0)
                return result;
        }
        r = many ? replay(nest, r) : scan(keys, row_count);
    }
    return 0;
}

static int walk_as_wanted(struct nest *nest, bool number)
{
    bool many = nest->row_count > FEW_ROWS;
    if (many) {
        int result = plant(nest);
        if (result < 0)
            return result;
    }
    if (nest->threaded && number)
        return many ? walk(nest, true, true, true) : walk(nest, true, true, false);
    if (nest->threaded)
        return many ? walk(nest, true, false, true) : walk(nest, true, false, false);
    if (number)
        return many ? walk(nest, false, true, true) : walk(nest, false, true, false);
    return many ? walk(nest, false, false, true) : walk(nest, false, false, false);
}

/* ---- buffers ------------------------------------------------------------------------------------------------------
 */

/* Every row gets what it has calls for, as far as that is its share; what small rows leave goes to the others. */
static uint64_t share_out(struct nest *nest, size_t columns)
{
    uint64_t budget = nest->settings->budget / (columns * sizeof(int64_t)), sum = 0, share = 0;
    size_t wanting = nest->row_count;
    uint64_t taken = 0;
    for (int round = 0; round < 4 && wanting; round++) {
        share = budget > taken ? (budget - taken) / wanting : 0;
        wanting = 0;
        taken = 0;
        for (size_t r = 0; r < nest->row_count; r++) {
            uint64_t calls = nest->rank->rows[r].calls;
            taken += calls <= share ? calls : 0;
            wanting += calls > share;
        }
    }
    share = share < LEAST_ROOM ? LEAST_ROOM : share > MOST_ROOM ? MOST_ROOM : share;
    nest->whole = nest->rank->calls <= IN_ONE_PIECE / sizeof(int64_t) && nest->rank->calls <= budget;
    for (size_t r = 0; r < nest->row_count; r++) {
        uint64_t calls = nest->rank->rows[r].calls;
        nest->rows[r].room = (size_t)(calls <= share || nest->whole ? calls : share);
        sum += nest->rows[r].room;
    }
    return sum;
}

static int make_buffers(struct nest *nest, bool number)
{
    size_t columns = 2 + (nest->threaded ? 1U : 0U) + (number || nest->stored ? 2U : 0U);
    size_t room = (size_t)share_out(nest, columns);
    nest->arena = malloc((room * columns + 1) * sizeof *nest->arena);
    if (!nest->arena)
        return no_memory(nest);
    int64_t *at = nest->arena;
    nest->base = (struct sp__calls){.start = at, .end = at + room};
    at += 2 * room;
    if (nest->threaded) {
        nest->base.thread = at;
        at += room;
    }
    if (number || nest->stored) {
        nest->base.call = at;
        nest->base.parent = at + room;
    }
    unsigned flags = SP__SUMMARIZE | SP__WITH_THREADS | (nest->stored ? SP__WITH_IDS : 0U);
    for (size_t r = 0, before = 0; r < nest->row_count; r++) {
        struct row *row = &nest->rows[r];
        row->calls = offset(&nest->base, before);
        before += row->room;
        int result = sp__cursor_open_with(&row->cursor, nest->rank, r, row->room, flags, nest->error);
        if (result < 0)
            return result;
    }
    for (size_t r = 0; r < nest->row_count; r++) {
        int result = refill(nest, r);
        if (result < 0)
            return result;
    }
    return 0;
}

static int make_lanes(struct nest *nest)
{
    nest->rank->thread_count = nest->rank->thread_known; /* lanes of an earlier pass */
    nest->lane_count = 1 + nest->rank->thread_count;
    nest->lane_room = nest->lane_count + 4;
    nest->lanes = calloc(nest->lane_room, sizeof *nest->lanes);
    nest->rows = calloc(nest->row_count + 1, sizeof *nest->rows);
    nest->keys = calloc(nest->row_count + 1, sizeof *nest->keys);
    if (!nest->lanes || !nest->rows || !nest->keys)
        return no_memory(nest);
    for (size_t i = 0; i < nest->lane_count; i++)
        nest->lanes[i].next = -1;
    return 0;
}

static void finish(struct nest *nest)
{
    for (size_t r = 0; nest->rows && r < nest->row_count; r++)
        sp__cursor_close(nest->rows[r].cursor);
    for (size_t i = 0; nest->lanes && i < nest->lane_count; i++)
        free(nest->lanes[i].frames);
    free(nest->rows);
    free(nest->keys);
    free(nest->losers);
    free(nest->lanes);
    free(nest->arena);
}

int sp__nest(struct sp__rank *rank, const struct sp__nest_settings *settings, struct sp__nest_result *ret,
             sp_error *error)
{
    struct nest nest = {.rank = rank,
                        .settings = settings,
                        .error = error,
                        .row_count = rank->row_count,
                        .threaded = rank->threaded,
                        .stored = settings->keep && rank->ids,
                        .result = {.start = INT64_MAX, .end = INT64_MIN}};
    bool number = settings->number && !nest.stored;
    int result = make_lanes(&nest);
    if (result == 0 && nest.row_count)
        result = make_buffers(&nest, number);
    if (result == 0 && nest.row_count)
        result = walk_as_wanted(&nest, number);
    if (result == 0 && nest.whole)
        result = emit(&nest, 0, (size_t)rank->calls, &nest.base);
    for (size_t r = 0; result == 0 && r < nest.row_count; r++) {
        struct sp__rank_row *row = &rank->rows[r];
        row->exclusive = nest.result.overlap ? -1 : nest.rows[r].exclusive;
        nest.result.start =
            row->summary.start_minimum < nest.result.start ? row->summary.start_minimum : nest.result.start;
        nest.result.end = row->summary.end_maximum > nest.result.end ? row->summary.end_maximum : nest.result.end;
    }
    finish(&nest);
    sp__rank_rest(rank);
    if (result == 0)
        *ret = nest.result;
    return result;
}
