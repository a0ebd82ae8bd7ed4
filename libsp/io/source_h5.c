/* source_h5.c: a profile as one source a rank. The sources of one file share one open HDF5 file. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5_tables.h"

/* One file; lives as long as a source of it does. */
struct profile {
    char *path;
    struct sp__file_id id;
    unsigned uses;
    struct sp__h5_events events;
    char **places; /* groups of schema 1 regions */
    uint64_t place_count;
};

/* A row's place in the file, and how far it was read. */
struct place {
    struct sp__h5_row row;
    struct sp__h5_mark mark;
};

/* A source's own. */
struct part {
    struct profile *profile;
    struct place *places; /* a row each */
    int64_t *thread_ids;  /* of source->threads, ascending */
};

/* What opening one file needs. */
struct opening {
    sp_inputs *inputs;
    struct profile *profile;
    struct sp__h5_tables tables;
    int64_t only_rank;
    sp_error *error;
};

static void profile_release(struct profile *profile)
{
    if (--profile->uses)
        return;
    sp__h5_lock();
    sp__h5_events_rest(&profile->events);
    sp__h5_unlock();
    sp__h5_strings_free(profile->places, profile->place_count);
    free(profile->path);
    free(profile);
}

static int profile_wake(struct profile *profile, sp_error *error)
{
    struct sp__file_id id;
    return profile->events.file >= 0 ? 0 : sp__h5_open(&profile->events.file, &id, &profile->id, profile->path, error);
}

static int check_threads(const struct sp__source *source, const struct sp__h5_row *row, uint64_t first, size_t count,
                         const int64_t *threads, sp_error *error)
{
    const struct part *part = source->data;
    for (size_t i = 0; i < count; i++) {
        int64_t id = threads[i];
        if (id == -1 || (id >= 0 && (uint64_t)id < source->thread_count && part->thread_ids[id] == id))
            continue;
        size_t low = 0, high = source->thread_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (part->thread_ids[middle] < id)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == source->thread_count || part->thread_ids[low] != id) {
            char place[256];
            sp__h5_event_place(&part->profile->events, row, SP__H5_THREADS, first + i, place);
            return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, source->path, place,
                            "thread %" PRId64 " is not in /thread_table", id);
        }
    }
    return 0;
}

static int read_columns(struct sp__source *source, struct place *place, uint64_t first, size_t count,
                        const struct sp__calls *ret, sp_error *error)
{
    struct profile *profile = ((struct part *)source->data)->profile;
    int64_t *const more[SP__H5_EVENT_COLUMNS] = {[SP__H5_THREADS] = source->lanes ? ret->thread : NULL,
                                                 [SP__H5_CALLS] = source->ids ? ret->call : NULL,
                                                 [SP__H5_PARENTS] = source->ids ? ret->parent : NULL};
    int status = profile_wake(profile, error);
    if (!status)
        status =
            sp__h5_events_times(&profile->events, &place->row, &place->mark, first, count, ret->start, ret->end, error);
    for (size_t i = 0; !status && i < SP__H5_EVENT_COLUMNS; i++)
        if (more[i])
            status = sp__h5_events_raw(&profile->events, &place->row, i, first, count, more[i], error);
    return status;
}

static int h5_read(struct sp__source *source, size_t row, uint64_t first, size_t count, const struct sp__calls *ret,
                   sp_error *error)
{
    struct part *part = source->data;
    if (source->aggregate || row >= source->row_count || count > source->rows[row].calls ||
        first > source->rows[row].calls - count)
        return sp__fail(error, SP_ERR_USAGE, 0, source->path, NULL, "calls that the file does not have were asked for");
    if (!count)
        return 0;
    struct place *place = &part->places[row];
    sp__h5_lock();
    int status = read_columns(source, place, first, count, ret, error);
    sp__h5_unlock();
    if (!status && ret->thread && source->lanes)
        status = check_threads(source, &place->row, first, count, ret->thread, error);
    for (size_t i = 0; !status && ret->thread && !source->lanes && i < count; i++)
        ret->thread[i] = -1;
    return status;
}

