/* h5_out.c: what HDF5 writes of a profile: the layout, then index, threads and metadata. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/spool.h"
#include "h5_out.h"

#define LABEL_ROOM      256
#define CONVERSION_ROOM 32768

/* An HDF5 call gave nothing, which is not the file's fault: failures of that are in out->failed. */
static int failure(const struct sp__h5_out *out, const char *place)
{
    return sp__fail(out->writing->error, SP_ERR_SYSTEM, ENOMEM, out->writing->output, place, "HDF5 cannot make it");
}

static int close_file(struct sp__h5_out *out, hid_t file, hid_t access, int result)
{
    if (file >= 0 && H5Fclose(file) < 0 && result == 0)
        result = failure(out, NULL);
    if (access >= 0)
        H5Pclose(access);
    if (result == 0 && out->failed)
        result =
            sp__fail(out->writing->error, SP_ERR_SYSTEM, out->failed, out->writing->output, NULL, "cannot be written");
    return result;
}

static hid_t text_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

/* ---- attributes ---------------------------------------------------------------------------------------------------
 */

static herr_t put_attribute(hid_t at, const char *name, hid_t type, hid_t space, const void *value)
{
    hid_t attribute = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t result = attribute < 0 ? -1 : 0;
    if (result >= 0 && value)
        result = H5Awrite(attribute, type, value);
    if (attribute >= 0 && H5Aclose(attribute) < 0)
        result = -1;
    return result;
}

static herr_t put_number(hid_t at, const char *name, int64_t value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    herr_t result = space < 0 ? -1 : put_attribute(at, name, H5T_NATIVE_INT64, space, &value);
    H5Sclose(space);
    return result;
}

static herr_t put_text(hid_t at, const char *name, const char *text)
{
    hid_t space = H5Screate(H5S_SCALAR), type = text_type();
    herr_t result = space < 0 || type < 0 ? -1 : put_attribute(at, name, type, space, &text);
    H5Tclose(type);
    H5Sclose(space);
    return result;
}

static herr_t put_texts(hid_t at, const char *name, char *const *texts, size_t count)
{
    hsize_t length = count;
    hid_t space = H5Screate_simple(1, &length, NULL), type = text_type();
    herr_t result = space < 0 || type < 0 ? -1 : put_attribute(at, name, type, space, count ? texts : NULL);
    H5Tclose(type);
    H5Sclose(space);
    return result;
}

static int put_metadata(struct sp__h5_out *out, hid_t file)
{
    struct sp__writing *writing = out->writing;
    char stem[LABEL_ROOM];
    const char *base = strrchr(writing->output, '/');
    base = base ? base + 1 : writing->output;
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot != base ? (size_t)(dot - base) : strlen(base);
    length = length < sizeof stem ? length : sizeof stem - 1;
    memcpy(stem, base, length);
    stem[length] = 0;
    struct sp__metadata_facts facts = {.label = writing->settings->label ? writing->settings->label : stem,
                                       .session = writing->settings->session ? writing->settings->session
                                                                             : writing->inputs->session,
                                       .start_ns = out->start,
                                       .end_ns = out->end};
    struct sp__metadata metadata;
    if (sp__metadata_make(&metadata, writing->ranks, writing->rank_count, &facts) < 0)
        return sp__fail(writing->error, SP_ERR_SYSTEM, ENOMEM, writing->output, "/metadata", "cannot be written");
    hid_t group = H5Gcreate2(file, "metadata", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t result = group < 0 ? -1 : 0;
    for (size_t i = 0; result >= 0 && i < metadata.count; i++) {
        const struct sp__attribute *a = &metadata.attributes[i];
        if (a->number)
            result = put_number(group, a->name, a->value);
        else if (a->list || a->text_count != 1)
            result = put_texts(group, a->name, a->texts, a->text_count);
        else
            result = put_text(group, a->name, a->texts[0]);
    }
    sp__metadata_finish(&metadata);
    if (group >= 0 && H5Gclose(group) < 0)
        result = -1;
    return result < 0 ? failure(out, "/metadata") : 0;
}

/* ---- columns ------------------------------------------------------------------------------------------------------
 */

static herr_t put_column(hid_t at, const char *name, hid_t type, size_t count, const void *values)
{
    hsize_t length = count;
    hid_t space = H5Screate_simple(1, &length, NULL);
    hid_t set = space < 0 ? -1 : H5Dcreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t plan = H5Pcreate(H5P_DATASET_XFER);
    /* HDF5 clears two buffers of 1 MiB for each write of strings unless told that few are coming. */
    herr_t result = set < 0 || plan < 0 || H5Pset_buffer(plan, CONVERSION_ROOM, NULL, NULL) < 0 ? -1 : 0;
    if (result >= 0 && count)
        result = H5Dwrite(set, type, H5S_ALL, H5S_ALL, plan, values);
    if (plan >= 0)
        H5Pclose(plan);
    if (set >= 0 && H5Dclose(set) < 0)
        result = -1;
    H5Sclose(space);
    return result;
}

static hid_t summary_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(struct sp__summary));
#define FIELD(name, kind) H5Tinsert(type, #name, offsetof(struct sp__summary, name), kind) < 0
    if (type >= 0 &&
        (FIELD(total, H5T_NATIVE_INT64) || FIELD(minimum, H5T_NATIVE_INT64) || FIELD(maximum, H5T_NATIVE_INT64) ||
         FIELD(first, H5T_NATIVE_INT64) || FIELD(last, H5T_NATIVE_INT64) || FIELD(start_minimum, H5T_NATIVE_INT64) ||
         FIELD(end_maximum, H5T_NATIVE_INT64) || FIELD(gpu_count, H5T_NATIVE_UINT64) ||
         FIELD(gpu_total, H5T_NATIVE_INT64) || FIELD(mean, H5T_NATIVE_DOUBLE) || FIELD(m2, H5T_NATIVE_DOUBLE))) {
        H5Tclose(type);
        return -1;
    }
