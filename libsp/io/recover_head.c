/* recover_head.c: what can be read of a damaged trace's head, and of a region's, wherever one may stand. */
#include <byteswap.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "recover_head.h"
#include "utf8.h"

enum { NAME_MOST = 1 << 20, NAME_LIKELY = 4096, WINDOW = 1 << 16, SURE_CALLS = 4 };

int sp__torn_read(const struct sp__torn *t, uint64_t at, void *ret, size_t size)
{
    int rc = sp__read_at(t->recovery->fd, ret, size, at);
    return rc < 0 ? sp__recovery_failed(t->recovery, rc, "cannot be read") : 0;
}

static int take_32(const struct sp__torn *t, uint64_t at, int32_t *ret)
{
    uint32_t value = 0;
    int status = sp__torn_read(t, at, &value, sizeof value);
    *ret = (int32_t)(t->swap ? bswap_32(value) : value);
    return status;
}

static int take_64(const struct sp__torn *t, uint64_t at, int64_t *ret)
{
    uint64_t value = 0;
    int status = sp__torn_read(t, at, &value, sizeof value);
    *ret = (int64_t)(t->swap ? bswap_64(value) : value);
    return status;
}

/* Whether `length` bytes look like text: no control characters, whole UTF-8. */
static bool like_text(const char *bytes, size_t length, enum sp__looks looks)
{
    size_t wrong = 0;
    for (size_t at = 0; at < length;) {
        bool good;
        unsigned char first = (unsigned char)bytes[at];
        size_t step = sp__utf8_step(bytes + at, length - at, &good);
        if (!good || (first < 0x20 && first != '\t' && first != '\n') || first == 0x7f)
            wrong += step;
        at += step;
    }
    return looks == SP__LOOKS_GOOD ? !wrong : 2 * wrong <= length;
}

/* A string with its length before it; *at moves behind it. */
static int take_text(const struct sp__torn *t, enum sp__looks looks, uint64_t *at, struct sp__torn_text *ret,
                     enum sp__stands *ret_stands)
{
    char bytes[NAME_LIKELY];
    int32_t length;
    uint64_t left = t->recovery->size - *at;
    *ret_stands = SP__CUT_HEAD;
    if (left < 4)
        return 0;
    int status = take_32(t, *at, &length);
    if (status)
        return status;
    if (length < 0 || length > NAME_MOST || (looks == SP__LOOKS_GOOD && length > NAME_LIKELY))
        *ret_stands = SP__NO_HEAD;
    else if ((uint64_t)length <= left - 4)
        *ret_stands = SP__HEAD;
    if (*ret_stands != SP__HEAD)
        return 0;
    *ret = (struct sp__torn_text){*at + 4, (uint32_t)length};
    *at += 4 + (uint64_t)length;
    size_t look = length < NAME_LIKELY ? (size_t)length : NAME_LIKELY;
    status = looks == SP__LOOKS_ANYHOW ? 0 : sp__torn_read(t, ret->at, bytes, look);
    if (!status && looks != SP__LOOKS_ANYHOW && !like_text(bytes, look, looks))
        *ret_stands = SP__NO_HEAD;
    return status;
}

int sp__torn_head(const struct sp__torn *t, enum sp__looks looks, uint64_t at, struct sp__torn_region *ret,
                  enum sp__stands *ret_stands)
{
    struct sp__torn_region region = {.line = -1};
    int status = take_text(t, looks, &at, &region.name, ret_stands);
    if (!status && *ret_stands == SP__HEAD && t->version == 2) {
        status = take_text(t, looks, &at, &region.file, ret_stands);
        if (!status && *ret_stands == SP__HEAD) {
            if (t->recovery->size - at < 4)
                *ret_stands = SP__CUT_HEAD;
            else
                status = take_32(t, at, &region.line);
            at += 4;
        }
    }
    if (status || *ret_stands != SP__HEAD)
        return status;
    if (t->recovery->size - at < 8) {
        *ret_stands = SP__CUT_HEAD;
        return 0;
    }
    status = take_64(t, at, &region.said);
    region.starts_at = at + 8;
    /* A file's blocks that were never written read as zeros: a row of regions without names and calls. */
    if (looks != SP__LOOKS_ANYHOW && !region.name.length && !region.file.length && !region.said)
        *ret_stands = SP__NO_HEAD;
    *ret = region;
    return status;
}

struct sp__columns sp__torn_columns(const struct sp__torn *t, const struct sp__torn_region *region, uint64_t calls)
{
    /* All starts stand before all ends: the first calls have both. */
    uint64_t times = (t->recovery->size - region->starts_at) / 8, there = times > calls ? times - calls : 0;
    return (struct sp__columns){.fd = t->recovery->fd,
                                .swap = t->swap,
                                .starts_at = region->starts_at,
                                .ends_at = region->starts_at + 8 * calls,
                                .calls = there < calls ? there : calls};
}

bool sp__torn_fits(const struct sp__torn *t, const struct sp__torn_region *region)
{
    return region->said >= 0 && (uint64_t)region->said <= (t->recovery->size - region->starts_at) / SP__CALL_BYTES;
}

uint64_t sp__torn_end(const struct sp__torn_region *region)
{
    return region->starts_at + (uint64_t)region->said * SP__CALL_BYTES;
}

