/* region.c: see region.h. */
#include "region.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "instant.h"
#include "message.h"
#include "names.h"
#include "utf8.h"

enum { CHUNK = 64 * 1024, NAME_ROOM = 3 * SP_MAX_NAME + 1, FILE_MOST = SP__PATH_SIZE - 1, HASH_LEAST = 256 };

void sp__names_free(struct sp__names *names)
{
    free(names->names);
    free(names->hashes);
    free(names->buckets);
    *names = (struct sp__names){0};
}

static struct sp__region *row_at(const struct sp_profiler *p, uint32_t n)
{
    return (void *)(p->born.map + p->header->regions_offset + n * sizeof(struct sp__region));
}

/* FNV-1a. */
static uint64_t hash_of(const char *name, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3U;
    return hash ^ hash >> 32;
}

/* The bucket that holds the name, or the empty one where it would be. */
static uint32_t find(const struct sp__names *names, const char *name, uint64_t hash)
{
    uint32_t at = (uint32_t)hash & (names->bucket_count - 1);
    for (; names->buckets[at]; at = (at + 1) & (names->bucket_count - 1)) {
        uint32_t n = names->buckets[at] - 1;
        if (names->hashes[n] == hash && strcmp(names->names[n], name) == 0)
            break;
    }
    return at;
}

static int grow(struct sp__names *names)
{
    if (names->count < names->room)
        return 0;
    uint32_t room = names->room ? names->room * 2 : HASH_LEAST;
    const char **texts = realloc(names->names, room * sizeof *texts);
    if (texts)
        names->names = texts;
    uint64_t *hashes = realloc(names->hashes, room * sizeof *hashes);
    if (hashes)
        names->hashes = hashes;
    uint32_t *buckets = calloc((size_t)room * 2, sizeof *buckets);
    if (!texts || !hashes || !buckets) {
        free(buckets);
        return -ENOMEM;
    }
    free(names->buckets);
    names->buckets = buckets;
    names->bucket_count = room * 2;
    names->room = room;
    for (uint32_t n = 0; n < names->count; n++) {
        uint32_t at = (uint32_t)names->hashes[n] & (names->bucket_count - 1);
        while (buckets[at])
            at = (at + 1) & (names->bucket_count - 1);
        buckets[at] = n + 1;
    }
    return 0;
}

/* Address space by chunks; blocks by pages, since a small /dev/shm has better uses for them. */
static uint64_t take_string(struct sp_profiler *p, const char *text, size_t length)
{
    struct sp__names *names = &p->names;
    if (names->string_at == 0 || length + 1 > names->string_end - names->string_at) {
        uint64_t at = sp__heap_take(p->header, CHUNK);
        if (at == 0)
            return 0;
        names->string_at = at;
        names->string_end = at + CHUNK;
        names->string_reserved = at;
    }
    uint64_t at = names->string_at;
    uint64_t end = at + length + 1;
    if (end > names->string_reserved) {
        if (sp__born_reserve(&p->born, at, length + 1, false) != 0)
            return 0;
        names->string_reserved = (end + SP__PAGE - 1) & ~(uint64_t)(SP__PAGE - 1);
    }
    memcpy(p->born.map + at, text, length + 1);
    names->string_at += length + 1;
    return at;
}

static sp_status append(struct sp_profiler *p, const char *name, size_t length, uint64_t hash)
{
    struct sp__names *names = &p->names;
    if (names->count >= p->header->region_capacity)
        return SP_ERR_TOO_MANY;
    if (grow(names) != 0)
        return SP_ERR_NO_MEMORY;
    uint64_t row = p->header->regions_offset + names->count * sizeof(struct sp__region);
    if (names->count >= names->rows_reserved) {
        if (sp__born_reserve(&p->born, row, sizeof(struct sp__region), false) != 0)
            return SP_ERR_NO_SPACE;
        /* Whole rows below the end of the page that the last byte lies in. */
        uint64_t end = (row + sizeof(struct sp__region) + SP__PAGE - 1) / SP__PAGE * SP__PAGE;
        names->rows_reserved = (uint32_t)((end - p->header->regions_offset) / sizeof(struct sp__region));
    }
    uint64_t at = take_string(p, name, length);
    if (at == 0)
        return SP_ERR_NO_SPACE;
    struct sp__region *r = row_at(p, names->count);
    r->name_offset = at;
    r->name_length = (uint32_t)length;
    r->line = -1;
    names->names[names->count] = (const char *)p->born.map + at;
    names->hashes[names->count] = hash;
    names->buckets[find(names, name, hash)] = names->count + 1;
    names->count++;
    SP__INSTANT(region_before);
    /* The row is whole: pairs with the acquire loads of readers. */
    atomic_store_explicit(&p->header->region_count, names->count, memory_order_release);
    SP__INSTANT(region_after);
    return SP_OK;
}