#undef FIELD
    return type;
}

/* The columns of a table gathered one after another into one buffer: `get` puts the value of the row at `to`. */
struct row_place {
    const struct sp__rank *rank;
    const struct sp__rank_row *row;
    uint64_t first; /* calls before the row, in the file */
    uint32_t region;
};

struct index {
    struct sp__h5_out *out;
    struct row_place *places;
    size_t count;
    void *buffer;
    struct sp__name_set names;
};

enum {
    REGION,
    RANK,
    OFFSET,
    COUNT,
    TOTAL,
    MINIMUM,
    MAXIMUM,
    LINE,
    FILE_NAME,
    TEXT,
    TAGS,
    EXCLUSIVE,
    SUMMARY,
    INDEX_COLUMNS
};

static void get(int column, const struct row_place *place, void *buffer, size_t n)
{
    const struct sp__rank_row *row = place->row;
    switch (column) {
    case REGION:
        ((uint32_t *)buffer)[n] = place->region;
        break;
    case RANK:
        ((uint32_t *)buffer)[n] = place->rank->rank;
        break;
    case OFFSET:
        ((uint64_t *)buffer)[n] = place->first;
        break;
    case COUNT:
        ((uint64_t *)buffer)[n] = row->calls;
        break;
    case TOTAL:
        ((int64_t *)buffer)[n] = row->summary.total;
        break;
    case MINIMUM:
        ((int64_t *)buffer)[n] = row->summary.minimum;
        break;
    case MAXIMUM:
        ((int64_t *)buffer)[n] = row->summary.maximum;
        break;
    case LINE:
        ((int64_t *)buffer)[n] = row->line;
        break;
    case FILE_NAME:
        ((const char **)buffer)[n] = row->file;
        break;
    case TEXT:
        ((const char **)buffer)[n] = row->text;
        break;
    case TAGS:
        ((const char **)buffer)[n] = row->tags;
        break;
    case EXCLUSIVE:
        ((int64_t *)buffer)[n] = row->exclusive;
        break;
    default:
        ((struct sp__summary *)buffer)[n] = row->summary;
    }
}

static int number_regions(struct index *index)
{
    const struct sp__writing *writing = index->out->writing;
    uint64_t first = 0;
    index->places = calloc(index->out->rows + 1, sizeof *index->places);
    index->buffer = malloc((index->out->rows + 1) * sizeof(struct sp__summary));
    if (!index->places || !index->buffer)
        return -ENOMEM;
    for (size_t r = 0; r < writing->rank_count; r++) {
        const struct sp__rank *rank = writing->ranks[r];
        for (size_t i = 0; i < rank->row_count; i++) {
            int64_t region = sp__name_set_add(&index->names, rank->rows[i].name);
            if (region < 0)
                return -ENOMEM;
            index->places[index->count++] =
                (struct row_place){rank, &rank->rows[i], first + rank->rows[i].first, (uint32_t)region};
        }
        first += rank->calls;
    }
    return 0;
}

