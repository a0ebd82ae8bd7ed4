/* check_h5.c: whether a schema 2 profile keeps the rules that its readers rely on, in bounded memory: first each row by
 * itself, then, where that found nothing, every rank's nesting and what was computed from it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "h5_tables.h"
#include "inputs.h"
#include "nesting.h"

enum { STARTS, ENDS, THREADS, CALLS, PARENTS, COLUMNS, SLICE = 8192, NEST_BYTES = 32 << 20 };
static const char *const column_names[COLUMNS] = {"/events/start_times", "/events/end_times", "/events/thread_ids",
                                                  "/events/call_ids", "/events/parent_ids"};

struct scan {
    struct sp__checking *c;
    struct sp__h5_tables t;
    hid_t file;
    struct sp__h5_column columns[COLUMNS];
    bool has[COLUMNS];
    int64_t *values[COLUMNS]; /* SLICE each */
    int64_t (*pairs)[2];      /* rank and index of /thread_table, sorted */
};

static void found_at(struct scan *s, size_t column, uint64_t event, const char *region, const char *text, int64_t a,
                     int64_t b)
{
    char place[128], words[256];
    snprintf(place, sizeof place, "%s row %" PRIu64, column_names[column], event);
    snprintf(words, sizeof words, text, a, b);
    sp__check_found(s->c, place, "region \"%.200s\": %s", region, words);
}

static int by_pair(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    if (x[0] != y[0])
        return x[0] < y[0] ? -1 : 1;
    return x[1] < y[1] ? -1 : x[1] > y[1];
}

static bool thread_known(const struct scan *s, int64_t rank, int64_t thread)
{
    const int64_t pair[2] = {rank, thread};
    return s->t.threads && bsearch(pair, s->pairs, s->t.threads, sizeof *s->pairs, by_pair);
}

static void check_slice(struct scan *s, size_t row, uint64_t at, size_t n, int64_t *last, int64_t *thread)
{
    const char *name = s->t.names[s->t.region_ids[row]];
    int64_t *const *v = s->values;
    for (size_t i = 0; i < n; i++) {
        if (v[STARTS][i] < *last)
            found_at(s, STARTS, at + i, name, "starts do not ascend: %" PRId64 " after %" PRId64, v[STARTS][i], *last);
        if (v[ENDS][i] < v[STARTS][i])
            found_at(s, ENDS, at + i, name, "a call ends at %" PRId64 ", before its start %" PRId64, v[ENDS][i],
                     v[STARTS][i]);
        *last = v[STARTS][i];
        if (s->has[THREADS] && v[THREADS][i] != *thread && v[THREADS][i] != -1) {
            /* Neighbours mostly share a thread; the table is asked when it changes. */
            *thread = v[THREADS][i];
            if (!thread_known(s, s->t.ranks[row], *thread))
                found_at(s, THREADS, at + i, name, "thread %" PRId64 " of rank %" PRId64 " is not in /thread_table",
                         *thread, s->t.ranks[row]);
        }
        if (s->has[CALLS] && (v[CALLS][i] < 0 || v[PARENTS][i] < -1 || v[PARENTS][i] >= v[CALLS][i]))
            found_at(s, PARENTS, at + i, name, "the parent %" PRId64 " is not smaller than the call's id %" PRId64,
                     v[PARENTS][i], v[CALLS][i]);
    }
}

static void check_aggregate(struct scan *s, size_t row)
{
    const struct sp__summary *a = &s->t.summaries[row];
    const char *name = s->t.names[s->t.region_ids[row]];
    uint64_t calls = (uint64_t)s->t.counts[row];
    int64_t exclusive = s->t.exclusive[row];
    char place[64];
    snprintf(place, sizeof place, "/rank_region_index row %zu", row);
    if (a->minimum < 0 || a->minimum > a->maximum)
        sp__check_found(s->c, place, "region \"%.200s\": minimum %" PRId64 " and maximum %" PRId64, name, a->minimum,
                        a->maximum);
    if (a->total < a->maximum)
        sp__check_found(s->c, place, "region \"%.200s\": total %" PRId64 " of %" PRIu64 " calls, maximum %" PRId64,
                        name, a->total, calls, a->maximum);
    if (exclusive < -1 || exclusive > a->total)
        sp__check_found(s->c, place, "region \"%.200s\": exclusive time %" PRId64 ", total %" PRId64, name, exclusive,
                        a->total);
    s->c->result.calls += calls;
}

