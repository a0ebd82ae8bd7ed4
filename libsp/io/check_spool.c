/* check_spool.c: whether a spool is sound: its frames, their checksums, and what they hold. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "file_id.h"
#include "recover.h"

struct lane {
    bool seen;
    int64_t next, base; /* sequence numbers are compared as signed ones: they may run across 2^64 */
};

struct spool {
    struct sp__checking *checking;
    struct sp__spool_reader reader;
    uint64_t at; /* of the frame that is looked at */
    bool identified;
    uint64_t epoch;
    struct sp__identity identity;
    struct lane lanes[SP__LANES];
    unsigned char regions[SP__REGIONS / 8]; /* a bit for each number that has a name */
    struct sp__record records[SP__FRAME_RECORDS_MOST];
};

void sp__damage_text(enum sp__damage what, uint64_t length, const struct sp__frame *head, char ret[192])
{
    char of[64] = "";
    if (head && head->type == SP__FRAME_RECORDS)
        snprintf(of, sizeof of, " of %" PRIu32 " records of lane %u", head->count, head->lane);
    if (what == SP__DAMAGED_PAYLOAD)
        snprintf(ret, 192, "a block%s is damaged: the checksum of its %" PRIu64 " bytes is wrong", of, length);
    else if (what == SP__TORN)
        snprintf(ret, 192, "truncated: the file ends within a block%s, of which %" PRIu64 " bytes are there", of,
                 length);
    else
        snprintf(ret, 192, "damaged: no block begins in these %" PRIu64 " bytes", length);
}

__attribute__((format(printf, 2, 3))) static void found(struct spool *spool, const char *format, ...)
{
    char place[32], text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(place, sizeof place, "byte %" PRIu64, spool->at);
    sp__check_found(spool->checking, place, "%s", text);
}

static void damaged(void *context, enum sp__damage what, uint64_t at, uint64_t length, const struct sp__frame *head)
{
    struct spool *spool = context;
    char text[192];
    sp__damage_text(what, length, head, text);
    spool->at = at;
    found(spool, "%s", text);
}

/* ---- the first pass: whose spool it is, which regions have a name, what a reset forgot ---------------------------- */

static void take_regions(struct spool *spool, const struct sp__frame *frame, bool tell)
{
    const unsigned char *payload = spool->reader.payload;
    size_t at = 0;
    for (uint32_t i = 0; i < frame->count; i++) {
        struct sp__region_entry entry;
        uint64_t number = frame->first + i;
        bool fits = frame->length - at >= sizeof entry && number < SP__REGIONS;
        if (fits) {
            memcpy(&entry, payload + at, sizeof entry);
            at += sizeof entry;
            fits =
                entry.name_length <= frame->length - at && entry.file_length <= frame->length - at - entry.name_length;
        }
        if (!fits) {
            if (tell)
                found(spool, "a block of %" PRIu32 " regions from number %" PRIu64 " on does not hold region %" PRIu64,
                      frame->count, frame->first, number);
            return;
        }
        at += entry.name_length + entry.file_length;
        unsigned char bit = (unsigned char)(1U << (number % 8));
        spool->checking->result.regions += !tell && !(spool->regions[number / 8] & bit);
        spool->regions[number / 8] |= bit;
    }
}

static void take_bases(struct spool *spool, const struct sp__frame *frame)
{
    if (frame->count > SP__LANES || frame->length != frame->count * sizeof(uint64_t) || frame->first < spool->epoch)
        return;
    spool->epoch = frame->first;
    for (uint32_t lane = 0; lane < frame->count; lane++)
        memcpy(&spool->lanes[lane].base, spool->reader.payload + lane * sizeof(uint64_t), sizeof(uint64_t));
}

static int first_pass(struct spool *spool)
{
    struct sp__frame frame;
    int rc;
    spool->reader.reading = SP__READ_TABLES;
    while ((rc = sp__spool_reader_next(&spool->reader, &frame)) == 1) {
        if (frame.type == SP__FRAME_SEGMENT && !spool->identified && frame.first == SP__SPOOL_VERSION &&
            frame.length == sizeof spool->identity) {
            memcpy(&spool->identity, spool->reader.payload, sizeof spool->identity);
            spool->identified = true;
        } else if (frame.type == SP__FRAME_REGIONS) {
            take_regions(spool, &frame, false);
        } else if (frame.type == SP__FRAME_BASE) {
            take_bases(spool, &frame);
        }
    }
    sp__spool_reader_rewind(&spool->reader);
    return rc;
}

/* ---- the second pass: every frame -------------------------------------------------------------------------------- */

static void check_identity(struct spool *spool, const struct sp__frame *frame)
{
    struct sp__identity identity;
    if (frame->first != SP__SPOOL_VERSION) {
        found(spool, "the spool's version is %" PRIu64 ": version %u is read", frame->first, SP__SPOOL_VERSION);
    } else if (frame->length != sizeof identity) {
        found(spool, "the block that says whose spool it is has %" PRIu32 " bytes in place of %zu", frame->length,
              sizeof identity);
    } else {
        memcpy(&identity, spool->reader.payload, sizeof identity);
        if (identity.rank < 0)
            found(spool, "the rank is negative, %" PRId32, identity.rank);
        if (memcmp(identity.incarnation, spool->identity.incarnation, sizeof identity.incarnation))
            found(spool, "the spool is of another incarnation from here on");
    }
}

