#include "export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "say.h"

const struct export_format *const export_formats[] = {&export_chrome, &export_speedscope,  &export_csv, &export_json,
                                                      &export_folded, &export_openmetrics, NULL};
const char export_names[] = "chrome|speedscope|csv|json|folded|openmetrics";

const struct export_format *export_find(const char *name)
{
    for (const struct export_format *const *format = export_formats; *format; ++format)
        if (strcmp((*format)->name, name) == 0)
            return *format;
    return NULL;
}

char *export_json_string(const char *s)
{
    json_t *text = json_text(s);
    char *quoted = json_dumps(text, JSON_ENCODE_ANY);
    json_decref(text);
    return quoted;
}

void export_put_json(struct out *out, const char *s)
{
    char *quoted = need(export_json_string(s));
    out_text(out, quoted);
    free(quoted);
}

const char *export_lane_name(const sp_walk_call *call, lane_buffer buffer)
{
    if (call->thread < 0)
        snprintf(buffer, sizeof(lane_buffer), "lane %zu", call->lane);
    else
        snprintf(buffer, sizeof(lane_buffer), "thread %" PRId64 "%s%.64s", call->thread, *call->thread_name ? " " : "",
                 call->thread_name);
    return buffer;
}

/* What a walk needs beside the export itself. */
struct walking {
    struct export *e;
    const struct export_format *format;
};

static int64_t on_enter(void *context, const sp_walk_call *call)
{
    struct walking *w = context;
    int64_t result = w->format->enter ? w->format->enter(w->e, call) : 0;
    if (call->lane == w->e->lanes)
        w->e->lanes++;
    w->e->written++;
    w->e->unsure = w->e->unsure || call->unsure;
    return w->e->out->error ? -1 : result;
}

static int on_leave(void *context, const sp_walk_call *call)
{
    const struct walking *w = context;
    return w->format->leave(w->e, call);
}

static bool walk(struct walking *w)
{
    const sp_walk_visitor visitor = {
        .callers = w->format->callers, .enter = on_enter, .leave = w->format->leave ? on_leave : NULL};
    struct export *e = w->e;
    uint32_t rank;
    for (size_t n = 0; sp_results_rank(e->results, n, &rank) == 0; ++n) {
        sp_error error = {0};
        e->lanes = 0;
        e->unsure = false;
        if (w->format->rank)
            w->format->rank(e, rank);
        int status = sp_results_walk(e->results, n, &visitor, w, &error);
        if (!status && w->format->rank_end)
            status = w->format->rank_end(e, rank);
        e->unsure_ranks += e->unsure;
        if (error.status == SP_ERR_NO_EVENTS)
            say("%s; its totals: --format openmetrics, or \"spctl report --csv\"", error.text);
        else if (status && error.status)
            say("%s", error.text);
        if (status)
            return false;
    }
    return true;
}

static char **encode_names(const struct export *e, char *(*encode)(const char *s))
{
    size_t count = sp_results_region_count(e->results);
    char **names = need(calloc(count + 1, sizeof *names));
    for (size_t i = 0; i < count; ++i) {
        const char *name = sp_results_region(e->results, i);
        names[i] = need(encode ? encode(name) : strdup(name));
    }
    return names;
}

bool export_write(struct export *e, const struct export_format *format)
{
    struct walking w = {.e = e, .format = format};
    e->names = encode_names(e, format->encode);
    if (format->begin)
        format->begin(e);
    bool done = format->statistics || walk(&w);
    if (done && format->finish)
        format->finish(e);
    if (format->destroy)
        format->destroy(e);
    for (char **name = e->names; *name; ++name)
        free(*name);
    free(e->names);
    return done;
}