static int check_row(struct scan *s, size_t row, sp_error *error)
{
    if (s->t.aggregate) {
        check_aggregate(s, row);
        return 0;
    }
    uint64_t first = (uint64_t)s->t.offsets[row], count = (uint64_t)s->t.counts[row];
    int64_t last = INT64_MIN, thread = -1;
    for (uint64_t done = 0; done < count;) {
        size_t n = count - done < SLICE ? (size_t)(count - done) : SLICE;
        for (size_t i = 0; i < COLUMNS; i++) {
            int status = s->has[i] ? sp__h5_integers(&s->columns[i], s->c->path, column_names[i], first + done, n,
                                                     s->values[i], error)
                                   : 0;
            if (status)
                return status;
        }
        check_slice(s, row, first + done, n, &last, &thread);
        done += n;
    }
    s->c->result.calls += count;
    return 0;
}

static int sort_threads(struct scan *s, sp_error *error)
{
    if (!(s->pairs = calloc(s->t.threads + 1, sizeof *s->pairs)))
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, s->c->path, NULL, "cannot be checked");
    for (size_t i = 0; i < s->t.threads; i++) {
        s->pairs[i][0] = s->t.thread_ranks[i];
        s->pairs[i][1] = s->t.thread_index[i];
    }
    qsort(s->pairs, s->t.threads, sizeof *s->pairs, by_pair);
    return 0;
}

/* What the tables alone show. */
static int check_tables(struct scan *s, sp_error *error)
{
    const struct sp__h5_tables *t = &s->t;
    bool *named = calloc(t->names_count + 1, sizeof *named);
    if (!named)
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, s->c->path, NULL, "cannot be checked");
    uint64_t events = 0;
    for (size_t row = 0; row < t->rows; row++) {
        named[t->region_ids[row]] = true;
        events += (uint64_t)t->counts[row];
    }
    for (size_t i = 0; i < t->names_count; i++) {
        char place[64];
        snprintf(place, sizeof place, "/region_table/names row %zu", i);
        if (!named[i])
            sp__check_found(s->c, place, "the name \"%.200s\" has no row", t->names[i]);
    }
    free(named);
    if (!t->aggregate && events != t->events)
        sp__check_found(s->c, "/rank_region_index/event_counts", "%" PRIu64 " events, of which rows hold %" PRIu64,
                        t->events, events);
    for (size_t i = 0; i < t->warning_count; i++)
        sp__check_found(s->c, "", "%s", t->warnings[i]);
    s->c->result.regions = t->names_count;
    return 0;
}

static int scan_open(struct scan *s, sp_error *error)
{
    struct sp__file_id id;
    int status = sp__h5_open(&s->file, &id, NULL, s->c->path, error);
    if (status) {
        s->file = H5I_INVALID_HID;
        return status;
    }
    if ((status = sp__h5_tables_read(&s->t, s->file, s->c->path, id.size, error)))
        return status;
    snprintf(s->c->result.format, sizeof s->c->result.format, "HDF5 schema %" PRId64 "%s", s->t.schema,
             s->t.aggregate ? ", aggregate" : "");
    s->has[STARTS] = s->has[ENDS] = !s->t.aggregate;
    s->has[THREADS] = s->t.thread_ids;
    s->has[CALLS] = s->has[PARENTS] = s->t.ids;
    for (size_t i = 0; !status && i < COLUMNS; i++) {
        if (!s->has[i])
            continue;
        if (!(s->values[i] = malloc(SLICE * sizeof(int64_t))))
            status = sp__fail(error, SP_ERR_SYSTEM, ENOMEM, s->c->path, NULL, "cannot be checked");
        else
            status = sp__h5_column_open(&s->columns[i], s->file, s->c->path, column_names[i], id.size, error);
    }
    return status;
}