/* One finding a block is enough to know it by. */
static void check_calls(struct spool *spool, const struct sp__frame *frame, int64_t first)
{
    const struct lane *lane = &spool->lanes[frame->lane];
    bool told = false;
    for (uint32_t i = 0; i < frame->count; i++) {
        const struct sp__record *record = &spool->records[i];
        if (record->kind != SP__CALL)
            continue;
        spool->checking->result.calls += first + i >= lane->base;
        bool named = record->region < SP__REGIONS && spool->regions[record->region / 8] >> (record->region % 8) & 1;
        if (!told && (!named || (int64_t)(record->end - record->start) < 0)) {
            found(spool,
                  named ? "record %" PRIu32 " of lane %u ends before it starts"
                        : "record %" PRIu32 " of lane %u is of a region that no block names",
                  i, frame->lane);
            told = true;
        }
    }
}

static void check_records(struct spool *spool, const struct sp__frame *frame)
{
    if (frame->lane >= SP__LANES || frame->count > SP__FRAME_RECORDS_MOST ||
        (int64_t)frame->first > INT64_MAX - frame->count) {
        found(spool, "a block says that it holds %" PRIu32 " records of lane %u from number %" PRId64 " on: no such",
              frame->count, frame->lane, (int64_t)frame->first);
        return;
    }
    if (sp__records_decode(spool->reader.payload, frame->length, spool->records, frame->count)) {
        found(spool, "a block of %" PRIu32 " records of lane %u cannot be decoded", frame->count, frame->lane);
        return;
    }
    struct lane *lane = &spool->lanes[frame->lane];
    int64_t first = (int64_t)frame->first;
    if (lane->seen && first < lane->next)
        found(spool, "records of lane %u repeat from number %" PRId64 " on", frame->lane, first);
    else if (lane->seen && first > lane->next && first > lane->base)
        found(spool, "records %" PRId64 " to %" PRId64 " of lane %u are missing", lane->next, first - 1, frame->lane);
    lane->seen = true;
    lane->next = first + frame->count;
    check_calls(spool, frame, first);
}

static void check_frame(struct spool *spool, const struct sp__frame *frame)
{
    static const struct {
        size_t size; /* of an entry; 0: not all alike */
        const char *name;
    } kinds[] = {[SP__FRAME_ANCHORS] = {sizeof(struct sp__anchor), "clock anchors"},
                 [SP__FRAME_BASE] = {sizeof(uint64_t), "lanes' bases"},
                 [SP__FRAME_OPEN] = {sizeof(struct sp__open_entry), "open calls"},
                 [SP__FRAME_STATS] = {sizeof(struct sp__stats_entry), "statistics"},
                 [SP__FRAME_COUNTERS] = {sizeof(struct sp__counters), "counters"},
                 [SP__FRAME_END] = {sizeof(struct sp__end_entry), "the end"},
                 [SP__FRAME_THREAD] = {sizeof(struct sp__thread_entry), "a living thread"}};
    if (frame->type == SP__FRAME_SEGMENT) {
        check_identity(spool, frame);
    } else if (frame->type == SP__FRAME_REGIONS) {
        take_regions(spool, frame, true);
    } else if (frame->type == SP__FRAME_RECORDS) {
        check_records(spool, frame);
    } else if (frame->type < sizeof kinds / sizeof *kinds && kinds[frame->type].size) {
        bool one = frame->type == SP__FRAME_COUNTERS || frame->type == SP__FRAME_END || frame->type == SP__FRAME_THREAD;
        if (frame->lane >= SP__LANES || frame->count * (uint64_t)kinds[frame->type].size != frame->length ||
            (one && frame->count != 1) || (frame->type == SP__FRAME_BASE && frame->count > SP__LANES))
            found(spool, "a block of %s holds %" PRIu32 " of lane %u in %" PRIu32 " bytes, which do not fit",
                  kinds[frame->type].name, frame->count, frame->lane, frame->length);
    }
}

static int check(struct spool *spool)
{
    struct sp__frame frame;
    int rc = first_pass(spool);
    spool->reader.reading = SP__READ_ALL;
    spool->reader.damaged = damaged;
    spool->reader.context = spool;
    while (rc >= 0 && (rc = sp__spool_reader_next(&spool->reader, &frame)) == 1) {
        spool->at = spool->reader.at - frame.length - sizeof frame;
        check_frame(spool, &frame);
        sp__check_progress(spool->checking, spool->reader.at, spool->reader.end);
    }
    if (rc >= 0 && !spool->identified)
        sp__check_found(spool->checking, "byte 0", "no sound block says whose spool it is");
    spool->checking->result.ranks = spool->identified;
    return rc;
}

int sp__check_spool(struct sp__checking *checking)
{
    struct sp__file_id id = {0};
    int fd = -1, status = sp__file_open(&fd, &id, NULL, checking->path, checking->error);
    if (status)
        return status;
    snprintf(checking->result.format, sizeof checking->result.format, "spool version %u", SP__SPOOL_VERSION);
    struct spool *spool = calloc(1, sizeof *spool);
    int rc = -ENOMEM;
    if (spool) {
        spool->checking = checking;
        spool->reader = (struct sp__spool_reader){.fd = fd, .end = id.size};
        rc = check(spool);
        sp__spool_reader_close(&spool->reader);
    } else {
        close(fd);
    }
    free(spool);
    return rc < 0 ? sp__fail(checking->error, SP_ERR_SYSTEM, -rc, checking->path, NULL, "cannot be read") : 0;
}
