/* source_h5_tables.c: see h5_tables.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5_tables.h"

#define INDEX "/rank_region_index/"

static int corrupt(sp_error *error, const char *path, const char *place, const char *text)
{
    return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, place, "%s", text);
}

static int no_memory(sp_error *error, const char *path)
{
    return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "cannot be read");
}

/* Which layout it is, and whether this version reads it. */
static int take_schema(struct sp__h5_tables *t, hid_t file, const char *path, sp_error *error)
{
    static const char place[] = "attribute scope_profiler_schema";
    int found = sp__h5_integer_attribute(file, "scope_profiler_schema", &t->schema);
    if (found < 0)
        return sp__fail(error, SP_ERR_SCHEMA, 0, path, place, "is not an integer, so the schema is unknown");
    if (!found)
        t->schema = 1;
    if (t->schema < 1 || t->schema > 3)
        return sp__fail(error, SP_ERR_SCHEMA, 0, path, place, "schema %" PRId64 " is unknown: 1, 2 and 3 are read",
                        t->schema);
    if (t->schema == 1)
        return 0;
    struct sp__attribute layout = {0};
    if (sp__h5_attribute(file, "storage_layout", &layout)) {
        t->aggregate = layout.text_count == 1 && !strcmp(layout.texts[0], "aggregate");
        sp__h5_attribute_free(&layout);
    }
    /* The dataset decides, not the number. */
    t->deltas = !t->aggregate && sp__h5_exists(file, "/events/start_deltas");
    return 0;
}

static herr_t take_attribute(hid_t object, const char *name, const H5A_info_t *info, void *context)
{
    (void)info;
    struct sp__h5_tables *t = context;
    struct sp__attribute value;
    if (!sp__h5_attribute(object, name, &value)) {
        char place[256];
        snprintf(place, sizeof place, "/metadata attribute %s", name);
        return sp__texts_add(&t->unsupported, &t->unsupported_count, place) ? -1 : 0;
    }
    struct sp__attribute *more = realloc(t->attributes, (t->attribute_count + 1) * sizeof *more);
    if (!more) {
        sp__h5_attribute_free(&value);
        return -1;
    }
    t->attributes = more;
    t->attributes[t->attribute_count++] = value;
    return 0;
}

static int take_metadata(struct sp__h5_tables *t, hid_t file, const char *path, sp_error *error)
{
    if (!sp__h5_exists(file, "/metadata"))
        return 0;
    hsize_t at = 0;
    if (H5Aiterate_by_name(file, "/metadata", H5_INDEX_NAME, H5_ITER_NATIVE, &at, take_attribute, t, H5P_DEFAULT) < 0)
        return corrupt(error, path, "/metadata", "cannot be read: the attributes are damaged");
    return 0;
}

static int take_names(struct sp__h5_tables *t, hid_t file, const char *path, uint64_t size, sp_error *error)
{
    static const char place[] = "/region_table/names";
    struct sp__h5_column column;
    int status = sp__h5_column_open(&column, file, path, place, size, error);
    if (status)
        return status;
    bool mended = false;
    status = sp__h5_strings(&column, path, place, &t->names, &mended, error);
    t->names_count = status ? 0 : column.length;
    sp__h5_column_close(&column);
    if (mended && sp__texts_add(&t->warnings, &t->warning_count,
                                "/region_table/names: a region's name is not UTF-8; its bad bytes became U+FFFD"))
        return no_memory(error, path);
    return status;
}

static int row_fault(const struct sp__h5_tables *t, const char *path, const char *column, size_t row, sp_error *error,
                     const char *text, int64_t value)
{
    char place[256];
    if (t->places)
        snprintf(place, sizeof place, "%s", t->places[row]);
    else
        snprintf(place, sizeof place, INDEX "%s row %zu", column, row);
    return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, place, text, value);
}

static int optional_strings(hid_t file, const char *path, const char *name, uint64_t size, uint64_t rows, char ***ret,
                            sp_error *error)
{
    bool mended;
    return sp__h5_exists(file, name) ? sp__h5_string_column(file, path, name, size, rows, ret, &mended, error) : 0;
}