static herr_t put_index_columns(struct index *index, hid_t group, hid_t text, hid_t summary)
{
    /* By layout: columnar, aggregate; NULL where it has no such column. */
    const struct {
        const char *names[2];
        hid_t type;
    } columns[INDEX_COLUMNS] = {[REGION] = {{"region_ids", "region_ids"}, H5T_NATIVE_UINT32},
                                [RANK] = {{"ranks", "ranks"}, H5T_NATIVE_UINT32},
                                [OFFSET] = {{"event_offsets", NULL}, H5T_NATIVE_UINT64},
                                [COUNT] = {{"event_counts", "aggregate_counts"}, H5T_NATIVE_UINT64},
                                [TOTAL] = {{NULL, "aggregate_totals"}, H5T_NATIVE_INT64},
                                [MINIMUM] = {{NULL, "aggregate_minimums"}, H5T_NATIVE_INT64},
                                [MAXIMUM] = {{NULL, "aggregate_maximums"}, H5T_NATIVE_INT64},
                                [LINE] = {{"source_lines", "source_lines"}, H5T_NATIVE_INT64},
                                [FILE_NAME] = {{"source_files", "source_files"}, text},
                                [TEXT] = {{"source_texts", "source_texts"}, text},
                                [TAGS] = {{"tags", "tags"}, text},
                                [EXCLUSIVE] = {{"exclusive_totals", "aggregate_exclusives"}, H5T_NATIVE_INT64},
                                [SUMMARY] = {{"summary_statistics", NULL}, summary}};
    herr_t result = 0;
    for (int c = 0; result >= 0 && c < INDEX_COLUMNS; c++) {
        const char *name = columns[c].names[index->out->writing->aggregate];
        if (!name)
            continue;
        for (size_t n = 0; n < index->count; n++)
            get(c, &index->places[n], index->buffer, n);
        result = put_column(group, name, columns[c].type, index->count, index->buffer);
    }
    return result;
}

