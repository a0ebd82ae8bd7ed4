/* source_spool.c: a recording (spools, and what a live segment still holds) as a source. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "note.h"
#include "source.h"

enum { SLICE = 4096 };

struct spool_source {
    struct sp__recording *recording;
    int32_t *threads; /* SLICE */
};

static int spool_read(struct sp__source *source, size_t row, uint64_t first, size_t count, const struct sp__calls *ret,
                      sp_error *error)
{
    struct spool_source *own = source->data;
    if (source->aggregate || row >= source->row_count || count > source->rows[row].calls ||
        first > source->rows[row].calls - count)
        return sp__fail(error, SP_ERR_USAGE, 0, source->path, NULL, "calls that were not recorded were asked for");
    for (size_t done = 0; done < count;) {
        size_t n = count - done < SLICE ? count - done : SLICE;
        int result = sp__recording_read(own->recording, row, first + done, n, ret->start + done, ret->end + done,
                                        ret->thread ? own->threads : NULL);
        if (result)
            return sp__fail(error, SP_ERR_SYSTEM, -result, source->path, NULL, "its sorted calls cannot be read back");
        for (size_t i = 0; ret->thread && i < n; i++)
            ret->thread[done + i] = own->threads[i];
        done += n;
    }
    return 0;
}

/* Nothing to do: the scratch file has no name and could not be opened again. */
static void spool_rest(struct sp__source *source)
{
    (void)source;
}

static void spool_destroy(struct sp__source *source)
{
    struct spool_source *own = source->data;
    if (own) {
        if (own->recording)
            sp__recording_destroy(own->recording);
        free(own->threads);
        free(own);
    }
    sp__source_free(source);
}

static bool fill_rows(struct sp__source *source, const struct sp__recording *recording)
{
    source->rows = calloc(recording->row_count + 1, sizeof *source->rows);
    if (!source->rows)
        return false;
    for (size_t i = 0; i < recording->row_count; i++) {
        const struct sp__row *from = &recording->rows[i];
        bool mended;
        struct sp__source_row *row = &source->rows[source->row_count++];
        *row = (struct sp__source_row){.name = sp__utf8_copy(from->name, from->name_length, &mended),
                                       .file = sp__utf8_copy(from->file, from->file_length, &mended),
                                       .text = strdup(""),
                                       .tags = strdup("[]"),
                                       .line = from->line < 0 ? -1 : from->line,
                                       .calls = from->calls,
                                       .exclusive = -1};
        if (!row->name || !row->file || !row->text || !row->tags)
            return false;
    }
    return true;
}

/* A recording's rows and statistics both ascend by region. */
static void fill_statistics(struct sp__source *source, const struct sp__recording *recording)
{
    for (size_t i = 0, next = 0; i < recording->row_count; i++) {
        while (next < recording->stats_count && recording->stats[next].region < recording->rows[i].region)
            next++;
        if (next == recording->stats_count || recording->stats[next].region != recording->rows[i].region)
            continue;
        const struct sp__region_stats *stats = &recording->stats[next];
        sp__source_row_aggregate(&source->rows[i], stats->total, stats->minimum, stats->maximum, stats->exclusive);
    }
}

static bool fill_lists(struct sp__source *source, const struct sp__recording *recording)
{
    char text[4096];
    for (size_t n = 0; sp__open_call_text(recording, n, text, sizeof text); n++)
        if (sp__texts_add(&source->open_calls, &source->open_call_count, text))
            return false;
    if (sp__death_text(recording, text, sizeof text) && sp__texts_add(&source->deaths, &source->death_count, text))
        return false;
    if (source->aggregate) /* threads are those of events */
        return true;
    if (recording->thread_count && !(source->threads = calloc(recording->thread_count, sizeof *source->threads)))
        return false;
    source->thread_count = recording->thread_count;
    if (recording->thread_count)
        memcpy(source->threads, recording->threads, recording->thread_count * sizeof *source->threads);
    return true;
}

static bool fill(struct sp__source *source, const struct sp__recording *recording)
{
    const struct sp__identity *id = &recording->identity;
    source->rank = (uint32_t)id->rank;
    source->aggregate = id->mode == SP__MODE_STATS;
    source->lanes = source->recorded = !source->aggregate;
    snprintf(source->session, sizeof source->session, "%.*s", (int)sizeof id->session - 1, id->session);
    snprintf(source->hostname, sizeof source->hostname, "%.*s", (int)sizeof source->hostname - 1, id->hostname);
    snprintf(source->language, sizeof source->language, "%s", id->language == SP__LANGUAGE_FORTRAN ? "fortran" : "c");
    sp__incarnation_text(id->incarnation, source->incarnation);
    sp__source_dropped(source, &recording->counters);
    source->clock_error_ns = recording->clock_error_ns;
    source->birth_mono_ns = id->birth.mono_ns;
    source->birth_realtime_ns = id->birth_realtime_ns;
    source->end_mono_ns = recording->end_ns;
    if (!fill_rows(source, recording))
        return false;
    if (source->aggregate)
        fill_statistics(source, recording);
    return fill_lists(source, recording);
}

int sp__append_recording(sp_inputs *inputs, struct sp__recording *recording, const char *path, sp_error *error)
{
    struct sp__source *source = sp__source_create(path);
    struct spool_source *own = source ? calloc(1, sizeof *own) : NULL;
    if (!own) {
        sp__source_free(source);
        sp__recording_destroy(recording);
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "cannot be read");
    }
    source->data = own;
    source->read = spool_read;
    source->rest = spool_rest;
    source->destroy = spool_destroy;
    own->recording = recording;
    own->threads = calloc(SLICE, sizeof *own->threads);
    if (!own->threads || !fill(source, recording)) {
        spool_destroy(source);
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "cannot be read");
    }
    if (recording->identity.rank < 0) {
        spool_destroy(source);
        return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, NULL, "the rank is negative");
    }
    return sp__inputs_append(inputs, source, error);
}

/* What is missing or damaged in it. */
static int tell_damage(struct sp__source *source, const struct sp__recording *recording, sp_error *error)
{
    char text[128];
    source->lost = recording->gaps + recording->bad_frames;
    if (!recording->bad_bytes && !recording->bad_frames)
        return 0;
    snprintf(text, sizeof text, "%llu damaged bytes and %llu damaged blocks were skipped",
             (unsigned long long)recording->bad_bytes, (unsigned long long)recording->bad_frames);
    if (sp__texts_add(&source->warnings, &source->warning_count, text))
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, source->path, NULL, "cannot be read");
    return 0;
}

int sp__open_recording(sp_inputs *inputs, const struct sp__recording_source *from, sp_error *error)
{
    const char *path = from->spool_count ? from->spools[0] : from->live;
    char why[256] = "";
    struct sp__recording *recording = NULL;
    int result = sp__recording_create(&recording, from, why);
    if (result)
        return sp__fail(error,
                        result == -ENOENT                          ? SP_ERR_NOT_FOUND
                        : result == -ENODATA || result == -EBADMSG ? SP_ERR_CORRUPT_PROFILE
                        : result == -EPROTONOSUPPORT               ? SP_ERR_SCHEMA
                        : result == -EINVAL                        ? SP_ERR_USAGE
                                                                   : SP_ERR_SYSTEM,
                        *why ? 0 : -result, path, NULL, "%s", *why ? why : "the recording cannot be opened");
    result = sp__append_recording(inputs, recording, path, error);
    return result ? result : tell_damage(inputs->sources[inputs->count - 1], recording, error);
}
