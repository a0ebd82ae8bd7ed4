/* consumer_attach.c: becoming a segment's consumer: the lock, the spool, where to go on. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clock.h"
#include "consumer.h"
#include "instant.h"
#include "message.h"
#include "names.h"
#include "pages.h"

#define RECORDS_ROOM (SP__FRAME_RECORDS_MOST * sizeof(struct sp__record))
#define ENCODED_ROOM ((size_t)SP__FRAME_RECORDS_MOST * SP__ENCODED_MOST)

/* What consumers of one thread use in turn: sp__consumer_share_buffers. */
static struct sp__record *shared_records;
static unsigned char *shared_encoded;

enum { SPOOLS_MOST = 9 }; /* own spools of one incarnation in one folder, where earlier ones are damaged */

__attribute__((format(printf, 2, 3))) static void word(char why[256], const char *format, ...)
{
    va_list list;
    if (!why)
        return;
    va_start(list, format);
    vsnprintf(why, 256, format, list);
    va_end(list);
}

static void release(struct sp__consumer *c)
{
    sp__spool_close(&c->spool);
    if (c->records != shared_records) {
        sp__pages_give(c->records, RECORDS_ROOM);
        sp__pages_give(c->encoded, ENCODED_ROOM);
    }
    sp__pages_give(c->located_bits, SP__REGIONS / 8);
    sp__pages_give(c, sizeof *c);
}

int sp__consumer_share_buffers(void)
{
    if (shared_records)
        return 0;
    struct sp__record *records = sp__pages_take(RECORDS_ROOM);
    unsigned char *encoded = sp__pages_take(ENCODED_ROOM);
    if (!records || !encoded) {
        sp__pages_give(records, RECORDS_ROOM);
        sp__pages_give(encoded, ENCODED_ROOM);
        return -ENOMEM;
    }
    shared_records = records;
    shared_encoded = encoded;
    return 0;
}

/* Buffers, and the segment behind fd, which stays the caller's on failure. */
static int make(struct sp__consumer **ret, int fd, const char *name, bool observer, char why[256])
{
    struct sp__consumer *c = sp__pages_take(sizeof *c);
    if (!c)
        return -ENOMEM;
    c->spool.fd = -1;
    c->observer = observer;
    bool shared = shared_records && !observer;
    c->records = shared ? shared_records : sp__pages_take(RECORDS_ROOM);
    c->encoded = shared ? shared_encoded : sp__pages_take(ENCODED_ROOM);
    c->located_bits = sp__pages_take(SP__REGIONS / 8);
    int rc = c->records && c->encoded && c->located_bits ? 0 : -ENOMEM;
    if (rc == 0)
        rc = sp__segment_open_fd(&c->segment, fd, name, !observer, why);
    if (rc == 0 && !sp__session_valid(c->segment.identity.session)) {
        word(why, "segment %s names a session that is none", name);
        rc = -EBADMSG;
        c->segment.fd = -1; /* the caller closes it */
        sp__segment_close(&c->segment);
    }
    if (rc) {
        release(c);
        return rc;
    }
    /* A child forked while a program drains for itself would keep the description, and with it byte 1, after its death.
     */
    if (!observer)
        (void)madvise(c->segment.header, c->segment.mapped, MADV_DONTFORK);
    *ret = c;
    return 0;
}

static int own_path(const struct sp__consumer *c, const char *data_dir, unsigned number, char ret[SP__PATH_SIZE])
{
    char stem[96], again[16] = "";
    sp__incarnation_stem(&c->segment.identity, stem);
    if (number > 1)
        snprintf(again, sizeof again, ".%u", number);
    int n =
        snprintf(ret, SP__PATH_SIZE, "%s/%s/%s%s" SP__SPOOL_SUFFIX, data_dir, c->segment.identity.session, stem, again);
    return n < SP__PATH_SIZE ? 0 : -ENAMETOOLONG;
}

/* A spool below data_dir; the header then names it if it names none. */
static int open_own(struct sp__consumer *c, const char *data_dir, struct sp__spool_state *state, char why[256])
{
    char path[SP__PATH_SIZE];
    int rc = -EEXIST;
    for (unsigned number = 1; rc == -EEXIST && number <= SPOOLS_MOST; number++)
        if ((rc = own_path(c, data_dir, number, path)) == 0)
            rc = sp__spool_open(&c->spool, path, &c->segment.identity, state);
    if (rc) {
        word(why, "cannot write the spool %.120s: %s", path, sp__error_text(-rc));
        return rc;
    }
    struct sp__header *header = c->segment.header;
    /* Acquire pairs with the release below, by whoever was the first consumer. */
    if (!atomic_load_explicit(&header->spool_chosen, memory_order_acquire)) {
        memcpy(header->spool, c->spool.path, sizeof header->spool);
        SP__INSTANT(attach_naming);
        atomic_store_explicit(&header->spool_chosen, 1, memory_order_release);
    }
    return 0;
}

static int open_spool(struct sp__consumer *c, const char *data_dir, struct sp__spool_state *state, char why[256])
{
    struct sp__header *header = c->segment.header;
    if (atomic_load_explicit(&header->spool_chosen, memory_order_acquire)) { /* pairs with open_own's release */
        char path[SP__PATH_SIZE];
        memcpy(path, header->spool, sizeof path);
        path[sizeof path - 1] = '\0';
        if (path[0] == '/' && sp__spool_reopen(&c->spool, path, &c->segment.identity, state) == 0)
            return 0;
    }
    return open_own(c, data_dir, state, why);
}

