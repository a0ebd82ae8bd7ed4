/* values.c: groups below /rank<N>/ of a profile whose layout is their writers' own (likwid, line_profile, perf_events):
 * shown dataset by dataset and attribute by attribute, whatever they are called. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5.h"
#include "results.h"

enum {
    OBJECTS_MOST = 20000,  /* of a group: more is damage, as is ... */
    DEPTH_MOST = 32,       /* ... a group within a group and so on */
    VALUES_MOST = 1 << 20, /* numbers that are given at once */
    TEXTS_MOST = 1 << 16,  /* and texts ... */
    LIST_MOST = 4096,      /* ... of an attribute */
    TEXT_BYTES = 16 << 20, /* and what texts hold together */
    CHUNK_MOST = 16 << 20
};

/* What HDF5 makes of texts of any length: freed together, also after a read that failed halfway. */
struct arena {
    struct block {
        struct block *next;
        char bytes[];
    } * blocks;
    size_t used;
    bool full;
};

struct walk {
    const char *file;
    const char *root; /* "/rank3/likwid" */
    uint32_t rank;
    int (*each)(void *context, const sp_value *value);
    void *context;
    sp_error *error;
    unsigned objects;
    int status;
};

/* A dataset or an attribute. */
struct stored {
    hid_t id;
    bool attribute;
    hid_t type, space;
    hssize_t count;
};

static int no_memory(const struct walk *w)
{
    return sp__fail(w->error, SP_ERR_SYSTEM, ENOMEM, w->file, w->root, "cannot be read");
}

static int damaged(const struct walk *w, const sp_value *value)
{
    char place[256];
    snprintf(place, sizeof place, "%.180s%s%.60s", value->path, value->attribute ? " attribute " : "",
             value->attribute ? value->attribute : "");
    return sp__fail(w->error, SP_ERR_CORRUPT_PROFILE, 0, w->file, place, "cannot be read: the data are damaged");
}

static bool read_all(const struct stored *s, hid_t type, hid_t transfer, void *to)
{
    return s->attribute ? H5Aread(s->id, type, to) >= 0 : H5Dread(s->id, type, H5S_ALL, H5S_ALL, transfer, to) >= 0;
}

/* Bytes inside this file, in pieces that fit into memory. */
static bool readable(const struct stored *s)
{
    if (s->attribute)
        return true;
    hid_t plist = H5Dget_create_plist(s->id);
    hsize_t chunk[H5S_MAX_RANK], bytes = H5Tget_size(s->type);
    H5D_layout_t layout = plist >= 0 ? H5Pget_layout(plist) : H5D_LAYOUT_ERROR;
    bool good = layout >= 0 && layout != H5D_VIRTUAL && H5Pget_external_count(plist) == 0;
    int dimensions = good && layout == H5D_CHUNKED ? H5Pget_chunk(plist, H5S_MAX_RANK, chunk) : 0;
    for (int i = 0; good && i < dimensions; i++)
        good = !__builtin_mul_overflow(bytes, chunk[i], &bytes) && bytes <= CHUNK_MOST;
    if (plist >= 0)
        H5Pclose(plist);
    return good && dimensions >= 0;
}

static int show(struct walk *w, const sp_value *value)
{
    return w->each(w->context, value);
}

static int show_numbers(struct walk *w, const struct stored *s, sp_value *value, bool whole)
{
    void *numbers = calloc(value->count + 1, 8);
    if (!numbers)
        return no_memory(w);
    int status = 0;
    if (value->count && !read_all(s, whole ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, H5P_DEFAULT, numbers)) {
        status = damaged(w, value);
    } else {
        value->kind = whole ? SP_VALUE_INTEGERS : SP_VALUE_REALS;
        value->integers = whole ? numbers : NULL;
        value->reals = whole ? NULL : numbers;
        status = show(w, value);
    }
    free(numbers);
    return status;
}

static void *arena_take(size_t size, void *context)
{
    struct arena *arena = context;
    arena->full = arena->full || size > TEXT_BYTES || arena->used + size > TEXT_BYTES;
    struct block *block = arena->full ? NULL : malloc(sizeof *block + size);
    if (!block)
        return NULL;
    arena->used += size;
    block->next = arena->blocks;
    arena->blocks = block;
    return block->bytes;
}

static void arena_keep(void *bytes, void *context)
{
    (void)bytes, (void)context;
}

