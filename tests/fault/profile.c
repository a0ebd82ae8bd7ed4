/* profile.c: the merged profile against what the programs counted, and the spools frame by frame. */
#include <dirent.h>
#include <hdf5.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spool.h"
#include "walk.h"

enum { NAME_SIZE = 32 };

struct call {
    int64_t start, end;
    unsigned life, slot, region;
};

struct profile {
    struct call *calls;
    size_t count;
    int64_t dropped;
};

/* ---- reading: schema 2, by HDF5 alone ------------------------------------------------------------------------------ */

static void *column(hid_t file, const char *path, hid_t type, size_t size, size_t *ret_count)
{
    void *values = NULL;
    hid_t set = H5Dopen(file, path, H5P_DEFAULT), space = set < 0 ? -1 : H5Dget_space(set);
    hssize_t points = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    if (points >= 0 && (values = calloc((size_t)points + 1, size)) != NULL &&
        (points == 0 || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0)) {
        *ret_count = (size_t)points;
    } else {
        free(values);
        values = NULL;
    }
    if (space >= 0)
        H5Sclose(space);
    if (set >= 0)
        H5Dclose(set);
    return values;
}

/* Names as "%c%u.%02u": life, slot, region. */
static bool take_name(const char *name, struct call *ret)
{
    char letter;
    return sscanf(name, "%c%u.%2u", &letter, &ret->slot, &ret->region) == 3 && letter >= 'a' && letter < 'a' + LIVES &&
           ret->slot < SLOTS && ret->region < SLOT_REGIONS && (ret->life = (unsigned)(letter - 'a'), true);
}

static bool take_rows(hid_t file, struct profile *profile, const char *const *names, size_t name_count)
{
    size_t rows = 0, starts_count = 0, ends_count = 0, same = 0;
    uint64_t *offsets = column(file, "/rank_region_index/event_offsets", H5T_NATIVE_UINT64, 8, &rows);
    uint64_t *counts = column(file, "/rank_region_index/event_counts", H5T_NATIVE_UINT64, 8, &same);
    uint32_t *ids = column(file, "/rank_region_index/region_ids", H5T_NATIVE_UINT32, 4, &same);
    int64_t *starts = column(file, "/events/start_times", H5T_NATIVE_INT64, 8, &starts_count);
    int64_t *ends = column(file, "/events/end_times", H5T_NATIVE_INT64, 8, &ends_count);
    bool good = offsets && counts && ids && starts && ends && starts_count == ends_count &&
                (profile->calls = calloc(starts_count + 1, sizeof *profile->calls)) != NULL;
    for (size_t row = 0; good && row < rows; row++) {
        struct call call;
        good = ids[row] < name_count && take_name(names[ids[row]], &call) && offsets[row] + counts[row] <= starts_count;
        for (uint64_t i = 0; good && i < counts[row]; i++) {
            call.start = starts[offsets[row] + i];
            call.end = ends[offsets[row] + i];
            profile->calls[profile->count++] = call;
        }
    }
    free(offsets);
    free(counts);
    free(ids);
    free(starts);
    free(ends);
    return good;
}

static bool take_dropped(hid_t file, int64_t *ret)
{
    hid_t group = H5Gopen(file, "/metadata", H5P_DEFAULT);
    hid_t attribute = group < 0 ? -1 : H5Aopen(group, "sp_dropped_records", H5P_DEFAULT);
    bool good = attribute >= 0 && H5Aread(attribute, H5T_NATIVE_INT64, ret) >= 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    if (group >= 0)
        H5Gclose(group);
    return good;
}

static bool read_profile(const char *path, struct profile *profile)
{
    *profile = (struct profile){0};
    H5Eset_auto(H5E_DEFAULT, NULL, NULL);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        return false;
    size_t name_count = 0;
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    char **names = column(file, "/region_table/names", type, sizeof *names, &name_count);
    bool good = names && take_rows(file, profile, (const char *const *)names, name_count) &&
                take_dropped(file, &profile->dropped);
    for (size_t n = 0; names && n < name_count; n++)
        H5free_memory(names[n]);
    free(names);
    H5Tclose(type);
    H5Fclose(file);
    return good;
}