/* Goes on where the later of spool and tail stands: a spool ahead of tail means that its writer died between block and
 * tail; a tail ahead of the spool, that another consumer had a spool of its own. */
static int take_over(struct sp__consumer *c, const struct sp__spool_state *state, char why[256])
{
    c->regions = state->regions;
    c->epoch = state->epoch;
    c->ended = state->ended;
    for (uint32_t lane = 0; lane < sp__consumer_lanes(c); lane++) {
        int rc = sp__consumer_place(c, lane);
        if (rc == -EAGAIN)
            continue;
        if (rc) {
            word(why, "lane %u of segment %s lies outside of it", lane, c->segment.name);
            return rc;
        }
        c->open[lane] = true;
        uint64_t ahead = state->next[lane] - c->next[lane];
        if (!state->seen[lane] || ahead == 0 || ahead >> 63)
            continue;
        struct sp__lane *line = &c->segment.lanes[lane];
        /* Acquire: pairs with the producer's release of head. */
        uint64_t head = atomic_load_explicit(&line->head, memory_order_acquire);
        if ((head - state->next[lane]) >> 63) {
            word(why, "lane %u of segment %s has fewer records than its spool", lane, c->segment.name);
            return -EBADMSG;
        }
        c->next[lane] = state->next[lane];
        SP__INSTANT(takeover_before);
        /* Release: pairs with the producer's acquire before it reuses what is below. */
        atomic_store_explicit(&line->tail, c->next[lane], memory_order_release);
        SP__INSTANT(takeover_after);
    }
    return 0;
}

int sp__consumer_create(struct sp__consumer **ret, int fd, const char *name, const char *data_dir, char ret_why[256])
{
    struct sp__consumer *c = NULL;
    struct sp__spool_state *state = sp__pages_take(sizeof *state);
    int rc = state ? sp__lock_take(fd, SP__BYTE_CONSUMER) : -ENOMEM;
    if (rc == -EAGAIN) {
        word(ret_why, "segment %s is being drained by somebody else", name);
        rc = -EBUSY;
    } else if (rc) {
        word(ret_why, "cannot lock segment %s: %s", name, sp__error_text(-rc));
    } else if ((rc = make(&c, fd, name, false, ret_why)) == 0) {
        SP__INSTANT(attach_locked);
        rc = open_spool(c, data_dir, state, ret_why);
        SP__INSTANT(attach_spool);
        if (rc == 0)
            rc = take_over(c, state, ret_why);
        if (rc) {
            sp__consumer_destroy(c);
            fd = -1;
        }
    }
    sp__pages_give(state, sizeof *state);
    if (rc) {
        if (fd >= 0)
            close(fd);
        return rc;
    }
    atomic_store_explicit(&c->segment.header->consumer_beat_ns, sp__clock_mono(), memory_order_relaxed);
    SP__INSTANT(attach_done);
    *ret = c;
    return 0;
}

static int open_name(const char *name, int flags)
{
    char path[512];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", SP__SHM_DIR, name) >= sizeof path || strchr(name, '/'))
        return -ENAMETOOLONG;
    int fd = open(path, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

int sp__consumer_attach(struct sp__consumer **ret, const char *name, const char *data_dir, char ret_why[256])
{
    int fd = open_name(name, O_RDWR);
    if (fd < 0) {
        word(ret_why, "cannot open segment %s: %s", name, sp__error_text(-fd));
        return fd;
    }
    return sp__consumer_create(ret, fd, name, data_dir, ret_why);
}

void sp__consumer_destroy(struct sp__consumer *c)
{
    if (!c)
        return;
    sp__spool_close(&c->spool);
    /* Explicitly: a child forked meanwhile may share the description, and closing would not free the byte then. */
    if (!c->observer && c->segment.fd >= 0)
        sp__lock_release(c->segment.fd, SP__BYTE_CONSUMER);
    sp__segment_close(&c->segment);
    release(c);
}

void sp__consumer_leave(struct sp__consumer *c)
{
    if (c->segment.fd >= 0)
        close(c->segment.fd);
    release(c);
}

int sp__consumer_observe(const char *name, const char *folder, struct sp__identity *ret_identity, int *ret_fd,
                         char ret_spool[SP__PATH_SIZE], uint32_t *ret_state, char ret_why[256])
{
    struct sp__consumer *c;
    int fd = open_name(name, O_RDONLY);
    int rc = fd < 0 ? fd : make(&c, fd, name, true, ret_why);
    if (rc) {
        if (fd >= 0)
            close(fd);
        return rc;
    }
    rc = sp__spool_open_unnamed(&c->spool, folder, &c->segment.identity);
    if (rc == 0)
        rc = sp__consumer_drain(c, 0, NULL);
    if (rc == 0)
        rc = sp__consumer_mark(c, 0);
    if (rc == 0) {
        *ret_identity = c->segment.identity;
        *ret_fd = c->spool.fd;
        c->spool.fd = -1;
        /* Acquire pairs with whoever finished with the segment. */
        *ret_state = atomic_load_explicit(&c->segment.header->state, memory_order_acquire);
        ret_spool[0] = '\0';
        /* After the copy: a consumer names its spool before it moves a tail. Pairs with open_own's release. */
        if (atomic_load_explicit(&c->segment.header->spool_chosen, memory_order_acquire)) {
            memcpy(ret_spool, c->segment.header->spool, SP__PATH_SIZE);
            ret_spool[SP__PATH_SIZE - 1] = '\0';
        }
    } else {
        word(ret_why, "cannot copy segment %s: %s", name, sp__error_text(-rc));
    }
    sp__consumer_destroy(c);
    return rc;
}