static void h5_rest(struct sp__source *source)
{
    sp__h5_lock();
    sp__h5_events_rest(&((struct part *)source->data)->profile->events);
    sp__h5_unlock();
}

static void h5_destroy(struct sp__source *source)
{
    struct part *part = source->data;
    if (part) {
        if (part->profile)
            profile_release(part->profile);
        free(part->places);
        free(part->thread_ids);
        free(part);
    }
    sp__source_free(source);
}

static char *copy_of(char **strings, size_t row, const char *missing)
{
    return strdup(strings && strings[row] ? strings[row] : missing);
}

static bool fill_rows(struct sp__source *source, struct part *part, const struct sp__h5_tables *t, const size_t *rows,
                      size_t count)
{
    source->rows = calloc(count + 1, sizeof *source->rows);
    part->places = calloc(count + 1, sizeof *part->places);
    if (!source->rows || !part->places)
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t from = rows[i];
        struct sp__source_row *row = &source->rows[source->row_count++];
        *row = (struct sp__source_row){.name = copy_of(t->names, (size_t)t->region_ids[from], ""),
                                       .file = copy_of(t->files, from, ""),
                                       .text = copy_of(t->texts, from, ""),
                                       .tags = copy_of(t->tags, from, "[]"),
                                       .line = t->lines && t->lines[from] >= 0 ? t->lines[from] : -1,
                                       .calls = (uint64_t)t->counts[from],
                                       .summarized = t->summaries != NULL,
                                       .exclusive = t->exclusive ? t->exclusive[from] : -1};
        const struct sp__summary *summary = t->summaries ? &t->summaries[from] : NULL;
        if (t->aggregate)
            sp__source_row_aggregate(row, summary->total, summary->minimum, summary->maximum, t->exclusive[from]);
        else if (summary)
            row->summary = *summary;
        part->places[i].row = (struct sp__h5_row){.group = part->profile->places ? part->profile->places[from] : NULL,
                                                  .offset = t->offsets ? (uint64_t)t->offsets[from] : 0};
        if (!row->name || !row->file || !row->text || !row->tags)
            return false;
    }
    return true;
}

static bool fill_groups(struct sp__source *source, const struct sp__h5_tables *t, const size_t *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct sp__h5_group *group = &t->groups[entries[i] - t->rows];
        if (!group->whole && sp__texts_add(&source->groups, &source->group_count, group->path))
            return false;
    }
    return true;
}

static int by_index(const void *a, const void *b)
{
    const struct sp__thread *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int fill_threads(struct sp__source *source, struct part *part, const struct sp__h5_tables *t, sp_error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < t->threads; i++)
        count += t->thread_ranks[i] == (int64_t)source->rank;
    source->threads = calloc(count + 1, sizeof *source->threads);
    part->thread_ids = calloc(count + 1, sizeof *part->thread_ids);
    if (!source->threads || !part->thread_ids)
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, source->path, NULL, "cannot be read");
    int64_t zero = sp__h5_tables_number(t, "start_time_ns", -1);
    for (size_t i = 0; i < t->threads; i++) {
        if (t->thread_ranks[i] != (int64_t)source->rank)
            continue;
        struct sp__thread *thread = &source->threads[source->thread_count++];
        *thread = (struct sp__thread){.index = t->thread_index[i],
                                      .ident = t->thread_ident ? t->thread_ident[i] : -1,
                                      .native_id = t->thread_native ? t->thread_native[i] : -1,
                                      .start_ns = -1,
                                      .end_ns = -1,
                                      .cpu_ns = t->thread_cpu ? t->thread_cpu[i] : -1,
                                      .daemon = t->thread_daemon && t->thread_daemon[i] != 0};
        /* The file's are relative to its start. */
        if (zero >= 0 && t->thread_start && t->thread_start[i] >= 0 && t->thread_start[i] <= INT64_MAX - zero)
            thread->start_ns = zero + t->thread_start[i];
        if (zero >= 0 && t->thread_end && t->thread_end[i] >= 0 && t->thread_end[i] <= INT64_MAX - zero)
            thread->end_ns = zero + t->thread_end[i];
        if (t->thread_names)
            snprintf(thread->name, sizeof thread->name, "%s", t->thread_names[i]);
        thread->main = !strcmp(thread->name, "MainThread") || !strcmp(thread->name, "main");
    }
    qsort(source->threads, source->thread_count, sizeof *source->threads, by_index);
    for (size_t i = 0; i < source->thread_count; i++) {
        part->thread_ids[i] = source->threads[i].index;
        if (i && part->thread_ids[i] == part->thread_ids[i - 1])
            return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, source->path, "/thread_table/index",
                            "thread %" PRId64 " of rank %" PRIu32 " stands twice", part->thread_ids[i], source->rank);
    }
    return 0;
}

