#include "region_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "say.h"
#include "table.h"
#include "text.h"
#include "units.h"

const char region_columns[] = "region, calls, total, exclusive, mean, min, max, percent or ranks";

typedef int comparison(const void *a, const void *b);

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct region_line *)a)->region, ((const struct region_line *)b)->region);
}

#define BY_LARGEST(name, member)                                                                                       \
    static int name(const void *a, const void *b)                                                                      \
    {                                                                                                                  \
        const struct region_line *left = a, *right = b;                                                                \
        return left->member == right->member ? by_name(a, b) : left->member < right->member ? 1 : -1;                  \
    }
BY_LARGEST(by_calls, calls)
BY_LARGEST(by_total, total)
BY_LARGEST(by_exclusive, exclusive)
BY_LARGEST(by_mean, mean)
BY_LARGEST(by_minimum, minimum)
BY_LARGEST(by_maximum, maximum)
BY_LARGEST(by_ranks, ranks)

static const struct {
    const char *name;
    comparison *compare;
} orders[] = {{"region", by_name},         {"calls", by_calls},       {"total", by_total},
              {"exclusive", by_exclusive}, {"mean", by_mean},         {"min", by_minimum},
              {"max", by_maximum},         {"percent", by_exclusive}, {"ranks", by_ranks}};

static comparison *order_of(const char *column)
{
    for (size_t i = 0; i < sizeof orders / sizeof *orders; ++i)
        if (strcmp(orders[i].name, column) == 0)
            return orders[i].compare;
    return NULL;
}

bool region_column_known(const char *name)
{
    return order_of(name) != NULL;
}

/* Lines of one region each, one per row of the results, joined after sorting by name. */
static void load(struct region_table *table, const sp_results *results)
{
    size_t rows = sp_results_count(results);
    table->lines = need(calloc(rows ? rows : 1, sizeof *table->lines));
    for (size_t i = 0; i < rows; ++i) {
        sp_result row;
        if (sp_results_row(results, i, &row) < 0)
            continue;
        if (row.calls > 0) {
            bool first = table->calls == 0;
            table->start = first || row.start_minimum < table->start ? row.start_minimum : table->start;
            table->end = first || row.end_maximum > table->end ? row.end_maximum : table->end;
            table->calls += row.calls;
        }
        table->lines[table->count++] = (struct region_line){.region = row.region,
                                                            .calls = row.calls,
                                                            .ranks = 1,
                                                            .total = row.total,
                                                            .minimum = row.minimum,
                                                            .maximum = row.maximum,
                                                            .exclusive = row.exclusive};
    }
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
    into->total = add(into->total, line->total);
    into->exclusive = into->exclusive < 0 || line->exclusive < 0 ? -1 : add(into->exclusive, line->exclusive);
}

static void join_regions(struct region_table *table)
{
    size_t kept = 0;
    qsort(table->lines, table->count, sizeof *table->lines, by_name);
    for (size_t i = 0; i < table->count; ++i) {
        if (kept > 0 && strcmp(table->lines[kept - 1].region, table->lines[i].region) == 0)
            join(&table->lines[kept - 1], &table->lines[i]);
        else
            table->lines[kept++] = table->lines[i];
    }
    table->count = kept;
}

void region_table_init(struct region_table *ret, const sp_results *results, const char *column)
{
    struct region_table table = {.results = results, .ranks = sp_results_rank_count(results)};
    bool known = true;
    int64_t exclusive = 0;

    load(&table, results);
    join_regions(&table);
    for (size_t i = 0; i < table.count; ++i) {
        known = known && table.lines[i].exclusive >= 0;
        exclusive = add(exclusive, table.lines[i].exclusive);
    }
    for (size_t i = 0; i < table.count; ++i) {
        struct region_line *line = &table.lines[i];
        line->mean = line->calls ? (double)line->total / (double)line->calls : 0;
        line->percent = !known ? -1 : exclusive > 0 ? 100 * (double)line->exclusive / (double)exclusive : 0;
    }
    comparison *compare = column ? order_of(column) : known ? by_exclusive : by_total;
    qsort(table.lines, table.count, sizeof *table.lines, compare ? compare : by_total);
    *ret = table;
}

void region_table_finish(struct region_table *table)
{
    free(table->lines);
}