/* Whether whole regions stand one behind the other up to the end, as many as the head says. 1, 0, a status. */
static int exact(const struct sp__torn *t, enum sp__looks looks, int64_t regions)
{
    uint64_t at = SP__TRACE_HEAD;
    int64_t seen = 0;
    for (; at < t->recovery->size && seen < regions; seen++) {
        struct sp__torn_region region;
        enum sp__stands stands;
        int status = sp__torn_head(t, looks, at, &region, &stands);
        if (status || stands != SP__HEAD || !sp__torn_fits(t, &region))
            return status;
        at = sp__torn_end(&region);
    }
    return at == t->recovery->size && seen == regions;
}

/* ---- searching ---------------------------------------------------------------------------------------------------- */

/* Whether a region begins there that nothing contradicts. 1, 0, a status. */
static int believable(struct sp__torn *t, uint64_t at)
{
    struct sp__torn_region region;
    enum sp__stands stands;
    int status = sp__torn_head(t, SP__LOOKS_GOOD, at, &region, &stands);
    if (status || stands != SP__HEAD || region.line < -1 || region.said <= 0 || region.said > SP__CALLS_MOST)
        return status;
    struct sp__columns columns = sp__torn_columns(t, &region, (uint64_t)region.said);
    bool fits = sp__torn_fits(t, &region);
    if (!fits && columns.calls < SURE_CALLS)
        return 0;
    int sound = sp__columns_sound(&columns, &t->budget);
    if (sound < 0)
        return sp__recovery_failed(t->recovery, sound, "cannot be read");
    uint64_t end = sp__torn_end(&region);
    if (!sound || !fits || end == t->recovery->size || region.said >= SURE_CALLS)
        return sound;
    status = sp__torn_head(t, SP__LOOKS_FAIR, end, &region, &stands);
    return status ? status : stands != SP__NO_HEAD;
}

/* The next region from `from` on; the end of the file where there is none. 1: found; 0; a status. */
int sp__torn_search(struct sp__torn *t, uint64_t from, uint64_t *ret)
{
    unsigned char *window = malloc(WINDOW);
    int found = window ? 0 : sp__recovery_failed(t->recovery, -ENOMEM, "cannot be searched");
    uint64_t size = t->recovery->size;
    *ret = size;
    while (!found && t->budget && size - from >= 8) {
        size_t length = size - from < WINDOW ? (size_t)(size - from) : WINDOW;
        found = sp__torn_read(t, from, window, length);
        for (size_t i = 0; !found && i + 8 <= length; i++) {
            uint32_t name;
            memcpy(&name, window + i, sizeof name);
            name = t->swap ? bswap_32(name) : name;
            if (name - 1 < NAME_LIKELY && window[i + 4] >= 0x09 && (found = believable(t, from + i)) == 1)
                *ret = from + i;
        }
        from += length - 7;
    }
    free(window);
    return found;
}

/* ---- the file's head ----------------------------------------------------------------------------------------------- */

static int take_numbers(struct sp__torn *t, int32_t *ret_rank, int64_t *ret_regions)
{
    int status = take_32(t, 12, ret_rank);
    return status ? status : take_64(t, 16, ret_regions);
}

/* Version and byte order; where magic or version are damaged, those under which the rest is a whole trace. */
int sp__torn_version(struct sp__torn *t, int32_t *ret_rank, int64_t *ret_regions, enum sp__looks *ret_looks)
{
    char magic[8];
    int32_t version;
    int status = sp__torn_read(t, 0, magic, sizeof magic);
    if (!status)
        status = take_32(t, 8, &version);
    if (status)
        return status;
    bool marked = !memcmp(magic, SP_MAGIC, sizeof magic), numbered = false;
    for (int swap = 0; swap < 2 && !numbered; swap++) {
        int32_t number = swap ? (int32_t)bswap_32((uint32_t)version) : version;
        numbered = number == 1 || number == 2;
        t->version = (unsigned)number;
        t->swap = swap;
    }
    if (marked && numbered) {
        status = take_numbers(t, ret_rank, ret_regions);
        int whole = status ? status : exact(t, SP__LOOKS_ANYHOW, *ret_regions);
        *ret_looks = whole == 1 ? SP__LOOKS_ANYHOW : SP__LOOKS_FAIR;
        return whole < 0 ? whole : 0;
    }
    unsigned first = t->version;
    bool swapped = t->swap;
    for (unsigned i = 0; i < (numbered ? 1U : 4U); i++) {
        t->version = numbered ? first : 2 - i % 2;
        t->swap = numbered ? swapped : i >= 2;
        int whole = (status = take_numbers(t, ret_rank, ret_regions)) ? status : exact(t, SP__LOOKS_FAIR, *ret_regions);
        if (whole < 0)
            return whole;
        if (whole && *ret_regions) {
            sp__recovery_lost(t->recovery, marked ? 8 : 0,
                              marked ? "the version is damaged, %" PRId32 ": the file is whole as version %u"
                                     : "the first bytes are not " SP_MAGIC ", version %" PRId32
                                       ": the rest is a whole trace of version %u",
                              version, t->version);
            return 0;
        }
    }
    return sp__fail(t->recovery->error, SP_ERR_TRACE_FORMAT, 0, t->recovery->broken, marked ? "byte 8" : "byte 0",
                    marked ? "nothing can be saved: its version is unknown, %" PRId32
                           : "nothing can be saved: it is not a trace (it does not begin with " SP_MAGIC
                             "), version %" PRId32,
                    version);
}
