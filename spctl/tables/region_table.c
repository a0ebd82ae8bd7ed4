#include "region_table.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "paths.h"
#include "say.h"

static const double percents[TABLE_PERCENTILES] = {50, 95, 99};

/* ---- columns ------------------------------------------------------------------------------------------------------
 */

#define LINE(name, ...)                                                                                                \
    static struct figure name(const void *at)                                                                          \
    {                                                                                                                  \
        const struct region_line *line = at;                                                                           \
        return __VA_ARGS__;                                                                                            \
    }
#define KNOWN(known, ...) ((known) ? (struct figure){__VA_ARGS__} : (struct figure){0})
LINE(region_of, (struct figure){FIGURE_NAME, .text = line->region})
LINE(rank_of, (struct figure){FIGURE_NUMBER, .integer = line->rank})
LINE(thread_of, KNOWN(line->thread >= 0, FIGURE_NUMBER, .integer = line->thread))
LINE(thread_name_of, KNOWN(line->thread_name, FIGURE_NAME, .text = line->thread_name))
LINE(calls_of, (struct figure){FIGURE_COUNT, .integer = (int64_t)line->calls})
LINE(total_of, (struct figure){FIGURE_TIME, .integer = line->total})
LINE(exclusive_of, KNOWN(line->exclusive >= 0, FIGURE_TIME, .integer = line->exclusive))
LINE(mean_of, KNOWN(line->calls > 0, FIGURE_MEAN, .real = line->mean))
LINE(minimum_of, KNOWN(line->calls > 0, FIGURE_TIME, .integer = line->minimum))
LINE(maximum_of, KNOWN(line->calls > 0, FIGURE_TIME, .integer = line->maximum))
LINE(p50_of, KNOWN(line->percentiles[0] >= 0, FIGURE_MEAN, .real = line->percentiles[0]))
LINE(p95_of, KNOWN(line->percentiles[1] >= 0, FIGURE_MEAN, .real = line->percentiles[1]))
LINE(p99_of, KNOWN(line->percentiles[2] >= 0, FIGURE_MEAN, .real = line->percentiles[2]))
LINE(percent_of, KNOWN(line->percent >= 0, FIGURE_PERCENT, .real = line->percent))
LINE(ranks_of, (struct figure){FIGURE_COUNT, .integer = (int64_t)line->ranks})
LINE(imbalance_of, KNOWN(line->imbalance >= 0, FIGURE_RATIO, .real = line->imbalance))

/* Bits of enum table_by that have the column; those of percentiles have a negative one. */
static const struct {
    struct figure_column column;
    unsigned by;
    bool percentile;
} columns[] = {{{"region", "region", "region", region_of}, 7, false},
               {{"rank", "rank", "rank", rank_of}, 1 << BY_RANK | 1 << BY_THREAD, false},
               {{"thread", "thread", "thread", thread_of}, 1 << BY_THREAD, false},
               {{NULL, "name", "thread_name", thread_name_of}, 1 << BY_THREAD, false},
               {{"calls", "calls", "calls", calls_of}, 7, false},
               {{"total", "total", "total_ns", total_of}, 7, false},
               {{"exclusive", "exclusive", "exclusive_ns", exclusive_of}, 7, false},
               {{"mean", "mean", "mean_ns", mean_of}, 7, false},
               {{"min", "min", "min_ns", minimum_of}, 7, false},
               {{"p50", "p50", "p50_ns", p50_of}, 7, true},
               {{"p95", "p95", "p95_ns", p95_of}, 7, true},
               {{"p99", "p99", "p99_ns", p99_of}, 7, true},
               {{"max", "max", "max_ns", maximum_of}, 7, false},
               {{"percent", "%", "percent", percent_of}, 7, false},
               {{"ranks", "ranks", "ranks", ranks_of}, 1 << BY_REGION, false},
               {{"imbalance", "max/mean", "imbalance", imbalance_of}, 1 << BY_REGION, false},
               {{"imbalance", "of mean", "imbalance", imbalance_of}, 1 << BY_RANK, false}};
_Static_assert(sizeof columns / sizeof *columns <= REGION_COLUMNS, "and the NULL at the end: no view has them all");

