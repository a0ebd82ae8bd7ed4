/* source.c: what the openers of all formats share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"
#include "utf8.h"

void sp__source_dropped(struct sp__source *source, const struct sp__counters *counters)
{
    source->dropped += sp__counters_lost(counters);
    source->dropped_full += counters->dropped;
    source->dropped_no_lane += counters->lost_no_lane;
    source->dropped_deep += counters->too_deep;
}

struct sp__source *sp__source_create(const char *path)
{
    struct sp__source *source = calloc(1, sizeof *source);
    if (!source)
        return NULL;
    source->path = strdup(path);
    if (!source->path) {
        free(source);
        return NULL;
    }
    source->clock_error_ns = -1;
    source->birth_mono_ns = source->birth_realtime_ns = source->end_mono_ns = -1;
    return source;
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void sp__source_free(struct sp__source *source)
{
    if (!source)
        return;
    /* The structure shows its strings as const to readers; they are this module's to free. */
    for (size_t i = 0; i < source->row_count; i++) {
        free((void *)(uintptr_t)source->rows[i].name);
        free((void *)(uintptr_t)source->rows[i].file);
        free((void *)(uintptr_t)source->rows[i].text);
        free((void *)(uintptr_t)source->rows[i].tags);
    }
    free(source->rows);
    free(source->threads);
    free_texts(source->open_calls, source->open_call_count);
    free_texts(source->deaths, source->death_count);
    free_texts(source->groups, source->group_count);
    free_texts(source->unsupported, source->unsupported_count);
    free_texts(source->warnings, source->warning_count);
    for (size_t i = 0; i < source->attribute_count; i++) {
        free(source->attributes[i].name);
        free_texts(source->attributes[i].texts, source->attributes[i].text_count);
    }
    free(source->attributes);
    free((void *)(uintptr_t)source->path);
    free(source);
}

void sp__source_row_aggregate(struct sp__source_row *row, int64_t total, int64_t minimum, int64_t maximum,
                              int64_t exclusive)
{
    row->summarized = true;
    /* No call began before or ended after nothing: what is joined from several rows keeps what is known. */
    row->summary = (struct sp__summary){.total = total,
                                        .minimum = minimum,
                                        .maximum = maximum,
                                        .start_minimum = INT64_MAX,
                                        .end_maximum = INT64_MIN,
                                        .mean = row->calls ? (double)total / (double)row->calls : 0};
    row->exclusive = exclusive;
}

int sp__fail_mixed(const struct sp__source *one, const struct sp__source *other, sp_error *error)
{
    const struct sp__source *statistics = one->aggregate ? one : other, *events = one->aggregate ? other : one;
    return sp__fail(error, SP_ERR_USAGE, 0, statistics->path, NULL,
                    "holds statistics without events (SP_MODE=stats) of rank %u, and %s holds events of rank %u: one "
                    "profile has no place for both, merge them apart",
                    (unsigned)statistics->rank, events->path, (unsigned)events->rank);
}

int sp__texts_add(char ***list, size_t *count, const char *text)
{
    /* Grows at powers of two, so that a long list does not copy itself for every entry. */
    if ((*count & (*count - 1)) == 0) {
        char **more = realloc(*list, (*count ? *count * 2 : 1) * sizeof *more);
        if (!more)
            return -ENOMEM;
        *list = more;
    }
    char *copy = strdup(text);
    if (!copy)
        return -ENOMEM;
    (*list)[(*count)++] = copy;
    return 0;
}

char *sp__utf8_copy(const char *bytes, size_t length, bool *ret_mended)
{
    char *copy = malloc(3 * length + 1);
    if (!copy)
        return NULL;
    size_t made = sp__utf8_mend(bytes, length, copy);
    *ret_mended = made != length || memcmp(copy, bytes, length) != 0;
    char *fit = realloc(copy, made + 1);
    return fit ? fit : copy;
}
