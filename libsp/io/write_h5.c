/* write_h5.c: a schema-2 profile.
 *
 * In three steps: HDF5 lays out the file and says where the event columns lie; the columns are written there in large
 * pieces as the calls come, without HDF5 and so without its lock; HDF5 adds index, threads and metadata, which are
 * known only then. All of it in a temporary beside the output. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "h5_out.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "traces and event columns are written as they lie in memory");

enum { BUDGET = 24 << 20, UNKNOWN_ROOM = 8192, AHEAD = 16 << 20 };

static const char *const column_names[COLUMNS] = {"start_times", "end_times", "thread_ids", "call_ids", "parent_ids"};

static int system_failure(const struct sp__h5_out *out, int code)
{
    return sp__fail(out->writing->error, SP_ERR_SYSTEM, -code, out->writing->output, NULL, "cannot be written");
}

/* ---- the event columns --------------------------------------------------------------------------------------------
 */

static int put_unknown(struct sp__h5_out *out, uint64_t at, size_t count)
{
    int result = 0;
    while (result == 0 && count) {
        size_t n = count < UNKNOWN_ROOM ? count : UNKNOWN_ROOM;
        result = sp__write_at(out->file.fd, out->unknown, n * 8, at);
        at += n * 8;
        count -= n;
    }
    return result;
}

static int put_calls(void *context, uint64_t first, size_t count, const struct sp__calls *calls, sp_error *error)
{
    struct sp__h5_out *out = context;
    const int64_t *columns[COLUMNS] = {calls->start, calls->end, calls->thread, calls->call, calls->parent};
    (void)error;
    for (int c = 0; c < COLUMNS; c++) {
        uint64_t at = out->offsets[c] + 8 * (out->before + first);
        int result = 0;
        if (!out->present[c])
            continue;
        if (columns[c])
            result = sp__write_at(out->file.fd, columns[c], count * 8, at);
        else
            result = put_unknown(out, at, count);
        if (result < 0)
            return system_failure(out, result);
    }
    out->fresh += count * 2 * sizeof(int64_t);
    if (out->fresh >= AHEAD) { /* the disk begins now with what fsync would wait for; where it cannot, fsync will */
        sync_file_range(out->file.fd, 0, 0, SYNC_FILE_RANGE_WRITE);
        out->fresh = 0;
    }
    sp__writing_progress(out->writing, count);
    return 0;
}

static int put_rank(struct sp__h5_out *out, struct sp__rank *rank)
{
    struct sp__writing *writing = out->writing;
    if (rank->aggregate) {
        (void)sp__rank_sum_up(rank); /* its parts have summaries, and nothing else */
        sp__writing_progress(writing, rank->calls);
        return 0;
    }
    struct sp__nest_settings settings = {.budget = BUDGET,
                                         .number = out->present[CALL_IDS],
                                         .keep = out->present[CALL_IDS],
                                         .emit = put_calls,
                                         .context = out};
    struct sp__nest_result nested;
    int result = sp__nest(rank, &settings, &nested, writing->error);
    if (result < 0)
        return result;
    if (nested.overlap) {
        sp__writing_warn(writing,
                         "%s: calls of rank %u overlap and nothing says which threads made them: their exclusive "
                         "times are unknown",
                         rank->parts[0]->path, (unsigned)rank->rank);
        out->unnumbered = out->unnumbered || !rank->ids;
    }
    out->start = nested.start < out->start ? nested.start : out->start;
    out->end = nested.end > out->end ? nested.end : out->end;
    out->before += rank->calls;
    return 0;
}

/* ---- the file -----------------------------------------------------------------------------------------------------
 */

static void plan(struct sp__h5_out *out)
{
    bool threads = false, ids = true, events = !out->writing->aggregate;
    for (size_t r = 0; r < out->writing->rank_count; r++) {
        const struct sp__rank *rank = out->writing->ranks[r];
        threads = threads || rank->threaded;
        ids = ids && (rank->ids || rank->lanes);
        out->rows += rank->row_count;
    }
    ids = (ids || out->writing->settings->nesting) && out->writing->calls && events;
    out->present[STARTS] = out->present[ENDS] = events;
    out->present[THREAD_IDS] = threads && events;
    out->present[CALL_IDS] = out->present[PARENT_IDS] = ids;
}

static void count_threads(struct sp__h5_out *out)
{
    for (size_t r = 0; out->present[THREAD_IDS] && r < out->writing->rank_count; r++)
        out->thread_count += out->writing->ranks[r]->thread_count;
    out->writing->report.threads = out->thread_count;
    if (out->unnumbered && out->present[CALL_IDS])
        sp__writing_warn(out->writing, "%s: call and parent ids are left out, since calls of unknown threads overlap",
                         out->writing->output);
}

static int write_all(struct sp__h5_out *out)
{
    struct sp__writing *writing = out->writing;
    int result = sp__h5_lay_out(out, column_names);
    for (size_t r = 0; result == 0 && r < writing->rank_count; r++)
        result = put_rank(out, writing->ranks[r]);
    if (result < 0)
        return result;
    count_threads(out);
    return sp__h5_complete(out, column_names);
}

int sp__write_h5(struct sp__writing *writing)
{
    struct sp__h5_out out = {.writing = writing, .start = INT64_MAX, .end = INT64_MIN};
    plan(&out);
    out.unknown = malloc(UNKNOWN_ROOM * sizeof *out.unknown);
    if (!out.unknown)
        return system_failure(&out, -ENOMEM);
    for (size_t i = 0; i < UNKNOWN_ROOM; i++)
        out.unknown[i] = -1;
    int result = sp__durable_begin(&out.file, writing->output, 0600);
    if (result < 0) {
        result = system_failure(&out, result);
    } else if ((result = write_all(&out)) < 0) {
        sp__durable_abandon(&out.file);
    } else if ((result = sp__durable_commit(&out.file)) < 0) {
        result = system_failure(&out, result);
    }
    free(out.unknown);
    return result;
}
