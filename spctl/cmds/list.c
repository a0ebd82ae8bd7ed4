#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "say.h"
#include "sessions.h"
#include "table.h"
#include "units.h"
#include "verbs.h"

static bool as_json, by_rank;

enum { STATES = SP_RANK_UNREADABLE + 1 };

/* One session's ranks come one after the other, so that sums need no more than this. */
struct session {
    char name[128];
    uint64_t incarnations, ranks, calls, undrained, dropped, bytes;
    uint64_t states[STATES];
    int64_t age; /* of the oldest, -1 unknown */
    int last_rank;
    json_t *list; /* of its incarnations, NULL unless JSON is wanted */
};

struct listing {
    struct table *table;
    json_t *sessions; /* NULL: tables */
    struct session now;
    uint64_t incarnations, unreadable;
};

static const struct column session_columns[] = {{"session", false}, {"ranks", true}, {"state", false}, {"calls", true},
                                                {"dropped", true},  {"size", true},  {"age", true}};
static const struct column rank_columns[] = {{"session", false},  {"rank", true},    {"state", false}, {"calls", true},
                                             {"undrained", true}, {"dropped", true}, {"size", true},   {"age", true},
                                             {"pid", true},       {"host", false},   {"file", false}};

/* "3 recording, 1 dead", or "recording" where all are. */
static void states_text(const struct session *session, char *ret, size_t size)
{
    size_t used = 0;
    ret[0] = 0;
    for (int state = 0; state < STATES; ++state) {
        const char *name = rank_state_name((enum sp_rank_state)state);
        uint64_t n = session->states[state];
        if (n == 0 || used >= size)
            continue;
        if (n == session->incarnations)
            used += (size_t)snprintf(ret + used, size - used, "%s", name);
        else
            used += (size_t)snprintf(ret + used, size - used, "%s%" PRIu64 " %s", used ? ", " : "", n, name);
    }
}

static void add_session_row(struct table *table, const struct session *session)
{
    char states[256];
    units_buffer bytes, age;
    states_text(session, states, sizeof states);
    table_cell(table, "%s", session->name);
    table_cell(table, "%" PRIu64, session->ranks);
    table_cell(table, "%s", states);
    table_cell(table, "%" PRIu64, session->calls);
    table_cell(table, "%" PRIu64, session->dropped);
    table_cell(table, "%s", units_bytes(session->bytes, bytes));
    table_cell(table, "%s", units_age(session->age, age));
}

static void add_session_json(json_t *sessions, struct session *session)
{
    json_t *object = json_push(sessions, json_object());
    json_t *states = json_object();
    json_put(object, "session", json_text(session->name));
    json_put(object, "ranks", json_count(session->ranks));
    json_put(object, "states", states);
    for (int state = 0; state < STATES; ++state)
        if (session->states[state])
            json_put(states, rank_state_name((enum sp_rank_state)state), json_count(session->states[state]));
    json_put(object, "calls", json_count(session->calls));
    json_put(object, "undrained", json_count(session->undrained));
    json_put(object, "dropped", json_count(session->dropped));
    json_put(object, "bytes", json_count(session->bytes));
    json_put(object, "age_ns", session->age < 0 ? json_null() : json_integer(session->age));
    json_put(object, "incarnations", session->list);
    session->list = NULL;
}

static void end_session(struct listing *listing)
{
    if (listing->now.incarnations > 0 && listing->sessions)
        add_session_json(listing->sessions, &listing->now);
    else if (listing->now.incarnations > 0 && !by_rank)
        add_session_row(listing->table, &listing->now);
    listing->now = (struct session){.age = -1, .last_rank = -1};
}

static void add_rank_row(struct table *table, const sp_rank_info *info)
{
    units_buffer bytes, age;
    bool readable = info->state != SP_RANK_UNREADABLE;
    table_cell(table, "%s", info->session);
    table_cell(table, "%d", info->rank);
    table_cell(table, "%s", rank_state_name(info->state));
    table_cell(table, "%" PRIu64, info->calls);
    table_cell(table, "%" PRIu64, info->undrained);
    table_cell(table, "%" PRIu64, info->dropped);
    table_cell(table, "%s", units_bytes(info->bytes, bytes));
    table_cell(table, "%s", units_age(info->age_ns, age));
    table_cell(table, "%" PRIu32, info->pid);
    table_cell(table, "%s", info->hostname);
    table_cell(table, "%s", readable ? info->file : info->why);
}

