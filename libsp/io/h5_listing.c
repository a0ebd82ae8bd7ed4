/* h5_listing.c: what stands in a profile beside the tables and events: groups of ranks, which a merge copies as they are,
 * and all that has no place in it and is named. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5_tables.h"

struct listing {
    struct sp__h5_tables *t;
    const char *group; /* "" the root */
    const char *const *known;
    uint32_t rank; /* of the group, where it is a rank's */
};

static bool rank_of(const char *name, uint32_t *ret)
{
    char *end;
    if (strncmp(name, "rank", 4) != 0 || name[4] < '0' || name[4] > '9')
        return false;
    errno = 0;
    unsigned long long rank = strtoull(name + 4, &end, 10);
    *ret = (uint32_t)rank;
    return !*end && !errno && rank <= UINT32_MAX;
}

static int add_unsupported(struct sp__h5_tables *t, const char *group, const char *name, const char *why)
{
    char place[512];
    snprintf(place, sizeof place, "%s/%s%s", group, name, why);
    return sp__texts_add(&t->unsupported, &t->unsupported_count, place);
}

static int add_group(struct sp__h5_tables *t, uint32_t rank, bool whole, const char *group, const char *name)
{
    if ((t->group_count & (t->group_count - 1)) == 0) {
        struct sp__h5_group *more = realloc(t->groups, (t->group_count ? t->group_count * 2 : 1) * sizeof *more);
        if (!more)
            return -ENOMEM;
        t->groups = more;
    }
    char *place;
    if (asprintf(&place, "%s/%s", group, name) < 0)
        return -ENOMEM;
    t->groups[t->group_count++] = (struct sp__h5_group){rank, whole, place};
    return 0;
}

static herr_t list_of_rank(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    (void)group;
    const struct listing *l = context;
    if (!strcmp(name, "regions"))
        return l->t->schema == 1 ? 0 : add_unsupported(l->t, l->group, name, "");
    if (info->type != H5L_TYPE_HARD)
        return add_unsupported(l->t, l->group, name, " (a link)");
    return add_group(l->t, l->rank, false, l->group, name);
}

static herr_t list_rank(struct sp__h5_tables *t, hid_t file, uint32_t rank, const char *name)
{
    char group[64];
    struct listing l = {.t = t, .group = group, .rank = rank};
    H5O_info_t info;
    if ((size_t)snprintf(group, sizeof group, "/%s", name) >= sizeof group)
        return add_unsupported(t, "", name, "");
    if (t->schema == 1 && add_group(t, rank, true, "", name))
        return -1;
    if (H5Oget_info_by_name2(file, group, &info, H5O_INFO_NUM_ATTRS, H5P_DEFAULT) >= 0 && info.num_attrs &&
        add_unsupported(t, group, "", "(its attributes)"))
        return -1;
    hsize_t at = 0;
    return H5Literate_by_name(file, group, H5_INDEX_NAME, H5_ITER_NATIVE, &at, list_of_rank, &l, H5P_DEFAULT);
}

static herr_t list_one(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    (void)info;
    const struct listing *l = context;
    uint32_t rank;
    for (const char *const *known = l->known; *known; known++)
        if (!strcmp(*known, name))
            return 0;
    if (!*l->group && rank_of(name, &rank) && sp__h5_is(group, name, H5O_TYPE_GROUP))
        return list_rank(l->t, group, rank, name);
    return add_unsupported(l->t, l->group, name, "");
}

static int by_rank(const void *a, const void *b)
{
    const struct sp__h5_group *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->whole != y->whole ? (x->whole ? -1 : 1) : strcmp(x->path, y->path);
}

static int sort_groups(struct sp__h5_tables *t, const char *path, sp_error *error)
{
    if (t->group_count)
        qsort(t->groups, t->group_count, sizeof *t->groups, by_rank);
    for (size_t i = 1; i < t->group_count; i++) {
        const struct sp__h5_group *one = &t->groups[i - 1], *other = &t->groups[i];
        if (one->whole && other->whole && one->rank == other->rank)
            return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, other->path,
                            "rank %" PRIu32 " stands twice: also as %s", one->rank, one->path);
    }
    return 0;
}

int sp__h5_tables_list(struct sp__h5_tables *t, hid_t file, const char *path, sp_error *error)
{
    static const char *const root[] = {"metadata", "region_table", "rank_region_index", "events", "thread_table", NULL};
    static const char *const bare[] = {"metadata", "region_table", "rank_region_index", NULL};
    static const char *const old[] = {"metadata", NULL}, *const names[] = {"names", NULL}, *const none[] = {NULL};
    static const char *const times[] = {"start_times", "end_times", "call_ids", "parent_ids", "thread_ids", NULL};
    static const char *const deltas[] = {"start_deltas", "durations", "call_ids", "parent_ids", "thread_ids", NULL};
    static const char *const index[] = {
        "region_ids", "ranks",        "event_offsets", "event_counts",     "source_lines",
        "tags",       "source_files", "source_texts",  "exclusive_totals", "summary_statistics",
        NULL};
    static const char *const aggregates[] = {"region_ids",
                                             "ranks",
                                             "aggregate_counts",
                                             "aggregate_totals",
                                             "aggregate_minimums",
                                             "aggregate_maximums",
                                             "aggregate_exclusives",
                                             "source_lines",
                                             "source_files",
                                             "source_texts",
                                             "tags",
                                             NULL};
    static const char *const threads[] = {"ranks",    "index",  "ident",  "native_id", "daemon",
                                          "start_ns", "end_ns", "cpu_ns", "name",      NULL};
    bool columns = t->schema != 1;
    const struct listing groups[] = {{.group = "",
                                      .known = !columns       ? old
                                               : t->aggregate ? bare
                                                              : root},
                                     {.group = "/metadata", .known = none},
                                     {.group = "/rank_region_index", .known = t->aggregate ? aggregates : index},
                                     {.group = "/region_table", .known = names},
                                     {.group = "/events", .known = t->deltas ? deltas : times},
                                     {.group = "/thread_table", .known = threads}};
    /* What the root's list has named as a whole is not gone through. */
    size_t count = !columns ? 2 : t->aggregate ? 4 : 6;
    for (size_t i = 0; i < count; i++) {
        struct listing l = groups[i];
        l.t = t;
        const char *group = *l.group ? l.group : "/";
        if (*l.group && !sp__h5_exists(file, group))
            continue;
        hsize_t at = 0;
        if (H5Literate_by_name(file, group, H5_INDEX_NAME, H5_ITER_NATIVE, &at, list_one, &l, H5P_DEFAULT) < 0)
            return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, group,
                            "cannot be listed: the group, or one in it, is damaged");
    }
    return sort_groups(t, path, error);
}
