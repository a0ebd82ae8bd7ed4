#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comparison.h"
#include "loading.h"
#include "say.h"
#include "selection.h"
#include "units.h"
#include "verbs.h"

static const char *threshold, *metrics, *least, *sort_column, *top;
static struct selection_options selected;
static struct values regions;
static bool both, as_json, as_csv;

static bool metrics_parse(const char *text, bool ret[METRIC_COUNT])
{
    while (*text) {
        size_t length = strcspn(text, ",");
        int m = 0;
        while (m < METRIC_COUNT && (strlen(metric_names[m]) != length || strncmp(metric_names[m], text, length) != 0))
            ++m;
        if (m == METRIC_COUNT) {
            say("--metric %.*s: there are total, mean, p95 and calls, with commas between them", (int)length, text);
            return false;
        }
        ret[m] = true;
        text += length + (text[length] == ',');
    }
    return true;
}

static bool options_read(struct comparison_wanted *ret)
{
    const struct figure_column *columns[COMPARISON_COLUMNS];
    *ret = (struct comparison_wanted){.both = both, .threshold = -1, .regions = &regions};
    if (as_json && as_csv) {
        say("--json and --csv exclude each other");
        return false;
    }
    if (!threshold && (metrics || both)) {
        say("%s needs --threshold", metrics ? "--metric" : "--both");
        return false;
    }
    if (!metrics_parse(metrics ? metrics : "total,mean,p95", ret->metric) ||
        (threshold && !percent_parse("--threshold", threshold, &ret->threshold)) ||
        (least && !duration_parse("--min-time", least, &ret->least)) || (top && !count_parse("--top", top, &ret->top)))
        return false;
    ret->p95 = !metrics || ret->metric[METRIC_P95];
    comparison_columns(columns);
    if (sort_column && !(ret->sort = figures_column(columns, sort_column))) {
        char *names = figures_names(columns);
        say("there is no column %s to sort by; there are %s", sort_column, names);
        free(names);
        return false;
    }
    return true;
}

static const char *metric_text(const struct compared *line, int side, units_buffer buffer)
{
    const struct compared_side *of = &line->side[side];
    if (line->worst == METRIC_CALLS)
        snprintf(buffer, sizeof(units_buffer), "%llu", (unsigned long long)of->calls);
    else
        units_time(line->worst == METRIC_TOTAL  ? of->total
                   : line->worst == METRIC_MEAN ? (int64_t)of->mean
                                                : (int64_t)of->p95,
                   buffer);
    return buffer;
}

/* The worst comes last, where a log ends. */
static int judge(const struct comparison *c)
{
    for (size_t i = c->failed_count; i-- > 0;) {
        const struct compared *line = &c->failed[i];
        units_buffer before, after;
        char by[64];
        if (isinf(line->by))
            snprintf(by, sizeof by, "from nothing");
        else
            snprintf(by, sizeof by, "by %.1f %%", fabs(line->by));
        say("%s %s %s: %s was %s and is %s; %g %% are allowed", line->region, line->by < 0 ? "shrank" : "grew", by,
            metric_names[line->worst], metric_text(line, 0, before), metric_text(line, 1, after), c->threshold);
    }
    return c->failed_count > 0 ? END_FAILED : END_DONE;
}

static int compare(struct loaded loaded[2], const struct comparison_wanted *wanted)
{
    struct comparison c;
    sp_results *const results[] = {loaded[0].results, loaded[1].results};
    const char *const names[] = {loaded[0].name, loaded[1].name};
    sp_error error = {0};
    if (!regions_known(wanted->regions, results, 2))
        return END_FAILED;
    int status = comparison_make(&c, results, names, wanted, &error);
    progress_end();
    if (status < 0) {
        say("%s", error.text);
        return END_FAILED;
    }
    if (threshold && c.no_p95 && metrics && strcmp(metrics, "p95") == 0) {
        say("there are statistics without calls (SP_MODE=stats), whose p95 is unknown: there is nothing to compare; "
            "name another --metric");
        comparison_finish(&c);
        return END_FAILED;
    }
    if (threshold && c.together == 0) { /* a gate that lets everything pass is none */
        say("%s and %s have no region in common: there is nothing to compare", names[0], names[1]);
        comparison_finish(&c);
        return END_FAILED;
    }
    if (c.ranks[0] != c.ranks[1])
        say("%s has %zu %s and %s %zu: totals and calls are sums over them", names[0], c.ranks[0],
            c.ranks[0] == 1 ? "rank" : "ranks", names[1], c.ranks[1]);
    if (c.no_p95)
        say("there are statistics without calls (SP_MODE=stats): their p95 is unknown and does not count");
    if (as_json)
        comparison_print_json(&c);
    else if (as_csv)
        comparison_print_csv(&c);
    else
        comparison_print(&c);
    fflush(stdout); /* what follows on stderr is the end of it */
    int end = judge(&c);
    comparison_finish(&c);
    return end;
}

static int load_and_compare(const struct arguments *arguments, const struct comparison_wanted *wanted)
{
    struct loaded loaded[2] = {0};
    int end = END_DONE;
    for (size_t i = 0; end == END_DONE && i < 2; ++i) {
        struct arguments one = *arguments;
        one.operands = &arguments->operands[i];
        one.count = 1;
        end = loaded_open(&loaded[i], &one, &(struct loading){.selection = &selected, .calls = wanted->p95});
    }
    if (end == END_DONE)
        end = compare(loaded, wanted);
    loaded_close(&loaded[0]);
    loaded_close(&loaded[1]);
    return end;
}

static int run(const struct arguments *arguments)
{
    struct comparison_wanted wanted;
    int end = options_read(&wanted) && selection_read(&selected) ? load_and_compare(arguments, &wanted) : END_USAGE;
    selection_finish(&selected);
    return end;
}

static const struct option options[] = {
    {'t', "threshold", "SHARE", "as 5% or 0.05: end with 1 where a region grew by more", &threshold},
    {'m', "metric", "LIST", "what counts for that: total, mean, p95, calls (else total,mean,p95)", &metrics},
    {0, "both", NULL, "what shrank by more counts too", &both},
    {0, "min-time", "TIME", "as 10ms: ignore regions of a smaller total in both", &least},
    {0, "regions", "GLOB...", "only regions of such a name; may be given several times", &regions},
    RANKS_OPTION(selected),
    {'s', "sort", "COLUMN", "region, or by change: total, percent (of total), mean, p95 or calls", &sort_column},
    {'n', "top", "N", "the first N lines", &top},
    {'j', "json", NULL, "print JSON, times in ns", &as_json},
    {0, "csv", NULL, "print CSV, times in ns", &as_csv},
    {0, NULL, NULL, NULL, NULL}};

const struct verb verb_diff = {
    .name = "diff",
    .operands = "A B",
    .summary = "compare two profiles region by region",
    .about =
        "Calls, total, mean and 95th percentile of each region in A and B, each a file, a folder or a session, and by\n"
        "how many percent they grew; sorted by how much the total changed. --threshold makes it a gate: where one of\n"
        "the figures that --metric names grew by more than that, the status is 1 and the last line on stderr says of\n"
        "which region, from what to what. Regions that are in one of them alone are shown and never counted, so that\n"
        "a new region is no failure.\n"
        "\n"
        "Exit status 1 is either: what is printed on stdout was compared (\"failed\" in JSON lists what grew), and "
        "with\n"
        "nothing on stdout an input could not be read, as the line on stderr says. p95 reads all calls, unless "
        "--metric\n"
        "leaves it out.",
    .options = options,
    .least = 2,
    .most = 2,
    .run = run,
};
