/* region_table.h: the table of regions over all ranks, for report and run. */
#ifndef SPCTL_REGION_TABLE_H
#define SPCTL_REGION_TABLE_H

#include <jansson.h>
#include <stdbool.h>

#include "scope_profiler_io.h"

struct region_line {
    const char *region; /* owned by the results */
    uint64_t calls, ranks;
    int64_t total, minimum, maximum;
    int64_t exclusive; /* -1 unknown */
    double mean;
    double percent; /* of the exclusive time of all regions; negative unknown */
};

struct region_table {
    struct region_line *lines;
    size_t count;
    uint64_t calls;
    int64_t start, end; /* of the first and last call; both 0 without calls; start > end: unknown */
    size_t ranks;
    const sp_results *results;
};

/* Sorted by `column` (region_columns; NULL: exclusive, or total where that is unknown), largest first, names from A.
 * The results must outlive it. Out of memory ends the program. */
void region_table_init(struct region_table *ret, const sp_results *results, const char *column);
void region_table_finish(struct region_table *table);

/* Names of the columns for --sort, and whether `name` is one. */
extern const char region_columns[];
bool region_column_known(const char *name);

/* With a line about `source` before and notes (open calls, deaths, drops) after. */
void region_table_print(const struct region_table *table, const char *source);
void region_table_print_csv(const struct region_table *table);
json_t *region_table_json(const struct region_table *table, const char *source);

#endif
