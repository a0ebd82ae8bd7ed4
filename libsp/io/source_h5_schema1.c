/* source_h5_schema1.c: the tables of schema 1, in which every region of a rank is a group with two datasets:
 * /rank<N>/regions/<name>/start_times and end_times. HDF5 takes a slash in a name for a group in a group, so regions are
 * looked for at any depth, and their path below `regions` is their name. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5_tables.h"
#include "rank.h"

enum { DEPTH_MOST = 128 }; /* parts of a name; HDF5 goes down by recursion, and a path costs by its parts */

/* A row while it is put together. */
struct region {
    char *name, *place, *file, *text, *tags;
    int64_t line;
    uint64_t calls;
    uint32_t rank;
    bool calls_known, parents_known; /* ids are stored */
};

struct regions {
    struct sp__h5_tables *t;
    const char *path;
    uint64_t file_size;
    struct region *list;
    size_t count;
    bool mended;
    const struct sp__h5_group *rank;
    sp_error *error;
    int status;
};

static int no_memory(struct regions *r)
{
    return r->status = sp__fail(r->error, SP_ERR_SYSTEM, ENOMEM, r->path, NULL, "cannot be read");
}

static int unsupported(struct regions *r, const char *name, const char *why)
{
    char place[512];
    snprintf(place, sizeof place, "%s/regions/%s%s", r->rank->path, name, why);
    return sp__texts_add(&r->t->unsupported, &r->t->unsupported_count, place) ? no_memory(r) : 0;
}

static struct region *append(struct regions *r)
{
    if ((r->count & (r->count - 1)) == 0) {
        struct region *more = realloc(r->list, (r->count ? r->count * 2 : 1) * sizeof *more);
        if (!more)
            return NULL;
        r->list = more;
    }
    r->list[r->count] = (struct region){.line = -1, .rank = r->rank->rank};
    return &r->list[r->count++];
}

/* Tags are a list of texts here and a JSON list elsewhere. */
static char *json_list(char *const *texts, size_t count)
{
    json_t *list = json_array();
    bool good = list != NULL;
    for (size_t i = 0; good && i < count; i++)
        good = !json_array_append_new(list, json_string(texts[i]));
    char *made = good ? json_dumps(list, JSON_COMPACT) : NULL;
    char *copy = made ? strdup(made) : NULL;
    free(made);
    json_decref(list);
    return copy;
}

struct of_region {
    struct regions *r;
    struct region *region;
    const char *name;
};

static herr_t take_attribute(hid_t object, const char *key, const H5A_info_t *info, void *context)
{
    (void)info;
    const struct of_region *of = context;
    struct region *region = of->region;
    struct sp__attribute value = {0};
    char **to = !strcmp(key, "source_file")   ? &region->file
                : !strcmp(key, "source_text") ? &region->text
                : !strcmp(key, "tags")        ? &region->tags
                                              : NULL;
    bool line = !strcmp(key, "source_lineno"), taken = false;
    if ((to || line) && sp__h5_attribute(object, key, &value)) {
        taken = line ? value.number : !value.number && (value.text_count == 1 || to == &region->tags);
        if (taken && line)
            region->line = value.value >= 0 ? value.value : -1;
        else if (taken)
            *to = to == &region->tags ? json_list(value.texts, value.text_count) : strdup(value.texts[0]);
        sp__h5_attribute_free(&value);
        if (taken && to && !*to)
            return no_memory(of->r);
    }
    char why[256];
    snprintf(why, sizeof why, " attribute %s", key);
    return taken ? 0 : unsupported(of->r, of->name, why);
}

