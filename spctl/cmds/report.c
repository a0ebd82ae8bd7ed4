#include <stdint.h>
#include <stdio.h>

#include "inputs.h"
#include "json.h"
#include "region_table.h"
#include "say.h"
#include "verbs.h"

static const char *sort_column;
static bool as_json, as_csv;

/* What the header calls the inputs: the one, or how many. */
static const char *source_of(const struct arguments *arguments, sp_inputs *inputs, char *buffer, size_t size)
{
    const char *session = sp_inputs_session(inputs);
    if (arguments->count == 1)
        return session && *session ? session : arguments->operands[0];
    snprintf(buffer, size, "%zu inputs", arguments->count);
    return buffer;
}

static int report(sp_inputs *inputs, const struct arguments *arguments)
{
    sp_results *results;
    sp_error error = {0};
    struct region_table table;
    char buffer[64];
    struct bad_inputs bad = {0};
    sp_inputs_probe(inputs, SP_PROBE_STATISTICS);
    inputs_collect(inputs, arguments, &bad, NULL);
    if (bad.nothing + sp_inputs_bad(inputs) > 0)
        return END_FAILED;
    sp_inputs_on_bad(inputs, NULL, NULL);
    if (sp_results_load(&results, inputs, true, &error) < 0) {
        say("%s", error.text);
        return END_FAILED;
    }
    const char *source = source_of(arguments, inputs, buffer, sizeof buffer);
    region_table_init(&table, results, sort_column);
    if (as_json)
        json_print(region_table_json(&table, source));
    else if (as_csv)
        region_table_print_csv(&table);
    else
        region_table_print(&table, source);
    region_table_finish(&table);
    sp_results_destroy(results);
    return END_DONE;
}

static int run(const struct arguments *arguments)
{
    sp_inputs *inputs;
    sp_error error = {0};
    if (sort_column && !region_column_known(sort_column)) {
        say("there is no column %s to sort by; there are %s", sort_column, region_columns);
        return END_USAGE;
    }
    if (as_json && as_csv) {
        say("--json and --csv exclude each other");
        return END_USAGE;
    }
    if (sp_inputs_create(&inputs, &error) < 0) {
        say("%s", error.text);
        return END_FAILED;
    }
    int end = report(inputs, arguments);
    sp_inputs_destroy(inputs);
    return end;
}

static const struct option options[] = {
    {'s', "sort", "COLUMN", "region, calls, total, exclusive, mean, min, max, percent or ranks", &sort_column},
    {'j', "json", NULL, "print JSON, times in ns", &as_json},
    {0, "csv", NULL, "print CSV, times in ns", &as_csv},
    {0, NULL, NULL, NULL, NULL}};

const struct verb verb_report = {
    .name = "report",
    .operands = "FILE|SESSION|DIR...",
    .summary = "print the table of regions",
    .about = "One line per region over all ranks: calls, total time, exclusive time (less that of the regions called\n"
             "from it), mean, shortest and longest call, its share of all exclusive time, and on how many ranks it\n"
             "was. Inputs are taken as in \"spctl merge\". Calls still open, deaths and dropped calls are named below.",
    .options = options,
    .least = 1,
    .most = SIZE_MAX,
    .run = run,
};
