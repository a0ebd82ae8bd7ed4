#include "findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "say.h"
#include "units.h"

enum { NOBODY = -1, TOP_REGIONS = 5 };

static const double UNEVEN = 1.25; /* times the mean */

struct findings {
    const struct page_scope *scope;
    const struct balance *balance;
    const struct durations *durations;
    json_t *document, *list;
};

__attribute__((format(printf, 5, 6))) static void find(const struct findings *findings, const char *kind,
                                                       int64_t region, int64_t rank, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    json_t *finding = json_push(findings->list, json_object());
    json_put(finding, "kind", json_text(kind));
    json_put(finding, "text", json_text(length < 0 ? need(NULL) : text));
    json_put(finding, "region", region < 0 ? json_null() : json_integer(region));
    json_put(finding, "rank", rank < 0 ? json_null() : json_integer(rank));
    free(text);
}

static const char *plural(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

static int64_t weight_of(const struct page_scope *scope, size_t line)
{
    return page_weight(scope, scope->table.lines[line].total, scope->table.lines[line].exclusive);
}

/* Where the time goes, and on which rank more of it than on others. */
static void find_largest(const struct findings *findings)
{
    const struct page_scope *scope = findings->scope;
    const struct region_table *table = &scope->table;
    if (table->count == 0 || weight_of(scope, 0) <= 0)
        return;
    const struct balance_region *balance = balance_of(findings->balance, 0);
    units_buffer time;
    char rank[128] = "";
    bool uneven = scope->rank_count > 1 && balance->ratio >= UNEVEN;
    if (uneven)
        snprintf(rank, sizeof rank, "; rank %" PRIu32 " is %.1f times the mean", balance->slowest, balance->ratio);
    units_time(weight_of(scope, 0), time);
    if (scope->exclusive)
        find(findings, "share", 0, uneven ? (int64_t)balance->slowest : NOBODY,
             "%s takes %.0f %% of exclusive time, %s over all ranks%s.", table->lines[0].region,
             table->lines[0].percent, time, rank);
    else
        find(findings, "share", 0, uneven ? (int64_t)balance->slowest : NOBODY,
             "%s takes the most time, %s over all ranks%s. Exclusive times are not known.", table->lines[0].region,
             time, rank);
    double share = 0;
    size_t n = 0;
    while (n < table->count && n < TOP_REGIONS && share < 90)
        share += table->lines[n++].percent;
    if (scope->exclusive && n > 1 && table->count > n && share >= 80)
        find(findings, "share", NOBODY, NOBODY, "%zu of %zu regions take %.0f %% of exclusive time.", n, table->count,
             share);
}

/* What the others would save if the slowest rank were as fast as the mean; the first line was looked at. */
static void find_uneven(const struct findings *findings)
{
    const struct page_scope *scope = findings->scope;
    size_t found = 0;
    for (size_t i = 1; i < scope->table.count && scope->rank_count > 1 && found < 3; ++i) {
        const struct balance_region *balance = balance_of(findings->balance, i);
        const struct region_line *line = &scope->table.lines[i];
        double mean = (double)balance->most / balance->ratio;
        units_buffer most, average;
        if (balance->ratio < UNEVEN || ((double)balance->most - mean) < 0.01 * (double)scope->span)
            continue;
        ++found;
        units_time(balance->most, most);
        units_time((int64_t)mean, average);
        if (line->ranks < scope->rank_count)
            find(findings, "uneven", (int64_t)i, balance->slowest,
                 "%s is on %" PRIu64 " of %zu ranks; most of it, %s, on rank %" PRIu32 ".", line->region, line->ranks,
                 scope->rank_count, most, balance->slowest);
        else
            find(findings, "uneven", (int64_t)i, balance->slowest,
                 "%s is uneven: rank %" PRIu32 " spends %s%s in it, %.1f times the mean of %s.", line->region,
                 balance->slowest, most, scope->exclusive ? " of exclusive time" : "", balance->ratio, average);
    }
}

static int by_value(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

/* The middle one of `member` over all ranks with calls; the caller knows that there is one. */
static int64_t middle_of(const struct page_scope *scope, bool ends)
{
    int64_t *values = need(calloc(scope->rank_count, sizeof *values));
    size_t count = 0;
    for (size_t i = 0; i < scope->rank_count; ++i)
        if (scope->ranks[i].calls > 0)
            values[count++] = ends ? scope->ranks[i].end : scope->ranks[i].start;
    qsort(values, count, sizeof *values, by_value);
    int64_t middle = values[count / 2];
    free(values);
    return middle;
}

/* A rank that began long after most, or ended long before. */
static void find_late(const struct findings *findings)
{
    const struct page_scope *scope = findings->scope;
    if (!scope->timed || scope->rank_count < 2)
        return;
    double start = (double)page_offset(scope, middle_of(scope, false));
    double end = (double)page_offset(scope, middle_of(scope, true)), latest = 0, soonest = 0;
    size_t late = 0, late_count = 0, early = 0, early_count = 0;
    for (size_t i = 0; i < scope->rank_count; ++i) {
        if (scope->ranks[i].calls == 0)
            continue;
        double after = (double)page_offset(scope, scope->ranks[i].start) - start;
        double before = end - (double)page_offset(scope, scope->ranks[i].end);
        late_count += after > 0.05 * (double)scope->span;
        early_count += before > 0.05 * (double)scope->span;
        late = after > latest ? i : late;
        latest = after > latest ? after : latest;
        early = before > soonest ? i : early;
        soonest = before > soonest ? before : soonest;
    }
    units_buffer time;
    if (late_count > 0)
        find(findings, "late", NOBODY, scope->ranks[late].rank,
             "%zu %s late; rank %" PRIu32 " made its first call %s after most others.", late_count,
             plural(late_count, "rank started", "ranks started"), scope->ranks[late].rank,
             units_time((int64_t)latest, time));
    if (early_count > 0)
        find(findings, "late", NOBODY, scope->ranks[early].rank,
             "%zu %s early; rank %" PRIu32 " made its last call %s before most others.", early_count,
             plural(early_count, "rank ended", "ranks ended"), scope->ranks[early].rank,
             units_time((int64_t)soonest, time));
}

/* Calls that are short beside what recording one costs, and single calls far longer than others of their region. */
static void find_odd_calls(const struct findings *findings)
{
    enum { TINY_NS = 1000, MANY = 10000, RARE = 20 };
    const struct region_table *table = &findings->scope->table;
    size_t tiny = 0, odd = 0;
    for (size_t i = 0; i < table->count; ++i) {
        const struct region_line *line = &table->lines[i];
        units_buffer time, usual;
        double tail = findings->durations ? durations_percentile(findings->durations, i, 99) : -1;
        if (line->mean < TINY_NS && line->calls >= MANY && line->calls >= table->calls / 20 && tiny++ < 3)
            find(findings, "tiny", (int64_t)i, NOBODY,
                 "%s is called %" PRIu64 " times for %s on average: recording so short a call is a good part of what "
                 "it seems to take.",
                 line->region, line->calls, units_time((int64_t)line->mean, time));
        if (tail > 0 && line->calls >= 1000 && (double)line->maximum > RARE * tail &&
            (double)line->maximum > 0.01 * (double)findings->scope->span && odd++ < 3)
            find(findings, "outlier", (int64_t)i, NOBODY,
                 "One call of %s takes %s, where 99 %% of them take no more than %s.", line->region,
                 units_time(line->maximum, time), units_time((int64_t)tail, usual));
    }
}

static void find_faults(const struct findings *findings)
{
    uint64_t dropped = (uint64_t)json_integer_value(json_object_get(findings->document, "dropped"));
    size_t deaths = json_array_size(json_object_get(findings->document, "deaths"));
    size_t open = json_array_size(json_object_get(findings->document, "open_calls"));
    if (deaths > 0)
        find(findings, "fault", NOBODY, NOBODY, "%zu %s died before the end: what %s had finished is here.", deaths,
             plural(deaths, "process", "processes"), plural(deaths, "it", "they"));
    if (dropped > 0)
        find(findings, "fault", NOBODY, NOBODY, "%" PRIu64 " %s dropped while recording: in no figure here.", dropped,
             plural(dropped, "call was", "calls were"));
    if (open > 0)
        find(findings, "fault", NOBODY, NOBODY,
             "%zu %s still in calls that had not ended: in no figure here, listed below.", open,
             plural(open, "thread was", "threads were"));
}

void findings_json(const struct page_scope *scope, const struct balance *balance, const struct durations *durations,
                   json_t *document)
{
    const struct findings findings = {.scope = scope,
                                      .balance = balance,
                                      .durations = durations,
                                      .document = document,
                                      .list = json_put(document, "findings", json_array())};
    find_faults(&findings);
    find_largest(&findings);
    find_uneven(&findings);
    find_late(&findings);
    find_odd_calls(&findings);
}