/* The texts of a metadata list that speak of this rank ("rank 3 ..."), or, `rest`, of none that has a source. */
static bool fill_texts(const struct sp__h5_tables *t, const char *key, uint32_t rank, bool rest, char ***ret,
                       size_t *count)
{
    for (size_t i = 0; i < t->attribute_count; i++) {
        const struct sp__attribute *attribute = &t->attributes[i];
        for (size_t j = 0; !strcmp(attribute->name, key) && j < attribute->text_count; j++) {
            uint64_t said = 0;
            bool names = sscanf(attribute->texts[j], "rank %" SCNu64, &said) == 1, has_rows = false;
            for (size_t row = 0; names && rest && !has_rows && row < t->rows; row++)
                has_rows = (uint64_t)t->ranks[row] == said;
            bool mine = names && said == rank;
            if ((mine || (rest && !has_rows)) && sp__texts_add(ret, count, attribute->texts[j]))
                return false;
        }
    }
    return true;
}

static bool fill_metadata(struct sp__source *source, struct opening *o, bool first)
{
    struct sp__h5_tables *t = &o->tables;
    const struct {
        const char *key;
        char *to;
        size_t size;
    } texts[] = {{"sp_session", source->session, sizeof source->session},
                 {"hostname", source->hostname, sizeof source->hostname},
                 {"source_language", source->language, sizeof source->language}};
    for (size_t i = 0; i < 3; i++) {
        const char *text = sp__h5_tables_text(t, texts[i].key);
        snprintf(texts[i].to, texts[i].size, "%s", text ? text : "");
    }
    source->end_mono_ns = sp__h5_tables_number(t, "finalize_time_ns", -1);
    if (t->aggregate) /* no call says when it began */
        source->birth_mono_ns = sp__h5_tables_number(t, "start_time_ns", -1);
    bool rest = first && o->only_rank < 0;
    if (!fill_texts(t, "sp_open_calls", source->rank, rest, &source->open_calls, &source->open_call_count) ||
        !fill_texts(t, "sp_deaths", source->rank, rest, &source->deaths, &source->death_count))
        return false;
    return true;
}

/* What speaks of the whole file is said once, by its first source. */
static void hand_over(struct sp__source *source, struct sp__h5_tables *t)
{
    int64_t dropped = sp__h5_tables_number(t, "sp_dropped_records", 0);
    source->dropped = dropped > 0 ? (uint64_t)dropped : 0;
    source->unsupported = t->unsupported;
    source->unsupported_count = t->unsupported_count;
    source->warnings = t->warnings;
    source->warning_count = t->warning_count;
    source->attributes = t->attributes;
    source->attribute_count = t->attribute_count;
    t->unsupported = t->warnings = NULL;
    t->attributes = NULL;
    t->unsupported_count = t->warning_count = t->attribute_count = 0;
}

/* Of the rank's `entries`, those below t->rows are rows, in order, and the others are groups. */
static int add_rank(struct opening *o, uint32_t rank, const size_t *entries, size_t count, bool first)
{
    struct sp__h5_tables *t = &o->tables;
    struct sp__source *source = sp__source_create(o->profile->path);
    struct part *part = source ? calloc(1, sizeof *part) : NULL;
    if (!part) {
        sp__source_free(source);
        return sp__fail(o->error, SP_ERR_SYSTEM, ENOMEM, o->profile->path, NULL, "cannot be read");
    }
    source->data = part;
    source->rank = rank;
    source->read = h5_read;
    source->rest = h5_rest;
    source->destroy = h5_destroy;
    source->ids = t->ids;
    source->lanes = t->thread_ids;
    source->aggregate = t->aggregate;
    source->sequential = t->deltas;
    part->profile = o->profile;
    o->profile->uses++;
    int status = 0;
    size_t rows = 0;
    while (rows < count && entries[rows] < t->rows)
        rows++;
    if (!fill_rows(source, part, t, entries, rows) || !fill_groups(source, t, entries + rows, count - rows) ||
        !fill_metadata(source, o, first))
        status = sp__fail(o->error, SP_ERR_SYSTEM, ENOMEM, o->profile->path, NULL, "cannot be read");
    if (!status && t->threads)
        status = fill_threads(source, part, t, o->error);
    if (status) {
        h5_destroy(source);
        return status;
    }
    return sp__inputs_append(o->inputs, source, o->error);
}