void region_columns(const struct figure_column *ret[REGION_COLUMNS], enum table_by by, bool percentiles)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; ++i)
        if ((columns[i].by >> by & 1) && (percentiles || !columns[i].percentile))
            ret[count++] = &columns[i].column;
    ret[count] = NULL;
}

/* ---- lines --------------------------------------------------------------------------------------------------------
 */

static struct region_line *append(struct region_table *table, const struct region_line *line)
{
    if (table->count == table->room) {
        table->room = table->room ? 2 * table->room : 64;
        table->lines = need(realloc(table->lines, table->room * sizeof *table->lines));
    }
    table->lines[table->count] = *line;
    return &table->lines[table->count++];
}

static void append_row(struct region_table *table, const sp_result *row)
{
    append(table, &(struct region_line){.region = row->region,
                                        .rank = row->rank,
                                        .thread = -1,
                                        .calls = row->calls,
                                        .ranks = 1,
                                        .total = row->total,
                                        .minimum = row->minimum,
                                        .maximum = row->maximum,
                                        .exclusive = row->exclusive,
                                        .largest = row->total});
}

/* By thread: the lines of one rank, whose calls come one by one. */
struct threads {
    struct region_table *table;
    const sp_results *results;
    struct pairs pairs; /* (region, thread + 1): the number of the line */
    size_t first;       /* line of the rank */
    bool unsure;        /* some of the calls of no known thread cross */
};

static int64_t count_call(void *context, const sp_walk_call *call)
{
    struct threads *threads = context;
    struct region_table *table = threads->table;
    int64_t duration = call->end - call->start;
    size_t n = pairs_number(&threads->pairs, call->region, (uint64_t)(call->thread + 1), table->count);
    if (n == table->count)
        append(table, &(struct region_line){.region = sp_results_region(threads->results, call->region),
                                            .rank = call->rank,
                                            .thread = call->thread,
                                            .thread_name = *call->thread_name ? need(strdup(call->thread_name)) : NULL,
                                            .minimum = INT64_MAX});
    threads->unsure = threads->unsure || call->unsure;
    struct region_line *line = &table->lines[n];
    ++line->calls;
    line->total = paths_add(line->total, duration);
    line->exclusive = paths_add(line->exclusive, duration);
    line->minimum = duration < line->minimum ? duration : line->minimum;
    line->maximum = duration > line->maximum ? duration : line->maximum;
    if (call->above >= 0)
        table->lines[call->above].exclusive = paths_add(table->lines[call->above].exclusive, -duration);
    if (table->wanted.percentiles)
        spread_add(&line->spread, (uint64_t)duration);
    return (int64_t)n;
}

/* Whether the calls of the row's rank say their thread. */
static bool says_threads(sp_results *results, const sp_result *row)
{
    sp_calls *calls;
    size_t region;
    if (sp_results_find_region(results, row->region, &region, NULL) < 0 ||
        sp_calls_open(&calls, results, region, row->rank, NULL) < 0)
        return false;
    bool says = sp_calls_have_threads(calls);
    sp_calls_close(calls);
    return says;
}

static int load_threads(struct region_table *table, sp_results *results, size_t rank, sp_error *error)
{
    static const sp_walk_visitor visitor = {.callers = true, .enter = count_call};
    struct threads threads = {.table = table, .results = results, .first = table->count};
    int status = sp_results_walk(results, rank, &visitor, &threads, error);
    pairs_finish(&threads.pairs);
    for (size_t i = threads.first; threads.unsure && i < table->count; ++i)
        if (table->lines[i].thread < 0)
            table->lines[i].exclusive = -1;
    return status;
}

/* The lines of row n and, by thread, of the others of its rank, the *rank-th or a later one; *n becomes the last row they
 * are of. */
static int load_lines(struct region_table *table, sp_results *results, size_t *n, size_t *rank, sp_error *error)
{
    sp_result row, other;
    uint32_t number;
    int status = sp_results_row(results, *n, &row);
    if (status < 0)
        return status;
    if (table->wanted.by != BY_THREAD || !says_threads(results, &row)) {
        append_row(table, &row);
        while (table->wanted.by == BY_THREAD && sp_results_row(results, *n + 1, &other) == 0 &&
               other.rank == row.rank) {
            append_row(table, &other);
            ++*n;
        }
        return 0;
    }
    while (sp_results_rank(results, *rank, &number) == 0 && number != row.rank)
        ++*rank;
    status = load_threads(table, results, *rank, error);
    while (sp_results_row(results, *n + 1, &other) == 0 && other.rank == row.rank)
        ++*n;
    return status;
}

