/* openmetrics.c: totals of each region and rank as OpenMetrics 1.0 text, for Prometheus and what reads like it. */
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "say.h"

static char *escape(const char *s)
{
    char *escaped = malloc(2 * strlen(s) + 1), *to = escaped;
    for (; escaped && *s; ++s) {
        if (*s == '\\' || *s == '"' || *s == '\n')
            *to++ = '\\';
        *to++ = (char)(*s == '\n' ? 'n' : *s);
    }
    if (escaped)
        *to = 0;
    return escaped;
}

enum { CALLS, TOTAL, EXCLUSIVE, MINIMUM, MAXIMUM, FAMILIES };

static const struct family {
    const char *name, *type, *suffix, *unit, *help;
} families[FAMILIES] = {
    {"scope_profiler_calls", "counter", "_total", "", "Finished calls of a region on a rank."},
    {"scope_profiler_time_seconds", "counter", "_total", "seconds", "Time in calls of a region on a rank."},
    {"scope_profiler_exclusive_time_seconds", "counter", "_total", "seconds",
     "The same less the time in regions that were called from it."},
    {"scope_profiler_call_min_seconds", "gauge", "", "seconds", "The shortest call."},
    {"scope_profiler_call_max_seconds", "gauge", "", "seconds", "The longest call."},
};

static void describe(struct out *out, const struct family *family)
{
    out_text(out, "# TYPE ");
    out_text(out, family->name);
    out_text(out, " ");
    out_text(out, family->type);
    if (*family->unit) {
        out_text(out, "\n# UNIT ");
        out_text(out, family->name);
        out_text(out, " ");
        out_text(out, family->unit);
    }
    out_text(out, "\n# HELP ");
    out_text(out, family->name);
    out_text(out, " ");
    out_text(out, family->help);
    out_text(out, "\n");
}

static void put_label(struct export *e, const char *before, const char *value)
{
    char *escaped = need(escape(value ? value : ""));
    out_text(e->out, before);
    out_text(e->out, escaped);
    free(escaped);
}

static void sample(struct export *e, const struct family *family, const sp_result *row, int64_t value)
{
    struct out *out = e->out;
    out_text(out, family->name);
    out_text(out, family->suffix);
    put_label(e, "{region=\"", row->region);
    out_text(out, "\",rank=\"");
    out_unsigned(out, row->rank);
    out_text(out, "\"} ");
    if (*family->unit)
        out_decimal(out, (uint64_t)value, 9);
    else
        out_unsigned(out, (uint64_t)value);
    out_text(out, "\n");
    e->written++;
}

static void put_family(struct export *e, int which)
{
    sp_result row;
    describe(e->out, &families[which]);
    for (size_t n = 0; sp_results_row(e->results, n, &row) == 0; ++n) {
        const int64_t values[FAMILIES] = {(int64_t)row.calls, row.total, row.exclusive, row.minimum, row.maximum};
        if (row.calls && (which != EXCLUSIVE || row.exclusive >= 0))
            sample(e, &families[which], &row, values[which]);
    }
}

static void put_dropped(struct export *e)
{
    static const struct family dropped = {"scope_profiler_dropped_calls", "counter", "_total", "",
                                          "Calls that were dropped while recording, over all ranks."};
    const char *count = sp_results_metadata(e->results, "sp_dropped_records");
    describe(e->out, &dropped);
    out_text(e->out, "scope_profiler_dropped_calls_total ");
    out_unsigned(e->out, count ? strtoull(count, NULL, 10) : 0);
    out_text(e->out, "\n");
    e->written++;
}

static void put_info(struct export *e)
{
    out_text(e->out, "# TYPE scope_profiler_profile info\n# HELP scope_profiler_profile What was profiled.\n");
    put_label(e, "scope_profiler_profile_info{session=\"", sp_results_metadata(e->results, "sp_session"));
    put_label(e, "\",hostname=\"", sp_results_metadata(e->results, "hostname"));
    put_label(e, "\",label=\"", sp_results_label(e->results));
    out_text(e->out, "\"} 1\n");
    e->written++;
}

static void finish(struct export *e)
{
    put_info(e);
    for (int which = 0; which < FAMILIES; ++which)
        put_family(e, which);
    put_dropped(e);
    out_text(e->out, "# EOF\n");
}

const struct export_format export_openmetrics = {
    .name = "openmetrics",
    .help = "totals of each region and rank for Prometheus: calls, time, exclusive time, shortest and longest call, "
            "dropped calls",
    .statistics = true,
    .finish = finish,
};
