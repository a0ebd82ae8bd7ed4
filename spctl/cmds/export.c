#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "inputs.h"
#include "json.h"
#include "paths.h"
#include "say.h"
#include "selection.h"
#include "verbs.h"
#include "writing.h"

static const char *output, *format_name;
static struct selection_options selected;
static bool as_json;

/* What a reader should know of what was written: said, and the exit status. */
static int losses(const struct export *e, sp_write_report *ret)
{
    sp_error error = {0};
    if (sp_results_report(e->results, output ? output : "the export", say_warning, NULL, ret, &error) < 0) {
        say("%s", error.text);
        return END_FAILED;
    }
    const char *open = sp_results_metadata(e->results, "sp_open_calls");
    if (open && *open)
        say("still open and left out, since they have no end: %.*s%s", (int)strcspn(open, "\n"), open,
            strchr(open, '\n') ? " and more" : "");
    if (e->unsure_ranks > 0)
        say(CALLERS_UNSURE, e->unsure_ranks, sp_results_rank_count(e->results));
    return ret->dropped || ret->lost || ret->warnings || e->partial ? END_LOSS : END_DONE;
}

static void print_report(const struct export *e, const struct export_format *format, const sp_write_report *report)
{
    const char *what = format->statistics ? "samples" : "calls";
    if (!as_json) {
        printf("%s: %s, ranks: %" PRIu64 ", regions: %" PRIu64 ", %s: %" PRIu64 "\n", output, format->name,
               report->ranks, report->regions, what, e->written);
        return;
    }
    json_t *document = json_document();
    json_put(document, "output", json_text(output));
    json_put(document, "format", json_text(format->name));
    json_put(document, "ranks", json_count(report->ranks));
    json_put(document, "regions", json_count(report->regions));
    json_put(document, what, json_count(e->written));
    json_put(document, "dropped", json_count(report->dropped));
    json_put(document, "lost", json_count(report->lost));
    json_put(document, "open_calls", json_count(report->open_calls));
    json_print(document);
}

static int write_out(struct export *e, const struct export_format *format)
{
    sp_write_report report;
    bool unread;
    if (!out_open(e->out, output))
        return END_FAILED;
    bool done = export_write(e, format);
    progress_end();
    if (!done && !e->out->error) {
        out_abandon(e->out);
        return END_FAILED;
    }
    if (!out_close(e->out, &unread))
        return unread ? END_DONE : END_FAILED;
    int end = losses(e, &report);
    if (output && end != END_FAILED)
        print_report(e, format, &report);
    return end;
}

static int export_results(sp_inputs *inputs, sp_results *results, const struct export_format *format)
{
    static struct out out;
    static struct progress progress;
    struct export e = {.out = &out, .results = results};
    sp_error error = {0};
    progress_begin(&progress, "exporting");
    sp_inputs_on_progress(inputs, progress_show, &progress);
    int status =
        format->statistics ? sp_results_sum_up(results, &error) : sp_results_first_start(results, &e.first, &error);
    if (status < 0) {
        say("%s", error.text);
        return END_FAILED;
    }
    if (e.first == INT64_MAX)
        e.first = 0;
    return write_out(&e, format);
}

static int export_inputs(sp_inputs *inputs, const struct arguments *arguments, const struct export_format *format)
{
    struct bad_inputs bad = {0};
    sp_results *results;
    sp_error error = {0};
    sp_inputs_probe(inputs, format->statistics ? SP_PROBE_STATISTICS : SP_PROBE_ALL);
    inputs_collect(inputs, arguments, &bad, NULL);
    if (bad.nothing + sp_inputs_bad(inputs) > 0)
        return END_FAILED;
    sp_inputs_on_bad(inputs, NULL, NULL);
    int end = END_DONE;
    if (!selection_narrow(&selected, inputs, &end))
        return end;
    int status = output ? sp_inputs_apart(inputs, output, &error) : 0;
    if (!status)
        status = sp_results_open(&results, inputs, &error);
    if (status < 0) {
        say("%s", error.text);
        return status == SP_ERR_USAGE ? END_USAGE : END_FAILED;
    }
    end = export_results(inputs, results, format);
    sp_results_destroy(results);
    return end;
}

static int run(const struct arguments *arguments)
{
    const struct export_format *format = format_name ? export_find(format_name) : NULL;
    sp_inputs *inputs;
    sp_error error = {0};
    if (output && strcmp(output, "-") == 0)
        output = NULL;
    if (!format) {
        say("%s%s: wanted is --format %s", format_name ? "there is no format " : "the format is missing",
            format_name ? format_name : "", export_names);
        return END_USAGE;
    }
    if (as_json && !output) {
        say("--json tells of the file that -o names: name one");
        return END_USAGE;
    }
    if (!selection_read(&selected))
        return END_USAGE;
    int end = END_FAILED;
    if (output && !output_possible(output))
        goto out;
    if (sp_inputs_create(&inputs, &error) < 0) {
        say("%s", error.text);
        goto out;
    }
    end = export_inputs(inputs, arguments, format);
    sp_inputs_destroy(inputs);
out:
    selection_finish(&selected);
    return end;
}

static const struct option options[] = {
    {'f', "format", "chrome|speedscope|csv|json|folded|openmetrics", "what to write, see above", &format_name},
    {'o', "output", "FILE", "where to; without it, or as -, on standard output", &output},
    SELECTION_OPTIONS(selected),
    {'j', "json", NULL, "print JSON about the file that was written", &as_json},
    {0, NULL, NULL, NULL, NULL}};

const struct verb verb_export = {
    .name = "export",
    .operands = "SESSION|FILE|DIR... --format FORMAT",
    .summary = "write calls or totals in the formats of other tools",
    .about =
        "Writes what the inputs hold, taken as in \"spctl merge\", in constant memory. The formats are:\n"
        "  chrome       trace events for Perfetto (ui.perfetto.dev) and chrome://tracing: a process is a rank, a "
        "thread\n"
        "               one of its lanes; times in microseconds since the first call, three decimals\n"
        "  speedscope   for speedscope.app: one profile a lane, times in nanoseconds since the first call\n"
        "  csv          a row per call: rank, thread, lane, region, start_ns, end_ns, depth, exclusive_ns\n"
        "  json         one array with an object per call and line, with the keys of csv; thread is null where "
        "unknown\n"
        "  folded       a line per stack for flame graphs, \"outer;inner ns\", exclusive times over threads and ranks\n"
        "  openmetrics  totals of each region and rank, for Prometheus: calls, time, exclusive time, shortest, "
        "longest\n"
        "\n"
        "A lane is a thread, or a part of one where calls cross; within it, calls are disjoint or nested. csv and "
        "json\n"
        "hold each lane's calls in the order they ended, with absolute times of CLOCK_MONOTONIC. In folded, ';' and\n"
        "control characters of names stand as \\x3b and the like, a backslash as \\\\. A call that had not ended is "
        "in\n"
        "none of them. Statistics without events (SP_MODE=stats) become openmetrics alone.\n"
        "With --regions, depth and exclusive time are among the regions taken: that of the others is their callers'.\n"
        "A file named by -o is replaced whole or not at all.\n"
        "Exit status 3 when calls were dropped while recording or are missing: each is said on stderr.",
    .options = options,
    .least = 1,
    .most = SIZE_MAX,
    .run = run,
};
