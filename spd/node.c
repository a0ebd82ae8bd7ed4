#include "node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <uv.h>

#include "clock.h"
#include "daemon.h"
#include "durable.h"
#include "log.h"
#include "names.h"
#include "note.h"
#include "session.h"

enum { VERSION = 1, ANCHORS_MOST = 64, TEXT_SIZE = 2048 };

struct node_write {
    uv_work_t work;
    struct session *session;
    char *text;
    char path[SP__PATH_SIZE];
    bool last; /* of some incarnation: its spool goes */
    int status;
};

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

json_t *node_fact(const struct sp__recording *recording, const char *file, const char *format, bool final)
{
    const struct sp__identity *id = &recording->identity;
    char incarnation[33], text[TEXT_SIZE];
    sp__incarnation_text(id->incarnation, incarnation);
    json_t *open_calls = json_array(), *deaths = json_array();
    for (size_t n = 0; sp__open_call_text(recording, n, text, sizeof text) == 1; ++n)
        json_array_append_new(open_calls, json_string(text));
    if (sp__death_text(recording, text, sizeof text) == 1)
        json_array_append_new(deaths, json_string(text));
    return json_pack(
        "{s:s, s:i, s:s, s:i, s:i, s:o, s:I, s:o, s:o, s:b, s:b, s:I, s:I, s:I, s:o, s:o, s:s, s:s, s:b}", //
        "incarnation", incarnation, "rank", (int)id->rank, "prefix", id->prefix, "pid", (int)id->pid, "part",
        (int)id->part, "calls", integer(recording->calls), "threads", (json_int_t)recording->thread_count, "dropped",
        integer(recording->counters.dropped), "waited_ns", integer(recording->counters.waited_ns), "ended",
        (int)recording->ended, "died", (int)recording->died, "birth_mono_ns", (json_int_t)id->birth.mono_ns,
        "birth_realtime_ns", (json_int_t)id->birth_realtime_ns, "end_mono_ns", (json_int_t)recording->end_ns, "deaths",
        deaths, "open_calls", open_calls, "file", file, "format", format, "final", (int) final);
}

/* The file as it is, where an earlier spd left one, else an empty one. */
static json_t *load(const struct session *session)
{
    json_t *node = json_load_file(session->node_path, 0, NULL);
    if (json_is_object(node) && json_integer_value(json_object_get(node, "version")) == VERSION &&
        json_is_array(json_object_get(node, "anchors")) && json_is_object(json_object_get(node, "ranks")))
        return node;
    json_decref(node);
    return json_pack("{s:i, s:s, s:s, s:[], s:{}}", "version", VERSION, "hostname", session->daemon->hostname,
                     "session", session->name, "anchors", "ranks");
}

static void add_anchor(json_t *node)
{
    json_t *anchors = json_object_get(node, "anchors");
    struct timespec real;
    uint64_t before = sp__clock_mono();
    clock_gettime(CLOCK_REALTIME, &real);
    uint64_t after = sp__clock_mono();
    json_int_t real_ns = (json_int_t)real.tv_sec * 1000000000 + real.tv_nsec;
    while (json_array_size(anchors) >= ANCHORS_MOST)
        json_array_remove(anchors, 1); /* the first and the latest say most */
    json_array_append_new(anchors, json_pack("{s:o, s:I, s:o}", "mono_ns", integer(before + (after - before) / 2),
                                             "realtime_ns", real_ns, "within_ns", integer(after - before)));
}

static void start_write(struct session *session);

static void on_write(uv_work_t *work)
{
    struct node_write *write = work->data;
    int (*put)(const char *, const void *, size_t, unsigned) = write->last ? sp__durable_write : sp__durable_write_soon;
    write->status = put(write->path, write->text, strlen(write->text), 0600);
}

static void on_written(uv_work_t *work, int status)
{
    struct node_write *write = work->data;
    struct session *session = write->session;
    struct daemon *daemon = session->daemon;
    (void)status;
    if (write->status)
        log_say(LOG_WARNING, "%s: write: %s; deaths and open calls stay in the notes", write->path,
                strerror(-write->status));
    free(write->text);
    free(write);
    session->node_write = NULL;
    if (session->node_dirty)
        start_write(session);
    session_release(session);
    daemon_check_stopped(daemon);
}

static void start_write(struct session *session)
{
    struct node_write *write = calloc(1, sizeof *write);
    session->node_dirty = false;
    if (!write)
        return;
    add_anchor(session->node);
    *write = (struct node_write){
        .session = session, .last = session->node_last, .text = json_dumps(session->node, JSON_INDENT(1))};
    if (!write->text) {
        free(write);
        return;
    }
    session->node_last = false;
    write->work.data = write;
    snprintf(write->path, sizeof write->path, "%s", session->node_path);
    session->node_write = write;
    uv_queue_work(&session->daemon->loop, &write->work, on_write, on_written);
}

void node_add(struct session *session, json_t *facts)
{
    size_t n;
    json_t *fact;
    if (!json_array_size(facts))
        return;
    if (!session->node && !(session->node = load(session)))
        return;
    json_array_foreach(facts, n, fact)
    {
        const char *incarnation = json_string_value(json_object_get(fact, "incarnation"));
        if (incarnation)
            json_object_set(json_object_get(session->node, "ranks"), incarnation, fact);
        session->node_last = session->node_last || json_is_true(json_object_get(fact, "final"));
    }
    session->node_dirty = true;
    if (!session->node_write)
        start_write(session);
}