static int load(struct region_table *table, sp_results *results, sp_error *error)
{
    sp_result row;
    for (size_t i = 0; sp_results_row(results, i, &row) == 0; ++i) {
        if (row.calls == 0)
            continue;
        bool first = table->calls == 0;
        table->start = first || row.start_minimum < table->start ? row.start_minimum : table->start;
        table->end = first || row.end_maximum > table->end ? row.end_maximum : table->end;
        table->calls += row.calls;
    }
    int status = 0;
    size_t rank = 0;
    for (size_t i = 0; status == 0 && i < sp_results_count(results); ++i)
        status = load_lines(table, results, &i, &rank, error);
    return status;
}

static int by_place(const void *a, const void *b)
{
    const struct region_line *left = a, *right = b;
    int names = strcmp(left->region, right->region);
    if (names != 0)
        return names;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return left->thread < right->thread ? -1 : left->thread > right->thread;
}

static void join(struct region_line *into, const struct region_line *line)
{
    if (line->calls > 0) {
        bool first = into->calls == 0;
        into->minimum = first || line->minimum < into->minimum ? line->minimum : into->minimum;
        into->maximum = first || line->maximum > into->maximum ? line->maximum : into->maximum;
    }
    into->calls += line->calls;
    into->ranks += line->ranks;
    into->total = paths_add(into->total, line->total);
    into->largest = line->largest > into->largest ? line->largest : into->largest;
    into->exclusive = into->exclusive < 0 || line->exclusive < 0 ? -1 : paths_add(into->exclusive, line->exclusive);
}

/* Of sorted lines: those of one region become one, and each learns how far its ranks are apart. */
static void join_regions(struct region_table *table)
{
    size_t kept = 0;
    table->regions = 0;
    for (size_t i = 0, next; i < table->count; i = next) {
        struct region_line all = table->lines[i];
        for (next = i + 1; next < table->count && strcmp(table->lines[next].region, all.region) == 0; ++next)
            join(&all, &table->lines[next]);
        double mean = (double)all.total / (double)table->ranks;
        all.imbalance = mean > 0 ? (double)all.largest / mean : -1;
        ++table->regions;
        if (table->wanted.by == BY_REGION)
            table->lines[kept++] = all;
        else
            for (size_t k = i; k < next; ++k)
                table->lines[kept++].imbalance = mean > 0 ? (double)table->lines[k].total / mean : -1;
    }
    table->count = kept;
}

/* ---- what is shown ------------------------------------------------------------------------------------------------
 */

bool region_wanted(const struct values *regions, const char *name)
{
    bool wanted = !regions || regions->count == 0;
    for (size_t i = 0; !wanted && i < regions->count; ++i)
        wanted = strcmp(regions->given[i], name) == 0 || fnmatch(regions->given[i], name, 0) == 0;
    return wanted;
}

bool regions_known(const struct values *regions, sp_results *const *results, size_t count)
{
    for (size_t i = 0; i < regions->count; ++i) {
        const struct values one = {.given = &regions->given[i], .count = 1};
        bool known = false;
        for (size_t r = 0; !known && r < count; ++r)
            for (size_t n = 0; !known && n < sp_results_region_count(results[r]); ++n)
                known = region_wanted(&one, sp_results_region(results[r], n));
        if (!known) {
            say("--regions %s: there is no such region; without it all are shown", regions->given[i]);
            return false;
        }
    }
    return true;
}

static void drop_line(struct region_line *line)
{
    spread_destroy(line->spread);
    free(line->thread_name);
    line->spread = NULL;
    line->thread_name = NULL;
}

static void keep_wanted(struct region_table *table)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->count; ++i)
        if (region_wanted(table->wanted.regions, table->lines[i].region))
            table->lines[kept++] = table->lines[i];
        else
            drop_line(&table->lines[i]);
    table->count = kept;
}

