/* nesting_lanes.h: the lanes of a rank, each a stack of the calls that are open in it. One that would cross the end of what is
 * open goes to a further lane of its thread, first fit. */
#ifndef SP__NESTING_LANES_H
#define SP__NESTING_LANES_H

#include "nesting_rows.h"

enum { SP__MOST_LANES = 4096 }; /* of crossed calls, in a rank: beyond that a file is not a record of threads */

struct sp__nest_frame {
    int64_t end;
    int64_t id; /* the pass's: what the calls inside this one are told */
    struct sp__nest_row *row;
};

/* What leaving a call tells. */
struct sp__nest_held {
    int64_t start;
    uint64_t inside; /* time of the calls that it holds directly */
};

/* At its bottom, which never ends, stands the parent of calls without one. */
struct sp__nest_lane {
    struct sp__nest_frame *frames; /* NULL: only the bottom */
    struct sp__nest_frame *top, *limit;
    struct sp__nest_held *held; /* beside the frames, where it is wanted */
    size_t next;                /* further lane of the same thread; 0 none */
    int64_t position;           /* of its thread in rank->threads; -1 unknown */
    int64_t number;             /* the pass's; -1 at first */
};

struct sp__nest_lanes {
    struct sp__rank *rank;
    struct sp__nest_lane *list; /* [0] unknown thread, [1 + position] the threads', then further ones */
    size_t count, room;
    size_t added;         /* further ones */
    size_t added_unknown; /* of these, of the unknown thread */
    struct sp__nest_frame bottom;
    bool hold;
};

/* -ENOMEM, as all here. The struct stays where it is. To be finished also after a failure. */
int sp__nest_lanes_begin(struct sp__nest_lanes *lanes, struct sp__rank *rank, struct sp__nest_row *bottom, bool hold);
void sp__nest_lanes_finish(struct sp__nest_lanes *lanes);

/* Room for one more call on its top. */
int sp__nest_lane_deepen(const struct sp__nest_lanes *lanes, struct sp__nest_lane *lane);

/* *at becomes the next lane of the same thread, a new one after the last; the list may move. -E2BIG: too many. */
int sp__nest_lanes_further(struct sp__nest_lanes *lanes, size_t *at);

/* Of a call on top: it holds nothing that starts at `start` any more. One of no length at its very end is inside. */
SP__FOR_EACH_CALL bool sp__nest_frame_ended(const struct sp__nest_frame *frame, int64_t start, int64_t end)
{
    return frame->end <= start && !(frame->end == start && start == end);
}

/* The innermost call that holds whatever starts at `start`; the bottom never ends. */
SP__FOR_EACH_CALL struct sp__nest_frame *sp__nest_lane_pop(struct sp__nest_frame *top, int64_t start, int64_t end)
{
    while (sp__nest_frame_ended(top, start, end))
        top--;
    return top;
}

#endif
