/* region_print.c: the table of regions, for people and for scripts. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "region_table.h"

static struct figures figures_of(const struct region_table *table, const struct figure_column *ret[REGION_COLUMNS])
{
    region_columns(ret, table->wanted.by, table->wanted.percentiles);
    return (struct figures){.columns = ret, .lines = table->lines, .size = sizeof *table->lines, .count = table->count};
}

/* Not where statistics alone were read. */
static bool timed(const struct region_table *table)
{
    return table->start <= table->end;
}

void region_table_print(const struct region_table *table, const char *source)
{
    const struct figure_column *columns[REGION_COLUMNS];
    struct figures figures = figures_of(table, columns);
    results_print_head(table->results, source, table->regions, table->calls,
                       timed(table) ? (int64_t)((uint64_t)table->end - (uint64_t)table->start) : -1);
    if (table->ranks == 1) { /* which is as its mean is */
        size_t count = 0;
        for (size_t i = 0; columns[i]; ++i)
            if (strcmp(columns[i]->key, "imbalance") != 0)
                columns[count++] = columns[i];
        columns[count] = NULL;
    }
    if (table->count > 0) {
        putchar('\n');
        figures_print(&figures);
    }
    if (table->more > 0)
        printf("... %zu more\n", table->more);
    if (table->estimated)
        printf("\np50, p95 and p99 of threads are within %.1f %%.\n", 100 * SPREAD_ERROR);
    results_print_notes(table->results);
}

void region_table_print_csv(const struct region_table *table)
{
    const struct figure_column *columns[REGION_COLUMNS];
    struct figures figures = figures_of(table, columns);
    figures_print_csv(&figures);
}

void region_table_print_json(const struct region_table *table, const char *source)
{
    static const char *const by[] = {"region", "rank", "thread"};
    const struct figure_column *columns[REGION_COLUMNS];
    struct figures figures = figures_of(table, columns);
    json_t *document = results_json(table->results, source, table->calls);
    json_put(document, "start_ns", timed(table) ? json_integer(table->start) : json_null());
    json_put(document, "end_ns", timed(table) ? json_integer(table->end) : json_null());
    json_put(document, "by", json_text(by[table->wanted.by]));
    if (table->wanted.percentiles)
        json_put(document, "percentiles_error", json_real(table->estimated ? SPREAD_ERROR : 0));
    json_put(document, "more", json_count(table->more));
    figures_print_json(&figures, document, "regions");
}
