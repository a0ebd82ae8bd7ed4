#include "comparison.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "say.h"

const char *const metric_names[METRIC_COUNT] = {"total", "mean", "p95", "calls"};

static double metric(const struct compared *line, enum comparison_metric which, int side)
{
    const struct compared_side *of = &line->side[side];
    switch (which) {
    case METRIC_TOTAL:
        return (double)of->total;
    case METRIC_MEAN:
        return of->mean;
    case METRIC_P95:
        return of->p95;
    default:
        return (double)of->calls;
    }
}

/* By how many percent it grew; NaN: nobody knows, or the region is in one of them alone. */
static double growth(const struct compared *line, enum comparison_metric which)
{
    double before = metric(line, which, 0), after = metric(line, which, 1);
    if (!line->in[0] || !line->in[1] || before < 0 || after < 0)
        return (double)NAN;
    if (before == after)
        return 0;
    return before > 0 ? 100 * (after - before) / before : (double)INFINITY;
}

/* ---- columns ------------------------------------------------------------------------------------------------------
 */

#define COMPARED(name, ...)                                                                                            \
    static struct figure name(const void *at)                                                                          \
    {                                                                                                                  \
        const struct compared *line = at;                                                                              \
        return __VA_ARGS__;                                                                                            \
    }

static struct figure calls_of(const struct compared *line, int side)
{
    return line->in[side] ? (struct figure){FIGURE_COUNT, .integer = (int64_t)line->side[side].calls}
                          : (struct figure){0};
}

static struct figure total_of(const struct compared *line, int side)
{
    return line->in[side] ? (struct figure){FIGURE_TIME, .integer = line->side[side].total} : (struct figure){0};
}

static struct figure mean_of(const struct compared *line, int side)
{
    return line->in[side] ? (struct figure){FIGURE_MEAN, .real = line->side[side].mean} : (struct figure){0};
}

static struct figure p95_of(const struct compared *line, int side)
{
    return line->in[side] && line->side[side].p95 >= 0 ? (struct figure){FIGURE_MEAN, .real = line->side[side].p95}
                                                       : (struct figure){0};
}

static struct figure growth_of(const struct compared *line, enum comparison_metric which)
{
    double grown = growth(line, which);
    return isnan(grown) ? (struct figure){0} : (struct figure){FIGURE_GROWTH, .real = grown};
}

/* A region that one of them lacks took no time there. */
static int64_t change(const struct compared *line)
{
    int64_t apart;
    if (__builtin_sub_overflow(line->side[1].total, line->side[0].total, &apart))
        return line->side[1].total < 0 ? INT64_MIN + 1 : INT64_MAX;
    return apart;
}

/* Real changes are shown in nanoseconds, too. */
static struct figure change_of(const struct compared *line, enum comparison_metric which)
{
    if (isnan(growth(line, which)))
        return (struct figure){0};
    return (struct figure){FIGURE_MEAN, .real = metric(line, which, 1) - metric(line, which, 0)};
}

COMPARED(region, (struct figure){FIGURE_NAME, .text = line->region})
COMPARED(calls_a, calls_of(line, 0))
COMPARED(calls_b, calls_of(line, 1))
COMPARED(calls_change, (struct figure){FIGURE_CHANGE, .integer = (int64_t)(line->side[1].calls - line->side[0].calls)})
COMPARED(calls_growth, growth_of(line, METRIC_CALLS))
COMPARED(total_a, total_of(line, 0))
COMPARED(total_b, total_of(line, 1))
COMPARED(total_change, (struct figure){FIGURE_CHANGE, .integer = change(line)})
COMPARED(total_growth, growth_of(line, METRIC_TOTAL))
COMPARED(mean_a, mean_of(line, 0))
COMPARED(mean_b, mean_of(line, 1))
COMPARED(mean_change, change_of(line, METRIC_MEAN))
COMPARED(mean_growth, growth_of(line, METRIC_MEAN))
COMPARED(p95_a, p95_of(line, 0))
COMPARED(p95_b, p95_of(line, 1))
COMPARED(p95_change, change_of(line, METRIC_P95))
COMPARED(p95_growth, growth_of(line, METRIC_P95))