/* ---- comparing ------------------------------------------------------------------------------------------------------ */

static int by_end(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->life != b->life)
        return a->life < b->life ? -1 : 1;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return a->start > b->start ? -1 : a->start < b->start; /* the inner one ended first */
}

/* Calls from `first` on, each in its region. Where some were dropped, the missing ones are added to *missing, as far as
 * the regions tell (whole rounds of them are not seen). */
static bool in_order(const struct call *calls, size_t count, uint64_t first, bool drops, uint64_t *missing, char *why,
                     size_t size)
{
    uint64_t next = first;
    for (size_t i = 0; i < count; i++) {
        if (i && calls[i].start == calls[i - 1].start && calls[i].end == calls[i - 1].end) {
            snprintf(why, size, "a call of %c%u.%02u is there twice", 'a' + (int)calls[i].life, calls[i].slot,
                     calls[i].region);
            return false;
        }
        for (unsigned skipped = 0; drops && skipped < SLOT_REGIONS && region_of_call(next) != calls[i].region;
             skipped++, next++)
            ++*missing;
        if (region_of_call(next) != calls[i].region) {
            snprintf(why, size,
                     "life %c slot %u: call %" PRIu64 " is one of region %u, not %u: one is missing or twice",
                     'a' + (int)calls[i].life, calls[i].slot, next, calls[i].region, region_of_call(next));
            return false;
        }
        next++;
    }
    return true;
}

struct bounds {
    uint64_t first, least, most; /* calls first .. n are published, least <= n <= most */
    bool or_none;                /* or none at all */
};

/* What may be published of a slot: a reset or a destroy that was under way has happened or not. */
static struct bounds bounds_of(const struct expected *e, unsigned life, unsigned slot, bool after_reset)
{
    const struct counts *c = e->counts[life];
    struct bounds b = {.least = atomic_load(&c->slots[slot].done), .most = atomic_load(&c->slots[slot].entered)};
    if (e->last[life] == 1)
        b.least = b.most;
    if (e->last[life] == 0)
        b.most = b.least;
    if (after_reset && slot == 0)
        b.first = atomic_load(&c->reset_at);
    if (slot == SLOT_EXPLICIT) {
        b.or_none = atomic_load(&c->destroyed) != NOT_ASKED;
        if (atomic_load(&c->destroyed) == DONE)
            b.least = b.most = 0;
    }
    return b;
}

/* One life, with its reset or without. *dropped: what must have been dropped and counted: least and most. */
static bool life_holds(const struct profile *p, const struct expected *e, unsigned life, bool after_reset,
                       int64_t dropped[2], char *why, size_t size)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        size_t from = 0, count = 0;
        while (from < p->count && (p->calls[from].life != life || p->calls[from].slot != slot))
            from++;
        while (from + count < p->count && p->calls[from + count].life == life && p->calls[from + count].slot == slot)
            count++;
        struct bounds b = bounds_of(e, life, slot, after_reset);
        uint64_t missing = 0;
        if (count == 0 && b.or_none)
            continue;
        if (!in_order(p->calls + from, count, b.first, e->drops, &missing, why, size))
            return false;
        uint64_t end = b.first + count;
        if (end > b.most || (!e->drops && end < b.least)) {
            snprintf(why, size,
                     "life %c slot %u: %zu calls are published from %" PRIu64 " on, and %" PRIu64 " to %" PRIu64
                     " were made",
                     'a' + (int)life, slot, count, b.first, b.least, b.most);
            return false;
        }
        dropped[0] += end < b.least ? (int64_t)(b.least - end) : 0;
        dropped[1] += (int64_t)(b.most - end);
        if ((int64_t)missing > dropped[1]) {
            snprintf(why, size, "life %c slot %u: more are missing than were made", 'a' + (int)life, slot);
            return false;
        }
    }
    return true;
}

