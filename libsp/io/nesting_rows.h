/* nesting_rows.h: the rows of a rank read side by side, their calls in order: by start, then by descending end, then as the rows
 * stand. What runs once per call is compiled into each pass. */
#ifndef SP__NESTING_ROWS_H
#define SP__NESTING_ROWS_H

#include "rank.h"

#define SP__FOR_EACH_CALL static inline __attribute__((always_inline))

struct sp__nest_row {
    struct sp__calls calls; /* the row's part of the buffers */
    size_t pos, have, room; /* the next call, of how many; 0 at the row's end */
    uint64_t done;          /* calls that earlier fills held */
    uint64_t inside;        /* the pass's: time of the calls that its calls hold directly */
    struct sp__cursor *cursor;
};

/* Memory that one pass leaves to the next, so that pages are not given back and asked for again. Zeroed at first. */
struct sp__nest_space {
    int64_t *memory;
    size_t room;
};

/* By their next calls, [0] the winner: few rows in order, many in a tree of comparisons. When a row's next call starts
 * stands apart from the row, since what is moved as one and was stored as two would have to wait. */
struct sp__nest_rows {
    struct sp__rank *rank;
    struct sp__nest_row *list; /* one more, which has no calls */
    size_t count;
    int64_t *starts; /* INT64_MAX at a row's end */
    struct sp__nest_row **turns;
    bool many;
    bool whole;            /* every row's buffer holds all its calls, back to back in `base` */
    struct sp__calls base; /* the columns of all rows */
    struct sp__nest_space own;
    sp_error *error;
};

/* Opens and fills all rows. `budget`: bytes of buffers, each row gets room for 16 calls whatever that is; `flags` of
 * sp__cursor_open_with; `ids`: columns for call and parent; `space` NULL: its own. To be closed also after a failure. */
int sp__nest_rows_open(struct sp__nest_rows *rows, struct sp__rank *rank, size_t budget, unsigned flags, bool ids,
                       struct sp__nest_space *space, sp_error *error);
void sp__nest_rows_close(struct sp__nest_rows *rows);

/* The next calls into the row's buffer, whose calls are done. */
int sp__nest_row_fill(struct sp__nest_rows *rows, struct sp__nest_row *row);

SP__FOR_EACH_CALL int64_t sp__nest_row_start(const struct sp__nest_row *row)
{
    return row->have ? row->calls.start[row->pos] : INT64_MAX;
}

/* Of two rows whose next calls start together; rows at their ends come last. */
static inline bool sp__nest_row_wins_tie(const struct sp__nest_row *a, const struct sp__nest_row *b)
{
    if (!a->have || !b->have)
        return a->have || (!b->have && a < b);
    int64_t x = a->calls.end[a->pos], y = b->calls.end[b->pos];
    return x != y ? x > y : a < b;
}

/* Few rows: all of them in order. The winner has moved on by a call: it goes to where it belongs now. Most programs
 * repeat themselves, so that the processor knows beforehand how far that is. */
SP__FOR_EACH_CALL void sp__nest_rows_reorder(int64_t *starts, struct sp__nest_row **turns)
{
    const int64_t start = starts[0];
    struct sp__nest_row *const row = turns[0];
    size_t at = 0;
    for (int64_t next; (next = starts[at + 1]) <= start; at++) {
        struct sp__nest_row *other = turns[at + 1];
        if (next == start && !sp__nest_row_wins_tie(other, row))
            break;
        starts[at] = next;
        turns[at] = other;
    }
    starts[at] = start;
    turns[at] = row;
}

/* Many rows: the winner has moved on by a call and plays its way up again. */
SP__FOR_EACH_CALL void sp__nest_rows_replay(int64_t *starts, struct sp__nest_row **losers,
                                            const struct sp__nest_row *list, size_t count)
{
    int64_t start = starts[0];
    struct sp__nest_row *winner = losers[0];
    for (size_t node = (count + (size_t)(winner - list)) / 2; node; node /= 2) {
        const int64_t other_start = starts[node];
        struct sp__nest_row *const other = losers[node];
        bool loses = other_start < start;
        if (other_start == start)
            loses = sp__nest_row_wins_tie(other, winner);
        starts[node] = loses ? start : other_start;
        losers[node] = loses ? winner : other;
        start = loses ? other_start : start;
        winner = loses ? other : winner;
    }
    starts[0] = start;
    losers[0] = winner;
}

#endif