static int optional_integers(hid_t file, const char *path, const char *name, uint64_t size, uint64_t rows,
                             int64_t **ret, sp_error *error)
{
    return sp__h5_exists(file, name) ? sp__h5_integer_column(file, path, name, size, rows, ret, error) : 0;
}

static int take_index(struct sp__h5_tables *t, hid_t file, const char *path, uint64_t size, sp_error *error)
{
    struct sp__h5_column column;
    int status = sp__h5_column_open(&column, file, path, INDEX "region_ids", size, error);
    if (status)
        return status;
    t->rows = column.length;
    sp__h5_column_close(&column);
    const struct {
        const char *name;
        int64_t **to;
    } wanted[] = {{INDEX "region_ids", &t->region_ids},
                  {INDEX "ranks", &t->ranks},
                  {t->aggregate ? INDEX "aggregate_counts" : INDEX "event_counts", &t->counts},
                  {t->aggregate ? INDEX "aggregate_exclusives" : INDEX "event_offsets",
                   t->aggregate ? &t->exclusive : &t->offsets}};
    for (size_t i = 0; i < 4; i++)
        if ((status = sp__h5_integer_column(file, path, wanted[i].name, size, t->rows, wanted[i].to, error)))
            return status;
    if (!t->aggregate &&
        (status = optional_integers(file, path, INDEX "exclusive_totals", size, t->rows, &t->exclusive, error)))
        return status;
    if ((status = optional_integers(file, path, INDEX "source_lines", size, t->rows, &t->lines, error)) ||
        (status = optional_strings(file, path, INDEX "source_files", size, t->rows, &t->files, error)) ||
        (status = optional_strings(file, path, INDEX "source_texts", size, t->rows, &t->texts, error)))
        return status;
    return optional_strings(file, path, INDEX "tags", size, t->rows, &t->tags, error);
}

static int take_aggregates(struct sp__h5_tables *t, hid_t file, const char *path, uint64_t size, sp_error *error)
{
    const struct {
        const char *name;
        size_t offset;
    } columns[] = {{INDEX "aggregate_totals", offsetof(struct sp__summary, total)},
                   {INDEX "aggregate_minimums", offsetof(struct sp__summary, minimum)},
                   {INDEX "aggregate_maximums", offsetof(struct sp__summary, maximum)}};
    if (!(t->summaries = calloc(t->rows + 1, sizeof *t->summaries)))
        return no_memory(error, path);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        int64_t *values = NULL;
        int status = sp__h5_integer_column(file, path, columns[i].name, size, t->rows, &values, error);
        if (status)
            return status;
        for (size_t row = 0; row < t->rows; row++)
            memcpy((char *)&t->summaries[row] + columns[i].offset, &values[row], sizeof *values);
        free(values);
    }
    return 0;
}

