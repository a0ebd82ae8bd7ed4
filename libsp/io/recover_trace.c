/* recover_trace.c: what a cut or damaged trace still holds, as a sound one.
 *
 * A trace has no checksums: the next region is found only through the lengths of the one before it. Where one of them is
 * wrong, the file is searched for the next place at which a whole region stands that nothing contradicts, and what lies
 * between is lost; except where the wrong number is a number of calls, which the distance to that place then tells. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "recover_head.h"

#define REGIONS_MOST (INT64_C(1) << 31)

struct walk {
    struct sp__torn torn;
    enum sp__looks looks;
    uint64_t at;
    uint64_t seen, emptied;      /* regions with a head; those of them that keep no call */
    struct sp__torn_region last; /* is not written before it is known that something follows it */
    bool pending;
    int to;
    uint64_t to_at;
};

/* ---- writing ------------------------------------------------------------------------------------------------------ */

static int put(struct walk *w, const void *data, size_t size)
{
    int rc = sp__write_at(w->to, data, size, w->to_at);
    w->to_at += size;
    return rc < 0 ? sp__recovery_failed(w->torn.recovery, rc, "what is saved cannot be written") : 0;
}

/* *ret is heap. */
static int read_text(struct walk *w, const struct sp__torn_text *text, char **ret)
{
    char *bytes = malloc((size_t)text->length + 1);
    bool mended;
    int status = bytes ? sp__torn_read(&w->torn, text->at, bytes, text->length)
                       : sp__recovery_failed(w->torn.recovery, -ENOMEM, "cannot be read");
    char *copy = status ? NULL : sp__utf8_copy(bytes, text->length, &mended);
    free(bytes);
    if (status)
        return status;
    if (!copy)
        return sp__recovery_failed(w->torn.recovery, -ENOMEM, "cannot be read");
    if (mended)
        sp__recovery_lost(w->torn.recovery, text->at, "\"%.200s\" was not UTF-8: its bad bytes are replaced", copy);
    *ret = copy;
    return 0;
}

static int put_text(struct walk *w, const char *text)
{
    int32_t length = (int32_t)strlen(text);
    int status = put(w, &length, sizeof length);
    return status ? status : put(w, text, (size_t)length);
}

static int put_region(struct walk *w, const struct sp__torn_region *region, const char *name, uint64_t kept)
{
    char *file = NULL;
    int64_t calls = (int64_t)kept;
    int32_t line = region->line < 0 ? -1 : region->line;
    int status = read_text(w, &region->file, &file);
    if (status || (status = put_text(w, name)) || (status = put_text(w, file)) ||
        (status = put(w, &line, sizeof line)) || (status = put(w, &calls, sizeof calls))) {
        free(file);
        return status;
    }
    free(file);
    int rc = sp__columns_copy(&region->columns, kept, w->to, w->to_at);
    w->to_at += kept * SP__CALL_BYTES;
    w->torn.recovery->report.regions++;
    w->torn.recovery->report.calls += kept;
    return rc < 0 ? sp__recovery_failed(w->torn.recovery, rc, "what is saved cannot be written") : 0;
}

/* Writes the region that was found last. */
static int settle(struct walk *w)
{
    struct sp_recover_report *report = &w->torn.recovery->report;
    const struct sp__torn_region *region = &w->last;
    uint64_t kept = 0, calls = region->columns.calls;
    if (!w->pending)
        return 0;
    w->pending = false;
    sp__recovery_progress(w->torn.recovery, region->starts_at);
    int rc = sp__columns_count(&region->columns, &kept);
    if (rc < 0)
        return sp__recovery_failed(w->torn.recovery, rc, "its calls cannot be read");
    if (!calls) {
        w->emptied += region->said != 0;
        return 0;
    }
    char *name = NULL;
    int status = read_text(w, &region->name, &name);
    if (status)
        return status;
    if (kept < calls) {
        report->lost_calls += calls - kept;
        sp__recovery_lost(w->torn.recovery, region->starts_at,
                          "%" PRIu64 " of %" PRIu64 " calls of region \"%.200s\" are damaged and left out: they end "
                          "before they start, or start out of order",
                          calls - kept, calls, name);
    }
    w->emptied += !kept;
    status = kept ? put_region(w, region, name, kept) : 0;
    free(name);
    return status;
}

/* ---- the walk ----------------------------------------------------------------------------------------------------- */

/* Whether the region's calls fill the file up to `limit`, whatever their number is said to be: where the next region is
 * known to begin there, their order is enough; at the end of the file, which may have been cut, a seam must show too.
 * 1, 0, a status. */
