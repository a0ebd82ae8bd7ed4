#include "published.h"

#include <dirent.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "scope_profiler_io.h"

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), tail = strlen(suffix);
    return length > tail && strcmp(name + length - tail, suffix) == 0;
}

static json_t *note_load(const char *folder, const char *name)
{
    char path[SP__PATH_SIZE];
    json_error_t fault;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return NULL;
    return json_load_file(path, JSON_REJECT_DUPLICATES, &fault);
}

static const char *text_of(const json_t *note, const char *key)
{
    const char *text = json_string_value(json_object_get(note, key));
    return text ? text : "";
}

/* Calls that all notes of the folder promise for this rank in this file; UINT64_MAX where one of them is not the last
 * word: that life's spool speaks on, and would be counted besides the file. */
static uint64_t promised(const char *folder, const char *file, json_int_t rank)
{
    uint64_t calls = 0;
    DIR *list = opendir(folder);
    if (!list)
        return UINT64_MAX;
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        json_t *note = ends_with(entry->d_name, SP__NOTE_SUFFIX) ? note_load(folder, entry->d_name) : NULL;
        json_int_t n = json_integer_value(json_object_get(note, "calls"));
        if (note && strcmp(text_of(note, "file"), file) == 0 &&
            json_integer_value(json_object_get(note, "rank")) == rank) {
            bool final = json_is_true(json_object_get(note, "final"));
            calls = final && calls != UINT64_MAX ? calls + (n > 0 ? (uint64_t)n : 0) : UINT64_MAX;
        }
        json_decref(note);
    }
    closedir(list);
    return calls;
}

/* False after wording why. */
static bool calls_in(const char *file, json_int_t rank, uint64_t *ret, char why[256])
{
    sp_inputs *inputs = NULL;
    sp_results *results = NULL;
    sp_error error = {0};
    int status = sp_inputs_create(&inputs, &error);
    if (status == 0) {
        sp_inputs_probe(inputs, SP_PROBE_STATISTICS);
        status = sp_inputs_add_path(inputs, file, &error);
    }
    if (status == 0)
        status = sp_results_load(&results, inputs, true, &error);
    if (status == 0) {
        sp_result row;
        *ret = 0;
        for (size_t i = 0; i < sp_results_count(results); ++i)
            if (sp_results_row(results, i, &row) == 0 && row.rank == (uint64_t)rank)
                *ret += row.calls;
        sp_results_destroy(results);
    } else {
        snprintf(why, 256, "%.250s", error.text);
    }
    sp_inputs_destroy(inputs);
    return status == 0;
}

bool spool_published(const char *folder, const char *name, char ret_why[256])
{
    char note_name[256];
    bool published = false;
    size_t stem = strcspn(name, "."); /* "<hash>.r<rank>.<incarnation>"; a second spool has ".<n>" after that */
    for (int dots = 0; dots < 2 && name[stem]; ++dots)
        stem += 1 + strcspn(name + stem + 1, ".");
    if (snprintf(note_name, sizeof note_name, "%.*s%s", (int)stem, name, SP__NOTE_SUFFIX) >= (int)sizeof note_name) {
        snprintf(ret_why, 256, "its name is too long");
        return false;
    }
    json_t *note = note_load(folder, note_name);
    const char *file = text_of(note, "file");
    json_int_t rank = json_integer_value(json_object_get(note, "rank"));
    uint64_t calls;
    if (!note || !json_is_true(json_object_get(note, "final"))) {
        snprintf(ret_why, 256, "not published yet");
    } else if (calls_in(file, rank, &calls, ret_why)) {
        /* No fewer, and no more: a merged file may hold a life that is read from somewhere else. */
        published = calls == promised(folder, file, rank);
        snprintf(ret_why, 256, published ? "published in %.200s" : "not whole in %.200s", file);
    }
    json_decref(note);
    return published;
}
