#include "writing.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "durable.h"
#include "litter.h"
#include "names.h"
#include "say.h"

bool output_possible(const char *output)
{
    /* Such a name would be taken for one rank's profile by whoever merges that folder later. */
    if (fnmatch(SP_RANK_HDF5_GLOB, sp__base_name(output), 0) == 0) {
        say("%s: a profile of several ranks cannot have the name of one rank's (%s); choose another name", output,
            SP_RANK_HDF5_GLOB);
        return false;
    }
    litter_beside(output);
    struct sp__durable trial;
    struct stat info;
    int status = stat(output, &info) == 0 && S_ISDIR(info.st_mode) ? -EISDIR : sp__durable_begin(&trial, output, 0600);
    if (status < 0) {
        say("cannot write %s: %s; choose another place with -o", output, strerror(-status));
        return false;
    }
    sp__durable_abandon(&trial);
    return true;
}

int profile_write(sp_inputs *inputs, const char *output, sp_write_settings settings, sp_write_report *ret_report)
{
    struct progress progress;
    sp_error error = {0};
    sp_write_report report = {0};
    progress_begin(&progress, "merging");
    settings.progress = progress_show;
    settings.progress_context = &progress;
    settings.warn = say_warning;
    int status = sp_inputs_write(inputs, output, &settings, &report, &error);
    progress_end();
    if (status < 0) {
        bool unread = sp_inputs_bad(inputs) > 0 && !settings.skip_bad && !strcmp(error.file, output);
        say("%s%s", error.text, unread ? ", named above; --skip-bad merges the others" : "");
        return status == SP_ERR_USAGE ? END_USAGE : END_FAILED;
    }
    if (report.dropped > 0 && report.warnings == 0)
        say("%s: %" PRIu64 " calls were dropped while recording", output, report.dropped);
    if (report.lost > 0 && report.warnings == 0)
        say("%s: %" PRIu64 " calls or bytes are missing or damaged in what was read", output, report.lost);
    *ret_report = report;
    return report.dropped || report.lost || report.warnings ? END_LOSS : END_DONE;
}

static const char *plural(uint64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

void profile_written_print(const char *output, const sp_write_report *report)
{
    printf("%s: %" PRIu64 " %s, %" PRIu64 " %s, %" PRIu64 " %s, %" PRIu64 " dropped", output, report->ranks,
           plural(report->ranks, "rank", "ranks"), report->regions, plural(report->regions, "region", "regions"),
           report->calls, plural(report->calls, "call", "calls"), report->dropped);
    if (report->open_calls > 0)
        printf(", %" PRIu64 " still open", report->open_calls);
    if (report->deaths > 0)
        printf(", %" PRIu64 " %s", report->deaths, plural(report->deaths, "death", "deaths"));
    putchar('\n');
}
