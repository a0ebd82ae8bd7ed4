/* call_tree.h: paths of regions, as "main > step > solve", with the calls on each; merged over ranks and threads. */
#ifndef SPCTL_CALL_TREE_H
#define SPCTL_CALL_TREE_H

#include "figures.h"
#include "options.h"
#include "scope_profiler_io.h"

struct tree_wanted {
    const struct figure_column *sort; /* of paths that part at one place; NULL: total */
    double least;                     /* percent of all time that a path must take to be shown */
    const struct values *regions;     /* globs: paths that lead to such regions; NULL or none: all */
    size_t top;                       /* paths shown at each place; 0: all */
};

struct tree_path {
    const char *region;   /* owned by the results */
    size_t number, above; /* places among the paths; SIZE_MAX: none above */
    size_t depth;
    uint64_t calls;
    int64_t total, exclusive;
    double percent, exclusive_percent; /* of all time */
    bool wanted;                       /* it, or what is below it */
    struct tree_hidden {               /* right below it, and wanted, but not shown */
        size_t paths;
        uint64_t calls;
        int64_t total;
    } hidden;
};

struct call_tree {
    struct tree_path *paths; /* those that are shown, each followed by those below it */
    size_t count;
    size_t found;              /* in all */
    struct tree_hidden hidden; /* at the top */
    uint64_t calls;            /* in all */
    uint64_t cut;              /* of these, on paths beyond PATHS_MOST */
    size_t unsure;             /* ranks where calls cross and nobody knows their threads: their paths are a guess */
    int64_t total;             /* of calls made in no other */
    int64_t start, end;
    const sp_results *results;
};

enum { TREE_COLUMNS = 12 };
void tree_columns(const struct figure_column *ret[TREE_COLUMNS]);

/* As of region_table_make; reads all calls. */
int call_tree_make(struct call_tree *ret, sp_results *results, const struct tree_wanted *wanted, sp_error *error);
void call_tree_finish(struct call_tree *tree);

void call_tree_print(const struct call_tree *tree, const char *source);
void call_tree_print_csv(const struct call_tree *tree);
void call_tree_print_json(const struct call_tree *tree, const char *source);

#endif
