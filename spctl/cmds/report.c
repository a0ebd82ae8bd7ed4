#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_tree.h"
#include "loading.h"
#include "page/page.h"
#include "region_table.h"
#include "say.h"
#include "selection.h"
#include "verbs.h"

static const char *output, *sort_column, *by, *top, *least;
static struct selection_options selected;
static struct values regions;
static bool tree, percentiles, as_json, as_csv;

/* What of the options makes the views. */
struct views {
    struct table_wanted table;
    struct tree_wanted tree;
};

static int report_table(const struct loaded *loaded, const struct views *views)
{
    struct region_table table;
    sp_error error = {0};
    int status = region_table_make(&table, loaded->results, &views->table, &error);
    progress_end();
    if (status < 0) {
        say("%s", error.text);
        return END_FAILED;
    }
    if (as_json)
        region_table_print_json(&table, loaded->name);
    else if (as_csv)
        region_table_print_csv(&table);
    else
        region_table_print(&table, loaded->name);
    region_table_finish(&table);
    return END_DONE;
}

static int report_tree(const struct loaded *loaded, const struct views *views)
{
    struct call_tree paths;
    sp_error error = {0};
    int status = call_tree_make(&paths, loaded->results, &views->tree, &error);
    progress_end();
    if (status < 0) {
        say("%s", error.text);
        return END_FAILED;
    }
    if (as_json)
        call_tree_print_json(&paths, loaded->name);
    else if (as_csv)
        call_tree_print_csv(&paths);
    else
        call_tree_print(&paths, loaded->name);
    call_tree_finish(&paths);
    return END_DONE;
}

static const struct figure_column *column_of(const struct figure_column *const *columns)
{
    const struct figure_column *column = figures_column(columns, sort_column);
    if (!column) {
        char *names = figures_names(columns);
        say("there is no column %s to sort by; there are %s", sort_column, names);
        free(names);
    }
    return column;
}

