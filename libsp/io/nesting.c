/* nesting.c: the pass over a rank's calls in order. Its loop runs once per call and is compiled once per combination of
 * what is wanted, so that it branches on data alone. */
#include "nesting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_ROOM = 16,
    MOST_ROOM = 16384, /* calls a row and turn: 128 KiB a column and write, which still stays in a cache */
    FEW_ROWS = 8,
    MOST_LANES = 4096,     /* of crossed calls, in a rank: beyond that a file is not a record of threads */
    IN_ONE_PIECE = 1 << 18 /* bytes of a rank that goes to the writer in one piece */
};

#define FOR_EACH_CALL static inline __attribute__((always_inline))

struct frame {
    int64_t end;
    int64_t id;
    struct row *row;
};

/* A stack; at its bottom, which never ends, stands the parent of calls without one. */
struct lane {
    struct frame *frames; /* NULL: only the bottom */
    struct frame *top, *limit;
    int64_t next; /* further lane of the same thread, as a position; -1 none */
};

struct row {
    struct sp__calls calls; /* the row's part of the buffers */
    size_t pos, have, room; /* the next call, of how many; 0 at the row's end */
    uint64_t emitted;
    uint64_t inside; /* time of the calls that its calls hold directly */
    struct sp__cursor *cursor;
};

/* The rows by their next calls, [0] the winner: few in order, many in a tree of comparisons. When a row's next call
 * starts stands apart from the row, since what is moved as one and was stored as two would have to wait. */
struct turns {
    int64_t *starts; /* INT64_MAX at a row's end */
    struct row **rows;
};

struct nest {
    struct sp__rank *rank;
    const struct sp__nest_settings *settings;
    struct sp__nest_result result;
    sp_error *error;
    struct row *rows;
    size_t row_count;
    struct turns turns;
    struct frame bottom;
    struct lane *lanes; /* [0] calls of unknown lanes, [1 + position] */
    size_t lane_count, lane_room;
    struct sp__nest_space own, *space; /* where the buffers are */
    bool threaded, stored, whole;
    struct sp__calls base; /* the columns of all rows */
};

static int no_memory(const struct nest *nest)
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
static int refill(struct nest *nest, struct row *row)
{
    const struct sp__rank_row *of = &nest->rank->rows[row - nest->rows];
    int result = 0;
    if (!nest->whole)
        result = emit(nest, of->first + row->emitted, row->have, &row->calls);
    row->emitted += row->have;
    row->pos = row->have = 0;
    if (result == 0 && row->emitted < of->calls)
        result = sp__cursor_fill(row->cursor, &row->calls, row->room, &row->have, nest->error);
    return result;
}

/* ---- which row is next --------------------------------------------------------------------------------------------
 * By start, then by descending end, then as the rows stand. */

static int64_t next_start(const struct row *row)
{
    return row->have ? row->calls.start[row->pos] : INT64_MAX;
}

/* Of two rows whose next calls start together; rows at their ends come last. */
static bool wins_tie(const struct row *a, const struct row *b)
{
    if (!a->have || !b->have)
        return a->have || (!b->have && a < b);
    int64_t x = a->calls.end[a->pos], y = b->calls.end[b->pos];
    return x != y ? x > y : a < b;
}

/* Few rows: all of them in order. The winner has moved on by a call: it goes to where it belongs now. Most programs
 * repeat themselves, so that the processor knows beforehand how far that is. */
FOR_EACH_CALL void reorder(int64_t *starts, struct row **rows)
{
    const int64_t start = starts[0];
    struct row *const row = rows[0];
    size_t at = 0;
    for (int64_t next; (next = starts[at + 1]) <= start; at++) {
        struct row *other = rows[at + 1];
        if (next == start && !wins_tie(other, row))
            break;
        starts[at] = next;
        rows[at] = other;
    }
    starts[at] = start;
    rows[at] = row;
}

static void put_in_order(struct nest *nest)
{
    for (size_t n = nest->row_count + 1; n--;) { /* with one that is at its end, behind all */
        nest->turns.rows[n] = &nest->rows[n];
        nest->turns.starts[n] = next_start(&nest->rows[n]);
        if (n < nest->row_count)
            reorder(&nest->turns.starts[n], &nest->turns.rows[n]);
    }
}

static int plant(struct nest *nest)
{
    size_t count = nest->row_count;
    struct row **winner = calloc(2 * count, sizeof(struct row *));
    if (!winner)
        return no_memory(nest);
    for (size_t r = 0; r < count; r++)
        winner[count + r] = &nest->rows[r];
    for (size_t node = count; node--;) {
        struct row *loser = winner[1]; /* [0]: the winner of all */
        if (node) {
            struct row *a = winner[2 * node], *b = winner[2 * node + 1];
            int64_t x = next_start(a), y = next_start(b);
            bool second = y < x || (y == x && wins_tie(b, a));
            winner[node] = second ? b : a;
            loser = second ? a : b;
        }
        nest->turns.rows[node] = loser;
        nest->turns.starts[node] = next_start(loser);
    }
    free(winner);
    return 0;
}

