#include "nesting_lanes.h"

#include <errno.h>
#include <stdlib.h>

/* Lanes begin on the one bottom that all share, until something is put on it. */
static struct sp__nest_lane empty_lane(struct sp__nest_lanes *lanes, int64_t position)
{
    return (struct sp__nest_lane){.top = &lanes->bottom, .limit = &lanes->bottom, .position = position, .number = -1};
}

int sp__nest_lanes_begin(struct sp__nest_lanes *lanes, struct sp__rank *rank, struct sp__nest_row *bottom, bool hold)
{
    rank->thread_count = rank->thread_known; /* lanes of an earlier pass */
    *lanes = (struct sp__nest_lanes){.rank = rank,
                                     .count = 1 + rank->thread_count,
                                     .room = 5 + rank->thread_count,
                                     .bottom = {.end = INT64_MAX, .id = -1, .row = bottom},
                                     .hold = hold};
    lanes->list = calloc(lanes->room, sizeof *lanes->list);
    for (size_t i = 0; lanes->list && i < lanes->count; i++)
        lanes->list[i] = empty_lane(lanes, (int64_t)i - 1);
    return lanes->list ? 0 : -ENOMEM;
}

void sp__nest_lanes_finish(struct sp__nest_lanes *lanes)
{
    for (size_t i = 0; lanes->list && i < lanes->count; i++) {
        free(lanes->list[i].frames);
        free(lanes->list[i].held);
    }
    free(lanes->list);
}

int sp__nest_lane_deepen(const struct sp__nest_lanes *lanes, struct sp__nest_lane *lane)
{
    size_t depth = lane->frames ? (size_t)(lane->top - lane->frames) : 0, room = depth ? 2 * (depth + 1) : 16;
    struct sp__nest_frame *frames = realloc(lane->frames, room * sizeof *frames);
    if (!frames)
        return -ENOMEM;
    frames[0] = lanes->bottom;
    lane->frames = frames;
    lane->top = frames + depth;
    lane->limit = frames + depth; /* until all of it is there */
    struct sp__nest_held *held = lanes->hold ? realloc(lane->held, room * sizeof *held) : NULL;
    if (lanes->hold && !held)
        return -ENOMEM;
    if (held && depth == 0)
        held[0] = (struct sp__nest_held){0};
    lane->held = held;
    lane->limit = frames + room - 1;
    return 0;
}

int sp__nest_lanes_further(struct sp__nest_lanes *lanes, size_t *at)
{
    struct sp__nest_lane *lane = &lanes->list[*at];
    if (lane->next) {
        *at = lane->next;
        return 0;
    }
    if (lanes->added == SP__MOST_LANES)
        return -E2BIG;
    if (lanes->count == lanes->room) {
        struct sp__nest_lane *list = realloc(lanes->list, lanes->room * 2 * sizeof *list);
        if (!list)
            return -ENOMEM;
        lanes->list = list;
        lanes->room *= 2;
        lane = &list[*at];
    }
    int64_t position = lane->position;
    if (position >= 0 && (position = sp__rank_add_lane(lanes->rank, position)) < 0)
        return -ENOMEM;
    lane->next = *at = lanes->count;
    lanes->list[lanes->count++] = empty_lane(lanes, position);
    lanes->added++;
    lanes->added_unknown += position < 0;
    return 0;
}