static int fills(const struct walk *w, const struct sp__torn_region *region, uint64_t limit, bool known,
                 struct sp__columns *ret)
{
    uint64_t bytes = limit - region->starts_at, unlimited = UINT64_MAX;
    *ret = sp__torn_columns(&w->torn, region, 0);
    if (!bytes || bytes % SP__CALL_BYTES)
        return 0;
    *ret = sp__torn_columns(&w->torn, region, bytes / SP__CALL_BYTES);
    int rc = sp__columns_sound(ret, &unlimited);
    if (rc == 1 && !known)
        rc = sp__columns_seam(ret);
    return rc < 0 ? sp__recovery_failed(w->torn.recovery, rc, "its calls cannot be read") : rc;
}

static void tell_mended(struct walk *w, const struct sp__torn_region *region)
{
    sp__recovery_lost(w->torn.recovery, region->starts_at - 8,
                      "a region's number of calls is damaged, %" PRId64 ": the %" PRIu64
                      " calls that stand there are kept",
                      region->said, region->columns.calls);
}

/* Nothing in the region's calls says that there are more of them, or fewer. 1, 0, a status. */
static int believed(const struct walk *w, const struct sp__torn_region *region)
{
    uint64_t unlimited = UINT64_MAX;
    int rc = sp__columns_seam(&region->columns);
    if (rc == 1)
        rc = sp__columns_sound(&region->columns, &unlimited);
    return rc < 0 ? sp__recovery_failed(w->torn.recovery, rc, "its calls cannot be read") : rc;
}

static void lose_calls(struct walk *w, struct sp__torn_region *region, uint64_t bytes)
{
    region->columns.calls = 0;
    w->torn.recovery->report.lost_bytes += bytes;
    sp__recovery_lost(w->torn.recovery, region->starts_at - 8,
                      "a region's number of calls is damaged, %" PRId64 ", and its calls cannot be told from what "
                      "follows: %" PRIu64 " bytes are left out",
                      region->said, bytes);
}

static void lose_bytes(struct walk *w, uint64_t bytes, bool known, bool cut, bool behind)
{
    w->torn.recovery->report.lost_bytes += bytes;
    if (behind && !known)
        sp__recovery_lost(w->torn.recovery, w->at, "%" PRIu64 " bytes after the last region are left out", bytes);
    else if (cut && !known)
        sp__recovery_lost(w->torn.recovery, w->at,
                          "truncated: the file ends within a region's name, place or number of calls, after %" PRIu64
                          " bytes of it",
                          bytes);
    else
        sp__recovery_lost(w->torn.recovery, w->at, "damaged: no region begins here; %" PRIu64 " bytes are left out%s",
                          bytes, known ? ", up to the next one" : ", up to the end");
}

/* Nothing sensible stands where the last region ends: unless its calls are sure of their number, that may be what is
 * wrong. Then the walk goes on at the next region, wherever it begins. */
static int reconsider(struct walk *w, bool *ret_done)
{
    uint64_t limit;
    struct sp__columns columns;
    int good = w->pending ? believed(w, &w->last) : 1;
    *ret_done = false;
    if (good)
        return good < 0 ? good : 0;
    int known = sp__torn_search(&w->torn, w->last.starts_at, &limit);
    if (known == 1 && limit == w->at) /* where it was said to end */
        return 0;
    int mended = known < 0 ? known : fills(w, &w->last, limit, known, &columns);
    if (mended < 0)
        return mended;
    if (mended) {
        w->last.columns = columns;
        tell_mended(w, &w->last);
    } else if (limit < w->at) {
        lose_calls(w, &w->last, limit - w->last.starts_at);
    } else {
        return 0;
    }
    w->at = limit;
    *ret_done = true;
    return 0;
}

static int skip(struct walk *w, bool cut, uint64_t declared)
{
    uint64_t limit;
    int known = sp__torn_search(&w->torn, w->at + 1, &limit);
    if (known < 0)
        return known;
    lose_bytes(w, limit - w->at, known, cut, w->seen >= declared);
    w->at = limit;
    return 0;
}

/* A region whose calls reach beyond the end of the file, or whose number of calls is none. */
static int unfit(struct walk *w, struct sp__torn_region *region)
{
    struct sp_recover_report *report = &w->torn.recovery->report;
    uint64_t limit;
    int known = sp__torn_search(&w->torn, region->starts_at, &limit);
    int mended = known < 0 ? known : fills(w, region, limit, known, &region->columns);
    if (mended < 0)
        return mended;
    uint64_t bytes = limit - region->starts_at;
    if (mended) {
        tell_mended(w, region);
    } else if (!known && region->said >= 0 && region->said <= SP__CALLS_MOST) {
        uint64_t calls = (uint64_t)region->said;
        region->columns = sp__torn_columns(&w->torn, region, calls);
        uint64_t there = region->columns.calls;
        report->lost_calls += calls - there;
        report->lost_bytes += bytes - there * SP__CALL_BYTES;
        sp__recovery_lost(w->torn.recovery, limit,
                          "truncated: of the %" PRIu64 " calls of the last region here %" PRIu64
                          " have both their start and their end",
                          calls, there);
    } else {
        lose_calls(w, region, bytes);
    }
    w->at = limit;
    return 0;
}