static int take_summaries(struct sp__h5_tables *t, hid_t file, const char *path, uint64_t size, sp_error *error)
{
    static const char place[] = INDEX "summary_statistics";
    if (!sp__h5_exists(file, place))
        return 0;
    struct sp__h5_column column;
    int status = sp__h5_column_open(&column, file, path, place, size, error);
    if (status)
        return status;
    hid_t stored = H5Dget_type(column.set), type = H5Tcreate(H5T_COMPOUND, sizeof(struct sp__summary));
    const struct {
        const char *name;
        size_t offset;
        hid_t type;
    } fields[] = {{"total", offsetof(struct sp__summary, total), H5T_NATIVE_INT64},
                  {"minimum", offsetof(struct sp__summary, minimum), H5T_NATIVE_INT64},
                  {"maximum", offsetof(struct sp__summary, maximum), H5T_NATIVE_INT64},
                  {"first", offsetof(struct sp__summary, first), H5T_NATIVE_INT64},
                  {"last", offsetof(struct sp__summary, last), H5T_NATIVE_INT64},
                  {"start_minimum", offsetof(struct sp__summary, start_minimum), H5T_NATIVE_INT64},
                  {"end_maximum", offsetof(struct sp__summary, end_maximum), H5T_NATIVE_INT64},
                  {"gpu_count", offsetof(struct sp__summary, gpu_count), H5T_NATIVE_UINT64},
                  {"gpu_total", offsetof(struct sp__summary, gpu_total), H5T_NATIVE_INT64},
                  {"mean", offsetof(struct sp__summary, mean), H5T_NATIVE_DOUBLE},
                  {"m2", offsetof(struct sp__summary, m2), H5T_NATIVE_DOUBLE}};
    bool whole = column.class == H5T_COMPOUND && stored >= 0 && type >= 0;
    for (size_t i = 0; whole && i < sizeof fields / sizeof *fields; i++)
        whole = H5Tget_member_index(stored, fields[i].name) >= 0
                    ? H5Tinsert(type, fields[i].name, fields[i].offset, fields[i].type) >= 0
                    : !strncmp(fields[i].name, "gpu_", 4); /* 0 where there is none */
    if (column.length != t->rows)
        status =
            sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, place,
                     "has the length %" PRIu64 ", not %" PRIu64 " as the columns beside it", column.length, t->rows);
    else if (!whole)
        status = sp__texts_add(&t->warnings, &t->warning_count,
                               INDEX "summary_statistics lacks fields; statistics are computed from the events");
    else if (!(t->summaries = calloc(t->rows + 1, sizeof *t->summaries)))
        status = no_memory(error, path);
    else if (t->rows && H5Dread(column.set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, t->summaries) < 0)
        status = corrupt(error, path, place, "cannot be read: the data are damaged");
    if (type >= 0)
        H5Tclose(type);
    if (stored >= 0)
        H5Tclose(stored);
    sp__h5_column_close(&column);
    return status;
}

/* The length of every column of events, which must be one. */
static int take_events(struct sp__h5_tables *t, hid_t file, const char *path, uint64_t size, sp_error *error)
{
    char names[SP__H5_EVENT_COLUMNS][32];
    bool there[SP__H5_EVENT_COLUMNS];
    for (size_t i = 0; i < SP__H5_EVENT_COLUMNS; i++) {
        snprintf(names[i], sizeof names[i], "/events/%s", sp__h5_event_name(t->deltas, i));
        there[i] = i <= SP__H5_ENDS || sp__h5_exists(file, names[i]);
    }
    if (there[SP__H5_CALLS] != there[SP__H5_PARENTS])
        return corrupt(error, path, names[there[SP__H5_CALLS] ? SP__H5_PARENTS : SP__H5_CALLS],
                       "missing: call_ids and parent_ids come together");
    t->ids = there[SP__H5_CALLS];
    for (size_t i = 0; i < SP__H5_EVENT_COLUMNS; i++) {
        struct sp__h5_column column;
        int status = there[i] ? sp__h5_column_open(&column, file, path, names[i], size, error) : 0;
        if (status || !there[i]) {
            if (status)
                return status;
            continue;
        }
        if (i == 0)
            t->events = column.length;
        if (column.length != t->events)
            status = sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, names[i],
                              "has the length %" PRIu64 ", not %" PRIu64 " as %s", column.length, t->events,
                              sp__h5_event_name(t->deltas, SP__H5_STARTS));
        else if (column.class != H5T_INTEGER)
            status = corrupt(error, path, names[i], "holds no integer values");
        sp__h5_column_close(&column);
        if (status)
            return status;
    }
    t->thread_ids = there[SP__H5_THREADS];
    return 0;
}

