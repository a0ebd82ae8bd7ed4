#include <stdint.h>
#include <stdio.h>

#include "inputs.h"
#include "json.h"
#include "say.h"
#include "verbs.h"
#include "writing.h"

static const char *output, *label;
static bool nesting, as_json;

static void print_json(const sp_write_report *report, json_t *taken)
{
    json_t *document = json_document();
    json_put(document, "output", json_text(output));
    json_put(document, "inputs", json_incref(taken));
    json_put(document, "ranks", json_count(report->ranks));
    json_put(document, "regions", json_count(report->regions));
    json_put(document, "rows", json_count(report->rows));
    json_put(document, "calls", json_count(report->calls));
    json_put(document, "threads", json_count(report->threads));
    json_put(document, "dropped", json_count(report->dropped));
    json_put(document, "lost", json_count(report->lost));
    json_put(document, "warnings", json_count(report->warnings));
    json_put(document, "open_calls", json_count(report->open_calls));
    json_put(document, "deaths", json_count(report->deaths));
    json_print(document);
}

static int merge(sp_inputs *inputs, const struct arguments *arguments, json_t *taken)
{
    sp_write_report report;
    size_t bad = inputs_collect(inputs, arguments, taken);
    if (bad > 0) {
        if (arguments->count > 1)
            say("%s was not written: %zu of %zu inputs cannot be read, named above", output, bad, arguments->count);
        return END_FAILED;
    }
    int end = profile_write(inputs, output, label, nesting, &report);
    if (end != END_DONE && end != END_LOSS)
        return end;
    if (as_json)
        print_json(&report, taken);
    else
        profile_written_print(output, &report);
    return end;
}

static int run(const struct arguments *arguments)
{
    sp_inputs *inputs;
    sp_error error = {0};
    if (!output) {
        say("the output is missing: -o OUT.h5; see \"spctl merge --help\"");
        return END_USAGE;
    }
    if (!output_possible(output))
        return END_FAILED;
    if (sp_inputs_create(&inputs, &error) < 0) {
        say("%s", error.text);
        return END_FAILED;
    }
    json_t *taken = need(json_array());
    int end = merge(inputs, arguments, taken);
    json_decref(taken);
    sp_inputs_destroy(inputs);
    return end;
}

static const struct option options[] = {{'o', "output", "OUT.h5", "the profile to write", &output},
                                        {'l', "label", "TEXT", "its label (else the output's stem)", &label},
                                        {0, "nesting", NULL, "number calls and parents of every rank", &nesting},
                                        {'j', "json", NULL, "print JSON", &as_json},
                                        {0, NULL, NULL, NULL, NULL}};

const struct verb verb_merge = {
    .name = "merge",
    .operands = "SESSION|FILE|DIR... -o OUT.h5",
    .summary = "write one profile of sessions, files and folders",
    .about =
        "Writes one HDF5 profile of everything named: the output is replaced whole or not at all. An input that\n"
        "exists as a path, or holds a '/', is a file or a folder (its *.spt and *_rank<N>.h5); anything else is a\n"
        "session, or the prefix of launches, of which the newest is taken. session:NAME always names a session.\n"
        "A session may be live or ended, with spd or without. Statistics without events (SP_MODE=stats) merge with\n"
        "their like alone. Exit status 3 when calls were dropped or lost, or something was left out: each is said on\n"
        "stderr.",
    .options = options,
    .least = 1,
    .most = SIZE_MAX,
    .run = run,
};