static void arena_finish(struct arena *arena)
{
    while (arena->blocks) {
        struct block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}

/* Texts as they were read, as UTF-8. */
static bool take_texts(const struct stored *s, const char *raw, char **ret, size_t count)
{
    bool variable = H5Tis_variable_str(s->type) > 0, mended;
    size_t size = variable ? sizeof(char *) : H5Tget_size(s->type);
    H5T_str_t padding = H5Tget_strpad(s->type);
    for (size_t i = 0; i < count; i++) {
        const char *text = raw + i * size;
        if (variable)
            memcpy(&text, raw + i * size, sizeof text);
        size_t length = !text ? 0 : variable ? strlen(text) : strnlen(text, size);
        while (!variable && padding == H5T_STR_SPACEPAD && length && text[length - 1] == ' ')
            length--;
        if (!(ret[i] = sp__utf8_copy(text ? text : "", length, &mended)))
            return false;
    }
    return true;
}

static int show_texts(struct walk *w, const struct stored *s, sp_value *value)
{
    bool variable = H5Tis_variable_str(s->type) > 0;
    struct arena arena = {0};
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    char **texts = calloc(value->count + 1, sizeof *texts);
    char *raw = calloc(value->count + 1, variable ? sizeof(char *) : H5Tget_size(s->type));
    int status = texts && raw && transfer >= 0 ? 0 : no_memory(w);
    if (!status && H5Pset_vlen_mem_manager(transfer, arena_take, &arena, arena_keep, &arena) < 0)
        status = no_memory(w);
    if (!status && value->count && !read_all(s, s->type, transfer, raw) && !arena.full)
        status = damaged(w, value);
    if (!status && !arena.full && !take_texts(s, raw, texts, value->count))
        status = no_memory(w);
    if (variable && s->attribute && raw) /* attributes are read without the arena */
        H5Dvlen_reclaim(s->type, s->space, H5P_DEFAULT, raw);
    if (!status) {
        value->kind = arena.full ? SP_VALUE_OTHER : SP_VALUE_TEXTS;
        value->texts = arena.full ? NULL : (const char *const *)texts;
        status = show(w, value);
    }
    for (size_t i = 0; texts && i < value->count; i++)
        free(texts[i]);
    free(texts);
    free(raw);
    arena_finish(&arena);
    if (transfer >= 0)
        H5Pclose(transfer);
    return status;
}

static int show_stored(struct walk *w, struct stored *s, sp_value *value)
{
    if (s->type < 0 || s->space < 0 || (s->count = H5Sget_simple_extent_npoints(s->space)) < 0)
        return damaged(w, value);
    H5T_class_t kind = H5Tget_class(s->type);
    size_t item = H5Tget_size(s->type);
    value->count = (size_t)s->count;
    bool number = kind == H5T_INTEGER || kind == H5T_ENUM || kind == H5T_FLOAT;
    if (number && value->count <= VALUES_MOST && readable(s))
        return show_numbers(w, s, value, kind != H5T_FLOAT);
    if (kind == H5T_STRING && value->count <= (s->attribute ? LIST_MOST : TEXTS_MOST) &&
        item <= TEXT_BYTES / (value->count + 1) && readable(s))
        return show_texts(w, s, value);
    value->kind = SP_VALUE_OTHER;
    return show(w, value);
}

static void stored_close(struct stored *s)
{
    if (s->type >= 0)
        H5Tclose(s->type);
    if (s->space >= 0)
        H5Sclose(s->space);
}

struct attributes {
    struct walk *walk;
    const char *path;
};

static herr_t show_attribute(hid_t object, const char *name, const H5A_info_t *info, void *context)
{
    (void)info;
    struct attributes *of = context;
    struct walk *w = of->walk;
    sp_value value = {.rank = w->rank, .path = of->path, .attribute = name};
    struct stored s = {.id = H5Aopen(object, name, H5P_DEFAULT), .attribute = true};
    if (s.id < 0) {
        w->status = damaged(w, &value);
        return 1;
    }
    s.type = H5Aget_type(s.id);
    s.space = H5Aget_space(s.id);
    w->status = show_stored(w, &s, &value);
    stored_close(&s);
    H5Aclose(s.id);
    return w->status != 0;
}

static unsigned depth_of(const char *name)
{
    unsigned depth = 0;
    for (; *name; name++)
        depth += *name == '/';
    return depth;
}

static herr_t show_object(hid_t root, const char *name, const H5O_info_t *info, void *context)
{
    struct walk *w = context;
    bool itself = !strcmp(name, ".");
    char *path = NULL;
    if (++w->objects > OBJECTS_MOST || depth_of(name) > DEPTH_MOST) {
        w->status =
            sp__fail(w->error, SP_ERR_CORRUPT_PROFILE, 0, w->file, w->root,
                     "holds more than %d objects, or groups in groups more than %d deep", OBJECTS_MOST, DEPTH_MOST);
        return 1;
    }
    if (asprintf(&path, "%s%s%s", w->root, itself ? "" : "/", itself ? "" : name) < 0) {
        w->status = no_memory(w);
        return 1;
    }
    sp_value value = {.rank = w->rank, .path = path};
    hid_t object = H5Oopen(root, name, H5P_DEFAULT);
    struct attributes attributes = {w, path};
    hsize_t at = 0;
    if (object < 0)
        w->status = damaged(w, &value);
    if (!w->status && info->type == H5O_TYPE_DATASET) {
        struct stored s = {.id = object, .type = H5Dget_type(object), .space = H5Dget_space(object)};
        w->status = show_stored(w, &s, &value);
        stored_close(&s);
    }
    if (!w->status && H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, show_attribute, &attributes) < 0 &&
        !w->status)
        w->status = damaged(w, &value);
    if (object >= 0)
        H5Oclose(object);
    free(path);
    return w->status != 0;
}