static void locate(struct sp_profiler *p, uint32_t n, const char *file, int line)
{
    struct sp__region *r = row_at(p, n);
    if (!file || !*file || atomic_load_explicit(&r->file_offset, memory_order_relaxed))
        return;
    size_t length = strlen(file);
    char *mended = length <= FILE_MOST / 3 ? malloc(3 * length + 1) : NULL;
    if (!mended)
        return;
    length = sp__utf8_mend(file, length, mended);
    uint64_t at = take_string(p, mended, length);
    free(mended);
    if (at == 0)
        return;
    r->line = line < 0 ? -1 : line;
    r->file_length = (uint32_t)length;
    /* After line and length: pairs with the consumer's acquire load. */
    atomic_store_explicit(&r->file_offset, at, memory_order_release);
}

static int get_locked(struct sp_profiler *p, const char *name, size_t length, const char *file, int line,
                      sp_status *status)
{
    struct sp__names *names = &p->names;
    uint64_t hash = hash_of(name, length);
    *status = names->bucket_count ? SP_OK : grow(names) ? SP_ERR_NO_MEMORY : SP_OK;
    if (*status == SP_OK && !names->buckets[find(names, name, hash)])
        *status = append(p, name, length, hash);
    if (*status != SP_OK) {
        atomic_fetch_add_explicit(&p->header->lost_regions, 1, memory_order_relaxed);
        return -1;
    }
    uint32_t n = names->buckets[find(names, name, hash)] - 1;
    locate(p, n, file, line);
    return (int)n;
}

/* The name as it is kept, and its length; more than SP_MAX_NAME where it is none. */
static size_t mend(const char *name, char ret[NAME_ROOM])
{
    size_t length = name ? strnlen(name, SP_MAX_NAME + 1) : SP_MAX_NAME + 1;
    return length <= SP_MAX_NAME ? sp__utf8_mend(name, length, ret) : length;
}

int sp__region_find(struct sp_profiler *p, const char *name)
{
    char mended[NAME_ROOM];
    int n = -1;
    size_t length = mend(name, mended);
    if (length > SP_MAX_NAME)
        return -1;
    pthread_mutex_lock(&p->table);
    if (p->names.bucket_count)
        n = (int)p->names.buckets[find(&p->names, mended, hash_of(mended, length))] - 1;
    pthread_mutex_unlock(&p->table);
    return n;
}

int sp__region_get(struct sp_profiler *p, const char *name, const char *file, int line, sp_status *ret_status)
{
    char mended[NAME_ROOM];
    size_t length = mend(name, mended);
    if (length > SP_MAX_NAME) {
        *ret_status = SP_ERR_INVALID_ARGUMENT;
        return -1;
    }
    pthread_mutex_lock(&p->table);
    int n = get_locked(p, mended, length, file, line, ret_status);
    pthread_mutex_unlock(&p->table);
    if (*ret_status == SP_ERR_NO_SPACE)
        sp__say(SP__SAY_SHM,
                "%s: no room for the name of region \"%.60s\" of rank %d; enlarge it (mount -o "
                "remount,size=...); calls of such regions are not recorded",
                SP__SHM_DIR, mended, p->settings.rank);
    return n;
}

/* A string of the segment that is mapped at `map`. */
static bool copy_string(const unsigned char *map, uint64_t size, uint64_t at, uint64_t length, char *ret, size_t room)
{
    if (length >= room || at > size || length > size - at)
        return false;
    memcpy(ret, map + at, (size_t)length);
    ret[length] = '\0';
    return true;
}

int sp__regions_inherit(struct sp_profiler *p, const unsigned char *map, uint64_t size)
{
    char name[SP_MAX_NAME + 1], file[SP__PATH_SIZE];
    const struct sp__header *header = (const void *)map;
    /* Pairs with the parent's release store, after the row. */
    uint32_t count = atomic_load_explicit(&header->region_count, memory_order_acquire);
    const struct sp__region *rows = (const void *)(map + header->regions_offset);
    for (uint32_t n = 0; n < count && n < SP__REGIONS; n++) {
        const struct sp__region *r = &rows[n];
        sp_status status;
        /* As above, after line and file_length. */
        uint64_t at = atomic_load_explicit(&r->file_offset, memory_order_acquire);
        if (!copy_string(map, size, r->name_offset, r->name_length, name, sizeof name))
            return -EBADMSG;
        if (at && !copy_string(map, size, at, r->file_length, file, sizeof file))
            at = 0;
        if (sp__region_get(p, name, at ? file : NULL, at ? r->line : -1, &status) != (int)n)
            return -ENOSPC;
    }
    return 0;
}
