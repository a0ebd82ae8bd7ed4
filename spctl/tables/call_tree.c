#include "call_tree.h"

#include <stdlib.h>
#include <string.h>

#include "paths.h"
#include "region_table.h"
#include "say.h"

/* Paths stand after those above them, so that one way back over all tells each of what is below it. */
static void mark_wanted(struct call_tree *tree, const struct values *regions)
{
    for (size_t i = tree->count; i-- > 0;) {
        struct tree_path *path = &tree->paths[i];
        path->wanted = path->wanted || region_wanted(regions, path->region);
        if (path->wanted && path->above != SIZE_MAX)
            tree->paths[path->above].wanted = true;
    }
}

static void share_out(struct call_tree *tree)
{
    double all = tree->total > 0 ? (double)tree->total : 1;
    for (size_t i = 0; i < tree->count; ++i) {
        tree->paths[i].number = i;
        tree->paths[i].percent = 100 * (double)tree->paths[i].total / all;
        tree->paths[i].exclusive_percent = 100 * (double)tree->paths[i].exclusive / all;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tree_path *)a)->region, ((const struct tree_path *)b)->region);
}

/* Bucket 0 holds the paths at the top, bucket n + 1 those right below path n. */
static size_t bucket_of(const struct tree_path *path)
{
    return path->above + 1;
}

/* The paths by bucket, in each in the order that is asked for; bucket b begins at ret_first[b]. */
static struct tree_path *place(struct call_tree *tree, const struct figure_column *sort, size_t **ret_first)
{
    size_t buckets = tree->count + 1;
    size_t *first = need(calloc(buckets + 1, sizeof *first)), *next = need(calloc(buckets + 1, sizeof *next));
    struct tree_path *placed = need(calloc(tree->count + 1, sizeof *placed));
    for (size_t i = 0; i < tree->count; ++i)
        ++first[bucket_of(&tree->paths[i]) + 1];
    for (size_t b = 0; b < buckets; ++b)
        next[b + 1] = first[b + 1] += first[b];
    figures_sort(tree->paths, tree->count, sizeof *tree->paths, sort, by_name);
    for (size_t i = 0; i < tree->count; ++i)
        placed[next[bucket_of(&tree->paths[i])]++] = tree->paths[i];
    free(next);
    *ret_first = first;
    return placed;
}

/* Where the way down a tree is: among the paths of one bucket. */
struct level {
    size_t at, end;
    size_t shown, above; /* paths so far; the one they are below, as it is shown */
};

/* tree->paths become those that are shown. A path may be as deep as there are paths, so that the way down is kept on the
 * heap. */
static void show(struct call_tree *tree, const struct tree_wanted *wanted, const struct figure_column *sort)
{
    size_t *first, depth = 0, most = 1, shown = 0;
    struct tree_path *placed = place(tree, sort, &first);
    for (size_t i = 0; i < tree->count; ++i)
        most = placed[i].depth + 2 > most ? placed[i].depth + 2 : most;
    struct level *levels = need(calloc(most, sizeof *levels));
    levels[0] = (struct level){.end = first[1], .above = SIZE_MAX};
    for (;;) {
        struct level *level = &levels[depth];
        if (level->at == level->end) {
            if (depth-- == 0)
                break;
            continue;
        }
        const struct tree_path *path = &placed[level->at++];
        if (!path->wanted)
            continue;
        if (path->percent < wanted->least || (wanted->top && level->shown == wanted->top)) {
            struct tree_hidden *hidden = level->above == SIZE_MAX ? &tree->hidden : &tree->paths[level->above].hidden;
            ++hidden->paths;
            hidden->calls += path->calls;
            hidden->total = paths_add(hidden->total, path->total);
            continue;
        }
        ++level->shown;
        levels[++depth] = (struct level){.at = first[path->number + 1], .end = first[path->number + 2], .above = shown};
        tree->paths[shown] = *path;
        tree->paths[shown].above = level->above;
        tree->paths[shown].number = shown;
        ++shown;
    }
    tree->count = shown;
    free(levels);
    free(placed);
    free(first);
}

/* How many ranks' callers are a guess is counted beside. */
static int walk_all(struct paths *paths, sp_results *results, size_t *ret_unsure, sp_error *error)
{
    static const sp_walk_visitor visitor = {.callers = true, .enter = paths_enter};
    int status = 0;
    for (size_t n = 0; status == 0 && n < sp_results_rank_count(results); ++n) {
        paths->unsure = false;
        status = sp_results_walk(results, n, &visitor, paths, error);
        *ret_unsure += paths->unsure;
    }
    return status;
}

int call_tree_make(struct call_tree *ret, sp_results *results, const struct tree_wanted *wanted, sp_error *error)
{
    const struct figure_column *columns[TREE_COLUMNS];
    struct call_tree tree = {.results = results};
    struct paths paths = {0};
    int status = walk_all(&paths, results, &tree.unsure, error);
    tree.paths = need(calloc(paths.count + 1, sizeof *tree.paths));
    tree.count = tree.found = paths.count;
    tree.calls = paths.calls;
    tree.cut = paths.cut;
    tree.total = paths.total;
    tree.start = paths.start;
    tree.end = paths.end;
    for (size_t i = 0; i < paths.count; ++i)
        tree.paths[i] = (struct tree_path){.region = sp_results_region(results, paths.list[i].region),
                                           .above = paths.list[i].above,
                                           .depth = paths.list[i].depth,
                                           .calls = paths.list[i].calls,
                                           .total = paths.list[i].total,
                                           .exclusive = paths.list[i].exclusive};
    paths_finish(&paths);
    if (status < 0) {
        call_tree_finish(&tree);
        return status;
    }
    tree_columns(columns);
    mark_wanted(&tree, wanted->regions);
    share_out(&tree);
    show(&tree, wanted, wanted->sort ? wanted->sort : figures_column(columns, "total"));
    *ret = tree;
    return 0;
}

void call_tree_finish(struct call_tree *tree)
{
    free(tree->paths);
}
