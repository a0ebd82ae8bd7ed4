/* check_h5.c: whether a profile keeps the rules that its readers rely on, in bounded memory: first each row by
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
#include "look.h"
#include "nesting.h"

enum { SLICE = 8192, NEST_BYTES = 32 << 20 };

struct scan {
    struct sp__checking *c;
    struct sp__h5_tables t;
    struct sp__h5_events events;
    bool has[SP__H5_EVENT_COLUMNS];
    int64_t *values[SP__H5_EVENT_COLUMNS]; /* SLICE each */
    int64_t (*pairs)[2];                   /* rank and index of /thread_table, sorted */
};

/* A row while it is gone through. */
struct going {
    struct sp__h5_row place;
    const char *name;
    int64_t rank, last, thread;
};

static void found_at(struct scan *s, const struct going *row, size_t column, uint64_t call, const char *text, int64_t a,
                     int64_t b)
{
    char place[256], words[256];
    sp__h5_event_place(&s->events, &row->place, column, call, place);
    snprintf(words, sizeof words, text, a, b);
    sp__check_found(s->c, place, "region \"%.200s\": %s", row->name, words);
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

/* Deltas as times, in place, as far as they make any: the rest of the row says nothing. */
static size_t add_up(struct scan *s, const struct going *row, uint64_t at, size_t n)
{
    int64_t *start = s->values[SP__H5_STARTS], *end = s->values[SP__H5_ENDS], last = at ? row->last : 0;
    for (size_t i = 0; i < n; i++) {
        int64_t gap = start[i], duration = end[i];
        if (__builtin_add_overflow(last, gap, &start[i])) {
            found_at(s, row, SP__H5_STARTS, at + i,
                     "the gap %" PRId64 " after %" PRId64 " leads to a start that does not fit into 64 bits", gap,
                     last);
            return i;
        }
        last = start[i];
        if (__builtin_add_overflow(last, duration, &end[i])) {
            found_at(s, row, SP__H5_ENDS, at + i,
                     "a call's end does not fit into 64 bits: it starts at %" PRId64 " and takes %" PRId64 " ns", last,
                     duration);
            end[i] = last;
        }
    }
    return n;
}

static void check_slice(struct scan *s, struct going *row, uint64_t at, size_t n)
{
    int64_t *const *v = s->values;
    const int64_t *start = v[SP__H5_STARTS], *end = v[SP__H5_ENDS];
    for (size_t i = 0; i < n; i++) {
        if (start[i] < row->last)
            found_at(s, row, SP__H5_STARTS, at + i, "starts do not ascend: %" PRId64 " after %" PRId64, start[i],
                     row->last);
        if (end[i] < start[i])
            found_at(s, row, SP__H5_ENDS, at + i, "a call ends at %" PRId64 ", before its start %" PRId64, end[i],
                     start[i]);
        else if (!sp__call_sound(start[i], end[i]))
            found_at(s, row, SP__H5_ENDS, at + i,
                     "a call's duration does not fit into 64 bits: it goes from %" PRId64 " to %" PRId64, start[i],
                     end[i]);
        row->last = start[i];
        int64_t thread = s->has[SP__H5_THREADS] ? v[SP__H5_THREADS][i] : -1;
        if (thread != row->thread && thread != -1) {
            /* Neighbours mostly share a thread; the table is asked when it changes. */
            row->thread = thread;
            if (!thread_known(s, row->rank, thread))
                found_at(s, row, SP__H5_THREADS, at + i,
                         "thread %" PRId64 " of rank %" PRId64 " is not in /thread_table", thread, row->rank);
        }
        if (!s->has[SP__H5_CALLS])
            continue;
        int64_t call = v[SP__H5_CALLS][i], parent = v[SP__H5_PARENTS][i];
        if (call < 0 || parent < -1 || parent >= call)
            found_at(s, row, SP__H5_PARENTS, at + i,
                     "the parent %" PRId64 " is not smaller than the call's id %" PRId64, parent, call);
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
    uint64_t count = (uint64_t)s->t.counts[row];
    struct going going = {.place = {.group = s->t.places ? s->t.places[row] : NULL,
                                    .offset = s->t.offsets ? (uint64_t)s->t.offsets[row] : 0},
                          .name = s->t.names[s->t.region_ids[row]],
                          .rank = s->t.ranks[row],
                          .last = INT64_MIN,
                          .thread = -1};
    for (uint64_t done = 0; done < count;) {
        size_t n = count - done < SLICE ? (size_t)(count - done) : SLICE, good = n;
        for (size_t i = 0; i < SP__H5_EVENT_COLUMNS; i++) {
            int status = s->has[i] ? sp__h5_events_raw(&s->events, &going.place, i, done, n, s->values[i], error) : 0;
            if (status)
                return status;
        }
        if (s->events.deltas)
            good = add_up(s, &going, done, n);
        check_slice(s, &going, done, good);
        done = good < n ? count : done + n;
        sp__check_progress(s->c, s->c->result.calls + done, 2 * s->t.events); /* they are nested then */
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
    int status = sp__h5_open(&s->events.file, &id, NULL, s->c->path, error);
    if (!status)
        status = sp__h5_tables_read(&s->t, s->events.file, s->c->path, id.size, error);
    if (status)
        return status;
    snprintf(s->c->result.format, sizeof s->c->result.format, "HDF5 schema %" PRId64 "%s", s->t.schema,
             s->t.aggregate ? ", aggregate" : "");
    s->events.file_size = id.size;
    s->events.deltas = s->t.deltas;
    s->has[SP__H5_STARTS] = s->has[SP__H5_ENDS] = !s->t.aggregate;
    s->has[SP__H5_THREADS] = s->t.thread_ids;
    s->has[SP__H5_CALLS] = s->has[SP__H5_PARENTS] = s->t.ids;
    for (size_t i = 0; !status && i < SP__H5_EVENT_COLUMNS; i++)
        if (s->has[i] && !(s->values[i] = malloc(SLICE * sizeof(int64_t))))
            status = sp__fail(error, SP_ERR_SYSTEM, ENOMEM, s->c->path, NULL, "cannot be checked");
    if (!status && s->c->expects)
        s->c->expects(s->t.events);
    return status;
}

static int scan_rows(struct sp__checking *c, sp_error *error)
{
    struct scan s = {.c = c, .events = {.path = c->path, .file = H5I_INVALID_HID}};
    sp__h5_lock();
    int status = scan_open(&s, error);
    if (!status)
        status = check_tables(&s, error);
    if (!status)
        status = sort_threads(&s, error);
    for (size_t row = 0; !status && row < s.t.rows; row++)
        status = check_row(&s, row, error);
    sp__h5_events_rest(&s.events);
    sp__h5_unlock();
    for (size_t i = 0; i < SP__H5_EVENT_COLUMNS; i++)
        free(s.values[i]);
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

struct nesting {
    const struct sp__checking *c;
    uint64_t done;
};

static int tell(void *context, uint64_t first, size_t count, const struct sp__calls *calls, sp_error *error)
{
    struct nesting *nesting = context;
    (void)first;
    (void)calls;
    (void)error;
    nesting->done += count;
    sp__check_progress(nesting->c, nesting->c->result.calls + nesting->done, 2 * nesting->c->result.calls);
    return 0;
}

/* Nesting of one rank, and what the file says was computed from it. */
static int check_rank(struct sp__checking *c, struct nesting *nesting, struct sp__source *source, sp_error *error)
{
    struct sp__rank *rank;
    if (source->aggregate)
        return 0;
    int status = sp__rank_create(&rank, &source, 1, error);
    if (status)
        return status;
    const struct sp__nest_settings settings = {.budget = NEST_BYTES, .emit = tell, .context = nesting};
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
    struct nesting nesting = {.c = c};
    for (size_t i = 0; !status && !before && i < inputs->count; i++)
        status = check_rank(c, &nesting, inputs->sources[i], &error);
    sp_inputs_destroy(inputs);
    return status ? sp__check_error(c, &error) : 0;
}