static int put_index(struct sp__h5_out *out, hid_t file)
{
    struct index index = {.out = out};
    if (number_regions(&index) < 0) {
        free(index.places);
        free(index.buffer);
        sp__name_set_finish(&index.names);
        return sp__fail(out->writing->error, SP_ERR_SYSTEM, ENOMEM, out->writing->output, "/rank_region_index",
                        "cannot be written");
    }
    hid_t text = text_type(), summary = summary_type();
    hid_t table = H5Gcreate2(file, "region_table", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(file, "rank_region_index", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t result = text < 0 || summary < 0 || table < 0 || group < 0 ? -1 : 0;
    if (result >= 0)
        result = put_column(table, "names", text, index.names.count, index.names.names);
    if (result >= 0)
        result = put_index_columns(&index, group, text, summary);
    H5Gclose(table);
    H5Gclose(group);
    H5Tclose(text);
    H5Tclose(summary);
    sp__name_set_finish(&index.names);
    free(index.places);
    free(index.buffer);
    return result < 0 ? failure(out, "/rank_region_index") : 0;
}

/* ---- threads ------------------------------------------------------------------------------------------------------
 */

enum { T_RANK, T_INDEX, T_IDENT, T_NATIVE, T_DAEMON, T_START, T_END, T_CPU, T_NAME, THREAD_COLUMNS };

static void get_thread(const struct sp__h5_out *out, int column, const struct sp__rank *rank,
                       const struct sp__thread *thread, void *buffer, size_t n)
{
    int64_t value = -1;
    switch (column) {
    case T_RANK:
        ((uint32_t *)buffer)[n] = rank->rank;
        return;
    case T_DAEMON:
        ((int8_t *)buffer)[n] = thread->daemon;
        return;
    case T_NAME:
        ((const char **)buffer)[n] = thread->name;
        return;
    case T_INDEX:
        value = thread->index;
        break;
    case T_IDENT:
        value = thread->ident;
        break;
    case T_NATIVE:
        value = thread->native_id;
        break;
    case T_CPU:
        value = thread->cpu_ns;
        break;
    default: { /* relative to the profile's first call; a thread that began before it began with it */
        int64_t at = column == T_START ? thread->start_ns : thread->end_ns;
        int64_t from = out->start == INT64_MAX ? 0 : out->start;
        value = at < 0 ? -1 : at < from ? 0 : at - from;
    }
    }
    ((int64_t *)buffer)[n] = value;
}

static int put_threads(struct sp__h5_out *out, hid_t file)
{
    const struct sp__writing *writing = out->writing;
    void *buffer = malloc((out->thread_count + 1) * sizeof(int64_t));
    hid_t text = text_type(), group = H5Gcreate2(file, "thread_table", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const struct {
        const char *name;
        hid_t type;
    } columns[THREAD_COLUMNS] = {[T_RANK] = {"ranks", H5T_NATIVE_UINT32},
                                 [T_INDEX] = {"index", H5T_NATIVE_INT64},
                                 [T_IDENT] = {"ident", H5T_NATIVE_INT64},
                                 [T_NATIVE] = {"native_id", H5T_NATIVE_INT64},
                                 [T_DAEMON] = {"daemon", H5T_NATIVE_INT8},
                                 [T_START] = {"start_ns", H5T_NATIVE_INT64},
                                 [T_END] = {"end_ns", H5T_NATIVE_INT64},
                                 [T_CPU] = {"cpu_ns", H5T_NATIVE_INT64},
                                 [T_NAME] = {"name", text}};
    herr_t result = !buffer || text < 0 || group < 0 ? -1 : 0;
    for (int c = 0; result >= 0 && c < THREAD_COLUMNS; c++) {
        size_t n = 0;
        for (size_t r = 0; r < writing->rank_count; r++)
            for (size_t t = 0; t < writing->ranks[r]->thread_count; t++)
                get_thread(out, c, writing->ranks[r], &writing->ranks[r]->threads[t], buffer, n++);
        result = put_column(group, columns[c].name, columns[c].type, n, buffer);
    }
    H5Gclose(group);
    H5Tclose(text);
    free(buffer);
    return result < 0 ? failure(out, "/thread_table") : 0;
}

/* ---- the two steps ------------------------------------------------------------------------------------------------
 */

static const char *column_name(const struct sp__h5_out *out, int column)
{
    static const char *const names[2][COLUMNS] = {
        {"start_times", "end_times", "thread_ids", "call_ids", "parent_ids"},
        {"start_deltas", "durations", "thread_ids", "call_ids", "parent_ids"}};
    return names[out->deltas][column];
}

static int set_column_aside(struct sp__h5_out *out, hid_t group, const char *name, uint64_t *ret_offset)
{
    hsize_t length = out->writing->calls;
    hid_t space = H5Screate_simple(1, &length, NULL), plan = H5Pcreate(H5P_DATASET_CREATE);
    hid_t set = -1;
    if (space >= 0 && plan >= 0 && H5Pset_alloc_time(plan, H5D_ALLOC_TIME_EARLY) >= 0 &&
        H5Pset_fill_time(plan, H5D_FILL_TIME_NEVER) >= 0)
        set = H5Dcreate2(group, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    haddr_t offset = set < 0 || !length ? 0 : H5Dget_offset(set);
    int result = set < 0 || offset == HADDR_UNDEF ? failure(out, "/events") : 0;
    H5Dclose(set);
    H5Pclose(plan);
    H5Sclose(space);
    *ret_offset = offset;
    return result;
}

/* A scratch file for the columns beside the output, where there is room for the output too. */
static int make_scratch(struct sp__h5_out *out)
{
    const char *output = out->writing->output, *slash = strrchr(output, '/');
    char folder[SP__PATH_SIZE] = ".";
    if (slash) {
        size_t length = slash == output ? 1 : (size_t)(slash - output);
        if (length >= sizeof folder)
            return sp__fail(out->writing->error, SP_ERR_SYSTEM, ENAMETOOLONG, output, NULL, "cannot be written");
        memcpy(folder, output, length);
        folder[length] = 0;
    }
    int fd = sp__unnamed_file(folder);
    if (fd < 0)
        return sp__fail(out->writing->error, SP_ERR_SYSTEM, -fd, output, NULL,
                        "cannot be compressed: no scratch file can be made in %.200s", folder);
    out->columns_fd = fd;
    out->packed = true;
    uint64_t at = 0;
    for (int c = 0; c < COLUMNS; c++) {
        out->offsets[c] = at;
        at += out->present[c] ? 8 * out->writing->calls : 0;
    }
    return 0;
}

static int lay_out(struct sp__h5_out *out, hid_t file)
{
    bool aggregate = out->writing->aggregate;
    if (put_number(file, "scope_profiler_schema", out->deltas ? 3 : 2) < 0 ||
        put_text(file, "storage_layout", aggregate ? "aggregate" : "columnar") < 0)
        return failure(out, "/");
    if (aggregate)
        return 0;
    hid_t group = H5Gcreate2(file, "events", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0)
        return failure(out, "/events");
    int result = 0;
    for (int c = 0; result == 0 && !out->packed && c < COLUMNS; c++)
        if (out->present[c])
            result = set_column_aside(out, group, column_name(out, c), &out->offsets[c]);
    H5Gclose(group);
    return result;
}

static int check_settings(const struct sp__h5_out *out)
{
    const sp_write_settings *settings = out->writing->settings;
    if (settings->schema != 0 && settings->schema != 2 && settings->schema != 3)
        return sp__fail(out->writing->error, SP_ERR_USAGE, 0, out->writing->output, NULL,
                        "cannot be written as schema %d: profiles are written as schema 2 or 3", settings->schema);
    if (settings->gzip < 0 || settings->gzip > 9)
        return sp__fail(out->writing->error, SP_ERR_USAGE, 0, out->writing->output, NULL,
                        "cannot be compressed at level %d: gzip has levels 1 to 9", settings->gzip);
    return 0;
}

int sp__h5_lay_out(struct sp__h5_out *out)
{
    int result = check_settings(out);
    if (result < 0)
        return result;
    out->deltas = out->writing->settings->schema == 3;
    out->columns_fd = out->file.fd;
    if (out->writing->settings->gzip && out->writing->calls && !out->writing->aggregate)
        result = make_scratch(out);
    if (result < 0)
        return result;
    sp__h5_lock();
    hid_t access = sp__h5_access(out->file.fd, &out->failed);
    hid_t file = access < 0 ? -1 : H5Fcreate(out->file.temporary, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    result = file < 0 ? failure(out, NULL) : lay_out(out, file);
    result = close_file(out, file, access, result);
    sp__h5_unlock();
    return result;
}

static int forget_ids(struct sp__h5_out *out, hid_t file)
{
    out->present[CALL_IDS] = out->present[PARENT_IDS] = false;
    if (out->packed)
        return 0;
    /* Unlinked before anything is added, which takes their space. */
    hid_t group = H5Gopen2(file, "events", H5P_DEFAULT);
    herr_t gone = group < 0 ? -1 : 0;
    for (int c = PARENT_IDS; gone >= 0 && c >= CALL_IDS; c--)
        gone = H5Ldelete(group, column_name(out, c), H5P_DEFAULT);
    H5Gclose(group);
    return gone < 0 ? failure(out, "/events") : 0;
}

static int pack(struct sp__h5_out *out, hid_t file)
{
    hid_t group = H5Gopen2(file, "events", H5P_DEFAULT);
    if (group < 0)
        return failure(out, "/events");
    const char *names[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        names[c] = column_name(out, c);
    int result = sp__h5_pack(out, group, names);
    H5Gclose(group);
    return result;
}

static int complete(struct sp__h5_out *out, hid_t file)
{
    int result = out->unnumbered && out->present[CALL_IDS] ? forget_ids(out, file) : 0;
    if (result == 0 && out->packed)
        result = pack(out, file);
    if (result == 0)
        result = put_index(out, file);
    if (result == 0 && out->present[THREAD_IDS])
        result = put_threads(out, file);
    if (result == 0)
        result = put_metadata(out, file);
    return result == 0 ? sp__h5_carry(out, file) : result;
}

int sp__h5_complete(struct sp__h5_out *out)
{
    sp__h5_lock();
    hid_t access = sp__h5_access(out->file.fd, &out->failed);
    hid_t file = access < 0 ? -1 : H5Fopen(out->file.temporary, H5F_ACC_RDWR, access);
    int result = file < 0 ? failure(out, NULL) : complete(out, file);
    result = close_file(out, file, access, result);
    sp__h5_unlock();
    return result;
}

void sp__h5_finish(struct sp__h5_out *out)
{
    if (out->packed)
        close(out->columns_fd);
    out->packed = false;
}