static int scan_rows(struct sp__checking *c, sp_error *error)
{
    struct scan s = {.c = c, .file = H5I_INVALID_HID};
    sp__h5_lock();
    int status = scan_open(&s, error);
    if (!status)
        status = check_tables(&s, error);
    if (!status)
        status = sort_threads(&s, error);
    for (size_t row = 0; !status && row < s.t.rows; row++)
        status = check_row(&s, row, error);
    for (size_t i = 0; i < COLUMNS; i++) {
        sp__h5_column_close(&s.columns[i]);
        free(s.values[i]);
    }
    if (s.file >= 0)
        H5Fclose(s.file);
    sp__h5_unlock();
    sp__h5_tables_finish(&s.t);
    free(s.pairs);
    return status;
}

static void compare(struct sp__checking *c, uint32_t rank, const struct sp__source_row *stored,
                    const struct sp__rank_row *computed)
{
    const struct sp__summary *a = &stored->summary, *b = &computed->summary;
    const struct {
        const char *field;
        int64_t stored, computed;
    } fields[] = {{"total", a->total, b->total},
                  {"minimum", a->minimum, b->minimum},
                  {"maximum", a->maximum, b->maximum},
                  {"first", a->first, b->first},
                  {"last", a->last, b->last},
                  {"start_minimum", a->start_minimum, b->start_minimum},
                  {"end_maximum", a->end_maximum, b->end_maximum}};
    for (size_t i = 0; stored->summarized && i < sizeof fields / sizeof *fields; i++)
        if (fields[i].stored != fields[i].computed)
            sp__check_found(c, "/rank_region_index/summary_statistics",
                            "rank %" PRIu32 " region \"%.200s\": %s is %" PRId64 ", its calls give %" PRId64, rank,
                            stored->name, fields[i].field, fields[i].stored, fields[i].computed);
    if (stored->summarized &&
        (fabs(a->mean - b->mean) > 1 + 1e-6 * fabs(b->mean) || fabs(a->m2 - b->m2) > 1 + 1e-6 * b->m2))
        sp__check_found(c, "/rank_region_index/summary_statistics",
                        "rank %" PRIu32 " region \"%.200s\": mean and m2 are %g and %g, its calls give %g and %g", rank,
                        stored->name, a->mean, a->m2, b->mean, b->m2);
    if (stored->exclusive >= 0 && computed->exclusive >= 0 && stored->exclusive != computed->exclusive)
        sp__check_found(c, "/rank_region_index/exclusive_totals",
                        "rank %" PRIu32 " region \"%.200s\": %" PRId64 " ns, its calls give %" PRId64, rank,
                        stored->name, stored->exclusive, computed->exclusive);
}

/* Nesting of one rank, and what the file says was computed from it. */
static int check_rank(struct sp__checking *c, struct sp__source *source, sp_error *error)
{
    struct sp__rank *rank;
    if (source->aggregate)
        return 0;
    int status = sp__rank_create(&rank, &source, 1, error);
    if (status)
        return status;
    const struct sp__nest_settings settings = {.budget = NEST_BYTES};
    struct sp__nest_result result = {0};
    status = sp__nest(rank, &settings, &result, error);
    if (!status && result.lanes && source->lanes)
        sp__check_found(c, "/events/thread_ids", "rank %" PRIu32 ": calls of one thread's lane cross each other's ends",
                        source->rank);
    size_t next = 0;
    for (size_t i = 0; !status && i < rank->row_count; i++) {
        /* Rows stand in the source's order; only those without calls are left out. */
        while (next < source->row_count && strcmp(source->rows[next].name, rank->rows[i].name) != 0)
            next++;
        if (next < source->row_count)
            compare(c, source->rank, &source->rows[next], &rank->rows[i]);
    }
    sp__rank_destroy(rank);
    return status;
}

int sp__check_h5_here(struct sp__checking *c)
{
    sp_error error = {0};
    snprintf(c->result.format, sizeof c->result.format, "HDF5");
    if (scan_rows(c, &error))
        return sp__check_error(c, &error);
    uint64_t before = c->result.findings;
    sp_inputs *inputs;
    int status = sp_inputs_create(&inputs, c->error);
    if (status)
        return status;
    status = sp__open_h5(inputs, c->path, -1, &error);
    c->result.ranks = inputs->count;
    for (size_t i = 0; !status && !before && i < inputs->count; i++)
        status = check_rank(c, inputs->sources[i], &error);
    sp_inputs_destroy(inputs);
    return status ? sp__check_error(c, &error) : 0;
}
