/* write_h5.c: a profile, schema 2 or 3.
 *
 * In three steps: HDF5 lays out the file and says where the event columns lie; the columns are written there in large
 * pieces as the calls come (h5_columns.c), without HDF5 and so without its lock, by several threads, each of which
 * takes one rank after another; HDF5 adds index, threads and metadata, which are known only then. All of it in a
 * temporary beside the output. Whatever the number of threads, the file and what is said are the same. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "h5_out.h"
#include "inputs.h"
#include "workers.h"

enum {
    BUDGET = 24 << 20, /* bytes of calls, all threads together */
    MOST_THREADS = 8,
    CALLS_A_THREAD = 1 << 16, /* with less to do it costs more than it gives */
    CALLS_A_RANK = 1 << 9     /* what opening and closing its file takes */
};

static int system_failure(const struct sp__h5_out *out, int code)
{
    return sp__fail(out->writing->error, SP_ERR_SYSTEM, -code, out->writing->output, NULL, "cannot be written");
}

/* ---- the event columns --------------------------------------------------------------------------------------------
 */

/* What became of a rank. */
struct outcome {
    uint64_t before; /* calls of the ranks before it */
    int64_t start, end;
    bool overlap;
    int status;
    sp_error *why; /* of a failure; NULL: there was no memory for it */
};

struct crew {
    struct sp__h5_out *out;
    struct outcome *outcomes; /* of each rank */
    size_t budget;            /* of each thread */
    atomic_size_t next;       /* the rank that is taken next */
    atomic_size_t limit;      /* from this rank on none is begun */
    atomic_bool doomed;       /* an input is bad: the others are only looked at */
};

static int put_rank(struct crew *crew, struct sp__rank *rank, struct outcome *outcome, struct sp__nest_space *space,
                    sp_error *why)
{
    struct sp__h5_out *out = crew->out;
    if (rank->aggregate) {
        (void)sp__rank_sum_up(rank); /* its parts have summaries, and nothing else */
        sp__writing_progress(out->writing, rank->calls);
        outcome->start = INT64_MAX;
        outcome->end = INT64_MIN;
        return 0;
    }
    struct sp__h5_sink sink;
    struct sp__nest_settings settings = {.budget = crew->budget,
                                         .number = out->present[CALL_IDS],
                                         .keep = out->present[CALL_IDS],
                                         .emit = atomic_load(&crew->doomed) ? NULL : sp__h5_sink_put,
                                         .context = &sink,
                                         .space = space};
    struct sp__nest_result nested;
    int result = sp__h5_sink_init(&sink, out, rank, outcome->before, why);
    if (result < 0)
        return result;
    result = sp__nest(rank, &settings, &nested, why);
    sp__h5_sink_finish(&sink);
    if (result < 0)
        return result;
    outcome->overlap = nested.overlap;
    outcome->start = nested.start;
    outcome->end = nested.end;
    return 0;
}

/* A bad input hides no other one, where somebody wants to know of them all. Anything else ends the work: ranks before
 * this one are begun already, so that of several errors the first rank's is known. */
static void note_failure(struct crew *crew, size_t n, const sp_error *why)
{
    struct outcome *outcome = &crew->outcomes[n];
    outcome->status = why->status;
    outcome->why = malloc(sizeof *outcome->why);
    if (outcome->why)
        *outcome->why = *why;
    if (crew->out->writing->inputs->bad && sp__error_of_input(why)) {
        atomic_store(&crew->doomed, true);
        return;
    }
    for (size_t limit = atomic_load(&crew->limit); n < limit;)
        if (atomic_compare_exchange_weak(&crew->limit, &limit, n))
            break;
}

static void *put_ranks(void *context)
{
    struct crew *crew = context;
    struct sp__nest_space space = {0};
    for (size_t n; (n = atomic_fetch_add(&crew->next, 1)) < atomic_load(&crew->limit);) {
        sp_error why = {0};
        if (put_rank(crew, crew->out->writing->ranks[n], &crew->outcomes[n], &space, &why) < 0)
            note_failure(crew, n, &why);
    }
    free(space.memory);
    return NULL;
}

static size_t threads_wanted(const struct sp__writing *writing)
{
    uint64_t work = writing->calls + (uint64_t)writing->rank_count * CALLS_A_RANK, most = 1 + work / CALLS_A_THREAD;
    most = most < writing->rank_count ? most : writing->rank_count;
    return sp__workers(most < 1 ? 1 : most < MOST_THREADS ? (size_t)most : MOST_THREADS);
}