/* A list of the metadata, one line each, indented below `title`. */
static void print_list(const struct region_table *table, const char *key, const char *title)
{
    const char *text = sp_results_metadata(table->results, key);
    if (!text || !*text)
        return;
    printf("\n%s:\n", title);
    while (*text) {
        size_t length = strcspn(text, "\n");
        printf("  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static uint64_t dropped(const struct region_table *table)
{
    const char *text = sp_results_metadata(table->results, "sp_dropped_records");
    return text ? strtoull(text, NULL, 10) : 0;
}

/* Not where statistics alone were read. */
static bool timed(const struct region_table *table)
{
    return table->start <= table->end;
}

static void print_header(const struct region_table *table, const char *source)
{
    units_buffer wall;
    const char *session = sp_results_metadata(table->results, "sp_session");
    const char *host = sp_results_metadata(table->results, "hostname");
    printf("%s: %zu %s, %zu %s, %" PRIu64 " %s", source, table->ranks, table->ranks == 1 ? "rank" : "ranks",
           table->count, table->count == 1 ? "region" : "regions", table->calls, table->calls == 1 ? "call" : "calls");
    if (timed(table))
        printf(" over %s", units_time((int64_t)((uint64_t)table->end - (uint64_t)table->start), wall));
    if (session && *session && strcmp(session, source) != 0)
        printf(", session %s", session);
    if (host && *host && !strchr(host, '\n'))
        printf(", on %s", host);
    putchar('\n');
}

/* The names of C++ functions fill screens: the middle gives way, since both ends tell them apart. */
static void name_cell(struct table *out, const char *name)
{
    enum { MOST = 80, HEAD = 50, TAIL = MOST - HEAD - 1 };
    const char *head = name, *tail;
    for (int i = 0; i < HEAD && *head; ++i)
        (void)text_next(&head);
    size_t left = 0;
    for (const char *at = head; *at; ++left)
        (void)text_next(&at);
    if (left <= MOST - HEAD) {
        table_cell(out, "%s", name);
        return;
    }
    for (tail = head; left > TAIL; --left)
        (void)text_next(&tail);
    table_cell(out, "%.*s\xe2\x80\xa6%s", (int)(head - name), name, tail);
}

static void print_line(struct table *out, const struct region_line *line)
{
    units_buffer total, exclusive, mean, minimum, maximum;
    name_cell(out, line->region);
    table_cell(out, "%" PRIu64, line->calls);
    table_cell(out, "%s", units_time(line->total, total));
    table_cell(out, "%s", line->exclusive < 0 ? "-" : units_time(line->exclusive, exclusive));
    table_cell(out, "%s", line->calls ? units_time((int64_t)line->mean, mean) : "-");
    table_cell(out, "%s", line->calls ? units_time(line->minimum, minimum) : "-");
    table_cell(out, "%s", line->calls ? units_time(line->maximum, maximum) : "-");
    if (line->percent < 0)
        table_cell(out, "-");
    else
        table_cell(out, "%.1f", line->percent);
    table_cell(out, "%" PRIu64, line->ranks);
}

void region_table_print(const struct region_table *table, const char *source)
{
    static const struct column columns[] = {{"region", false},   {"calls", true}, {"total", true},
                                            {"exclusive", true}, {"mean", true},  {"min", true},
                                            {"max", true},       {"%", true},     {"ranks", true}};
    print_header(table, source);
    if (table->count > 0) {
        struct table *out = table_create(columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < table->count; ++i)
            print_line(out, &table->lines[i]);
        putchar('\n');
        table_print(out, stdout);
        table_destroy(out);
    }
    print_list(table, "sp_open_calls", "Still open, in no figure above");
    print_list(table, "sp_deaths", "Deaths");
    if (dropped(table) > 0)
        printf("\n%" PRIu64 " calls were dropped while recording: in no figure above.\n", dropped(table));
}

static void print_csv_text(const char *text)
{
    putchar('"');
    for (; *text; ++text) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

void region_table_print_csv(const struct region_table *table)
{
    puts("region,calls,total_ns,exclusive_ns,mean_ns,min_ns,max_ns,percent,ranks");
    for (size_t i = 0; i < table->count; ++i) {
        const struct region_line *line = &table->lines[i];
        print_csv_text(line->region);
        printf(",%" PRIu64 ",%" PRId64 ",", line->calls, line->total);
        if (line->exclusive >= 0)
            printf("%" PRId64, line->exclusive);
        printf(",%.3f,%" PRId64 ",%" PRId64 ",", line->mean, line->minimum, line->maximum);
        if (line->percent >= 0)
            printf("%.4f", line->percent);
        printf(",%" PRIu64 "\n", line->ranks);
    }
}

static json_t *lines_of(const struct region_table *table, const char *key)
{
    json_t *list = need(json_array());
    const char *text = sp_results_metadata(table->results, key);
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        char *line = need(strndup(text, length));
        json_push(list, json_text(line));
        free(line);
        text += length + (text[length] == '\n');
    }
    return list;
}

static json_t *integer_or_null(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

json_t *region_table_json(const struct region_table *table, const char *source)
{
    json_t *document = json_document();
    json_put(document, "source", json_text(source));
    const char *session = sp_results_metadata(table->results, "sp_session");
    json_put(document, "session", session && *session ? json_text(session) : json_null());
    json_put(document, "ranks", json_count(table->ranks));
    json_put(document, "calls", json_count(table->calls));
    json_put(document, "start_ns", timed(table) ? json_integer(table->start) : json_null());
    json_put(document, "end_ns", timed(table) ? json_integer(table->end) : json_null());
    json_put(document, "dropped", json_count(dropped(table)));
    json_put(document, "open_calls", lines_of(table, "sp_open_calls"));
    json_put(document, "deaths", lines_of(table, "sp_deaths"));
    json_t *regions = json_put(document, "regions", json_array());
    for (size_t i = 0; i < table->count; ++i) {
        const struct region_line *line = &table->lines[i];
        json_t *region = json_push(regions, json_object());
        json_put(region, "region", json_text(line->region));
        json_put(region, "calls", json_count(line->calls));
        json_put(region, "total_ns", json_integer(line->total));
        json_put(region, "exclusive_ns", integer_or_null(line->exclusive));
        json_put(region, "mean_ns", json_real(line->mean));
        json_put(region, "min_ns", json_integer(line->minimum));
        json_put(region, "max_ns", json_integer(line->maximum));
        json_put(region, "percent", line->percent < 0 ? json_null() : json_real(line->percent));
        json_put(region, "ranks", json_count(line->ranks));
    }
    return document;
}
