/* call_tree_print.c: a call tree, for people and for scripts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "call_tree.h"
#include "json.h"
#include "paths.h"
#include "region_table.h"
#include "say.h"

#define PATH(name, ...)                                                                                                \
    static struct figure name(const void *at)                                                                          \
    {                                                                                                                  \
        const struct tree_path *path = at;                                                                             \
        return (struct figure){__VA_ARGS__};                                                                           \
    }
PATH(number_of, FIGURE_NUMBER, .integer = (int64_t)path->number)
PATH(above_of, path->above == SIZE_MAX ? FIGURE_UNKNOWN : FIGURE_NUMBER, .integer = (int64_t)path->above)
PATH(depth_of, FIGURE_NUMBER, .integer = (int64_t)path->depth)
PATH(region_of, FIGURE_NAME, .text = path->region, .depth = (unsigned)path->depth)
PATH(calls_of, FIGURE_COUNT, .integer = (int64_t)path->calls)
PATH(total_of, FIGURE_TIME, .integer = path->total)
PATH(percent_of, FIGURE_PERCENT, .real = path->percent)
PATH(exclusive_of, path->number == SIZE_MAX ? FIGURE_UNKNOWN : FIGURE_TIME, .integer = path->exclusive)
PATH(exclusive_percent_of, path->number == SIZE_MAX ? FIGURE_UNKNOWN : FIGURE_PERCENT, .real = path->exclusive_percent)
PATH(hidden_of, FIGURE_COUNT, .integer = (int64_t)path->hidden.paths)

void tree_columns(const struct figure_column *ret[TREE_COLUMNS])
{
    static const struct figure_column columns[] = {{NULL, NULL, "path", number_of},
                                                   {NULL, NULL, "above", above_of},
                                                   {NULL, NULL, "depth", depth_of},
                                                   {"region", "region", "region", region_of},
                                                   {"calls", "calls", "calls", calls_of},
                                                   {"total", "total", "total_ns", total_of},
                                                   {"percent", "%", "percent", percent_of},
                                                   {"exclusive", "exclusive", "exclusive_ns", exclusive_of},
                                                   {NULL, "%", "exclusive_percent", exclusive_percent_of},
                                                   {NULL, NULL, "more", hidden_of}};
    const size_t count = sizeof columns / sizeof *columns;
    _Static_assert(sizeof columns / sizeof *columns < TREE_COLUMNS, "a NULL ends the list");
    for (size_t i = 0; i < count; ++i)
        ret[i] = &columns[i];
    ret[count] = NULL;
}

static struct figures figures_of(const struct call_tree *tree, const struct figure_column *ret[TREE_COLUMNS])
{
    tree_columns(ret);
    return (struct figures){.columns = ret, .lines = tree->paths, .size = sizeof *tree->paths, .count = tree->count};
}

/* The lines of a table: the paths, and below those of each place how many are not shown. */
struct lines {
    struct tree_path *lines;
    size_t count, room;
    char **notes;
    size_t note_count;
};

static void add_line(struct lines *lines, const struct tree_path *path)
{
    if (lines->count == lines->room) {
        lines->room = lines->room ? 2 * lines->room : 64;
        lines->lines = need(realloc(lines->lines, lines->room * sizeof *lines->lines));
    }
    lines->lines[lines->count++] = *path;
}

static void add_note(struct lines *lines, const struct call_tree *tree, const struct tree_hidden *hidden, size_t depth)
{
    char *text;
    if (hidden->paths == 0)
        return;
    if (asprintf(&text, "... %zu more", hidden->paths) < 0)
        text = need(NULL);
    lines->notes = need(realloc(lines->notes, (lines->note_count + 1) * sizeof *lines->notes));
    lines->notes[lines->note_count++] = text;
    double all = tree->total > 0 ? (double)tree->total : 1;
    add_line(lines, &(struct tree_path){.region = text,
                                        .number = SIZE_MAX,
                                        .depth = depth,
                                        .calls = hidden->calls,
                                        .total = hidden->total,
                                        .percent = 100 * (double)hidden->total / all});
}

static void lines_of(struct lines *lines, const struct call_tree *tree)
{
    for (size_t i = 0; i < tree->count; ++i) {
        size_t next = i + 1 < tree->count ? tree->paths[i + 1].depth : 0;
        add_line(lines, &tree->paths[i]);
        /* All that is below these stands above this line. */
        for (size_t at = i; at != SIZE_MAX && tree->paths[at].depth >= next; at = tree->paths[at].above)
            add_note(lines, tree, &tree->paths[at].hidden, tree->paths[at].depth + 1);
    }
    add_note(lines, tree, &tree->hidden, 0);
}

void call_tree_print(const struct call_tree *tree, const char *source)
{
    const struct figure_column *columns[TREE_COLUMNS];
    struct lines lines = {0};
    results_print_head(tree->results, source, sp_results_region_count(tree->results), tree->calls,
                       (int64_t)((uint64_t)tree->end - (uint64_t)tree->start));
    lines_of(&lines, tree);
    struct figures figures = figures_of(tree, columns);
    figures.lines = lines.lines;
    figures.count = lines.count;
    if (lines.count > 0) {
        putchar('\n');
        figures_print(&figures);
    }
    if (tree->cut > 0)
        printf("\nThere are more than %zu paths: %" PRIu64
               " calls on further ones are in the time of the path above them "
               "alone.\n",
               tree->found, tree->cut);
    if (tree->unsure > 0)
        printf("\nAttention: " CALLERS_UNSURE ".\n", tree->unsure, sp_results_rank_count(tree->results));
    results_print_notes(tree->results);
    for (size_t i = 0; i < lines.note_count; ++i)
        free(lines.notes[i]);
    free(lines.notes);
    free(lines.lines);
}

void call_tree_print_csv(const struct call_tree *tree)
{
    const struct figure_column *columns[TREE_COLUMNS];
    struct figures figures = figures_of(tree, columns);
    figures_print_csv(&figures);
}

void call_tree_print_json(const struct call_tree *tree, const char *source)
{
    const struct figure_column *columns[TREE_COLUMNS];
    struct figures figures = figures_of(tree, columns);
    json_t *document = results_json(tree->results, source, tree->calls);
    json_put(document, "total_ns", json_integer(tree->total));
    json_put(document, "found", json_count(tree->found));
    json_put(document, "cut_calls", json_count(tree->cut));
    json_put(document, "unsure_ranks", json_count(tree->unsure));
    json_put(document, "more", json_count(tree->hidden.paths));
    figures_print_json(&figures, document, "paths");
}
