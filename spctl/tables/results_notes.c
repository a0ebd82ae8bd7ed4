/* results_notes.c: what is said of a profile beside its figures. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "region_table.h"
#include "say.h"
#include "units.h"

/* A list of the metadata, one line each, indented below `title`. */
static void print_list(const sp_results *results, const char *key, const char *title)
{
    const char *text = sp_results_metadata(results, key);
    if (!text || !*text)
        return;
    printf("\n%s:\n", title);
    while (*text) {
        size_t length = strcspn(text, "\n");
        printf("  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static uint64_t dropped(const sp_results *results)
{
    const char *text = sp_results_metadata(results, "sp_dropped_records");
    return text ? strtoull(text, NULL, 10) : 0;
}

void results_print_head(const sp_results *results, const char *source, size_t regions, uint64_t calls, int64_t ns)
{
    units_buffer wall;
    size_t ranks = sp_results_rank_count(results);
    const char *session = sp_results_metadata(results, "sp_session");
    const char *host = sp_results_metadata(results, "hostname");
    printf("%s: %zu %s, %zu %s, %" PRIu64 " %s", source, ranks, ranks == 1 ? "rank" : "ranks", regions,
           regions == 1 ? "region" : "regions", calls, calls == 1 ? "call" : "calls");
    if (ns >= 0)
        printf(" over %s", units_time(ns, wall));
    if (session && *session && strcmp(session, source) != 0)
        printf(", session %s", session);
    if (host && *host && !strchr(host, '\n'))
        printf(", on %s", host);
    putchar('\n');
}

void results_print_notes(const sp_results *results)
{
    print_list(results, "sp_open_calls", "Still open, in no figure above");
    print_list(results, "sp_deaths", "Deaths");
    if (dropped(results) > 0)
        printf("\n%" PRIu64 " calls were dropped while recording: in no figure above.\n", dropped(results));
}

static json_t *lines_of(const sp_results *results, const char *key)
{
    json_t *list = need(json_array());
    const char *text = sp_results_metadata(results, key);
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        char *line = need(strndup(text, length));
        json_push(list, json_text(line));
        free(line);
        text += length + (text[length] == '\n');
    }
    return list;
}

json_t *results_json(const sp_results *results, const char *source, uint64_t calls)
{
    json_t *document = json_document();
    const char *session = sp_results_metadata(results, "sp_session");
    json_put(document, "source", json_text(source));
    json_put(document, "session", session && *session ? json_text(session) : json_null());
    json_put(document, "ranks", json_count(sp_results_rank_count(results)));
    json_put(document, "calls", json_count(calls));
    json_put(document, "dropped", json_count(dropped(results)));
    json_put(document, "open_calls", lines_of(results, "sp_open_calls"));
    json_put(document, "deaths", lines_of(results, "sp_deaths"));
    return document;
}
