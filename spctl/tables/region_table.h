/* region_table.h: the table of regions over all ranks, by rank or by thread, for report and run. */
#ifndef SPCTL_REGION_TABLE_H
#define SPCTL_REGION_TABLE_H

#include <jansson.h>
#include <stdbool.h>

#include "figures.h"
#include "options.h"
#include "scope_profiler_io.h"
#include "spread.h"

enum table_by { BY_REGION = 0, BY_RANK, BY_THREAD };
enum { TABLE_P50, TABLE_P95, TABLE_P99, TABLE_PERCENTILES };

struct table_wanted {
    enum table_by by;
    const struct figure_column *sort; /* NULL: exclusive time, or total where that is unknown */
    bool percentiles;
    const struct values *regions; /* globs; NULL or none: all */
    size_t top;                   /* lines; 0: all */
};

struct region_line {
    const char *region; /* owned by the results */
    uint32_t rank;
    int64_t thread;    /* -1 unknown */
    char *thread_name; /* owned; NULL unknown */
    uint64_t calls, ranks;
    int64_t total, minimum, maximum;
    int64_t exclusive; /* -1 unknown */
    int64_t largest;   /* total of a rank */
    double mean;
    double percent;   /* of the exclusive time of all regions; negative unknown */
    double imbalance; /* the largest total of a rank over the mean of all ranks; negative unknown */
    double percentiles[TABLE_PERCENTILES]; /* ns; negative unknown */
    struct spread *spread;                 /* BY_THREAD with percentiles, where threads are known */
};

struct region_table {
    struct table_wanted wanted;
    struct region_line *lines;
    size_t count, room;
    size_t more;    /* lines beyond wanted.top */
    size_t regions; /* in all, whatever is shown */
    uint64_t calls;
    int64_t start, end; /* of the first and last call; both 0 without calls; start > end: unknown */
    size_t ranks;
    bool estimated; /* percentiles are within SPREAD_ERROR, else exact */
    const sp_results *results;
};

/* The columns of a table, ends with NULL. */
enum { REGION_COLUMNS = 17 };
void region_columns(const struct figure_column *ret[REGION_COLUMNS], enum table_by by, bool percentiles);

/* The results must outlive it. Calls are read where percentiles or threads are asked for. Out of memory ends the
 * program. 0 or a negative status of the reading library. */
int region_table_make(struct region_table *ret, sp_results *results, const struct table_wanted *wanted,
                      sp_error *error);
void region_table_finish(struct region_table *table);

/* Whether a name fits one of the globs, or there are none. */
bool region_wanted(const struct values *regions, const char *name);
/* A glob that no region of any of them fits is a mistake, which is said. */
bool regions_known(const struct values *regions, sp_results *const *results, size_t count);

/* With a line about `source` before and notes (open calls, deaths, drops) after. */
void region_table_print(const struct region_table *table, const char *source);
void region_table_print_csv(const struct region_table *table);
void region_table_print_json(const struct region_table *table, const char *source);

/* What is said of results before and after any view of them. `calls` over `ns` (negative: unknown). */
void results_print_head(const sp_results *results, const char *source, size_t regions, uint64_t calls, int64_t ns);
void results_print_notes(const sp_results *results);
json_t *results_json(const sp_results *results, const char *source, uint64_t calls);

#endif
