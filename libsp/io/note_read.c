/* note_read.c: see note_read.h. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_id.h"
#include "note_read.h"

enum { NOTE_MOST = 16 << 20 };

static void take_text(const json_t *object, const char *key, char *ret, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));
    snprintf(ret, size, "%s", text ? text : "");
}

static int64_t take_number(const json_t *object, const char *key, int64_t missing)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : missing;
}

static uint64_t take_count(const json_t *object, const char *key)
{
    int64_t value = take_number(object, key, 0);
    return value > 0 ? (uint64_t)value : 0;
}

static bool take_list(const json_t *object, const char *key, char ***ret, size_t *count)
{
    const json_t *list = json_object_get(object, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text && sp__texts_add(ret, count, text))
            return false;
    }
    return true;
}

static bool take_all(struct sp__note *note, const json_t *object)
{
    take_text(object, "session", note->session, sizeof note->session);
    take_text(object, "prefix", note->prefix, sizeof note->prefix);
    take_text(object, "hostname", note->hostname, sizeof note->hostname);
    take_text(object, "incarnation", note->incarnation, sizeof note->incarnation);
    take_text(object, "file", note->file, sizeof note->file);
    take_text(object, "format", note->format, sizeof note->format);
    take_text(object, "language", note->language, sizeof note->language);
    note->rank = (uint32_t)take_count(object, "rank");
    note->pid = (uint32_t)take_count(object, "pid");
    note->final = json_is_true(json_object_get(object, "final"));
    note->ended = json_is_true(json_object_get(object, "ended"));
    note->died = json_is_true(json_object_get(object, "died"));
    note->calls = take_count(object, "calls");
    note->threads = take_count(object, "threads");
    note->gaps = take_count(object, "gaps");
    note->counters = (struct sp__counters){.dropped = take_count(object, "dropped"),
                                           .mended = take_count(object, "mended"),
                                           .lost_no_lane = take_count(object, "lost_no_lane"),
                                           .too_deep = take_count(object, "too_deep")};
    note->clock_error_ns = take_number(object, "clock_error_ns", -1);
    note->birth_mono_ns = take_number(object, "birth_mono_ns", -1);
    note->birth_realtime_ns = take_number(object, "birth_realtime_ns", -1);
    note->end_mono_ns = take_number(object, "end_mono_ns", -1);
    return take_list(object, "deaths", &note->deaths, &note->death_count) &&
           take_list(object, "open_calls", &note->open_calls, &note->open_call_count);
}

static json_t *load(const char *path, sp_error *error)
{
    int fd;
    struct sp__file_id id;
    if (sp__file_open(&fd, &id, NULL, path, error))
        return NULL;
    json_t *object = NULL;
    json_error_t why = {.text = "too long"};
    char *text = id.size <= NOTE_MOST ? malloc(id.size + 1) : NULL;
    if (text) {
        ssize_t n = pread(fd, text, id.size, 0);
        /* Names may hold any byte that is UTF-8; an embedded NUL is refused by jansson, as it should. */
        object = n > 0 ? json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, &why) : NULL;
        if (n <= 0)
            snprintf(why.text, sizeof why.text, "empty or unreadable");
    }
    free(text);
    close(fd);
    if (object && json_is_object(object))
        return object;
    json_decref(object);
    sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, NULL, "is no note of a published rank: %s", why.text);
    return NULL;
}

int sp__note_read(struct sp__note **ret, const char *path, sp_error *error)
{
    sp_error reason = {.status = SP_ERR_CORRUPT_PROFILE};
    json_t *object = load(path, &reason);
    if (!object) {
        if (error)
            *error = reason;
        return reason.status;
    }
    struct sp__note *note = calloc(1, sizeof *note);
    int status = 0;
    if (!note || !take_all(note, object))
        status = sp__fail(error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "cannot be read");
    else if (take_number(object, "version", 0) != 1)
        status = sp__fail(error, SP_ERR_SCHEMA, 0, path, NULL, "is a note of version %lld; version 1 is read",
                          (long long)take_number(object, "version", 0));
    else if (strlen(note->incarnation) != 32 || note->file[0] != '/' || take_number(object, "rank", -1) < 0)
        status =
            sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, NULL, "is no note: incarnation, file or rank is missing");
    json_decref(object);
    if (status)
        sp__note_destroy(note);
    else
        *ret = note;
    return status;
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void sp__note_destroy(struct sp__note *note)
{
    if (!note)
        return;
    free_texts(note->deaths, note->death_count);
    free_texts(note->open_calls, note->open_call_count);
    free(note);
}

static bool replace_texts(char ***list, size_t *count, char *const *texts, size_t text_count, bool keep)
{
    while (!keep && *count)
        free((*list)[--*count]);
    for (size_t i = 0; i < text_count; i++)
        if (sp__texts_add(list, count, texts[i]))
            return false;
    return true;
}

int sp__note_annotate(struct sp__source *source, const struct sp__note *note, bool again, sp_error *error)
{
    if (!again) {
        source->dropped = source->lost = 0;
        source->dropped_full = source->dropped_no_lane = source->dropped_deep = 0;
        snprintf(source->session, sizeof source->session, "%s", note->session);
        snprintf(source->hostname, sizeof source->hostname, "%s", note->hostname);
        snprintf(source->language, sizeof source->language, "%s", note->language);
        snprintf(source->incarnation, sizeof source->incarnation, "%s", note->incarnation);
        source->clock_error_ns = note->clock_error_ns;
        source->birth_mono_ns = note->birth_mono_ns;
        source->birth_realtime_ns = note->birth_realtime_ns;
        source->nested_alone = !source->lanes && note->threads <= 1;
        source->recorded = source->lanes || source->nested_alone;
    }
    source->end_mono_ns = note->end_mono_ns;
    sp__source_dropped(source, &note->counters);
    source->lost += note->gaps;
    if (replace_texts(&source->open_calls, &source->open_call_count, note->open_calls, note->open_call_count, again) &&
        replace_texts(&source->deaths, &source->death_count, note->deaths, note->death_count, again))
        return 0;
    return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, source->path, NULL, "cannot be read");
}
