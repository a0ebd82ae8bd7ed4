/* results_metadata.c: what files say of themselves, and what their set is known to be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"

static char *text_of(const struct sp__attribute *attribute)
{
    char number[32];
    size_t size = sizeof number;
    for (size_t i = 0; i < attribute->text_count; i++)
        size += strlen(attribute->texts[i]) + 1;
    char *text = malloc(size), *to = text;
    if (!text)
        return NULL;
    *to = 0;
    if (attribute->number)
        snprintf(text, size, "%lld", (long long)attribute->value);
    for (size_t i = 0; i < attribute->text_count; i++) {
        if (i)
            *to++ = '\n';
        to = stpcpy(to, attribute->texts[i]);
    }
    return text;
}

static bool said(const sp_results *results, const char *name)
{
    for (size_t i = 0; i < results->inputs->count; i++)
        for (size_t a = 0; a < results->inputs->sources[i]->attribute_count; a++)
            if (!strcmp(results->inputs->sources[i]->attributes[a].name, name))
                return true;
    return false;
}

/* What a merge would make up for want of an input that says it. */
static bool made_up(const sp_results *results, const char *name, bool times)
{
    bool host = false, date = false, language = false;
    for (size_t i = 0; i < results->inputs->count; i++) {
        host = host || results->inputs->sources[i]->hostname[0];
        language = language || results->inputs->sources[i]->language[0];
        date = date || results->inputs->sources[i]->birth_realtime_ns >= 0;
    }
    if (said(results, name))
        return false;
    if (!strcmp(name, "hostname"))
        return !host;
    if (!strcmp(name, "source_language"))
        return !language;
    if (!strcmp(name, "timestamp"))
        return !date;
    if (!strcmp(name, "start_time_ns") || !strcmp(name, "finalize_time_ns"))
        return !times;
    return !strcmp(name, "trace_format_version") || !strcmp(name, "label") ||
           (!strcmp(name, "sp_clock_alignment") && results->path_count == 1);
}

static int put(sp_results *results, const char *key, char *text)
{
    if (!text)
        return -ENOMEM;
    size_t n = results->metadata_count;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(results->metadata[i].key, key)) {
            free(results->metadata[i].value);
            results->metadata[i].value = text;
            return 0;
        }
    struct sp__result_text *more = realloc(results->metadata, (n + 1) * sizeof *more);
    if (more)
        results->metadata = more;
    char *copy = more ? strdup(key) : NULL;
    if (!copy) {
        free(text);
        return -ENOMEM;
    }
    results->metadata[results->metadata_count++] = (struct sp__result_text){copy, text};
    return 0;
}

/* Times are those of all calls, where all statistics are known. */
static bool find_times(const sp_results *results, struct sp__metadata_facts *facts)
{
    bool known = true;
    for (size_t r = 0; r < results->rank_count; r++) {
        known = known && results->summed[r];
        for (size_t i = 0; known && i < results->ranks[r]->row_count; i++) {
            const struct sp__summary *summary = &results->ranks[r]->rows[i].summary;
            facts->start_ns = summary->start_minimum < facts->start_ns ? summary->start_minimum : facts->start_ns;
            facts->end_ns = summary->end_maximum > facts->end_ns ? summary->end_maximum : facts->end_ns;
        }
    }
    /* Statistics without events say when they began, if anything. */
    for (size_t i = 0; i < results->inputs->count && facts->start_ns == INT64_MAX; i++)
        if (results->inputs->sources[i]->aggregate && results->inputs->sources[i]->birth_mono_ns >= 0)
            return true;
    return known && facts->start_ns != INT64_MAX;
}

/* One profile speaks for itself: what a merge would make of its words is not in it. */
static int quote(sp_results *results)
{
    int code = 0;
    for (size_t i = 0; i < results->inputs->count; i++)
        for (size_t a = 0; code == 0 && a < results->inputs->sources[i]->attribute_count; a++) {
            const struct sp__attribute *attribute = &results->inputs->sources[i]->attributes[a];
            code = put(results, attribute->name, text_of(attribute));
        }
    return code;
}

static int join(sp_results *results)
{
    struct sp__metadata_facts facts = {
        .label = results->label, .session = results->inputs->session, .start_ns = INT64_MAX, .end_ns = INT64_MIN};
    struct sp__metadata made;
    bool times = find_times(results, &facts);
    int code = sp__metadata_make(&made, results->ranks, results->rank_count, &facts);
    if (code < 0)
        return code;
    for (size_t i = 0; code == 0 && i < made.count; i++) {
        const struct sp__attribute *attribute = &made.attributes[i];
        bool empty = !attribute->number && (!attribute->text_count || !attribute->texts[0][0]);
        if (!empty && !made_up(results, attribute->name, times))
            code = put(results, attribute->name, text_of(attribute));
    }
    sp__metadata_finish(&made);
    return code;
}

static bool is_profile(const sp_results *results)
{
    size_t attributes = 0;
    for (size_t i = 0; i < results->inputs->count; i++)
        attributes += results->inputs->sources[i]->attribute_count;
    return results->path_count == 1 && attributes;
}

void sp__results_forget(sp_results *results)
{
    for (size_t i = 0; i < results->metadata_count; i++) {
        free(results->metadata[i].key);
        free(results->metadata[i].value);
    }
    free(results->metadata);
    results->metadata = NULL;
    results->metadata_count = 0;
}

int sp__results_describe(sp_results *results, sp_error *error)
{
    sp__results_forget(results);
    int code = is_profile(results) ? quote(results) : join(results);
    if (code == 0 && results->label[0])
        code = put(results, "label", strdup(results->label));
    return code ? sp__results_no_memory(error) : 0;
}

const char *sp_results_metadata(const sp_results *results, const char *key)
{
    for (size_t i = 0; results && key && i < results->metadata_count; i++)
        if (!strcmp(results->metadata[i].key, key))
            return results->metadata[i].value;
    return NULL;
}

size_t sp_results_metadata_count(const sp_results *results)
{
    return results ? results->metadata_count : 0;
}

int sp_results_metadata_at(const sp_results *results, size_t n, const char **ret_key, const char **ret_value)
{
    if (!results || !ret_key || !ret_value || n >= results->metadata_count)
        return SP_ERR_NOT_FOUND;
    *ret_key = results->metadata[n].key;
    *ret_value = results->metadata[n].value;
    return 0;
}
