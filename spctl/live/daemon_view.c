#include "daemon_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control_client.h"
#include "json.h"
#include "say.h"
#include "table.h"
#include "units.h"

enum { SECONDS = 10, STATES_MOST = 8 };

static char why[512];
static enum control_result result;

/* The ranks of one session that spd serves. */
struct served {
    const char *name; /* of the answer */
    uint64_t ranks, records, undrained, dropped, waited_ns, bytes;
    struct {
        const char *name;
        uint64_t ranks;
    } states[STATES_MOST];
};

static uint64_t number(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static const char *words(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "?";
}

static void add_rank(struct served *session, const json_t *rank)
{
    const char *state = words(rank, "state");
    session->ranks++;
    session->records += number(rank, "records");
    session->undrained += number(rank, "undrained");
    session->dropped += number(rank, "dropped");
    session->waited_ns += number(rank, "waited_ns");
    session->bytes += number(rank, "bytes");
    for (size_t i = 0; i < STATES_MOST; ++i) {
        if (session->states[i].name && strcmp(session->states[i].name, state) != 0)
            continue;
        session->states[i].name = state;
        session->states[i].ranks++;
        break;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct served *)a)->name, ((const struct served *)b)->name);
}

/* On the heap, sorted. */
static struct served *sessions_of(const json_t *list, size_t *ret_count)
{
    const json_t *ranks = json_object_get(list, "ranks");
    struct served *sessions = need(calloc(json_array_size(ranks) + 1, sizeof *sessions));
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(ranks); ++i) {
        const json_t *rank = json_array_get(ranks, i);
        const char *name = words(rank, "session");
        size_t at = 0;
        while (at < count && strcmp(sessions[at].name, name) != 0)
            ++at;
        count += at == count;
        sessions[at].name = name;
        add_rank(&sessions[at], rank);
    }
    if (count > 0)
        qsort(sessions, count, sizeof *sessions, by_name);
    *ret_count = count;
    return sessions;
}

static const char *waited_text(uint64_t ns, units_buffer buffer)
{
    return units_time(ns > INT64_MAX ? INT64_MAX : (int64_t)ns, buffer);
}

static void print_sessions(const struct served *sessions, size_t count, FILE *out)
{
    static const struct column columns[] = {{"session", false},  {"ranks", true},   {"state", false}, {"records", true},
                                            {"undrained", true}, {"dropped", true}, {"waited", true}, {"spool", true}};
    struct table *table = table_create(columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; ++i) {
        const struct served *s = &sessions[i];
        units_buffer waited, bytes;
        char states[256] = "";
        size_t used = 0;
        for (size_t n = 0; n < STATES_MOST && s->states[n].name && used < sizeof states; ++n)
            used += (size_t)snprintf(states + used, sizeof states - used, "%s%" PRIu64 " %s", used ? ", " : "",
                                     s->states[n].ranks, s->states[n].name);
        table_cell(table, "%s", s->name);
        table_cell(table, "%" PRIu64, s->ranks);
        table_cell(table, "%s", states);
        table_cell(table, "%" PRIu64, s->records);
        table_cell(table, "%" PRIu64, s->undrained);
        table_cell(table, "%" PRIu64, s->dropped);
        table_cell(table, "%s", waited_text(s->waited_ns, waited));
        table_cell(table, "%s", units_bytes(s->bytes, bytes));
    }
    table_print(table, out);
    table_destroy(table);
}

static void print_text(const json_t *status, const json_t *list, FILE *out)
{
    units_buffer age, spool, waited;
    size_t count;
    struct served *sessions = sessions_of(list, &count);
    fprintf(out, "spd %s, pid %" PRIu64 " on %s, up %s%s; data in %s, control at %s/control\n",
            words(status, "version"), number(status, "pid"), words(status, "hostname"),
            units_age((int64_t)(number(status, "uptime_ms") % (INT64_MAX / 1000000) * 1000000), age),
            json_is_true(json_object_get(status, "stopping")) ? ", stopping" : "", words(status, "data_dir"),
            words(status, "runtime_dir"));
    fprintf(out, "serves %zu %s of %" PRIu64 " %s, at most %" PRIu64 "; spool %s\n", count,
            count == 1 ? "session" : "sessions", number(status, "ranks"),
            number(status, "ranks") == 1 ? "rank" : "ranks", number(status, "ranks_most"),
            units_bytes(number(status, "spool_bytes"), spool));
    fprintf(out, "drains %.0f records/s, %" PRIu64 " so far; %" PRIu64 " dropped, %s waited\n",
            json_number_value(json_object_get(status, "drain_rate")), number(status, "records"),
            number(status, "dropped"), waited_text(number(status, "waited_ns"), waited));
    fprintf(out,
            "since its start: %" PRIu64 " finalized, %" PRIu64 " died, %" PRIu64 " discarded, %" PRIu64
            " set aside, %" PRIu64 " published, %" PRIu64 " failures to publish, %" PRIu64 " uses of a limit\n",
            number(status, "finalized"), number(status, "died"), number(status, "discarded"),
            number(status, "set_aside"), number(status, "published"), number(status, "publish_failures"),
            number(status, "limit_uses"));
    if (count > 0) {
        fputc('\n', out);
        print_sessions(sessions, count, out);
    }
    free(sessions);
}

static void print_json(json_t *status, const json_t *list)
{
    size_t count;
    struct served *sessions = sessions_of(list, &count);
    json_t *document = json_document();
    json_object_del(status, "v");
    json_object_del(status, "ok");
    json_t *globs = json_object_get(status, "sessions");
    json_put(document, "session_globs", globs ? json_incref(globs) : json_array());
    json_object_del(status, "sessions");
    if (json_object_update_missing(document, status) != 0)
        need(NULL);
    json_put(document, "spd_version", json_text(words(status, "version")));
    json_t *array = json_put(document, "sessions", json_array());
    for (size_t i = 0; i < count; ++i) {
        const struct served *s = &sessions[i];
        json_t *object = json_push(array, json_object());
        json_put(object, "session", json_text(s->name));
        json_put(object, "ranks", json_count(s->ranks));
        json_t *states = json_put(object, "states", json_object());
        for (size_t n = 0; n < STATES_MOST && s->states[n].name; ++n)
            json_put(states, s->states[n].name, json_count(s->states[n].ranks));
        json_put(object, "records", json_count(s->records));
        json_put(object, "undrained", json_count(s->undrained));
        json_put(object, "dropped", json_count(s->dropped));
        json_put(object, "waited_ns", json_count(s->waited_ns));
        json_put(object, "spool_bytes", json_count(s->bytes));
    }
    free(sessions);
    json_print_line(document);
}

bool daemon_show(const char *runtime_dir, bool as_json, FILE *out)
{
    json_t *status = NULL, *list = NULL;
    result = control_ask(runtime_dir, "status", NULL, SECONDS, NULL, NULL, &status, why);
    if (result == CONTROL_ANSWERED)
        result = control_ask(runtime_dir, "list", NULL, SECONDS, NULL, NULL, &list, why);
    bool answers = result == CONTROL_ANSWERED;
    if (answers && as_json)
        print_json(status, list);
    else if (answers)
        print_text(status, list, out);
    json_decref(status);
    json_decref(list);
    return answers;
}

void daemon_absent(const char *runtime_dir)
{
    if (result == CONTROL_ABSENT)
        say("no spd answers at %s/control: %s; start spd, or say with --runtime-dir where it is; programs record "
            "without "
            "it too, and \"spctl list\" shows them",
            runtime_dir, why);
    else
        say("spd at %s/control: %s", runtime_dir, why);
}