/* Its datasets are looked at, not read. */
static int take_extents(struct regions *r, struct region *region, hid_t group)
{
    const struct {
        size_t column;
        bool *known;
    } columns[] = {{SP__H5_STARTS, NULL},
                   {SP__H5_ENDS, NULL},
                   {SP__H5_CALLS, &region->calls_known},
                   {SP__H5_PARENTS, &region->parents_known}};
    for (size_t i = 0; !r->status && i < sizeof columns / sizeof *columns; i++) {
        const char *name = sp__h5_event_name(false, columns[i].column);
        struct sp__h5_column column;
        char place[256];
        if (columns[i].known && !(*columns[i].known = sp__h5_exists(group, name)))
            continue;
        snprintf(place, sizeof place, "%.230s/%s", region->place, name);
        r->status = sp__h5_column_open_at(&column, group, name, r->path, place, r->file_size, r->error);
        if (r->status)
            break;
        if (i == 0)
            region->calls = column.length;
        if (column.class != H5T_INTEGER)
            r->status = sp__fail(r->error, SP_ERR_CORRUPT_PROFILE, 0, r->path, place, "holds no integer values");
        else if (column.length != region->calls)
            r->status =
                sp__fail(r->error, SP_ERR_CORRUPT_PROFILE, 0, r->path, place,
                         "has the length %" PRIu64 ", not %" PRIu64 " as start_times", column.length, region->calls);
        sp__h5_column_close(&column);
    }
    return r->status;
}

static int take_region(struct regions *r, hid_t group, const char *name)
{
    struct region *region = append(r);
    bool mended = false;
    if (!region || asprintf(&region->place, "%s/regions/%s", r->rank->path, name) < 0 ||
        !(region->name = sp__utf8_copy(name, strlen(name), &mended)))
        return no_memory(r);
    r->mended |= mended;
    hid_t own = H5Oopen(group, name, H5P_DEFAULT);
    if (own < 0)
        return r->status = sp__fail(r->error, SP_ERR_CORRUPT_PROFILE, 0, r->path, region->place,
                                    "cannot be opened: the group is damaged");
    struct of_region of = {r, region, name};
    hsize_t at = 0;
    if (!take_extents(r, region, own) &&
        H5Aiterate2(own, H5_INDEX_NAME, H5_ITER_NATIVE, &at, take_attribute, &of) < 0 && !r->status)
        r->status = sp__fail(r->error, SP_ERR_CORRUPT_PROFILE, 0, r->path, region->place,
                             "cannot be read: the attributes are damaged");
    H5Oclose(own);
    return r->status;
}

/* A group with either dataset, or one in which nothing stands. */
static bool is_region(hid_t group, const char *name)
{
    H5G_info_t info;
    hid_t own = H5Gopen2(group, name, H5P_DEFAULT);
    bool is =
        own >= 0 && (sp__h5_is(own, "start_times", H5O_TYPE_DATASET) || sp__h5_is(own, "end_times", H5O_TYPE_DATASET) ||
                     (H5Gget_info(own, &info) >= 0 && info.nlinks == 0));
    if (own >= 0)
        H5Gclose(own);
    return is;
}

