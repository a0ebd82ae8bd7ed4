#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control_client.h"
#include "json.h"
#include "say.h"
#include "sessions.h"
#include "verbs.h"

enum { FLUSH_SECONDS = 600 };

static bool as_json;

static void print_answer(json_t *answer, const char *session)
{
    json_t *files = json_object_get(answer, "files");
    if (as_json) {
        json_t *document = json_document();
        json_put(document, "session", json_text(session));
        json_put(document, "files", json_is_array(files) ? json_incref(files) : json_array());
        json_put(document, "ranks", json_count((uint64_t)json_integer_value(json_object_get(answer, "ranks"))));
        json_put(document, "dropped", json_count((uint64_t)json_integer_value(json_object_get(answer, "dropped"))));
        json_print(document);
        return;
    }
    for (size_t i = 0; i < json_array_size(files); ++i) {
        const char *file = json_string_value(json_array_get(files, i));
        if (file)
            puts(file);
    }
}

static int finish(json_t *answer, const char *session)
{
    int end = END_DONE;
    json_int_t dropped = json_integer_value(json_object_get(answer, "dropped"));
    json_t *warnings = json_object_get(answer, "warnings");
    print_answer(answer, session);
    if (dropped > 0) {
        say("%s: %" PRIu64 " calls were dropped while recording", session, (uint64_t)dropped);
        end = END_LOSS;
    }
    for (size_t i = 0; i < json_array_size(warnings); ++i) {
        const char *text = json_string_value(json_array_get(warnings, i));
        say("warning: %s", text ? text : "");
        end = END_LOSS;
    }
    return end;
}

static int run(const struct arguments *arguments)
{
    char data_dir[SP__PATH_SIZE], runtime_dir[SP__PATH_SIZE], session[128], why[512];
    const char *name = arguments->operands[0];
    json_t *answer = NULL;
    if (!data_dir_of(arguments, data_dir) || !runtime_dir_of(arguments, runtime_dir))
        return END_FAILED;
    if (session_resolve(data_dir, name, session) < 0)
        return END_FAILED;

    struct progress progress;
    progress_begin(&progress, "waiting for spd");
    enum control_result result =
        control_ask(runtime_dir, "flush", session, FLUSH_SECONDS, progress_show, &progress, &answer, why);
    progress_end();
    int end = END_FAILED;
    switch (result) {
    case CONTROL_ABSENT:
        say("%s: no spd answers at %s/control: %s; start spd, or say with --runtime-dir where it is", session,
            runtime_dir, why);
        break;
    case CONTROL_BROKEN:
        say("%s: spd at %s/control: %s", session, runtime_dir, why);
        break;
    case CONTROL_REFUSED:
        say("%s: %s", session, why);
        break;
    case CONTROL_ANSWERED:
        if (strcmp(session, name) != 0)
            say("%s: the newest launch is taken, session %s", name, session);
        end = finish(answer, session);
        break;
    }
    json_decref(answer);
    return end;
}

static const struct option options[] = {{'j', "json", NULL, "print JSON", &as_json}, {0, NULL, NULL, NULL, NULL}};

const struct verb verb_flush = {
    .name = "flush",
    .operands = "SESSION",
    .summary = "publish a running session's calls so far, without stopping it",
    .about = "Asks spd to drain and publish every call of SESSION that has ended, and prints the files. The programs\n"
             "record on. Exit status 3 when calls were dropped.",
    .options = options,
    .least = 1,
    .most = 1,
    .run = run,
};
