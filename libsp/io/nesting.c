/* nesting.c: the pass over a rank's calls in order. Its loop runs once per call and is compiled once per combination of
 * what is wanted, so that it branches on data alone. */
#include "nesting.h"

#include <errno.h>
#include <stdlib.h>

#include "nesting_lanes.h"

struct nest {
    const struct sp__nest_settings *settings;
    struct sp__nest_result result;
    struct sp__nest_rows rows;
    struct sp__nest_lanes lanes;
};

static int no_memory(const struct nest *nest)
{
    return sp__fail(nest->rows.error, SP_ERR_SYSTEM, ENOMEM, nest->rows.rank->parts[0]->path, NULL,
                    "its calls cannot be nested");
}

static int emit(struct nest *nest, uint64_t first, size_t count, const struct sp__calls *calls)
{
    const struct sp__rank *rank = nest->rows.rank;
    if (!count || !nest->settings->emit)
        return 0;
    if (rank->threaded && !rank->positions)
        for (size_t i = 0; i < count; i++)
            if (calls->thread[i] >= 0)
                calls->thread[i] = rank->threads[calls->thread[i]].index;
    return nest->settings->emit(nest->settings->context, first, count, calls, nest->rows.error);
}

/* Hands on what the row's buffer held and fills it again. */
static int refill(struct nest *nest, struct sp__nest_row *row)
{
    const struct sp__rank_row *of = &nest->rows.rank->rows[row - nest->rows.list];
    int result = 0;
    if (!nest->rows.whole)
        result = emit(nest, of->first + row->done, row->have, &row->calls);
    return result ? result : sp__nest_row_fill(&nest->rows, row);
}

/* Another lane of the thread of lane *at, where the call crosses no end. NULL: the lane is unknown, or there are too many,
 * and `overlap` says so; or no memory. */
static struct sp__nest_lane *further_lane(struct nest *nest, size_t *at, int64_t start, int64_t end)
{
    for (;;) {
        int result = *at ? sp__nest_lanes_further(&nest->lanes, at) : -E2BIG;
        nest->result.overlap = nest->result.overlap || result == -E2BIG;
        if (result)
            return NULL;
        struct sp__nest_lane *lane = &nest->lanes.list[*at];
        lane->top = sp__nest_lane_pop(lane->top, start, end);
        if (lane->top->end >= end)
            return lane;
    }
}

/* Calls that are not nested any more, since nothing would follow from it. */
static int hand_on_the_rest(struct nest *nest, bool number)
{
    for (struct sp__nest_row *row = nest->rows.list; row < nest->rows.list + nest->rows.count; row++)
        while (row->have) {
            for (size_t i = row->pos; number && i < row->have; i++)
                row->calls.call[i] = row->calls.parent[i] = -1;
            int result = refill(nest, row);
            if (result < 0)
                return result;
        }
    return 0;
}

SP__FOR_EACH_CALL int walk(struct nest *nest, const bool threaded, const bool number, const bool many)
{
    const struct sp__nest_row *const list = nest->rows.list;
    struct sp__nest_row **const turns = nest->rows.turns;
    int64_t *const starts = nest->rows.starts;
    const size_t count = nest->rows.count;
    struct sp__nest_lane *lane = &nest->lanes.list[0];
    struct sp__nest_frame *top = lane->top;
    int64_t id = 0;
    while (turns[0]->have) {
        struct sp__nest_row *const row = turns[0];
        const size_t pos = row->pos;
        const int64_t start = starts[0], end = row->calls.end[pos];
        size_t at = threaded ? (size_t)(row->calls.thread[pos] + 1) : 0;
        if (threaded) {
            lane = &nest->lanes.list[at];
            top = lane->top;
        }
        top = sp__nest_lane_pop(top, start, end);
        if (top->end < end) {
            lane->top = top;
            struct sp__nest_lane *other = further_lane(nest, &at, start, end);
            if (!other && !nest->result.overlap)
                return no_memory(nest);
            if (!other && !threaded)
                return hand_on_the_rest(nest, number);
            if (other) {
                lane = other;
                row->calls.thread[pos] = lane->position;
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
            if (sp__nest_lane_deepen(&nest->lanes, lane) < 0)
                return no_memory(nest);
            top = lane->top;
        }
        *++top = (struct sp__nest_frame){.end = end, .id = id++, .row = row};
        if (threaded)
            lane->top = top;
        if ((row->pos = pos + 1) == row->have) {
            int result = refill(nest, row);
            if (result < 0)
                return result;
        }
        starts[0] = sp__nest_row_start(row);
        if (many)
            sp__nest_rows_replay(starts, turns, list, count);
        else
            sp__nest_rows_reorder(starts, turns);
    }
    return 0;
}

static int walk_as_wanted(struct nest *nest, bool number)
{
    const bool many = nest->rows.many;
    if (nest->rows.rank->threaded && number)
        return many ? walk(nest, true, true, true) : walk(nest, true, true, false);
    if (nest->rows.rank->threaded)
        return many ? walk(nest, true, false, true) : walk(nest, true, false, false);
    if (number)
        return many ? walk(nest, false, true, true) : walk(nest, false, true, false);
    return many ? walk(nest, false, false, true) : walk(nest, false, false, false);
}

static void sum_up(struct nest *nest)
{
    struct sp__nest_result *result = &nest->result;
    for (size_t r = 0; r < nest->rows.count; r++) {
        struct sp__rank_row *row = &nest->rows.rank->rows[r];
        row->exclusive = result->overlap ? -1 : (int64_t)((uint64_t)row->summary.total - nest->rows.list[r].inside);
        result->start = row->summary.start_minimum < result->start ? row->summary.start_minimum : result->start;
        result->end = row->summary.end_maximum > result->end ? row->summary.end_maximum : result->end;
    }
    result->lanes = nest->lanes.added;
}

int sp__nest(struct sp__rank *rank, const struct sp__nest_settings *settings, struct sp__nest_result *ret,
             sp_error *error)
{
    const bool stored = settings->keep && rank->ids, number = settings->number && !stored;
    const unsigned flags = SP__SUMMARIZE | SP__WITH_THREADS | (stored ? SP__WITH_IDS : 0U);
    struct nest nest = {.settings = settings, .result = {.start = INT64_MAX, .end = INT64_MIN}};
    int result =
        sp__nest_rows_open(&nest.rows, rank, settings->budget, flags, number || stored, settings->space, error);
    if (sp__nest_lanes_begin(&nest.lanes, rank, nest.rows.list ? &nest.rows.list[rank->row_count] : NULL, false) < 0 &&
        result == 0)
        result = no_memory(&nest);
    if (result == 0)
        result = walk_as_wanted(&nest, number);
    if (result == 0 && nest.rows.whole)
        result = emit(&nest, 0, (size_t)rank->calls, &nest.rows.base);
    if (result == 0)
        sum_up(&nest);
    sp__nest_lanes_finish(&nest.lanes);
    sp__nest_rows_close(&nest.rows);
    sp__rank_rest(rank);
    if (result == 0)
        *ret = nest.result;
    return result;
}