/* By a name that has two columns is sorted the change of it. */
static const struct figure_column columns[] = {{"region", "region", "region", region},
                                               {NULL, "calls A", "calls_a", calls_a},
                                               {NULL, "calls B", "calls_b", calls_b},
                                               {"calls", NULL, "calls_change", calls_change},
                                               {NULL, "%", "calls_percent", calls_growth},
                                               {NULL, "total A", "total_a_ns", total_a},
                                               {NULL, "total B", "total_b_ns", total_b},
                                               {"total", "change", "total_change_ns", total_change},
                                               {"percent", "%", "total_percent", total_growth},
                                               {NULL, "mean A", "mean_a_ns", mean_a},
                                               {NULL, "mean B", "mean_b_ns", mean_b},
                                               {"mean", NULL, "mean_change_ns", mean_change},
                                               {NULL, "%", "mean_percent", mean_growth},
                                               {NULL, "p95 A", "p95_a_ns", p95_a},
                                               {NULL, "p95 B", "p95_b_ns", p95_b},
                                               {"p95", NULL, "p95_change_ns", p95_change},
                                               {NULL, "%", "p95_percent", p95_growth}};
_Static_assert(sizeof columns / sizeof *columns < COMPARISON_COLUMNS, "a NULL ends the list");

void comparison_columns(const struct figure_column *ret[COMPARISON_COLUMNS])
{
    const size_t count = sizeof columns / sizeof *columns;
    for (size_t i = 0; i < count; ++i)
        ret[i] = &columns[i];
    ret[count] = NULL;
}

/* ---- lines --------------------------------------------------------------------------------------------------------
 */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct compared *)a)->region, ((const struct compared *)b)->region);
}

static int by_growth(const void *a, const void *b)
{
    double left = fabs(((const struct compared *)a)->by), right = fabs(((const struct compared *)b)->by);
    return left < right ? 1 : left > right ? -1 : by_name(a, b);
}

static int load_side(struct comparison *c, sp_results *results, int side, const struct comparison_wanted *wanted,
                     sp_error *error)
{
    struct region_table table;
    const struct table_wanted all = {.regions = wanted->regions, .percentiles = wanted->p95};
    int status = region_table_make(&table, results, &all, error);
    if (status < 0)
        return status;
    c->lines = need(realloc(c->lines, (c->count + table.count + 1) * sizeof *c->lines));
    for (size_t i = 0; i < table.count; ++i) {
        const struct region_line *from = &table.lines[i];
        struct compared *line = &c->lines[c->count++];
        *line = (struct compared){.region = from->region, .in = {side == 0, side == 1}};
        line->side[side] = (struct compared_side){.calls = from->calls,
                                                  .ranks = from->ranks,
                                                  .total = from->total,
                                                  .mean = from->mean,
                                                  .p95 = from->percentiles[TABLE_P95]};
        c->no_p95 = c->no_p95 || (wanted->p95 && from->calls > 0 && from->percentiles[TABLE_P95] < 0);
    }
    c->calls[side] = table.calls;
    c->ranks[side] = table.ranks;
    region_table_finish(&table);
    return 0;
}

/* Both sides of a region stand next to each other. */
static void join(struct comparison *c)
{
    size_t kept = 0;
    if (c->count > 1)
        qsort(c->lines, c->count, sizeof *c->lines, by_name);
    for (size_t i = 0; i < c->count; ++i) {
        struct compared *last = kept > 0 ? &c->lines[kept - 1] : NULL;
        int side = c->lines[i].in[1];
        if (last && strcmp(last->region, c->lines[i].region) == 0) {
            last->in[side] = true;
            last->side[side] = c->lines[i].side[side];
        } else {
            c->lines[kept++] = c->lines[i];
        }
    }
    c->count = kept;
}

static void judge(struct compared *line, const struct comparison_wanted *wanted)
{
    for (int m = 0; m < METRIC_COUNT; ++m) {
        double grown = wanted->metric[m] ? growth(line, (enum comparison_metric)m) : 0;
        if (isnan(grown) || (grown < 0 && !wanted->both))
            continue;
        if (fabs(grown) > fabs(line->by)) {
            line->by = grown;
            line->worst = (enum comparison_metric)m;
        }
    }
}