static int step(struct walk *w, uint64_t declared)
{
    struct sp__torn_region region;
    enum sp__stands stands;
    int status = sp__torn_head(&w->torn, w->looks, w->at, &region, &stands);
    if (status)
        return status;
    bool fits = stands == SP__HEAD && sp__torn_fits(&w->torn, &region), done = false;
    if (!fits && ((status = reconsider(w, &done)) || done))
        return status;
    if (stands != SP__HEAD)
        return skip(w, stands == SP__CUT_HEAD, declared);
    if ((status = settle(w)))
        return status;
    if (fits) {
        region.columns = sp__torn_columns(&w->torn, &region, (uint64_t)region.said);
        w->at = sp__torn_end(&region);
    } else if ((status = unfit(w, &region))) {
        return status;
    }
    w->seen++;
    w->last = region;
    w->pending = true;
    return 0;
}

static void count_regions(struct walk *w, int64_t said)
{
    struct sp_recover_report *report = &w->torn.recovery->report;
    bool possible = said >= 0 && said <= REGIONS_MOST;
    report->lost_regions = w->emptied;
    if (possible && (uint64_t)said > w->seen) {
        report->lost_regions += (uint64_t)said - w->seen;
        sp__recovery_lost(w->torn.recovery, 16, "the head says %" PRId64 " regions: %" PRIu64 " of them are missing",
                          said, (uint64_t)said - w->seen);
    } else if (!possible || (uint64_t)said < w->seen) {
        sp__recovery_lost(w->torn.recovery, 16,
                          "the number of regions is damaged, %" PRId64 ": the %" PRIu64 " that stand there are kept",
                          said, w->seen);
    }
}

static int32_t believed_rank(struct walk *w, int32_t said)
{
    const char *name = strstr(w->torn.recovery->broken, "_rank");
    for (const char *later = name; later; later = strstr(later + 1, "_rank"))
        name = later;
    if (said >= 0)
        return said;
    char *end = NULL;
    long number = name ? strtol(name + 5, &end, 10) : 0;
    int32_t rank = name && end != name + 5 && number >= 0 && number <= INT32_MAX ? (int32_t)number : 0;
    sp__recovery_lost(w->torn.recovery, 12, "the rank is damaged, %" PRId32 ": %" PRId32 " is taken%s", said, rank,
                      name ? ", as the file's name says" : "");
    return rank;
}

int sp__recover_trace(struct sp__recovery *recovery, int to)
{
    struct {
        char magic[8];
        int32_t version, rank;
        int64_t regions;
    } head = {.magic = {'S', 'C', 'O', 'P', 'E', 'P', 'R', 'F'}, .version = 2};
    struct walk w = {.torn.recovery = recovery, .to = to, .at = SP__TRACE_HEAD, .to_at = SP__TRACE_HEAD};
    int64_t regions = 0;
    int32_t rank = 0;
    if (recovery->size < SP__TRACE_HEAD)
        return sp__fail(recovery->error, SP_ERR_TRACE_FORMAT, 0, recovery->broken, NULL,
                        "nothing can be saved: truncated to %" PRIu64 " bytes, and a trace's head has %d",
                        recovery->size, SP__TRACE_HEAD);
    int status = sp__torn_version(&w.torn, &rank, &regions, &w.looks);
    if (status)
        return status;
    head.rank = believed_rank(&w, rank);
    w.torn.budget = recovery->size > UINT64_MAX / 4 ? UINT64_MAX : 2 * recovery->size + (UINT64_C(1) << 26);
    uint64_t declared = regions < 0 || regions > REGIONS_MOST ? UINT64_MAX : (uint64_t)regions;
    while (!status && w.at < recovery->size)
        status = step(&w, declared);
    if (!status)
        status = settle(&w);
    if (status)
        return status;
    count_regions(&w, regions);
    if (recovery->losses && !recovery->report.calls)
        return sp__fail(recovery->error, SP_ERR_TRACE_FORMAT, 0, recovery->broken, NULL,
                        "nothing can be saved: it holds no call that is whole");
    head.regions = (int64_t)recovery->report.regions;
    w.to_at = 0;
    return put(&w, &head, sizeof head);
}
