/* nesting_rows.c: opening a rank's rows to be read side by side: buffers, and whose turn is first. */
#include "nesting_rows.h"

#include <errno.h>
#include <stdlib.h>

enum {
    LEAST_ROOM = 16,
    MOST_ROOM = 16384, /* calls a row and turn: 128 KiB a column and write, which still stays in a cache */
    FEW_ROWS = 8,
    IN_ONE_PIECE = 1 << 18 /* bytes of a rank that goes to the writer in one piece */
};

static int no_memory(const struct sp__nest_rows *rows)
{
    return sp__fail(rows->error, SP_ERR_SYSTEM, ENOMEM, rows->rank->parts[0]->path, NULL,
                    "its calls cannot be read side by side");
}

int sp__nest_row_fill(struct sp__nest_rows *rows, struct sp__nest_row *row)
{
    row->done += row->have;
    row->pos = row->have = 0;
    if (row->done == rows->rank->rows[row - rows->list].calls)
        return 0;
    return sp__cursor_fill(row->cursor, &row->calls, row->room, &row->have, rows->error);
}

/* ---- buffers ------------------------------------------------------------------------------------------------------
 */

static struct sp__calls offset(const struct sp__calls *calls, size_t n)
{
    return (struct sp__calls){.start = calls->start + n,
                              .end = calls->end + n,
                              .thread = calls->thread ? calls->thread + n : NULL,
                              .call = calls->call ? calls->call + n : NULL,
                              .parent = calls->parent ? calls->parent + n : NULL};
}

/* Every row gets what it has calls for, as far as that is its share; what small rows leave goes to the others. */
static uint64_t share_out(struct sp__nest_rows *rows, uint64_t budget)
{
    uint64_t sum = 0, share = 0, taken = 0;
    size_t wanting = rows->count;
    for (int round = 0; round < 4 && wanting; round++) {
        share = budget > taken ? (budget - taken) / wanting : 0;
        wanting = 0;
        taken = 0;
        for (size_t r = 0; r < rows->count; r++) {
            uint64_t calls = rows->rank->rows[r].calls;
            taken += calls <= share ? calls : 0;
            wanting += calls > share;
        }
    }
    share = share < LEAST_ROOM ? LEAST_ROOM : share > MOST_ROOM ? MOST_ROOM : share;
    rows->whole = rows->rank->calls <= IN_ONE_PIECE / sizeof(int64_t) && rows->rank->calls <= budget;
    for (size_t r = 0; r < rows->count; r++) {
        uint64_t calls = rows->rank->rows[r].calls;
        rows->list[r].room = (size_t)(calls <= share || rows->whole ? calls : share);
        sum += rows->list[r].room;
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

static int make_buffers(struct sp__nest_rows *rows, size_t budget, bool ids, struct sp__nest_space *space)
{
    size_t columns = 2 + (rows->rank->threaded ? 1U : 0U) + (ids ? 2U : 0U);
    size_t room = (size_t)share_out(rows, budget / (columns * sizeof(int64_t)));
    int64_t *at = make_space(space ? space : &rows->own, room * columns + 1);
    if (!at)
        return no_memory(rows);
    rows->base = (struct sp__calls){.start = at, .end = at + room};
    at += 2 * room;
    if (rows->rank->threaded) {
        rows->base.thread = at;
        at += room;
    }
    if (ids) {
        rows->base.call = at;
        rows->base.parent = at + room;
    }
    return 0;
}

/* All are opened before one is filled: a file rests as soon as nothing that is open has calls left in it. */
static int open_and_fill(struct sp__nest_rows *rows, unsigned flags)
{
    int result = 0;
    for (size_t r = 0, before = 0; result == 0 && r < rows->count; r++) {
        struct sp__nest_row *row = &rows->list[r];
        row->calls = offset(&rows->base, before);
        before += row->room;
        result = sp__cursor_open_with(&row->cursor, rows->rank, r, row->room, flags, rows->error);
    }
    for (size_t r = 0; result == 0 && r < rows->count; r++)
        result = sp__nest_row_fill(rows, &rows->list[r]);
    return result;
}

/* ---- whose turn is first ------------------------------------------------------------------------------------------
 */

static void put_in_order(struct sp__nest_rows *rows)
{
    for (size_t n = rows->count + 1; n--;) { /* with one that is at its end, behind all */
        rows->turns[n] = &rows->list[n];
        rows->starts[n] = sp__nest_row_start(&rows->list[n]);
        if (n < rows->count)
            sp__nest_rows_reorder(&rows->starts[n], &rows->turns[n]);
    }
}

static int plant(struct sp__nest_rows *rows)
{
    size_t count = rows->count;
    struct sp__nest_row **winner = calloc(2 * count, sizeof(struct sp__nest_row *));
    if (!winner)
        return no_memory(rows);
    for (size_t r = 0; r < count; r++)
        winner[count + r] = &rows->list[r];
    for (size_t node = count; node--;) {
        struct sp__nest_row *loser = winner[1]; /* [0]: the winner of all */
        if (node) {
            struct sp__nest_row *a = winner[2 * node], *b = winner[2 * node + 1];
            int64_t x = sp__nest_row_start(a), y = sp__nest_row_start(b);
            bool second = y < x || (y == x && sp__nest_row_wins_tie(b, a));
            winner[node] = second ? b : a;
            loser = second ? a : b;
        }
        rows->turns[node] = loser;
        rows->starts[node] = sp__nest_row_start(loser);
    }
    free(winner);
    return 0;
}

int sp__nest_rows_open(struct sp__nest_rows *rows, struct sp__rank *rank, size_t budget, unsigned flags, bool ids,
                       struct sp__nest_space *space, sp_error *error)
{
    *rows = (struct sp__nest_rows){
        .rank = rank, .count = rank->row_count, .many = rank->row_count > FEW_ROWS, .error = error};
    rows->list = calloc(rows->count + 1, sizeof *rows->list);
    rows->starts = calloc(rows->count + 1, sizeof *rows->starts);
    rows->turns = calloc(rows->count + 1, sizeof(struct sp__nest_row *));
    if (!rows->list || !rows->starts || !rows->turns)
        return no_memory(rows);
    int result = make_buffers(rows, budget, ids, space);
    if (result == 0)
        result = open_and_fill(rows, flags);
    if (result == 0 && rows->many)
        return plant(rows);
    if (result == 0)
        put_in_order(rows);
    return result;
}

void sp__nest_rows_close(struct sp__nest_rows *rows)
{
    for (size_t r = 0; rows->list && r < rows->count; r++)
        sp__cursor_close(rows->list[r].cursor);
    free(rows->list);
    free(rows->starts);
    free(rows->turns);
    free(rows->own.memory);
}