int comparison_make(struct comparison *ret, sp_results *const results[2], const char *const names[2],
                    const struct comparison_wanted *wanted, sp_error *error)
{
    struct comparison c = {.names = {names[0], names[1]}, .threshold = wanted->threshold, .p95 = wanted->p95};
    size_t kept = 0;
    for (int side = 0; side < 2; ++side) {
        int status = load_side(&c, results[side], side, wanted, error);
        if (status < 0) {
            comparison_finish(&c);
            return status;
        }
    }
    join(&c);
    c.failed = need(calloc(c.count + 1, sizeof *c.failed));
    for (size_t i = 0; i < c.count; ++i) {
        struct compared line = c.lines[i];
        c.together += line.in[0] && line.in[1];
        if (line.side[0].total < wanted->least && line.side[1].total < wanted->least)
            continue;
        judge(&line, wanted);
        if (wanted->threshold >= 0 && fabs(line.by) > wanted->threshold)
            c.failed[c.failed_count++] = line;
        c.alone[0] += !line.in[1];
        c.alone[1] += !line.in[0];
        c.lines[kept++] = line;
    }
    if (c.failed_count > 1)
        qsort(c.failed, c.failed_count, sizeof *c.failed, by_growth);
    const struct figure_column *list[COMPARISON_COLUMNS];
    comparison_columns(list);
    figures_sort(c.lines, kept, sizeof *c.lines, wanted->sort ? wanted->sort : figures_column(list, "total"), by_name);
    c.count = wanted->top && wanted->top < kept ? wanted->top : kept;
    c.more = kept - c.count;
    *ret = c;
    return 0;
}

void comparison_finish(struct comparison *comparison)
{
    free(comparison->lines);
    free(comparison->failed);
}

/* ---- printing -----------------------------------------------------------------------------------------------------
 */

static struct figures figures_of(const struct comparison *c, const struct figure_column *list[COMPARISON_COLUMNS])
{
    comparison_columns(list);
    return (struct figures){.columns = list, .lines = c->lines, .size = sizeof *c->lines, .count = c->count};
}

void comparison_print(const struct comparison *c)
{
    const struct figure_column *list[COMPARISON_COLUMNS];
    struct figures figures = figures_of(c, list);
    for (size_t i = 0; !c->p95 && list[i]; ++i)
        if (strncmp(list[i]->key, "p95", 3) == 0) { /* the last ones */
            list[i] = NULL;
            break;
        }
    for (int side = 0; side < 2; ++side)
        printf("%c: %s: %zu %s, %" PRIu64 " calls\n", "AB"[side], c -> names[side], c -> ranks[side],
               c -> ranks[side] == 1 ? "rank" : "ranks", c->calls[side]);
    if (c->count > 0) {
        putchar('\n');
        figures_print(&figures);
    }
    if (c->more > 0)
        printf("... %zu more\n", c->more);
    for (int side = 0; side < 2; ++side)
        if (c->alone[side] > 0)
            printf("%s%zu %s in %c alone\n", side == 0 || c->alone[0] == 0 ? "\n" : "", c->alone[side],
                   c->alone[side] == 1 ? "region is" : "regions are", "AB"[side]);
}

void comparison_print_csv(const struct comparison *c)
{
    const struct figure_column *list[COMPARISON_COLUMNS];
    struct figures figures = figures_of(c, list);
    figures_print_csv(&figures);
}

void comparison_print_json(const struct comparison *c)
{
    const struct figure_column *list[COMPARISON_COLUMNS];
    struct figures figures = figures_of(c, list);
    static const char *const keys[] = {"a", "b"};
    json_t *document = json_document();
    for (int side = 0; side < 2; ++side) {
        json_t *of = json_put(document, keys[side], json_object());
        json_put(of, "source", json_text(c->names[side]));
        json_put(of, "ranks", json_count(c->ranks[side]));
        json_put(of, "calls", json_count(c->calls[side]));
        json_put(of, "alone", json_count(c->alone[side]));
    }
    json_put(document, "more", json_count(c->more));
    json_put(document, "threshold_percent", c->threshold < 0 ? json_null() : json_real(c->threshold));
    json_t *failed = json_put(document, "failed", json_array());
    for (size_t i = 0; i < c->failed_count; ++i) {
        const struct compared *line = &c->failed[i];
        json_t *one = json_push(failed, json_object());
        json_put(one, "region", json_text(line->region));
        json_put(one, "metric", json_text(metric_names[line->worst]));
        json_put(one, "percent", isinf(line->by) ? json_null() : json_real(line->by));
    }
    figures_print_json(&figures, document, "regions");
}
