/* results.h: the inside of sp_results, for the files that answer from it. */
#ifndef SP__RESULTS_H
#define SP__RESULTS_H

#include "nesting.h"
#include "write.h"

struct sp__result_row {
    size_t rank, row; /* ranks[rank]->rows[row] */
    size_t region;
};

struct sp__result_text {
    char *key, *value; /* lists joined by newlines */
};

struct sp_results {
    sp_inputs *inputs;
    bool owned;              /* inputs are destroyed with the results */
    bool quiet;              /* loaded as a summary: events are not to be touched */
    struct sp__rank **ranks; /* those that were asked for, ascending */
    bool *summed;            /* per rank: its rows' summaries are good */
    size_t rank_count;
    struct sp__result_row *rows; /* by rank, then in order of registration */
    size_t row_count;
    struct sp__name_set regions; /* in order of first registration */
    size_t *region_first;        /* per region, and one past the last: its share of region_rows */
    size_t *region_rows;         /* numbers of rows, ascending by rank within a region */
    bool narrowed;               /* some regions or ranks were not asked for */
    char **paths;                /* the files that were named, to read them anew; NULL where inputs are the caller's */
    size_t path_count;
    bool likwid, line_profile;
    char *label;
    struct sp__result_text *metadata;
    size_t metadata_count;
};

/* results.c. `owned` inputs are destroyed with the results, and stay the caller's on failure. */
int sp__results_make(sp_results **ret, sp_inputs *inputs, bool owned, const sp_load_settings *settings,
                     sp_error *error);
int sp__results_no_memory(sp_error *error);
/* The rows of a region on one rank or on SP_ALL_RANKS: *ret points at their numbers, *ret_count > 0. */
int sp__results_rows_of(const sp_results *results, size_t region, int64_t rank, const size_t **ret, size_t *ret_count,
                        sp_error *error);
/* 0 where calls of the row can be read, else SP_ERR_NO_EVENTS. */
int sp__results_has_events(const sp_results *results, size_t row, sp_error *error);

/* results_metadata.c: what the files say, anew whenever more of it is known. */
int sp__results_describe(sp_results *results, sp_error *error);
void sp__results_forget(sp_results *results);

/* statistics.c: the summaries of one rank, from the file where it has them, else, with `read`, from its calls. */
int sp__results_sum_rank(sp_results *results, size_t rank, bool read, sp_error *error);

#endif
