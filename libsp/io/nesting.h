/* nesting.h: one pass over all calls of a rank at once: summaries, exclusive times, call and parent ids, lanes. */
#ifndef SP__NESTING_H
#define SP__NESTING_H

#include "nesting_rows.h"

/* Calls [first, first + count) of the rank, counted over its rows back to back; a row's calls come in order, rows come
 * in turns. `thread` (a profile's thread_ids), `call` and `parent` are NULL where they are not known or not asked for.
 */
typedef int sp__nest_emit(void *context, uint64_t first, size_t count, const struct sp__calls *calls, sp_error *error);

struct sp__nest_settings {
    size_t budget;                /* bytes of buffers, over all rows; each gets room for 16 calls whatever this says */
    bool number;                  /* give call and parent ids */
    bool keep;                    /* where the rank stores ids, those instead */
    sp__nest_emit *emit;          /* NULL: only the totals are wanted */
    void *context;                /* of `emit` */
    struct sp__nest_space *space; /* the caller's to free; NULL: buffers are made and freed in the pass */
};

struct sp__nest_result {
    bool overlap;  /* calls of unknown lanes overlap: exclusive totals are -1, numbers given mean nothing */
    size_t lanes;  /* added for crossed calls */
    int64_t start; /* smallest; INT64_MAX without calls */
    int64_t end;   /* largest; INT64_MIN */
};

/* Order: start, descending end, row. Each lane is a stack: a call's parent is the innermost call of its lane that has
 * not ended when it starts; a call of no length at the very end of another is inside it. One that would cross the end
 * of its parent goes to a further lane of its thread, first fit, appended to rank->threads. Fills rank->rows' summaries
 * and exclusive totals. */
int sp__nest(struct sp__rank *rank, const struct sp__nest_settings *settings, struct sp__nest_result *ret,
             sp_error *error);

#endif
