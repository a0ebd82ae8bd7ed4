/* scope.h: what all parts of the page share: the profile, its regions as numbered in the page, its ranks. */
#ifndef SPCTL_PAGE_SCOPE_H
#define SPCTL_PAGE_SCOPE_H

#include <jansson.h>

#include "region_table.h"

/* What a page holds at most, whatever the profile holds. Together they keep it below 3 MB. */
enum {
    PAGE_REGIONS = 2000, /* lines of the table */
    PAGE_DETAILED = 100, /* regions with histogram and durations over time */
    PAGE_HEAT_REGIONS = 64,
    PAGE_HEAT_GROUPS = 128, /* columns of the heat map */
    PAGE_RANKS = 128,       /* in the timeline */
    PAGE_LANES = 512,
    PAGE_BLOCKS = 80000,
    PAGE_PATHS = 5000, /* boxes of the flame graph */
    PAGE_LINES = 200,  /* of each list of notes and of the metadata */
};

struct page_region {
    const char *name;
    size_t line; /* in the table, and so in the page: regions of most exclusive time first */
};

struct page_place {
    const char *file; /* NULL unknown */
    int64_t line;     /* -1 unknown */
};

struct page_rank {
    uint32_t rank;
    uint64_t calls;
    int64_t start, end; /* of the first and last call; start > end without calls */
    int64_t busy;       /* time in any region; -1 unknown */
    size_t row, rows;   /* in the results */
    bool drawn;         /* in the timeline */
};

struct page_scope {
    sp_results *results;
    struct region_table table;
    struct page_region *by_name;
    uint32_t *lines;           /* of regions as the results number them */
    struct page_place *places; /* in the source, of the lines of the table */
    struct page_rank *ranks;
    size_t rank_count;
    int64_t start;
    uint64_t span;  /* of the whole profile, ns; at least 1 */
    bool timed;     /* there are calls with times */
    bool exclusive; /* exclusive times are known */
};

/* The results must outlive it. Out of memory ends the program. 0, or what reading says. */
int page_scope_init(struct page_scope *ret, sp_results *results, sp_error *error);
void page_scope_finish(struct page_scope *scope);

const struct page_region *page_region_find(const struct page_scope *scope, const char *name);

/* Time that the page weighs regions by: exclusive, or total where that is not known. */
int64_t page_weight(const struct page_scope *scope, int64_t total, int64_t exclusive);

/* ns since the start of the profile. */
uint64_t page_offset(const struct page_scope *scope, int64_t time);

/* Says in the page what it leaves out: one more of the document's "notes". */
__attribute__((format(printf, 2, 3))) void page_note(json_t *document, const char *format, ...);

#endif