struct ranked {
    uint32_t rank;
    size_t entry; /* a row, or behind those a group */
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* One source a rank, lowest first, rows in the file's order. A rank of which only groups stand here is one too. */
static int add_ranks(struct opening *o)
{
    struct sp__h5_tables *t = &o->tables;
    size_t most = t->rows + t->group_count, count = 0, before = o->inputs->count;
    struct ranked *ranked = calloc(most + 1, sizeof *ranked);
    size_t *entries = calloc(most + 1, sizeof *entries);
    int status = 0;
    bool first = true;
    if (!ranked || !entries)
        status = sp__fail(o->error, SP_ERR_SYSTEM, ENOMEM, o->profile->path, NULL, "cannot be read");
    for (size_t i = 0; !status && i < most; i++) {
        uint32_t rank = i < t->rows ? (uint32_t)t->ranks[i] : t->groups[i - t->rows].rank;
        if (o->only_rank < 0 || o->only_rank == rank)
            ranked[count++] = (struct ranked){rank, i};
    }
    if (!status && count)
        qsort(ranked, count, sizeof *ranked, by_rank);
    for (size_t i = 0, next; !status && i < count; i = next, first = false) {
        for (next = i; next < count && ranked[next].rank == ranked[i].rank; next++)
            entries[next - i] = ranked[next].entry;
        status = add_rank(o, ranked[i].rank, entries, next - i, first);
    }
    /* A rank without rows still has its metadata. */
    int64_t alone = o->only_rank >= 0 ? o->only_rank : sp__h5_tables_number(t, "mpi_rank", -1);
    if (!status && !count && alone >= 0 && alone <= UINT32_MAX)
        status = add_rank(o, (uint32_t)alone, entries, 0, true);
    if (!status && o->inputs->count > before)
        hand_over(o->inputs->sources[before], t);
    free(ranked);
    free(entries);
    return status;
}

static int read_tables(struct opening *o, const char *path)
{
    struct profile *profile = o->profile;
    sp__h5_lock();
    int status = sp__h5_open(&profile->events.file, &profile->id, NULL, path, o->error);
    if (!status)
        status = sp__h5_tables_read(&o->tables, profile->events.file, path, profile->id.size, o->error);
    sp__h5_events_rest(&profile->events);
    sp__h5_unlock();
    return status;
}

int sp__open_h5(sp_inputs *inputs, const char *path, int64_t only_rank, sp_error *error)
{
    struct profile *profile = calloc(1, sizeof *profile);
    if (!profile || !(profile->path = strdup(path))) {
        free(profile);
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "cannot be read");
    }
    profile->uses = 1;
    struct sp__h5_events *events = &profile->events;
    *events = (struct sp__h5_events){.path = profile->path, .file = H5I_INVALID_HID};
    struct opening o = {.inputs = inputs, .profile = profile, .only_rank = only_rank, .error = error};
    int status =
        inputs->probe ? sp__h5_tables_probe(&o.tables, &profile->id, inputs, path, error) : read_tables(&o, path);
    if (!status) {
        events->file_size = profile->id.size;
        events->deltas = o.tables.deltas;
        profile->places = o.tables.places;
        profile->place_count = o.tables.places ? o.tables.rows : 0;
        o.tables.places = NULL;
        status = add_ranks(&o);
    }
    sp__h5_tables_finish(&o.tables);
    profile_release(profile);
    return status;
}
