#include "call_tree.h"

#include <stdlib.h>
#include <string.h>

#include "pairs.h"
#include "region_table.h"
#include "say.h"

/* What the walk is answered for a call on a path beyond TREE_PATHS: the path that it counts as a part of. */
static const int64_t cut_mark = (int64_t)1 << 32;

struct building {
    struct call_tree tree;
    size_t room;
    struct pairs pairs; /* (path above + 1, region): the path */
    bool any;
};

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static struct tree_path *new_path(struct building *b, const char *region, size_t above)
{
    struct call_tree *tree = &b->tree;
    if (tree->count == b->room) {
        b->room = b->room ? 2 * b->room : 256;
        tree->paths = need(realloc(tree->paths, b->room * sizeof *tree->paths));
    }
    size_t depth = above == SIZE_MAX ? 0 : tree->paths[above].depth + 1;
    tree->paths[tree->count] = (struct tree_path){.region = region, .above = above, .depth = depth};
    return &tree->paths[tree->count++];
}

static int64_t count_call(void *context, const sp_visit *call)
{
    struct building *b = context;
    struct call_tree *tree = &b->tree;
    int64_t duration = call->end - call->start;
    size_t above = call->above < 0 ? SIZE_MAX : (size_t)(call->above & (cut_mark - 1));
    tree->start = !b->any || call->start < tree->start ? call->start : tree->start;
    tree->end = !b->any || call->end > tree->end ? call->end : tree->end;
    b->any = true;
    ++tree->calls;
    if (call->above >= cut_mark) {
        ++tree->cut;
        return call->above;
    }
    bool full = tree->count == TREE_PATHS;
    size_t n = pairs_number(&b->pairs, above + 1, call->region, full ? PAIRS_NONE : tree->count);
    if (above == SIZE_MAX)
        tree->total = add(tree->total, duration);
    if (n == PAIRS_NONE) {
        ++tree->cut;
        return above == SIZE_MAX ? 2 * cut_mark : (int64_t)above | cut_mark;
    }
    struct tree_path *path =
        n == tree->count ? new_path(b, sp_results_region(tree->results, call->region), above) : &tree->paths[n];
    ++path->calls;
    path->total = add(path->total, duration);
    path->exclusive = add(path->exclusive, duration);
    if (above != SIZE_MAX)
        tree->paths[above].exclusive = add(tree->paths[above].exclusive, -duration);
    return (int64_t)n;
}

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
            hidden->total = add(hidden->total, path->total);
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

int call_tree_make(struct call_tree *ret, sp_results *results, const struct tree_wanted *wanted, sp_error *error)
{
    const struct figure_column *columns[TREE_COLUMNS];
    struct building b = {.tree = {.results = results}};
    int status = 0;
    for (size_t n = 0; status == 0 && n < sp_results_rank_count(results); ++n) {
        uint32_t rank;
        status = sp_results_rank(results, n, &rank);
        if (status == 0)
            status = sp_results_visit(results, rank, count_call, &b, error);
    }
    pairs_finish(&b.pairs);
    if (status < 0) {
        call_tree_finish(&b.tree);
        return status;
    }
    tree_columns(columns);
    mark_wanted(&b.tree, wanted->regions);
    share_out(&b.tree);
    b.tree.found = b.tree.count;
    show(&b.tree, wanted, wanted->sort ? wanted->sort : figures_column(columns, "total"));
    *ret = b.tree;
    return 0;
}

void call_tree_finish(struct call_tree *tree)
{
    free(tree->paths);
}
