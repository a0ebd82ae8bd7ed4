/* calls.c: the calls of a region on a rank, slice by slice. */
#include <stdlib.h>

#include "results.h"

enum { ROOM = 4096 }; /* of the buffers that merge a row's parts */

struct sp_calls {
    struct sp__rank *rank;
    struct sp__cursor *cursor;
};

int sp_calls_open(sp_calls **ret, sp_results *results, size_t region, uint32_t rank, sp_error *error)
{
    const size_t *rows;
    size_t count;
    if (!ret || !results)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "calls are read from results, and need a place to be put");
    int status = sp__results_rows_of(results, region, rank, &rows, &count, error);
    if (!status)
        status = sp__results_has_events(results, *rows, error);
    if (status)
        return status;
    const struct sp__result_row *row = &results->rows[*rows];
    sp_calls *calls = calloc(1, sizeof *calls);
    if (!calls)
        return sp__results_no_memory(error);
    calls->rank = results->ranks[row->rank];
    status = sp__cursor_open_with(&calls->cursor, calls->rank, row->row, ROOM, SP__WITH_THREADS | SP__WITH_IDS, error);
    if (status) {
        free(calls);
        return status;
    }
    *ret = calls;
    return 0;
}

void sp_calls_close(sp_calls *calls)
{
    if (!calls)
        return;
    sp__cursor_close(calls->cursor);
    sp__rank_rest(calls->rank);
    free(calls);
}

static void unknown(int64_t *column, size_t count)
{
    for (size_t i = 0; column && i < count; i++)
        column[i] = -1;
}

int sp_calls_next(sp_calls *calls, const sp_call_columns *into, size_t room, size_t *ret_count, sp_error *error)
{
    if (!calls || !into || !into->start || !into->end || !room || !ret_count)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "calls need arrays for start and end, and room");
    const struct sp__rank *rank = calls->rank;
    struct sp__calls columns = {.start = into->start,
                                .end = into->end,
                                .thread = rank->threaded ? into->thread : NULL,
                                .call = rank->ids ? into->call : NULL,
                                .parent = rank->ids ? into->parent : NULL};
    size_t count = 0;
    int status = sp__cursor_fill(calls->cursor, &columns, room, &count, error);
    if (status)
        return status;
    for (size_t i = 0; columns.thread && i < count; i++)
        columns.thread[i] = columns.thread[i] < 0 ? -1 : rank->threads[columns.thread[i]].index;
    unknown(rank->threaded ? NULL : into->thread, count);
    unknown(rank->ids ? NULL : into->call, count);
    unknown(rank->ids ? NULL : into->parent, count);
    *ret_count = count;
    return 0;
}

bool sp_calls_have_threads(const sp_calls *calls)
{
    return calls && calls->rank->threaded;
}

bool sp_calls_have_ids(const sp_calls *calls)
{
    return calls && calls->rank->ids;
}
