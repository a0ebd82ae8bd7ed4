/* recover_spool.c: what a cut or damaged spool still holds. Its blocks stand for themselves, so that damage costs the
 * block that it hit; only one that says whose spool it is cannot be done without, and is made up for where all are lost.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"
#include "recover.h"

struct blocks {
    struct sp__recovery *recovery;
    struct sp__spool_reader reader;
    uint64_t first;       /* byte of the first sound block; the size: there is none */
    uint64_t bad_records; /* in blocks whose head is sound */
    bool identified, recorded, anchored, ticking;
    struct sp__anchor anchor; /* the first */
};

static void damaged(void *context, enum sp__damage what, uint64_t at, uint64_t length, const struct sp__frame *head)
{
    struct blocks *blocks = context;
    char text[192];
    sp__damage_text(what, length, head, text);
    sp__recovery_lost(blocks->recovery, at, "%s", text);
    blocks->recovery->report.lost_bytes += length;
    if (head && head->type == SP__FRAME_RECORDS && head->count <= SP__FRAME_RECORDS_MOST)
        blocks->bad_records += head->count;
}

static void look_at_anchors(struct blocks *blocks, const struct sp__frame *frame)
{
    struct sp__anchor anchor;
    for (size_t at = 0; at + sizeof anchor <= frame->length; at += sizeof anchor) {
        memcpy(&anchor, blocks->reader.payload + at, sizeof anchor);
        if (!blocks->anchored)
            blocks->anchor = anchor;
        blocks->anchored = true;
        blocks->ticking |= anchor.ticks != (uint64_t)anchor.mono_ns;
    }
}

static int look(struct blocks *blocks)
{
    struct sp__frame frame;
    int rc;
    blocks->first = blocks->recovery->size;
    while ((rc = sp__spool_reader_next(&blocks->reader, &frame)) == 1) {
        uint64_t at = blocks->reader.at - frame.length - sizeof frame;
        blocks->first = at < blocks->first ? at : blocks->first;
        blocks->identified |= frame.type == SP__FRAME_SEGMENT;
        blocks->recorded |= frame.type == SP__FRAME_RECORDS;
        if (frame.type == SP__FRAME_ANCHORS)
            look_at_anchors(blocks, &frame);
    }
    blocks->reader.damaged = NULL;
    return rc;
}

/* "<16 hex>.r<NNNNN>.<32 hex>...": what the file's name says. */
static bool named(const char *path, struct sp__identity *id)
{
    const char *name = sp__base_name(path);
    unsigned rank;
    int length = 0;
    if (sscanf(name, "%*16[0-9a-f].r%9u.%n", &rank, &length) != 1 || length < 20 ||
        strspn(name + length, "0123456789abcdef") != 2 * sizeof id->incarnation)
        return false;
    for (size_t i = 0; i < sizeof id->incarnation; i++) {
        unsigned byte;
        if (sscanf(name + length + 2 * i, "%2x", &byte) != 1)
            return false;
        id->incarnation[i] = (uint8_t)byte;
    }
    id->rank = (int32_t)rank;
    return true;
}

static void printable(char *text, size_t size)
{
    text[size - 1] = '\0';
    for (const char *c = text; *c; c++)
        if (*c < 0x20 || *c > 0x7e)
            *text = '\0';
}

/* From the damaged bytes what makes sense of them, the rest from the file's name, its folder and its other blocks. */
static int make_identity(const struct blocks *blocks, struct sp__identity *ret)
{
    const struct sp__recovery *recovery = blocks->recovery;
    struct sp__identity id = {.clock = SP__CLOCK_MONOTONIC};
    int rc = 0;
    if (blocks->first >= sizeof(struct sp__frame) + sizeof id)
        rc = sp__read_at(recovery->fd, &id, sizeof id, sizeof(struct sp__frame));
    if (rc)
        return rc;
    printable(id.session, sizeof id.session);
    printable(id.hostname, sizeof id.hostname);
    printable(id.boot_id, sizeof id.boot_id);
    printable(id.prefix, sizeof id.prefix);
    if (!named(recovery->broken, &id) && id.rank < 0)
        id.rank = 0;
    if (!sp__session_valid(id.session)) {
        char *folder = strdup(recovery->broken), *slash = folder ? strrchr(folder, '/') : NULL;
        if (slash)
            *slash = '\0';
        bool valid = slash && sp__session_valid(sp__base_name(folder));
        snprintf(id.session, sizeof id.session, "%s", valid ? sp__base_name(folder) : "");
        free(folder);
    }
    if (blocks->recorded || id.mode != SP__MODE_STATS)
        id.mode = SP__MODE_RECORDS;
    if (blocks->anchored) {
        id.clock = blocks->ticking ? SP__CLOCK_TSC : SP__CLOCK_MONOTONIC;
        id.birth = blocks->anchor;
        id.birth_realtime_ns = -1;
    } else if (id.clock != SP__CLOCK_TSC) {
        id.clock = SP__CLOCK_MONOTONIC;
    }
    *ret = id;
    return 0;
}

