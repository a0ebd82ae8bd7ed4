/* comparison.h: two profiles region by region. */
#ifndef SPCTL_COMPARISON_H
#define SPCTL_COMPARISON_H

#include "figures.h"
#include "options.h"
#include "region_table.h"
#include "scope_profiler_io.h"

enum comparison_metric { METRIC_TOTAL, METRIC_MEAN, METRIC_P95, METRIC_CALLS, METRIC_COUNT };
extern const char *const metric_names[METRIC_COUNT];

struct compared {
    const char *region; /* owned by the results */
    bool in[2];
    struct compared_side {
        uint64_t calls, ranks;
        int64_t total;
        double mean, p95; /* ns; p95 negative: unknown */
    } side[2];
    enum comparison_metric worst; /* that grew most of those that count ... */
    double by;                    /* ... by as many percent; 0 or less: none did */
};

struct comparison {
    struct compared *lines;
    size_t count, more;      /* shown, and beyond those */
    size_t alone[2];         /* regions in this one only */
    size_t together;         /* in both */
    struct compared *failed; /* those past the threshold, the worst first */
    size_t failed_count;
    uint64_t calls[2];
    size_t ranks[2];
    const char *names[2];
    bool p95;    /* was looked at */
    bool no_p95; /* but is unknown of statistics without events */
    double threshold;
};

struct comparison_wanted {
    bool metric[METRIC_COUNT]; /* which count for the threshold */
    bool p95;                  /* is looked at; reads all calls */
    bool both;                 /* what shrank counts too */
    double threshold;          /* percent; negative: none */
    int64_t least;             /* ns of total below which a region is not shown */
    const struct values *regions;
    const struct figure_column *sort; /* NULL: change of total */
    size_t top;
};

enum { COMPARISON_COLUMNS = 24 };
void comparison_columns(const struct figure_column *ret[COMPARISON_COLUMNS]);

int comparison_make(struct comparison *ret, sp_results *const results[2], const char *const names[2],
                    const struct comparison_wanted *wanted, sp_error *error);
void comparison_finish(struct comparison *comparison);

void comparison_print(const struct comparison *comparison);
void comparison_print_csv(const struct comparison *comparison);
void comparison_print_json(const struct comparison *comparison);

#endif
