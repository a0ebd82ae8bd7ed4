/* h5_columns.c: event columns of a profile as the calls of a rank come: each piece is written at its place, without
 * HDF5 and so without its lock. */
#include <errno.h>
#include <stdlib.h>

#include "../shared/spool.h"
#include "h5_out.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "event columns are written as they lie in memory");

enum { PIECE = 32768 };

int sp__h5_sink_init(struct sp__h5_sink *ret, struct sp__h5_out *out, struct sp__rank *rank, uint64_t before,
                     sp_error *error)
{
    struct sp__h5_sink sink = {.out = out, .rank = rank, .before = before};
    sink.piece = malloc(PIECE * sizeof *sink.piece);
    sink.last = out->deltas ? malloc((rank->row_count + 1) * sizeof *sink.last) : NULL;
    if (!sink.piece || (out->deltas && !sink.last)) {
        sp__h5_sink_finish(&sink);
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, out->writing->output, NULL, "cannot be written");
    }
    *ret = sink;
    return 0;
}

void sp__h5_sink_finish(struct sp__h5_sink *sink)
{
    free(sink->last);
    free(sink->piece);
    *sink = (struct sp__h5_sink){0};
}

/* The row that holds call `n` of the rank. */
static size_t row_of(const struct sp__rank *rank, uint64_t n)
{
    size_t low = 0, high = rank->row_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (rank->rows[middle].first <= n)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int too_far_apart(const struct sp__h5_sink *sink, size_t row, sp_error *error)
{
    return sp__fail(error, SP_ERR_USAGE, 0, sink->out->writing->output, NULL,
                    "times of region %s on rank %u lie further apart than a delta can say: write schema 2",
                    sink->rank->rows[row].name, (unsigned)sink->rank->rank);
}

static int put_unknown(struct sp__h5_sink *sink, uint64_t at, size_t count)
{
    size_t most = count < PIECE ? count : PIECE;
    int result = 0;
    for (size_t i = 0; i < most; i++)
        sink->piece[i] = -1;
    for (size_t done = 0, n; result == 0 && done < count; done += n) {
        n = count - done < PIECE ? count - done : PIECE;
        result = sp__write_at(sink->out->columns_fd, sink->piece, n * 8, at + 8 * done);
    }
    return result;
}

static int put_starts(struct sp__h5_sink *sink, uint64_t at, uint64_t first, size_t count, const int64_t *start,
                      sp_error *error, int *ret_system)
{
    const struct sp__rank_row *rows = sink->rank->rows;
    size_t row = row_of(sink->rank, first);
    for (size_t done = 0, n; *ret_system == 0 && done < count; done += n) {
        n = count - done < PIECE ? count - done : PIECE;
        for (size_t i = 0; i < n; i++) {
            uint64_t call = first + done + i;
            while (call - rows[row].first >= rows[row].calls)
                row++;
            int64_t before = call == rows[row].first ? 0 : sink->last[row];
            if (__builtin_sub_overflow(start[done + i], before, &sink->piece[i]))
                return too_far_apart(sink, row, error);
            sink->last[row] = start[done + i];
        }
        *ret_system = sp__write_at(sink->out->columns_fd, sink->piece, n * 8, at + 8 * done);
    }
    return 0;
}

static int put_durations(struct sp__h5_sink *sink, uint64_t at, uint64_t first, size_t count,
                         const struct sp__calls *calls, sp_error *error, int *ret_system)
{
    for (size_t done = 0, n; *ret_system == 0 && done < count; done += n) {
        n = count - done < PIECE ? count - done : PIECE;
        for (size_t i = 0; i < n; i++)
            if (__builtin_sub_overflow(calls->end[done + i], calls->start[done + i], &sink->piece[i]))
                return too_far_apart(sink, row_of(sink->rank, first + done + i), error);
        *ret_system = sp__write_at(sink->out->columns_fd, sink->piece, n * 8, at + 8 * done);
    }
    return 0;
}

int sp__h5_sink_put(void *context, uint64_t first, size_t count, const struct sp__calls *calls, sp_error *error)
{
    struct sp__h5_sink *sink = context;
    struct sp__h5_out *out = sink->out;
    const int64_t *columns[COLUMNS] = {calls->start, calls->end, calls->thread, calls->call, calls->parent};
    for (int c = 0; c < COLUMNS; c++) {
        uint64_t at = out->offsets[c] + 8 * (sink->before + first);
        int status = 0, system = 0;
        if (!out->present[c])
            continue;
        if (!columns[c])
            system = put_unknown(sink, at, count);
        else if (c == STARTS && out->deltas)
            status = put_starts(sink, at, first, count, calls->start, error, &system);
        else if (c == ENDS && out->deltas)
            status = put_durations(sink, at, first, count, calls, error, &system);
        else
            system = sp__write_at(out->columns_fd, columns[c], count * 8, at);
        if (system < 0)
            status = sp__fail(error, SP_ERR_SYSTEM, -system, out->writing->output, NULL, "cannot be written");
        if (status < 0)
            return status;
    }
    sp__early_sync_add(&out->early, count * 2 * sizeof(int64_t));
    sink->untold += count;
    uint64_t told = out->packed ? sink->untold / 2 : sink->untold; /* the other half is told of when it is packed */
    sink->untold -= out->packed ? told * 2 : told;
    sp__writing_progress(out->writing, told);
    return 0;
}
