#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "json.h"
#include "say.h"
#include "scope_profiler_io.h"
#include "text.h"
#include "verbs.h"

static bool as_json;

struct checked {
    const char *path;
    json_t *findings; /* NULL: print them */
};

/* Names in a damaged file may hold anything: nothing of it moves a cursor. */
static void print_finding(const char *path, const char *place, const char *text)
{
    char line[2 * SP__PATH_SIZE];
    snprintf(line, sizeof line, "%s: %s%s%s", path, place, *place ? ": " : "", text);
    char *clean = need(text_clean(line));
    progress_end();
    puts(clean);
    free(clean);
}

static void found(void *context, const char *place, const char *text)
{
    const struct checked *checked = context;
    if (checked->findings) {
        json_t *finding = json_push(checked->findings, json_object());
        json_put(finding, "place", json_text(place ? place : ""));
        json_put(finding, "text", json_text(text));
    } else {
        print_finding(checked->path, place ? place : "", text);
    }
}

enum end { SOUND, UNSOUND, UNREADABLE, ENDS };

/* The file's member of `files` (NULL: none) tells the same. */
static enum end check(const char *path, json_t *files)
{
    struct checked checked = {.path = path};
    sp_check_result result = {0};
    sp_error error = {0};
    json_t *file = files ? json_push(files, json_object()) : NULL;
    if (file) {
        json_put(file, "file", json_text(path));
        checked.findings = json_put(file, "findings", json_array());
    }
    struct stat info;
    int status;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
        status = SP_ERR_USAGE;
        snprintf(error.text, sizeof error.text, "%.600s: is a folder: name the files in it that are to be checked",
                 path);
    } else {
        struct progress progress;
        progress_begin(&progress, "checking");
        status = sp_check_file_progress(path, found, &checked, progress_show, &progress, &result, &error);
        progress_end();
    }
    if (status < 0)
        say("%s", error.text);
    bool sound = status == 0 && result.findings == 0;
    if (file) {
        json_put(file, "sound", status < 0 ? json_null() : json_boolean(sound));
        json_put(file, "format", json_text(result.format));
        json_put(file, "ranks", json_count(result.ranks));
        json_put(file, "regions", json_count(result.regions));
        json_put(file, "calls", json_count(result.calls));
        if (status < 0)
            json_put(file, "error", json_text(error.text));
    } else if (sound) {
        printf("%s: sound, %s, %" PRIu64 " %s, %" PRIu64 " %s, %" PRIu64 " %s\n", path, result.format, result.ranks,
               result.ranks == 1 ? "rank" : "ranks", result.regions, result.regions == 1 ? "region" : "regions",
               result.calls, result.calls == 1 ? "call" : "calls");
    }
    return status < 0 ? UNREADABLE : sound ? SOUND : UNSOUND;
}

static int run(const struct arguments *arguments)
{
    json_t *document = as_json ? json_document() : NULL;
    json_t *files = document ? json_put(document, "files", json_array()) : NULL;
    size_t bad[ENDS] = {0};
    for (size_t i = 0; i < arguments->count; ++i)
        bad[check(arguments->operands[i], files)]++;
    if (document)
        json_print(document);
    if (bad[UNSOUND] > 0)
        say("%zu of %zu %s not sound: what is wrong is named above", bad[UNSOUND], arguments->count,
            bad[UNSOUND] == 1 ? "is" : "are");
    return bad[UNSOUND] + bad[UNREADABLE] > 0 ? END_FAILED : END_DONE;
}

static const struct option options[] = {{'j', "json", NULL, "print JSON", &as_json}, {0, NULL, NULL, NULL, NULL}};

const struct verb verb_check = {
    .name = "check",
    .operands = "FILE...",
    .summary = "say whether files are sound, and what is wrong where they are not",
    .about =
        "Reads each trace (.spt), profile (.h5) or spool whole and prints one line for a sound file, or a line for\n"
        "everything that is wrong: file, place, what. Exit status 1 when any file is not sound.",
    .options = options,
    .least = 1,
    .most = SIZE_MAX,
    .run = run,
};
