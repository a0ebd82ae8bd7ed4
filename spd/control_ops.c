/* control_ops.c: what the requests do. */
#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon.h"
#include "flush.h"
#include "names.h"
#include "rank.h"
#include "request.h"
#include "scope_profiler.h"
#include "session.h"

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static json_t *session_globs(const struct options *options)
{
    json_t *globs = json_array();
    for (size_t n = 0; n < options->session_count; ++n)
        json_array_append_new(globs, json_string(options->sessions[n]));
    return globs;
}

/* Of the ranks that are served now. */
static void add_sums(json_t *status, const struct daemon *daemon)
{
    uint64_t bytes = 0, dropped = 0, waited_ns = 0, heads, undrained;
    for (const struct session *session = daemon->sessions; session; session = session->next)
        bytes += session->kept_bytes;
    for (const struct rank *rank = daemon->ranks; rank; rank = rank->next) {
        struct sp__counters counters;
        rank_counters(rank, &counters, &heads, &undrained);
        bytes += rank->consumer->spool.size;
        dropped += counters.dropped;
        waited_ns += counters.waited_ns;
    }
    set(status, "spool_bytes", integer(bytes));
    set(status, "dropped", integer(dropped));
    set(status, "waited_ns", integer(waited_ns));
}

static json_t *status_of(struct daemon *daemon)
{
    json_t *status =
        json_pack("{s:b, s:s, s:i, s:s, s:s, s:s, s:s, s:o}", "ok", 1, "version", SP_VERSION, "pid", (int)getpid(),
                  "hostname", daemon->hostname, "data_dir", daemon->data_dir, "runtime_dir", daemon->runtime.folder,
                  "format", options_format_name(daemon->options->format), "sessions", session_globs(daemon->options));
    if (!status)
        return NULL;
    set(status, "uptime_ms", integer(uv_now(&daemon->loop) - daemon->started_ms));
    set(status, "stopping", json_boolean(daemon->stopping));
    set(status, "nice", json_integer(getpriority(PRIO_PROCESS, 0)));
    set(status, "ranks", integer(daemon->rank_count));
    set(status, "ranks_most", integer(daemon->rank_limit));
    set(status, "attached", integer(daemon->attached));
    set(status, "finalized", integer(daemon->finalized));
    set(status, "died", integer(daemon->died));
    set(status, "discarded", integer(daemon->discarded));
    set(status, "set_aside", integer(daemon->set_aside));
    set(status, "records", integer(daemon->records));
    set(status, "published", integer(daemon->published));
    set(status, "publish_failures", integer(daemon->publish_failures));
    set(status, "limit_uses", integer(daemon->limit_uses));
    set(status, "drain_rate", json_real(daemon_drain_rate(daemon)));
    add_sums(status, daemon);
    return status;
}

static const char *state_name(const struct rank *rank)
{
    static const char *const names[] = {"damaged",    "recording", "paused",   "resetting",
                                        "finalizing", "finalized", "discarded"};
    uint32_t state = atomic_load_explicit(&rank->consumer->segment.header->state, memory_order_acquire);
    if (rank->aside || state > SP__DISCARDED)
        return names[0];
    return rank->dead && state < SP__FINALIZING ? "dead" : names[state];
}

static json_t *describe(const struct rank *rank)
{
    const struct sp__identity *id = rank_identity(rank);
    struct sp__counters counters;
    uint64_t heads, undrained;
    char path[SP__PATH_SIZE], incarnation[33];
    uint32_t format;
    rank_counters(rank, &counters, &heads, &undrained);
    rank_planned(rank, path, sizeof path, &format);
    sp__incarnation_text(id->incarnation, incarnation);
    json_t *object = json_pack("{s:s, s:i, s:i, s:i, s:s, s:s, s:s}", "session", id->session, "rank", (int)id->rank,
                               "part", (int)id->part, "pid", (int)id->pid, "hostname", id->hostname, "incarnation",
                               incarnation, "state", state_name(rank));
    if (!object)
        return NULL;
    set(object, "prefix", json_string(id->prefix));
    set(object, "segment", json_string(rank->consumer->segment.name));
    set(object, "records", integer(heads));
    set(object, "undrained", integer(undrained));
    set(object, "dropped", integer(counters.dropped));
    set(object, "waited_ns", integer(counters.waited_ns));
    set(object, "lost_no_lane", integer(counters.lost_no_lane));
    set(object, "too_deep", integer(counters.too_deep));
    set(object, "bytes", integer(rank->consumer->spool.size));
    set(object, "stalled", json_boolean(rank->stalled));
    set(object, "paused_by_limit", json_boolean(rank->paused_by_limit));
    set(object, "spool", json_string(rank->consumer->spool.path));
    set(object, "file", json_string(path));
    return object;
}

static json_t *list_of(struct daemon *daemon, const char *session)
{
    json_t *ranks = json_array(), *asides = json_array();
    for (const struct rank *rank = daemon->ranks; rank; rank = rank->next)
        if (!*session || !strcmp(session, rank_identity(rank)->session))
            json_array_append_new(ranks, describe(rank));
    for (const struct aside *aside = daemon->finder.asides; aside; aside = aside->next)
        if (!aside->foreign)
            json_array_append_new(asides, json_pack("{s:s, s:s}", "segment", aside->name, "why", aside->why));
    return json_pack("{s:b, s:o, s:o}", "ok", 1, "ranks", ranks, "set_aside", asides);
}

/* Every rank of the session, or the session's one file, is a part; the reply goes out when the last is published. */
static void begin_flush(struct daemon *daemon, struct client *client, const struct request *request)
{
    struct session *session = session_find(daemon, request->session);
    char words[256];
    if (!session || !session->ranks) {
        snprintf(
            words, sizeof words,
            "session %s has no rank that this spd serves; of programs that have ended, spctl list says where their "
            "files are",
            request->session);
        control_error(client, request->has_id, request->id, ENOENT, words);
        return;
    }
    struct flush *flush = flush_create(client, request->has_id, request->id);
    if (!flush) {
        control_error(client, request->has_id, request->id, ENOMEM, "out of memory");
        return;
    }
    client_waits(client, flush);
    bool merged = daemon->options->format == OPTIONS_MERGED;
    int status = merged ? flush_join(flush, &session->waiting) : 0;
    for (struct rank *rank = daemon->ranks; rank && !status; rank = rank->next) {
        if (rank->session != session)
            continue;
        if (!merged)
            status = flush_join(flush, &rank->waiting);
        rank->flush_wanted = true;
        daemon_due(daemon, rank);
    }
    if (status) {
        flush->error = -status;
        snprintf(flush->why, sizeof flush->why, "%s", strerror(-status));
    }
    if (merged)
        session_want_merge(session, true);
    flush_release(flush);
}

void control_serve(struct daemon *daemon, struct client *client, const struct request *request)
{
    switch (request->op) {
    case REQUEST_PING:
        control_reply(client, request->has_id, request->id,
                      json_pack("{s:b, s:s, s:i}", "ok", 1, "version", SP_VERSION, "pid", (int)getpid()));
        break;
    case REQUEST_STATUS:
        control_reply(client, request->has_id, request->id, status_of(daemon));
        break;
    case REQUEST_LIST:
        control_reply(client, request->has_id, request->id, list_of(daemon, request->session));
        break;
    case REQUEST_FLUSH:
        begin_flush(daemon, client, request);
        break;
    }
}