/* True where all know it. */
static bool share_out(struct region_table *table)
{
    bool known = true;
    int64_t exclusive = 0;
    for (size_t i = 0; i < table->count; ++i) {
        known = known && table->lines[i].exclusive >= 0;
        exclusive = paths_add(exclusive, table->lines[i].exclusive);
    }
    for (size_t i = 0; i < table->count; ++i) {
        struct region_line *line = &table->lines[i];
        line->mean = line->calls ? (double)line->total / (double)line->calls : 0;
        line->percent = !known ? -1 : exclusive > 0 ? 100 * (double)line->exclusive / (double)exclusive : 0;
        for (size_t p = 0; p < TABLE_PERCENTILES; ++p)
            line->percentiles[p] = -1;
    }
    return known;
}

/* Seconds hold no nanosecond quite: one that was whole is whole again. */
static double whole(double ns)
{
    double nearest = rint(ns);
    return fabs(ns - nearest) <= 1e-12 * nearest ? nearest : ns;
}

/* Statistics without events have none, which is no reason to show nothing. */
static int find_percentiles(struct region_table *table, sp_results *results, size_t first, size_t end, sp_error *error)
{
    int status = 0;
    for (size_t i = first; status == 0 && i < end; ++i) {
        struct region_line *line = &table->lines[i];
        double seconds[TABLE_PERCENTILES];
        size_t region;
        for (size_t p = 0; line->spread && p < TABLE_PERCENTILES; ++p)
            line->percentiles[p] = spread_percentile(line->spread, percents[p]);
        table->estimated = table->estimated || (line->spread && !spread_exact(line->spread));
        if (line->spread || line->calls == 0)
            continue;
        status = sp_results_find_region(results, line->region, &region, error);
        if (status == 0)
            status = sp_results_percentiles(results, region,
                                            table->wanted.by == BY_REGION ? SP_ALL_RANKS : (int64_t)line->rank,
                                            percents, TABLE_PERCENTILES, seconds, error);
        for (size_t p = 0; status == 0 && p < TABLE_PERCENTILES; ++p)
            line->percentiles[p] = whole(seconds[p] * 1e9);
        status = status == SP_ERR_NO_EVENTS ? 0 : status;
    }
    return status;
}

static bool is_percentile(const struct figure_column *column)
{
    return column->of == p50_of || column->of == p95_of || column->of == p99_of;
}

int region_table_make(struct region_table *ret, sp_results *results, const struct table_wanted *wanted, sp_error *error)
{
    const struct figure_column *list[REGION_COLUMNS];
    struct region_table table = {.results = results, .ranks = sp_results_rank_count(results), .wanted = *wanted};
    table.wanted.percentiles = wanted->percentiles || (wanted->sort && is_percentile(wanted->sort));
    int status = load(&table, results, error);
    if (table.count > 1)
        qsort(table.lines, table.count, sizeof *table.lines, by_place);
    join_regions(&table);
    bool known = share_out(&table);
    keep_wanted(&table);
    region_columns(list, wanted->by, true);
    const struct figure_column *sort =
        wanted->sort ? wanted->sort : figures_column(list, known ? "exclusive" : "total");
    /* Only what is shown costs its percentiles, unless they decide that. */
    bool deciding = is_percentile(sort);
    if (status == 0 && deciding)
        status = find_percentiles(&table, results, 0, table.count, error);
    figures_sort(table.lines, table.count, sizeof *table.lines, sort, by_place);
    size_t shown = wanted->top && wanted->top < table.count ? wanted->top : table.count;
    if (status == 0 && table.wanted.percentiles && !deciding)
        status = find_percentiles(&table, results, 0, shown, error);
    for (size_t i = shown; i < table.count; ++i)
        drop_line(&table.lines[i]);
    table.more = table.count - shown;
    table.count = shown;
    if (status < 0) {
        region_table_finish(&table);
        return status;
    }
    *ret = table;
    return 0;
}

void region_table_finish(struct region_table *table)
{
    for (size_t i = 0; i < table->count; ++i)
        drop_line(&table->lines[i]);
    free(table->lines);
}
