#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "inputs.h"
#include "json.h"
#include "say.h"
#include "selection.h"
#include "verbs.h"
#include "writing.h"

static const char *output, *label, *schema, *compress;
static struct selection_options selected;
static bool nesting, skip_bad, sync_output, as_json;

static void print_json(const sp_write_report *report, json_t *taken, json_t *skipped)
{
    json_t *document = json_document();
    json_put(document, "output", json_text(output));
    json_put(document, "inputs", json_incref(taken));
    json_put(document, "skipped", json_incref(skipped));
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

static bool options_read(sp_write_settings *settings)
{
    *settings = sp_write_settings_default();
    settings->label = label;
    settings->nesting = nesting;
    settings->skip_bad = skip_bad;
    settings->sync = sync_output;
    return (!schema || schema_parse(schema, &settings->schema)) &&
           (!compress || compress_parse(compress, &settings->gzip)) && selection_read(&selected);
}

static int merge(sp_inputs *inputs, const struct arguments *arguments, sp_write_settings settings,
                 struct bad_inputs *bad, json_t *taken)
{
    sp_write_report report;
    sp_inputs_probe(inputs, SP_PROBE_ALL);
    inputs_collect(inputs, arguments, bad, taken);
    if (bad->nothing > 0 && (!skip_bad || bad->nothing == arguments->count)) {
        if (arguments->count > 1)
            say("%s was not written, for what is named above; --skip-bad merges the others", output);
        return END_FAILED;
    }
    /* Where bad inputs end it, the others are only looked at, all of them. */
    int end = END_FAILED;
    if ((skip_bad || !sp_inputs_bad(inputs)) && !selection_narrow(&selected, inputs, &end))
        return end;
    end = profile_write(inputs, output, settings, &report);
    if (end != END_DONE && end != END_LOSS)
        return end;
    if (as_json)
        print_json(&report, taken, bad->list);
    else
        profile_written_print(output, &report);
    return bad->nothing ? END_LOSS : end;
}

static int run(const struct arguments *arguments)
{
    sp_inputs *inputs;
    sp_error error = {0};
    sp_write_settings settings;
    if (!output) {
        say("the output is missing: -o OUT.h5; see \"spctl merge --help\"");
        return END_USAGE;
    }
    if (!options_read(&settings))
        return END_USAGE;
    int end = END_FAILED;
    if (!output_possible(output))
        goto out;
    if (sp_inputs_create(&inputs, &error) < 0) {
        say("%s", error.text);
        goto out;
    }
    json_t *taken = need(json_array());
    struct bad_inputs bad = {.skip = skip_bad, .list = need(json_array())};
    end = merge(inputs, arguments, settings, &bad, taken);
    sp_inputs_destroy(inputs);
    json_decref(bad.list);
    json_decref(taken);
out:
    selection_finish(&selected);
    return end;
}

static const struct option options[] = {
    {'o', "output", "OUT.h5", "the profile to write", &output},
    {'l', "label", "TEXT", "its label (else the output's stem)", &label},
    SELECTION_OPTIONS(selected),
    {0, "skip-bad", NULL, "leave out what cannot be read, and merge the rest", &skip_bad},
    {0, "nesting", NULL, "number calls and parents of every rank", &nesting},
    {0, "schema", "2|3", "the layout: 2, or 3, which keeps times as differences", &schema},
    {0, "compress", "HOW", "none, gzip or gzip:1 to gzip:9", &compress},
    {0, "sync", NULL, "wait until the profile is on the disk, as before its inputs are removed", &sync_output},
    {'j', "json", NULL, "print JSON", &as_json},
    {0, NULL, NULL, NULL, NULL}};

const struct verb verb_merge = {
    .name = "merge",
    .operands = "SESSION|FILE|DIR... -o OUT.h5",
    .summary = "write one profile of sessions, files and folders",
    .about =
        "Writes one HDF5 profile of everything named, in any mix: the output is replaced whole or not at all. An "
        "input\n"
        "that exists as a path, or holds a '/', is a file or a folder (its *.spt and *_rank<N>.h5); anything else is "
        "a\n"
        "session, or the prefix of launches, of which the newest is taken. session:NAME always names a session.\n"
        "A session may be live or ended, with spd or without. Statistics without events (SP_MODE=stats) merge with\n"
        "their like alone. The profile reaches the disk as files of cp do, some seconds later; one that replaces\n"
        "another is there before that goes, and --sync waits for it always. Inputs that cannot be read are all named, "
        "and nothing is written unless --skip-bad is "
        "given.\n"
        "Exit status 3 when calls were dropped or lost, or something was skipped or left out: each is said on stderr.",
    .options = options,
    .least = 1,
    .most = SIZE_MAX,
    .run = run,
};