/* Many rows: the winner has moved on by a call and plays its way up again. */
FOR_EACH_CALL void replay(int64_t *starts, struct row **losers, const struct row *rows, size_t count)
{
    int64_t start = starts[0];
    struct row *winner = losers[0];
    for (size_t node = (count + (size_t)(winner - rows)) / 2; node; node /= 2) {
        const int64_t other_start = starts[node];
        struct row *const other = losers[node];
        bool loses = other_start < start;
        if (other_start == start)
            loses = wins_tie(other, winner);
        starts[node] = loses ? start : other_start;
        losers[node] = loses ? winner : other;
        start = loses ? other_start : start;
        winner = loses ? other : winner;
    }
    starts[0] = start;
    losers[0] = winner;
}

/* ---- lanes --------------------------------------------------------------------------------------------------------
 */

/* Lanes begin on the one bottom that all share, until something is put on it. */
static struct lane empty_lane(struct nest *nest)
{
    return (struct lane){.top = &nest->bottom, .limit = &nest->bottom, .next = -1};
}

static int deepen(const struct nest *nest, struct lane *lane)
{
    size_t depth = lane->frames ? (size_t)(lane->top - lane->frames) : 0, room = depth ? 2 * (depth + 1) : 16;
    struct frame *frames = realloc(lane->frames, room * sizeof *frames);
    if (!frames)
        return no_memory(nest);
    frames[0] = nest->bottom;
    *lane = (struct lane){.frames = frames, .top = frames + depth, .limit = frames + room - 1, .next = lane->next};
    return 0;
}

/* The innermost call that holds whatever starts at `start`; the bottom never ends. */
FOR_EACH_CALL struct frame *pop_ended(struct frame *top, int64_t start, int64_t end)
{
    while (top->end <= start && !(top->end == start && start == end))
        top--;
    return top;
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
            nest->lanes[nest->lane_count++] = empty_lane(nest);
            nest->result.lanes++;
            *position = added;
            return &nest->lanes[added + 1];
        }
        *position = lane->next;
        lane = &nest->lanes[*position + 1];
        lane->top = pop_ended(lane->top, start, end);
        if (lane->top->end >= end)
            return lane;
    }
}

/* ---- the pass -----------------------------------------------------------------------------------------------------
 */

/* Calls that are not nested any more, since nothing would follow from it. */
static int hand_on_the_rest(struct nest *nest, bool number)
{
    for (struct row *row = nest->rows; row < nest->rows + nest->row_count; row++)
        while (row->have) {
            for (size_t i = row->pos; number && i < row->have; i++)
                row->calls.call[i] = row->calls.parent[i] = -1;
            int result = refill(nest, row);
            if (result < 0)
                return result;
        }
    return 0;
}

FOR_EACH_CALL int walk(struct nest *nest, const bool threaded, const bool number, const bool many)
{
    int64_t *const starts = nest->turns.starts;
    struct row **const turns = nest->turns.rows;
    struct lane *lane = &nest->lanes[0];
    struct frame *top = lane->top;
    int64_t id = 0;
    while (turns[0]->have) {
        struct row *const row = turns[0];
        const size_t pos = row->pos;
        const int64_t start = starts[0], end = row->calls.end[pos];
        int64_t position = threaded ? row->calls.thread[pos] : -1;
        if (threaded) {
            lane = &nest->lanes[position + 1];
            top = lane->top;
        }
        top = pop_ended(top, start, end);
        if (top->end < end) {
            lane->top = top;
            struct lane *other = further_lane(nest, &position, start, end);
            if (!other && !nest->result.overlap)
                return no_memory(nest);
            if (!other && !threaded)
                return hand_on_the_rest(nest, number);
            if (other) {
                lane = other;
                row->calls.thread[pos] = position;
            }
            top = lane->top;
        }
        top->row->inside += (uint64_t)end - (uint64_t)start;
        if (number) {
            row->calls.call[pos] = id;
            row->calls.parent[pos] = top->id;
        }
        if (top == lane->limit) {
            lane->top = top;
            int result = deepen(nest, lane);
            if (result < 0)
                return result;
            top = lane->top;
        }
        *++top = (struct frame){.end = end, .id = id++, .row = row};
        if (threaded)
            lane->top = top;
        if ((row->pos = pos + 1) == row->have) {
            int result = refill(nest, row);
            if (result < 0)
                return result;
        }
        starts[0] = next_start(row);
        if (many)
            replay(starts, turns, nest->rows, nest->row_count);
        else
            reorder(starts, turns);
    }
    return 0;
}

/* The lane whose top holds the call. NULL as of further_lane. */
static struct lane *lane_of(struct nest *nest, int64_t *position, int64_t start, int64_t end)
{
    struct lane *lane = &nest->lanes[*position + 1];
    lane->top = pop_ended(lane->top, start, end);
    return lane->top->end < end ? further_lane(nest, position, start, end) : lane;
}