/* `file` is open. */
static int show_group(struct walk *w, hid_t file)
{
    sp_value value = {.path = w->root};
    hid_t group = sp__h5_exists(file, w->root) ? H5Oopen(file, w->root, H5P_DEFAULT) : H5I_INVALID_HID;
    if (group < 0)
        return damaged(w, &value);
    if (H5Ovisit2(group, H5_INDEX_NAME, H5_ITER_INC, show_object, w, H5O_INFO_BASIC) < 0 && !w->status)
        w->status = damaged(w, &value);
    H5Oclose(group);
    return w->status;
}

/* Where the group stands in the list of a file's: "/rank<N>/<name>". */
static bool is_group(const char *place, const char *name, uint32_t *ret_rank)
{
    unsigned rank;
    int length = 0;
    if (sscanf(place, "/rank%9u/%n", &rank, &length) != 1 || !length || strcmp(place + length, name) != 0)
        return false;
    *ret_rank = rank;
    return true;
}

static bool has_rank(const sp_results *results, uint32_t rank)
{
    bool has = !results->narrowed;
    for (size_t r = 0; !has && r < results->rank_count; r++)
        has = results->ranks[r]->rank == rank;
    return has;
}

static int show_source(const sp_results *results, const struct sp__source *source, struct walk *w, const char *name,
                       bool *ret_found)
{
    int status = 0;
    hid_t file = H5I_INVALID_HID;
    struct sp__file_id id;
    for (size_t i = 0; !status && i < source->group_count; i++) {
        if (!is_group(source->groups[i], name, &w->rank) || !has_rank(results, w->rank))
            continue;
        *ret_found = true;
        w->file = source->path;
        w->root = source->groups[i];
        w->objects = 0;
        if (file < 0)
            status = sp__h5_open(&file, &id, NULL, source->path, w->error);
        if (!status)
            status = show_group(w, file);
    }
    if (file >= 0)
        H5Fclose(file);
    return status;
}

int sp_results_values(sp_results *results, const char *group, int (*each)(void *context, const sp_value *value),
                      void *context, sp_error *error)
{
    if (!results || !group || !each)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "values are shown of results, by a group's name");
    if ((!strcmp(group, "likwid") && !results->likwid) || (!strcmp(group, "line_profile") && !results->line_profile))
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "the results were loaded without %s", group);
    struct walk w = {.each = each, .context = context, .error = error};
    bool found = false;
    int status = 0;
    sp__h5_lock();
    for (size_t i = 0; !status && i < results->inputs->count; i++)
        status = show_source(results, results->inputs->sources[i], &w, group, &found);
    sp__h5_unlock();
    if (!status && !found)
        status = sp__fail(error, SP_ERR_NOT_FOUND, 0, results->path_count ? results->paths[0] : NULL, NULL,
                          "there is no %.100s of any rank that was loaded", group);
    return status;
}
