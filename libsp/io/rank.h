/* rank.h: the writing side's view: all parts of one rank joined into rows in order of start, with nesting. */
#ifndef SP__RANK_H
#define SP__RANK_H

#include "source.h"

struct sp__rank_row {
    const char *name, *file, *text, *tags;
    int64_t line;
    uint64_t calls;
    struct sp__summary summary; /* good after a pass: sp__nest, or a cursor opened with SP__SUMMARIZE and read out */
    int64_t exclusive;          /* good after sp__nest; -1 where lanes are unknown and calls overlap. Both are also good
                                 * after sp__rank_sum_up */
    uint64_t first;             /* calls of the rank in rows before this one */
    size_t link, links;         /* which rows of which parts it is made of */
};

/* Parts of one rank (incarnations, windows, profilers of one session) as one: rows joined by region name, in order of
 * first registration, calls merged by (start, descending end, part). Rows without calls are left out. */
struct sp__rank {
    uint32_t rank;
    struct sp__source **parts;
    size_t part_count;
    struct sp__rank_row *rows;
    size_t row_count;
    uint64_t calls;
    struct sp__rank_link *links;
    struct sp__rank_part *numbers; /* per part: how its threads are numbered here, what is left to read */

    /* Cursors give threads as positions in this table, -1 unknown. `index` is what a profile says: the part's own where
     * there is one part, else the position. sp__nest appends the lanes that crossed calls need. */
    struct sp__thread *threads;
    size_t thread_count, thread_room;
    size_t thread_known; /* of the parts; the others are lanes that sp__nest added */
    bool threaded;       /* some part knows threads: cursors fill `thread` */
    bool lanes;          /* calls say their lane, or are known to be of one */
    bool ids;            /* one part, which stores call and parent ids */
    bool positions;      /* every thread's index is its position */
    bool aggregate;      /* statistics without events: there is nothing to read or nest */
};

/* Copies the list, not the parts. SP_ERR_TRACE_FORMAT where two parts both claim the rank: parts join only within one
 * session, each incarnation once. SP_ERR_USAGE where some hold events and others statistics alone. */
int sp__rank_create(struct sp__rank **ret, struct sp__source *const *parts, size_t count, sp_error *error);
void sp__rank_destroy(struct sp__rank *rank);

/* Closes the files of all parts until they are read again. */
void sp__rank_rest(struct sp__rank *rank);

/* The row of the n-th part that holds calls of the row. */
const struct sp__source_row *sp__rank_link_row(const struct sp__rank *rank, size_t row, size_t n);

/* Summaries and exclusive times of the rows from those of their parts, where all have one; else false. */
bool sp__rank_sum_up(struct sp__rank *rank);

/* A further lane of the thread at `position`. The new position, or -1 without memory. */
int64_t sp__rank_add_lane(struct sp__rank *rank, int64_t position);

enum sp__cursor_flags {
    SP__WITH_THREADS = 1, /* fill `thread`, where rank->threaded */
    SP__WITH_IDS = 2,     /* fill `call` and `parent`, where rank->ids */
    SP__SUMMARIZE = 4     /* rows[row].summary is good once the end was read */
};

/* A sequential reader of one row; several may be open at once, each with a buffer of `room` calls. */
struct sp__cursor;
int sp__cursor_open(struct sp__cursor **ret, struct sp__rank *rank, size_t row, size_t room, sp_error *error);
int sp__cursor_open_with(struct sp__cursor **ret, struct sp__rank *rank, size_t row, size_t room, unsigned flags,
                         sp_error *error);
/* Next calls in order: *ret points at columns owned by the cursor, *ret_count 0 at the end. */
int sp__cursor_next(struct sp__cursor *cursor, struct sp__calls *ret, size_t *ret_count, sp_error *error);
/* The same into the caller's columns of `room` calls (columns that the flags did not ask for may be NULL). */
int sp__cursor_fill(struct sp__cursor *cursor, const struct sp__calls *into, size_t room, size_t *ret_count,
                    sp_error *error);
void sp__cursor_close(struct sp__cursor *cursor);

/* Names and their numbers, dense from 0. The strings stay the caller's. */
struct sp__name_set {
    const char **names;
    size_t count, room;
    uint32_t *slots; /* number + 1, 0 free */
    size_t slot_count;
};
int64_t sp__name_set_add(struct sp__name_set *set, const char *name);        /* its number, new or not; -1: no memory */
int64_t sp__name_set_find(const struct sp__name_set *set, const char *name); /* its number; -1: it is not there */
void sp__name_set_finish(struct sp__name_set *set);

#endif