/* All blocks behind one that says whose they are, as a spool without a name: what is read in place of the damaged one. */
static int copy(struct blocks *blocks, const char *folder, struct sp__spool *ret)
{
    struct sp__identity identity;
    struct sp__frame frame;
    int rc = make_identity(blocks, &identity);
    if (rc == 0)
        rc = sp__spool_open_unnamed(ret, folder, &identity);
    if (rc)
        return rc;
    sp__recovery_lost(blocks->recovery, 0,
                      "no sound block says whose spool it is: it is taken for rank %" PRId32
                      " of session \"%s\", on a host that is %s%s",
                      identity.rank, identity.session, *identity.hostname ? "called " : "not known", identity.hostname);
    sp__spool_reader_rewind(&blocks->reader);
    while ((rc = sp__spool_reader_next(&blocks->reader, &frame)) == 1 && rc > 0) {
        rc = sp__spool_append(ret, frame.type, frame.lane, frame.first, frame.count, blocks->reader.payload,
                              frame.length);
        if (rc)
            break;
    }
    if (rc)
        sp__spool_close(ret);
    return rc;
}

static int open_recording(struct sp__recovery *recovery, const char *path, const char *folder,
                          struct sp__recording **ret)
{
    char why[256] = "";
    const struct sp__recording_source source = {.spools = &path, .spool_count = 1, .scratch_dir = folder};
    int rc = sp__recording_create(ret, &source, why);
    if (!rc)
        return 0;
    enum sp_io_status status = rc == -ENODATA           ? SP_ERR_TRACE_FORMAT
                               : rc == -EPROTONOSUPPORT ? SP_ERR_SCHEMA
                                                        : SP_ERR_SYSTEM;
    return sp__fail(recovery->error, status, *why ? 0 : -rc, recovery->broken, NULL, "nothing can be saved: %s",
                    *why ? why : "it cannot be read");
}

static int append(struct blocks *blocks, sp_inputs *inputs, const char *path, const char *folder)
{
    struct sp__recovery *recovery = blocks->recovery;
    struct sp__recording *recording = NULL;
    int status = open_recording(recovery, path, folder, &recording);
    if (status)
        return status;
    uint64_t saved = recording->calls, gaps = recording->gaps;
    for (size_t i = 0; i < recording->stats_count; i++)
        saved += recording->stats[i].calls;
    if (gaps)
        sp__recovery_lost(recovery, 0, "%" PRIu64 " records that were numbered are not there", gaps);
    recovery->report.lost_calls = gaps > blocks->bad_records ? gaps : blocks->bad_records;
    if (recovery->losses && !saved) {
        sp__recording_destroy(recording);
        return sp__fail(recovery->error, SP_ERR_TRACE_FORMAT, 0, recovery->broken, NULL,
                        "nothing can be saved: it holds no call that is whole");
    }
    return sp__append_recording(inputs, recording, recovery->broken, recovery->error);
}

int sp__recover_spool(struct sp__recovery *recovery, sp_inputs *inputs, const char *scratch_dir)
{
    struct blocks blocks = {.recovery = recovery};
    struct sp__spool made = {.fd = -1};
    char scratch[32];
    int fd = dup(recovery->fd);
    if (fd < 0)
        return sp__recovery_failed(recovery, -errno, "cannot be read");
    blocks.reader = (struct sp__spool_reader){.fd = fd, .end = recovery->size, .damaged = damaged, .context = &blocks};
    int rc = look(&blocks);
    bool any = blocks.first < recovery->size, copied = rc == 0 && any && !blocks.identified;
    if (copied)
        rc = copy(&blocks, scratch_dir, &made);
    sp__spool_reader_close(&blocks.reader);
    if (rc < 0)
        return sp__recovery_failed(recovery, rc, "cannot be read");
    if (!any)
        return sp__fail(recovery->error, SP_ERR_TRACE_FORMAT, 0, recovery->broken, NULL,
                        "nothing can be saved: no block of the spool is sound");
    snprintf(scratch, sizeof scratch, "/proc/self/fd/%d", made.fd);
    int status = append(&blocks, inputs, copied ? scratch : recovery->broken, scratch_dir);
    if (copied)
        sp__spool_close(&made);
    return status;
}