/* A frame's id is what the visitor answered. */
static int show(struct nest *nest, struct row *row)
{
    const size_t pos = row->pos;
    struct sp__nest_visit call = {.row = (size_t)(row - nest->rows),
                                  .start = row->calls.start[pos],
                                  .end = row->calls.end[pos],
                                  .position = nest->threaded ? row->calls.thread[pos] : -1,
                                  .above = -1,
                                  .call = nest->stored ? row->calls.call[pos] : -1,
                                  .parent = nest->stored ? row->calls.parent[pos] : -1};
    struct lane *lane = nest->stored ? NULL : lane_of(nest, &call.position, call.start, call.end);
    int result = 0;
    if (!lane && !nest->stored)
        return nest->result.overlap ? 0 : no_memory(nest);
    if (lane)
        call.above = lane->top->id;
    if (lane && lane->top == lane->limit)
        result = deepen(nest, lane);
    int64_t answer = result < 0 ? result : nest->settings->visit(nest->settings->context, &call, nest->error);
    if (answer < 0)
        return (int)answer;
    if (lane)
        *++lane->top = (struct frame){.end = call.end, .id = answer, .row = row};
    return 0;
}

static int show_all(struct nest *nest, bool many)
{
    while (nest->turns.rows[0]->have && !nest->result.overlap) {
        struct row *row = nest->turns.rows[0];
        int result = show(nest, row);
        if (result == 0 && ++row->pos == row->have)
            result = refill(nest, row);
        if (result < 0)
            return result;
        nest->turns.starts[0] = next_start(row);
        if (many)
            replay(nest->turns.starts, nest->turns.rows, nest->rows, nest->row_count);
        else
            reorder(nest->turns.starts, nest->turns.rows);
    }
    return 0;
}

static int walk_as_wanted(struct nest *nest, bool number)
{
    bool many = nest->row_count > FEW_ROWS;
    int result = 0;
    if (many)
        result = plant(nest);
    else
        put_in_order(nest);
    if (result < 0)
        return result;
    if (nest->settings->visit)
        return show_all(nest, many);
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

static int64_t *make_space(struct sp__nest_space *space, size_t room)
{
    if (space->room < room) {
        free(space->memory);
        space->memory = malloc(room * sizeof *space->memory);
        space->room = space->memory ? room : 0;
    }
    return space->memory;
}

static int make_buffers(struct nest *nest, bool number)
{
    size_t columns = 2 + (nest->threaded ? 1U : 0U) + (number || nest->stored ? 2U : 0U);
    size_t room = (size_t)share_out(nest, columns);
    int64_t *at = make_space(nest->space, room * columns + 1);
    if (!at)
        return no_memory(nest);
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
    unsigned flags =
        (nest->settings->visit ? 0U : SP__SUMMARIZE) | SP__WITH_THREADS | (nest->stored ? SP__WITH_IDS : 0U);
    for (size_t r = 0, before = 0; r < nest->row_count; r++) {
        struct row *row = &nest->rows[r];
        row->calls = offset(&nest->base, before);
        before += row->room;
        int result = sp__cursor_open_with(&row->cursor, nest->rank, r, row->room, flags, nest->error);
        if (result < 0)
            return result;
    }
    for (size_t r = 0; r < nest->row_count; r++) {
        int result = refill(nest, &nest->rows[r]);
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
    nest->turns.starts = calloc(nest->row_count + 1, sizeof *nest->turns.starts);
    nest->turns.rows = calloc(nest->row_count + 1, sizeof(struct row *));
    if (!nest->lanes || !nest->rows || !nest->turns.starts || !nest->turns.rows)
        return no_memory(nest);
    nest->bottom = (struct frame){.end = INT64_MAX, .id = -1, .row = &nest->rows[nest->row_count]};
    for (size_t i = 0; i < nest->lane_count; i++)
        nest->lanes[i] = empty_lane(nest);
    return 0;
}

static void finish(struct nest *nest)
{
    for (size_t r = 0; nest->rows && r < nest->row_count; r++)
        sp__cursor_close(nest->rows[r].cursor);
    for (size_t i = 0; nest->lanes && i < nest->lane_count; i++)
        free(nest->lanes[i].frames);
    free(nest->rows);
    free(nest->turns.starts);
    free(nest->turns.rows);
    free(nest->lanes);
    free(nest->own.memory);
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
    nest.space = settings->space ? settings->space : &nest.own;
    int result = make_lanes(&nest);
    if (result == 0 && nest.row_count)
        result = make_buffers(&nest, number);
    if (result == 0 && nest.row_count)
        result = walk_as_wanted(&nest, number);
    if (result == 0 && nest.whole)
        result = emit(&nest, 0, (size_t)rank->calls, &nest.base);
    for (size_t r = 0; result == 0 && !settings->visit && r < nest.row_count; r++) {
        struct sp__rank_row *row = &rank->rows[r];
        row->exclusive = nest.result.overlap ? -1 : (int64_t)((uint64_t)row->summary.total - nest.rows[r].inside);
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