/* In order of the ranks, so that what is said does not depend on who was first. */
static int gather(struct crew *crew)
{
    struct sp__h5_out *out = crew->out;
    struct sp__writing *writing = out->writing;
    for (size_t n = 0; n < writing->rank_count; n++) {
        const struct outcome *outcome = &crew->outcomes[n];
        const struct sp__rank *rank = writing->ranks[n];
        int result = 0;
        if (outcome->status < 0)
            result = outcome->why ? sp__writing_bad(writing, outcome->why) : system_failure(out, -ENOMEM);
        if (result < 0)
            return result;
        if (outcome->overlap) {
            sp__writing_warn(writing,
                             "%s: calls of rank %u overlap and nothing says which threads made them: their exclusive "
                             "times are unknown",
                             rank->parts[0]->path, (unsigned)rank->rank);
            out->unnumbered = out->unnumbered || !rank->ids;
        }
        out->start = outcome->start < out->start ? outcome->start : out->start;
        out->end = outcome->end > out->end ? outcome->end : out->end;
    }
    return writing->bad_count ? SP_ERR_CORRUPT_PROFILE : 0;
}

static int put_columns(struct sp__h5_out *out)
{
    struct sp__writing *writing = out->writing;
    struct crew crew = {.out = out, .limit = writing->rank_count};
    crew.outcomes = calloc(writing->rank_count + 1, sizeof *crew.outcomes);
    if (!crew.outcomes)
        return system_failure(out, -ENOMEM);
    for (size_t n = 0; n < writing->rank_count; n++)
        crew.outcomes[n + 1].before = crew.outcomes[n].before + writing->ranks[n]->calls;
    pthread_t others[MOST_THREADS - 1];
    size_t wanted = threads_wanted(writing), begun = 0;
    crew.budget = BUDGET / wanted;
    while (begun + 1 < wanted && sp__worker_begin(&others[begun], put_ranks, &crew))
        begun++;
    put_ranks(&crew);
    while (begun)
        pthread_join(others[--begun], NULL);
    int result = gather(&crew);
    for (size_t n = 0; n < writing->rank_count; n++)
        free(crew.outcomes[n].why);
    free(crew.outcomes);
    return result;
}

/* ---- the file -----------------------------------------------------------------------------------------------------
 */

/* Whether the rank's call and parent ids are known: stored, or to be had from lanes that are as good. */
static bool carries_ids(const struct sp__rank *rank)
{
    bool all = true;
    for (size_t p = 0; p < rank->part_count; p++) {
        const struct sp__source *part = rank->parts[p];
        all = all && (part->recorded || part->nested_alone || (part->ids && part->lanes));
    }
    return rank->ids || all;
}

static void plan(struct sp__h5_out *out)
{
    bool threads = false, ids = true, events = !out->writing->aggregate;
    for (size_t r = 0; r < out->writing->rank_count; r++) {
        const struct sp__rank *rank = out->writing->ranks[r];
        threads = threads || rank->threaded;
        ids = ids && carries_ids(rank);
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
    int result = sp__h5_lay_out(out);
    if (result < 0)
        return result;
    uint64_t columns = 0;
    for (int c = 0; c < COLUMNS; c++)
        columns += out->present[c];
    bool early = out->sync && !out->packed;
    sp__early_sync_begin(&out->early, out->file.fd, early ? columns * 8 * out->writing->calls : 0);
    result = put_columns(out);
    sp__early_sync_last(&out->early);
    if (result == 0) {
        count_threads(out);
        result = sp__h5_complete(out);
    }
    int failed = sp__early_sync_end(&out->early);
    return result == 0 && failed ? system_failure(out, failed) : result;
}

int sp__write_h5(struct sp__writing *writing)
{
    struct sp__h5_out out = {.writing = writing, .start = INT64_MAX, .end = INT64_MIN};
    /* What is replaced may be all that there is of inputs long gone: not before its successor is safe. */
    out.sync = writing->settings->sync || access(writing->output, F_OK) == 0;
    plan(&out);
    int result = sp__durable_begin(&out.file, writing->output, 0600);
    if (result < 0) {
        result = system_failure(&out, result);
    } else if ((result = write_all(&out)) < 0) {
        sp__durable_abandon(&out.file);
    } else if ((result = out.sync ? sp__durable_commit(&out.file) : sp__durable_rename(&out.file)) < 0) {
        result = system_failure(&out, result);
    }
    sp__h5_finish(&out);
    return result;
}