static int take_threads(struct sp__h5_tables *t, hid_t file, const char *path, uint64_t size, sp_error *error)
{
    if (!sp__h5_exists(file, "/thread_table")) {
        if (!t->thread_ids)
            return 0;
        t->thread_ids = false;
        return sp__texts_add(&t->unsupported, &t->unsupported_count, "/events/thread_ids (there is no /thread_table)")
                   ? no_memory(error, path)
                   : 0;
    }
    struct sp__h5_column column;
    int status = sp__h5_column_open(&column, file, path, "/thread_table/ranks", size, error);
    if (status)
        return status;
    t->threads = column.length;
    sp__h5_column_close(&column);
    uint64_t n = t->threads;
    if ((status = sp__h5_integer_column(file, path, "/thread_table/ranks", size, n, &t->thread_ranks, error)) ||
        (status = sp__h5_integer_column(file, path, "/thread_table/index", size, n, &t->thread_index, error)) ||
        (status = optional_integers(file, path, "/thread_table/ident", size, n, &t->thread_ident, error)) ||
        (status = optional_integers(file, path, "/thread_table/native_id", size, n, &t->thread_native, error)) ||
        (status = optional_integers(file, path, "/thread_table/start_ns", size, n, &t->thread_start, error)) ||
        (status = optional_integers(file, path, "/thread_table/end_ns", size, n, &t->thread_end, error)) ||
        (status = optional_integers(file, path, "/thread_table/cpu_ns", size, n, &t->thread_cpu, error)) ||
        (status = optional_integers(file, path, "/thread_table/daemon", size, n, &t->thread_daemon, error)))
        return status;
    return optional_strings(file, path, "/thread_table/name", size, n, &t->thread_names, error);
}

struct order {
    int64_t key, more;
    size_t row;
};

static int by_key(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->more != y->more)
        return x->more < y->more ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int check_ranges(const struct sp__h5_tables *t, const char *path, sp_error *error)
{
    for (size_t row = 0; row < t->rows; row++) {
        if (t->region_ids[row] < 0 || (uint64_t)t->region_ids[row] >= t->names_count)
            return row_fault(t, path, "region_ids", row, error,
                             "the region id %" PRId64 " is not in /region_table/names", t->region_ids[row]);
        if (t->ranks[row] < 0 || t->ranks[row] > UINT32_MAX)
            return row_fault(t, path, "ranks", row, error, "the rank %" PRId64 " is out of range", t->ranks[row]);
        if (t->counts[row] < 0)
            return row_fault(t, path, t->aggregate ? "aggregate_counts" : "event_counts", row, error,
                             "the count %" PRId64 " is negative", t->counts[row]);
        if (!t->offsets)
            continue;
        if (t->offsets[row] < 0)
            return row_fault(t, path, "event_offsets", row, error, "the offset %" PRId64 " is negative",
                             t->offsets[row]);
        if ((uint64_t)t->counts[row] > t->events || (uint64_t)t->offsets[row] > t->events - (uint64_t)t->counts[row])
            return row_fault(t, path, "event_offsets", row, error,
                             "the row's events lie past the end: offset %" PRId64
                             " and its count are more than there are",
                             t->offsets[row]);
    }
    return 0;
}

/* No two rows share an event; no (rank, region) and no name stands twice. */
static int check_once(const struct sp__h5_tables *t, const char *path, sp_error *error)
{
    struct order *order = calloc(t->rows + 1, sizeof *order);
    if (!order)
        return no_memory(error, path);
    int status = 0;
    uint64_t placed = t->offsets ? t->rows : 0; /* with a place among the events */
    for (size_t row = 0; row < placed; row++)
        order[row] = (struct order){t->offsets[row], t->counts[row], row};
    qsort(order, placed, sizeof *order, by_key);
    int64_t end = 0;
    for (size_t i = 0; !status && i < placed; i++) {
        if (order[i].more && order[i].key < end)
            status = row_fault(t, path, "event_offsets", order[i].row, error,
                               "rows overlap: event %" PRId64 " belongs to another row too", order[i].key);
        if (order[i].more)
            end = order[i].key + order[i].more;
    }
    for (size_t row = 0; row < t->rows; row++)
        order[row] = (struct order){t->ranks[row], t->region_ids[row], row};
    qsort(order, t->rows, sizeof *order, by_key);
    for (size_t i = 1; !status && i < t->rows; i++)
        if (order[i].key == order[i - 1].key && order[i].more == order[i - 1].more)
            status = row_fault(t, path, "region_ids", order[i].row, error,
                               "region id %" PRId64 " stands twice for one rank", order[i].more);
    free(order);
    return status;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int check_names(const struct sp__h5_tables *t, const char *path, sp_error *error)
{
    char **sorted = calloc(t->names_count + 1, sizeof *sorted);
    if (!sorted)
        return no_memory(error, path);
    for (size_t i = 0; i < t->names_count; i++)
        sorted[i] = t->names[i];
    qsort(sorted, t->names_count, sizeof *sorted, by_text);
    int status = 0;
    for (size_t i = 1; !status && i < t->names_count; i++)
        if (!strcmp(sorted[i - 1], sorted[i]))
            status = sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, "/region_table/names",
                              "the name \"%.200s\" stands twice", sorted[i]);
    free(sorted);
    return status;
}