static void add_rank_json(json_t *list, const sp_rank_info *info)
{
    json_t *object = json_push(list, json_object());
    json_put(object, "rank", json_integer(info->rank));
    json_put(object, "state", json_text(rank_state_name(info->state)));
    json_put(object, "consumed", json_boolean(info->consumed));
    json_put(object, "calls", json_count(info->calls));
    json_put(object, "undrained", json_count(info->undrained));
    json_put(object, "dropped", json_count(info->dropped));
    json_put(object, "bytes", json_count(info->bytes));
    json_put(object, "age_ns", info->age_ns < 0 ? json_null() : json_integer(info->age_ns));
    json_put(object, "changed_ns", info->changed_ns < 0 ? json_null() : json_integer(info->changed_ns));
    json_put(object, "pid", json_count(info->pid));
    json_put(object, "hostname", json_text(info->hostname));
    json_put(object, "prefix", json_text(info->prefix));
    json_put(object, "incarnation", json_text(info->incarnation));
    json_put(object, "file", *info->file ? json_text(info->file) : json_null());
    if (info->state == SP_RANK_UNREADABLE)
        json_put(object, "why", json_text(info->why));
}

static int add(void *context, const sp_rank_info *info)
{
    struct listing *listing = context;
    if (strcmp(listing->now.name, info->session) != 0 || listing->now.incarnations == 0) {
        end_session(listing);
        snprintf(listing->now.name, sizeof listing->now.name, "%s", info->session);
        listing->now.list = listing->sessions ? need(json_array()) : NULL;
    }
    struct session *session = &listing->now;
    listing->incarnations++;
    session->incarnations++;
    session->ranks += info->rank != session->last_rank || session->incarnations == 1;
    session->last_rank = info->rank;
    session->calls += info->calls;
    session->undrained += info->undrained;
    session->dropped += info->dropped;
    session->bytes += info->bytes;
    session->age = info->age_ns > session->age ? info->age_ns : session->age;
    session->states[(unsigned)info->state < STATES ? info->state : SP_RANK_UNREADABLE]++;
    if (info->state == SP_RANK_UNREADABLE) {
        listing->unreadable++;
        say("session %s rank %d cannot be read: %s", info->session, info->rank, info->why);
    }
    if (session->list)
        add_rank_json(session->list, info);
    else if (by_rank)
        add_rank_row(listing->table, info);
    return 0;
}

static int print(struct listing *listing, const char *data_dir)
{
    if (listing->sessions) {
        json_t *document = json_document();
        json_put(document, "data_dir", json_text(data_dir));
        json_put(document, "sessions", json_incref(listing->sessions));
        json_print(document);
    } else if (table_rows(listing->table) > 0) {
        table_print(listing->table, stdout);
    } else {
        printf("no sessions: nothing in %s, and no program records\n", data_dir);
    }
    return listing->unreadable ? END_LOSS : END_DONE;
}

static int list(const char *data_dir, const char *session)
{
    sp_error error = {0};
    struct listing listing = {.now = {.age = -1, .last_rank = -1}};
    if (as_json)
        listing.sessions = need(json_array());
    else if (by_rank)
        listing.table = table_create(rank_columns, sizeof rank_columns / sizeof *rank_columns);
    else
        listing.table = table_create(session_columns, sizeof session_columns / sizeof *session_columns);

    int end = END_FAILED;
    int status = sp_sessions_each(data_dir, session, add, &listing, &error);
    end_session(&listing);
    if (status < 0 && (session || status != SP_ERR_NOT_FOUND))
        say("%s", error.text);
    else if (session && listing.incarnations == 0)
        say("%s: there is no such session in %s, and no program records it; \"spctl list\" shows all", session,
            data_dir);
    else
        end = print(&listing, data_dir);
    json_decref(listing.sessions);
    table_destroy(listing.table);
    return end;
}

static int run(const struct arguments *arguments)
{
    char data_dir[SP__PATH_SIZE], session[128];
    if (!data_dir_of(arguments, data_dir))
        return END_FAILED;
    if (arguments->count == 0)
        return list(data_dir, NULL);
    const char *name = arguments->operands[0];
    if (session_resolve(data_dir, name, session) < 0)
        return END_FAILED;
    if (strcmp(session, name) != 0)
        say("%s: the newest launch is taken, session %s", name, session);
    by_rank = true;
    return list(data_dir, session);
}

static const struct option options[] = {{'r', "ranks", NULL, "one line per rank", &by_rank},
                                        {'j', "json", NULL, "print JSON, sessions with their ranks", &as_json},
                                        {0, NULL, NULL, NULL, NULL}};

const struct verb verb_list = {
    .name = "list",
    .operands = "[SESSION]",
    .summary = "show the sessions, or a session's ranks",
    .about =
        "One line per session: ranks, their states, calls, dropped calls, bytes, age; with SESSION or --ranks one\n"
        "line per rank. Needs no spd: it reads segments, spools and what was published.\n"
        "States: recording, paused, finalizing, dead (not published yet), spooled (ended, not published yet),\n"
        "published, unreadable (exit status 3).",
    .options = options,
    .most = 1,
    .run = run,
};