/* A dataset, read with the region it is of, or named. */
static int take_dataset(struct regions *r, hid_t group, const char *name)
{
    const char *slash = strrchr(name, '/');
    if (slash && (!strcmp(slash + 1, "start_times") || !strcmp(slash + 1, "end_times")))
        return 0; /* what makes its group a region */
    if (!slash || (strcmp(slash + 1, "call_ids") != 0 && strcmp(slash + 1, "parent_ids") != 0))
        return unsupported(r, name, "");
    char *owner = strndup(name, (size_t)(slash - name));
    if (!owner)
        return no_memory(r);
    bool known = is_region(group, owner);
    free(owner);
    return known ? 0 : unsupported(r, name, "");
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    struct regions *r = context;
    size_t depth = 1;
    for (const char *at = name; (at = strchr(at, '/')); at++)
        depth++;
    if (depth > DEPTH_MOST)
        return r->status = sp__fail(r->error, SP_ERR_CORRUPT_PROFILE, 0, r->path, r->rank->path,
                                    "regions are nested deeper than %d groups", DEPTH_MOST);
    if (info->type != H5L_TYPE_HARD)
        return unsupported(r, name, " (a link)");
    H5O_info_t object;
    if (H5Oget_info_by_name2(group, name, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        return -1;
    if (object.type == H5O_TYPE_DATASET)
        return take_dataset(r, group, name);
    if (object.type != H5O_TYPE_GROUP)
        return unsupported(r, name, "");
    return is_region(group, name) ? take_region(r, group, name) : 0;
}

static int take_rank(struct regions *r, hid_t file)
{
    hid_t own = H5Gopen2(file, r->rank->path, H5P_DEFAULT);
    if (own >= 0 && !sp__h5_exists(own, "regions")) {
        H5Gclose(own);
        return 0;
    }
    hid_t group = own >= 0 ? H5Gopen2(own, "regions", H5P_DEFAULT) : H5I_INVALID_HID;
    /* In the order in which they were made, where the file knows it. */
    if ((group < 0 || H5Lvisit(group, H5_INDEX_CRT_ORDER, H5_ITER_INC, visit, r) < 0) && !r->status)
        r->status = sp__fail(r->error, SP_ERR_CORRUPT_PROFILE, 0, r->path, r->rank->path,
                             "its regions cannot be listed: a group is damaged");
    if (group >= 0)
        H5Gclose(group);
    if (own >= 0)
        H5Gclose(own);
    return r->status;
}

/* The list becomes the tables' columns. */
static int hand_over(struct regions *r)
{
    struct sp__h5_tables *t = r->t;
    size_t room = r->count + 1;
    t->names = calloc(room, sizeof *t->names);
    t->places = calloc(room, sizeof *t->places);
    t->files = calloc(room, sizeof *t->files);
    t->texts = calloc(room, sizeof *t->texts);
    t->tags = calloc(room, sizeof *t->tags);
    t->region_ids = calloc(room, sizeof *t->region_ids);
    t->ranks = calloc(room, sizeof *t->ranks);
    t->counts = calloc(room, sizeof *t->counts);
    t->lines = calloc(room, sizeof *t->lines);
    if (!t->names || !t->places || !t->files || !t->texts || !t->tags || !t->region_ids || !t->ranks || !t->counts ||
        !t->lines)
        return no_memory(r);
    struct sp__name_set names = {0};
    for (size_t i = 0; i < r->count; i++) {
        struct region *region = &r->list[i];
        int64_t id = sp__name_set_add(&names, region->name);
        if (id < 0 || region->calls > INT64_MAX || t->events > INT64_MAX - region->calls) {
            sp__name_set_finish(&names);
            return no_memory(r);
        }
        t->region_ids[i] = id;
        t->ranks[i] = region->rank;
        t->counts[i] = (int64_t)region->calls;
        t->lines[i] = region->line;
        t->events += region->calls;
        t->rows++;
        t->places[i] = region->place;
        t->files[i] = region->file;
        t->texts[i] = region->text;
        t->tags[i] = region->tags;
        region->place = region->file = region->text = region->tags = NULL;
        if ((uint64_t)id == t->names_count) {
            t->names[t->names_count++] = region->name;
            region->name = NULL;
        }
    }
    sp__name_set_finish(&names);
    return 0;
}

/* Ids are good for all calls or for none. */
static int take_ids(struct regions *r)
{
    r->t->ids = r->count > 0;
    for (size_t i = 0; i < r->count; i++)
        r->t->ids &= r->list[i].calls_known && r->list[i].parents_known;
    for (size_t i = 0; !r->t->ids && i < r->count; i++)
        if (r->list[i].calls_known || r->list[i].parents_known)
            return sp__texts_add(&r->t->warnings, &r->t->warning_count,
                                 "some regions have call_ids and parent_ids and some have not; they are left out")
                       ? no_memory(r)
                       : 0;
    return 0;
}

int sp__h5_tables_schema1(struct sp__h5_tables *t, hid_t file, const char *path, uint64_t file_size, sp_error *error)
{
    struct regions r = {.t = t, .path = path, .file_size = file_size, .error = error};
    size_t ranks = 0;
    for (size_t i = 0; !r.status && i < t->group_count; i++) {
        if (!t->groups[i].whole)
            continue;
        ranks++;
        r.rank = &t->groups[i];
        (void)take_rank(&r, file);
    }
    if (!r.status && !ranks && H5Aexists(file, "scope_profiler_schema") <= 0)
        r.status = sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, "/",
                            "not a profile: it has neither the attribute scope_profiler_schema nor a group rank<N>");
    if (!r.status)
        (void)take_ids(&r);
    if (!r.status)
        (void)hand_over(&r);
    if (!r.status && r.mended &&
        sp__texts_add(&t->warnings, &t->warning_count, "a region's name is not UTF-8; its bad bytes became U+FFFD"))
        (void)no_memory(&r);
    for (size_t i = 0; i < r.count; i++) {
        free(r.list[i].name);
        free(r.list[i].place);
        free(r.list[i].file);
        free(r.list[i].text);
        free(r.list[i].tags);
    }
    free(r.list);
    return r.status;
}