static int take_columns(struct sp__h5_tables *t, hid_t file, const char *path, uint64_t size, sp_error *error)
{
    int status = take_names(t, file, path, size, error);
    if (!status)
        status = take_index(t, file, path, size, error);
    if (status || t->aggregate)
        return status ? status : take_aggregates(t, file, path, size, error);
    if (!(status = take_summaries(t, file, path, size, error)) && !(status = take_events(t, file, path, size, error)))
        status = take_threads(t, file, path, size, error);
    return status;
}

int sp__h5_tables_read(struct sp__h5_tables *ret, hid_t file, const char *path, uint64_t file_size, sp_error *error)
{
    struct sp__h5_tables t = {0};
    int status = take_schema(&t, file, path, error);
    if (!status)
        status = take_metadata(&t, file, path, error);
    if (!status)
        status = sp__h5_tables_list(&t, file, path, error);
    if (!status)
        status = t.schema == 1 ? sp__h5_tables_schema1(&t, file, path, file_size, error)
                               : take_columns(&t, file, path, file_size, error);
    if (!status)
        status = check_ranges(&t, path, error);
    if (!status)
        status = check_once(&t, path, error);
    if (!status)
        status = check_names(&t, path, error);
    if (status)
        sp__h5_tables_finish(&t);
    else
        *ret = t;
    return status;
}

void sp__h5_tables_finish(struct sp__h5_tables *t)
{
    sp__h5_strings_free(t->names, t->names_count);
    sp__h5_strings_free(t->files, t->rows);
    sp__h5_strings_free(t->texts, t->rows);
    sp__h5_strings_free(t->tags, t->rows);
    sp__h5_strings_free(t->places, t->rows);
    sp__h5_strings_free(t->thread_names, t->threads);
    for (size_t i = 0; i < t->group_count; i++)
        free(t->groups[i].path);
    free(t->groups);
    sp__h5_strings_free(t->unsupported, t->unsupported_count);
    sp__h5_strings_free(t->warnings, t->warning_count);
    int64_t *const columns[] = {t->region_ids,   t->ranks,        t->offsets,      t->counts,       t->lines,
                                t->exclusive,    t->thread_ranks, t->thread_index, t->thread_ident, t->thread_native,
                                t->thread_start, t->thread_end,   t->thread_cpu,   t->thread_daemon};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        free(columns[i]);
    free(t->summaries);
    for (size_t i = 0; i < t->attribute_count; i++)
        sp__h5_attribute_free(&t->attributes[i]);
    free(t->attributes);
    *t = (struct sp__h5_tables){0};
}

static const struct sp__attribute *find(const struct sp__h5_tables *t, const char *key)
{
    for (size_t i = 0; i < t->attribute_count; i++)
        if (!strcmp(t->attributes[i].name, key))
            return &t->attributes[i];
    return NULL;
}

int64_t sp__h5_tables_number(const struct sp__h5_tables *tables, const char *key, int64_t missing)
{
    const struct sp__attribute *attribute = find(tables, key);
    return attribute && attribute->number ? attribute->value : missing;
}

const char *sp__h5_tables_text(const struct sp__h5_tables *tables, const char *key)
{
    const struct sp__attribute *attribute = find(tables, key);
    return attribute && attribute->text_count ? attribute->texts[0] : NULL;
}