static bool by_parse(enum table_by *ret)
{
    static const char *const names[] = {"region", "rank", "thread"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
        if (strcmp(by, names[i]) == 0) {
            *ret = (enum table_by)i;
            return true;
        }
    say("--by %s: there are region, rank and thread", by);
    return false;
}

static bool together(bool one, const char *name, bool other, const char *other_name)
{
    if (one && other)
        say("%s and %s exclude each other", name, other_name);
    return !(one && other);
}

static bool options_go_together(void)
{
    return together(as_json, "--json", as_csv, "--csv") && together(tree, "--tree", by, "--by") &&
           together(tree, "--tree", percentiles, "--percentiles") && together(output, "-o", as_csv, "--csv") &&
           together(output, "-o", by, "--by") && together(output, "-o", tree, "--tree") &&
           together(output, "-o", top, "--top") && together(output, "-o", regions.count, "--regions");
}

static bool options_read(struct views *ret)
{
    const struct figure_column *columns[REGION_COLUMNS];
    size_t most = 0;
    *ret = (struct views){.table = {.percentiles = percentiles, .regions = &regions},
                          .tree = {.least = as_json || as_csv ? 0 : 0.1, .regions = &regions}};
    if (!options_go_together())
        return false;
    if (least && !tree) {
        say("--min-percent is of --tree");
        return false;
    }
    if ((by && !by_parse(&ret->table.by)) || (top && !count_parse("--top", top, &most)) ||
        (least && !percent_parse("--min-percent", least, &ret->tree.least)))
        return false;
    ret->table.top = ret->tree.top = most;
    if (tree)
        tree_columns(columns);
    else
        region_columns(columns, ret->table.by, true);
    ret->table.sort = ret->tree.sort = sort_column ? column_of(columns) : NULL;
    return !sort_column || ret->table.sort;
}

static int show(const struct arguments *arguments, const struct views *views)
{
    struct loaded loaded;
    int end = output ? page_possible(output) : END_DONE;
    if (end != END_DONE)
        return end;
    const struct loading wanted = {.selection = &selected,
                                   .calls = output || tree || percentiles || views->table.by == BY_THREAD};
    end = loaded_open(&loaded, arguments, &wanted);
    if (end != END_DONE)
        return end;
    end = !regions_known(&regions, &loaded.results, 1) ? END_FAILED
          : output ? page_write(loaded.results, loaded.name, sort_column, output, as_json)
          : tree   ? report_tree(&loaded, views)
                   : report_table(&loaded, views);
    loaded_close(&loaded);
    return end;
}

static int run(const struct arguments *arguments)
{
    struct views views;
    int end = options_read(&views) && selection_read(&selected) ? show(arguments, &views) : END_USAGE;
    selection_finish(&selected);
    return end;
}

static const struct option options[] = {
    {'o', "output", "OUT.html", "a page instead: timeline, flame graph, histograms, ranks and findings", &output},
    {0, "by", "rank|thread", "a line for each region and rank, or region, rank and thread", &by},
    {0, "tree", NULL, "the tree of calls: which region was called from which", &tree},
    {'s', "sort", "COLUMN",
     "region, rank, thread, calls, total, exclusive, mean, min, p50, p95, p99, max, percent, ranks or imbalance",
     &sort_column},
    {'n', "top", "N", "the first N lines; with --tree the first N at each place", &top},
    {0, "percentiles", NULL, "50th, 95th and 99th percentile of the durations; reads all calls", &percentiles},
    {0, "min-percent", "SHARE", "with --tree: only paths that take as much (else 0.1%; all with --json and --csv)",
     &least},
    {0, "regions", "GLOB...", "show only regions of such a name; may be given several times", &regions},
    RANKS_OPTION(selected),
    TIMES_OPTIONS(selected),
    {'j', "json", NULL, "print JSON, times in ns", &as_json},
    {0, "csv", NULL, "print CSV, times in ns", &as_csv},
    {0, NULL, NULL, NULL, NULL}};

const struct verb verb_report = {
    .name = "report",
    .operands = "FILE|SESSION|DIR...",
    .summary = "print the table of regions or the tree of calls, or write a page to look at",
    .about =
        "One line per region over all ranks: calls, total time, exclusive time (less that of the regions called\n"
        "from it), mean, shortest and longest call, its share of all exclusive time, on how many ranks it was, and\n"
        "max/mean: the largest total of a rank over the mean of all ranks, those without the region included. With\n"
        "--by rank the same is said of each rank (\"of mean\": its total over that mean), with --by thread of each\n"
        "thread, \"-\" where a file does not say which thread a call was made by.\n"
        "\n"
        "--percentiles adds p50, p95 and p99 of the durations, exact, for threads within 0.8 %. They read all calls,\n"
        "as do --by thread, --tree, --from and --to; the table alone reads the statistics that files hold.\n"
        "\n"
        "--tree shows each path of calls over all ranks and threads: calls, total, exclusive time, and both as shares\n"
        "of the time of all outermost calls. Who called whom say the ids that a profile holds, else the intervals. Of\n"
        "more than 262,144 paths the calls on further ones count as time of the path above them, which is said.\n"
        "--regions leaves the paths that lead to such regions.\n"
        "\n"
        "-o writes one HTML file that needs no network: findings in words, a table to sort and search, a timeline to\n"
        "zoom in, a flame graph, and of each region its durations, over time too, and its ranks. It stays below 3 MB\n"
        "whatever there is: where calls are too many, those too short to tell apart are drawn together, which is\n"
        "visible, and what is left out is said in it. Its percentiles are within 0.8 %. With --json, what was written\n"
        "is told as JSON. A file there that is no page is not replaced.\n"
        "\n"
        "Shares and exclusive times are those of all regions, whichever are shown. Inputs are taken as in \"spctl\n"
        "merge\". Calls still open, deaths and dropped calls are named below.",
    .options = options,
    .least = 1,
    .most = SIZE_MAX,
    .run = run,
};