static bool all_lives_hold(const struct profile *p, const struct expected *e, char *why, size_t size)
{
    int64_t dropped[2] = {0, 0};
    for (unsigned life = 0; life < LIVES; life++) {
        if (!e->counts[life])
            continue;
        uint32_t reset = atomic_load(&e->counts[life]->reset);
        int64_t before[2] = {dropped[0], dropped[1]};
        bool good = reset != DONE && life_holds(p, e, life, false, dropped, why, size);
        if (!good && reset != NOT_ASKED) {
            memcpy(dropped, before, sizeof before);
            good = life_holds(p, e, life, true, dropped, why, size);
        }
        if (!good)
            return false;
    }
    if (p->dropped < dropped[0] || p->dropped > dropped[1]) {
        snprintf(why, size, "%" PRId64 " are counted as dropped, and %" PRId64 " to %" PRId64 " are not there",
                 p->dropped, dropped[0], dropped[1]);
        return false;
    }
    return true;
}

bool profile_holds(const char *path, const struct expected *expected, uint64_t *ret_dropped, char *why, size_t size)
{
    struct profile profile;
    bool good = read_profile(path, &profile);
    if (!good)
        snprintf(why, size, "%s cannot be read", path);
    if (good) {
        qsort(profile.calls, profile.count, sizeof *profile.calls, by_end);
        struct expected e = *expected;
        e.drops = e.drops || profile.dropped > 0; /* a consumer that dies while it syncs holds byte 1 as long as that */
        good = all_lives_hold(&profile, &e, why, size);
        *ret_dropped = (uint64_t)profile.dropped;
    }
    free(profile.calls);
    return good;
}

/* ---- spools ---------------------------------------------------------------------------------------------------------
 * A reader drops what stands twice, so that only the spool itself shows a consumer that went on at the wrong place. */

static bool spool_sound(const char *path, char *why, size_t size)
{
    static uint64_t next[SP__LANES];
    static bool seen[SP__LANES];
    struct sp__spool_reader reader;
    struct sp__identity identity;
    struct sp__frame frame;
    unsigned ends = 0;
    memset(seen, 0, sizeof seen);
    int rc = sp__spool_reader_open(&reader, path, UINT64_MAX, &identity);
    if (rc)
        return true; /* killed before its first frame, and never needed again */
    bool good = true;
    while (good && (rc = sp__spool_reader_next(&reader, &frame)) == 1) {
        ends += frame.type == SP__FRAME_END;
        if (frame.type != SP__FRAME_RECORDS || frame.lane >= SP__LANES)
            continue;
        good = !seen[frame.lane] || (int64_t)(frame.first - next[frame.lane]) >= 0;
        if (!good)
            snprintf(why, size, "%s: lane %u: records from %" PRIu64 " on after those up to %" PRIu64, path, frame.lane,
                     frame.first, next[frame.lane]);
        seen[frame.lane] = true;
        next[frame.lane] = frame.first + frame.count;
    }
    if (good && (rc < 0 || reader.bad_bytes || reader.torn || ends > 1)) {
        snprintf(why, size, "%s: %" PRIu64 " bad bytes, %" PRIu64 " torn ones, %u ENDs", path, reader.bad_bytes,
                 reader.torn, ends);
        good = false;
    }
    sp__spool_reader_close(&reader);
    return good;
}

bool spools_sound(const struct place *place, uint32_t *ret_count, char *why, size_t size)
{
    char path[600];
    snprintf(path, sizeof path, "%s/kept", place->folder);
    DIR *dir = opendir(path);
    bool good = dir != NULL;
    *ret_count = 0;
    for (const struct dirent *entry; good && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/kept/%s", place->folder, entry->d_name);
        good = spool_sound(path, why, size);
        ++*ret_count;
    }
    if (dir)
        closedir(dir);
    return good;
}
