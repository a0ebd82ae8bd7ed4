#include <inttypes.h>
#include <stdio.h>

#include "json.h"
#include "litter.h"
#include "say.h"
#include "scope_profiler_io.h"
#include "verbs.h"

static const char *output;
static bool as_json;

struct recovering {
    const char *path;
    json_t *losses; /* NULL: say them */
    uint64_t count;
};

static void lost(void *context, const char *place, const char *text)
{
    struct recovering *recovering = context;
    recovering->count++;
    if (recovering->losses) {
        json_t *loss = json_push(recovering->losses, json_object());
        json_put(loss, "place", json_text(place));
        json_put(loss, "text", json_text(text));
    } else {
        say("%s: %s: %s", recovering->path, place, text);
    }
}

static void warn(void *context, const char *text)
{
    struct recovering *recovering = context;
    if (recovering->losses) {
        lost(context, "", text);
    } else {
        say("warning: %s", text);
        recovering->count++;
    }
}

static const char *plural(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

static void print_report(const sp_recover_report *report, uint64_t losses)
{
    printf("%s: %" PRIu64 " %s, %" PRIu64 " %s saved", output, report->regions,
           plural(report->regions, "region", "regions"), report->calls, plural(report->calls, "call", "calls"));
    if (losses == 0)
        puts("; nothing is lost");
    else
        printf("; lost, as far as the file says: %" PRIu64 " %s, %" PRIu64 " %s, %" PRIu64 " %s\n",
               report->lost_regions, plural(report->lost_regions, "region", "regions"), report->lost_calls,
               plural(report->lost_calls, "call", "calls"), report->lost_bytes,
               plural(report->lost_bytes, "byte", "bytes"));
}

static json_t *report_json(const char *broken, const sp_recover_report *report)
{
    json_t *document = json_document();
    json_put(document, "broken", json_text(broken));
    json_put(document, "output", json_text(output));
    json_put(document, "regions", json_count(report->regions));
    json_put(document, "calls", json_count(report->calls));
    json_put(document, "lost_regions", json_count(report->lost_regions));
    json_put(document, "lost_calls", json_count(report->lost_calls));
    json_put(document, "lost_bytes", json_count(report->lost_bytes));
    return document;
}

static int run(const struct arguments *arguments)
{
    struct recovering recovering = {.path = arguments->operands[0]};
    struct progress progress;
    sp_write_settings settings = sp_write_settings_default();
    sp_recover_report report;
    sp_error error = {0};
    if (!output) {
        say("the output is missing: -o OUT.spt or -o OUT.h5; see \"spctl recover --help\"");
        return END_USAGE;
    }
    litter_beside(output);
    if (as_json)
        recovering.losses = need(json_array());
    progress_begin(&progress, "recovering");
    settings.progress = progress_show;
    settings.progress_context = &progress;
    settings.warn = warn;
    settings.warn_context = &recovering;
    int status = sp_recover(recovering.path, output, &settings, lost, &recovering, &report, &error);
    progress_end();
    if (status < 0) {
        say("%s", error.text);
        json_decref(recovering.losses);
        return END_FAILED;
    }
    if (as_json) {
        json_t *document = report_json(recovering.path, &report);
        json_put(document, "losses", recovering.losses);
        json_print(document);
    } else {
        print_report(&report, recovering.count);
    }
    return recovering.count ? END_LOSS : END_DONE;
}

static const struct option options[] = {
    {'o', "output", "OUT", "the trace (OUT.spt) or the profile (any other name) to write", &output},
    {'j', "json", NULL, "print JSON", &as_json},
    {0, NULL, NULL, NULL, NULL}};

const struct verb verb_recover = {
    .name = "recover",
    .operands = "BROKEN -o OUT",
    .summary = "save what a cut or damaged trace or spool still holds",
    .about =
        "Writes what can be saved of BROKEN, a trace (.spt) or a spool, to OUT, and says what was lost: a line for\n"
        "each place on stderr, the totals on stdout. A call is saved where both its start and its end are there.\n"
        "BROKEN stays as it is. Exit status 3 when something was lost or mended, 1 when nothing can be saved. Of a\n"
        "profile (.h5) nothing is recovered: recover what it was made of, or leave it out of a merge (--skip-bad).",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
