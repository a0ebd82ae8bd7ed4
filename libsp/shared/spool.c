/* spool.c: making, reopening and appending to spools. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "env.h"
#include "instant.h"
#include "pages.h"
#include "spool.h"

_Static_assert(sizeof(struct sp__frame) == 40 && offsetof(struct sp__frame, head_hash) == 32, "frame heads are packed");
_Static_assert(sizeof(struct sp__open_entry) == 16 && sizeof(struct sp__stats_entry) == 56 &&
                   sizeof(struct sp__region_entry) == 12 && sizeof(struct sp__end_entry) == 16,
               "entries are packed");
_Static_assert(SP__STACK_MOST * sizeof(struct sp__open_entry) <= SP__FRAME_LENGTH_MOST &&
                   SP__REGIONS * sizeof(struct sp__stats_entry) <= SP__FRAME_LENGTH_MOST,
               "the largest payload fits a frame");

#define FRAME_MAGIC 0x52465053U /* "SPFR" */

uint64_t sp__frame_head_hash(const struct sp__frame *head)
{
    return XXH3_64bits(head, offsetof(struct sp__frame, head_hash));
}

uint64_t sp__frame_payload_hash(const void *payload, size_t length)
{
    return XXH3_64bits(payload, length);
}

int sp__read_at(int fd, void *buffer, size_t length, uint64_t at)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = pread(fd, (char *)buffer + done, length - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EBADMSG;
        done += (size_t)n;
    }
    return 0;
}

/* A write past RLIMIT_FSIZE raises SIGXFSZ, which kills by default: asked about before each write, never met. */
static int within_limit(uint64_t end)
{
    struct rlimit limit;
    if (end > INT64_MAX ||
        (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > (uint64_t)limit.rlim_cur))
        return -EFBIG;
    return 0;
}

static int write_parts(int fd, struct iovec *parts, int count, uint64_t at)
{
    uint64_t end = at;
    for (int i = 0; i < count; i++)
        end += parts[i].iov_len;
    int rc = within_limit(end);
    if (rc)
        return rc;
    while (at < end) {
        ssize_t n = pwritev(fd, parts, count, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += (uint64_t)n;
        for (size_t left = (size_t)n; left;) {
            size_t part = left < parts->iov_len ? left : parts->iov_len;
            parts->iov_base = (char *)parts->iov_base + part;
            parts->iov_len -= part;
            left -= part;
            if (!parts->iov_len && count > 1) {
                parts++;
                count--;
            }
        }
    }
    return 0;
}

int sp__write_at(int fd, const void *data, size_t length, uint64_t at)
{
    struct iovec part = {(void *)(uintptr_t)data, length};
    return write_parts(fd, &part, 1, at);
}

int sp__unnamed_file(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0)
        return fd;
    if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
        return -errno;
    char path[PATH_MAX];
    static const char tail[] = "/.scratch-XXXXXX";
    size_t length = strlen(folder);
    if (length + sizeof tail > sizeof path)
        return -ENAMETOOLONG;
    memcpy(path, folder, length);
    memcpy(path + length, tail, sizeof tail);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    unlink(path);
    return fd;
}

int sp__spool_append(struct sp__spool *spool, uint16_t type, uint16_t lane, uint64_t first, uint32_t count,
                     const void *payload, uint32_t length)
{
    struct sp__frame head = {.magic = FRAME_MAGIC,
                             .type = type,
                             .lane = lane,
                             .first = first,
                             .count = count,
                             .length = length,
                             .payload_hash = sp__frame_payload_hash(payload, length)};
    head.head_hash = sp__frame_head_hash(&head);
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)(uintptr_t)payload, length}};
    SP__INSTANT(spool_write_before);
    SP__INSTANT_LEAVING(spool_write_head, sp__write_at(spool->fd, &head, sizeof head / 2, spool->size));
    SP__INSTANT_LEAVING(spool_write_half, sp__write_at(spool->fd, &head, sizeof head, spool->size) ||
                                              sp__write_at(spool->fd, payload, length / 2, spool->size + sizeof head));
    int rc = write_parts(spool->fd, parts, length ? 2 : 1, spool->size);
    if (rc) {
        /* Should the cut fail as well, the next frame overwrites what stands there, and readers skip the rest. */
        if (ftruncate(spool->fd, (off_t)spool->size) != 0 && errno == EBADF)
            return -EBADF;
        return rc;
    }
    spool->size += sizeof head + length;
    SP__INSTANT(spool_write_after);
    return 0;
}

int sp__spool_sync(struct sp__spool *spool)
{
    return fdatasync(spool->fd) == 0 ? 0 : -errno;
}

void sp__spool_close(struct sp__spool *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
}

static int write_identity(struct sp__spool *spool, const struct sp__identity *identity)
{
    return sp__spool_append(spool, SP__FRAME_SEGMENT, 0, SP__SPOOL_VERSION, 1, identity, sizeof *identity);
}

static void state_add(struct sp__spool_state *state, const struct sp__frame *frame)
{
    uint64_t next = frame->first + frame->count;
    switch (frame->type) {
    case SP__FRAME_RECORDS:
        /* Sequence numbers wrap: which of two is later is the sign of their difference. */
        if (frame->lane < SP__LANES && (!state->seen[frame->lane] || (int64_t)(next - state->next[frame->lane]) > 0)) {
            state->seen[frame->lane] = true;
            state->next[frame->lane] = next;
        }
        break;
    case SP__FRAME_REGIONS:
        if (next <= SP__REGIONS && next > state->regions)
            state->regions = (uint32_t)next;
        break;
    case SP__FRAME_BASE:
        if (frame->first <= UINT32_MAX && (uint32_t)frame->first > state->epoch)
            state->epoch = (uint32_t)frame->first;
        break;
    case SP__FRAME_END:
        state->ended = true;
        break;
    default:
        break;
    }
}

static int payload_sound(int fd, uint64_t at, const struct sp__frame *frame)
{
    size_t room = frame->length ? frame->length : 1;
    unsigned char *payload = sp__pages_take(room);
    if (!payload)
        return -ENOMEM;
    int rc = sp__read_at(fd, payload, frame->length, at + sizeof *frame);
    rc = rc == 0 ? sp__frame_payload_hash(payload, frame->length) == frame->payload_hash : rc == -EBADMSG ? 0 : rc;
    sp__pages_give(payload, room);
    return rc;
}

/* Hops from head to head. Only the end of a spool can be torn by a death, so only the last two payloads are verified:
 * frames are counted two later than they are seen. Returns where the last sound frame ends, through ret_whole. */
static int scan(struct sp__spool_reader *reader, struct sp__spool_state *state, uint64_t *ret_whole)
{
    struct {
        struct sp__frame frame;
        uint64_t at;
    } last[2];
    unsigned held = 0;
    struct sp__frame frame;
    int rc;
    while ((rc = sp__spool_reader_next(reader, &frame)) == 1) {
        if (held == 2) {
            state_add(state, &last[0].frame);
            last[0] = last[1];
            held = 1;
        }
        last[held].frame = frame;
        last[held++].at = reader->whole - sizeof frame - frame.length;
    }
    if (rc < 0)
        return rc;
    uint64_t whole = reader->whole;
    for (unsigned i = 0; i < held; i++) {
        rc = payload_sound(reader->fd, last[i].at, &last[i].frame);
        if (rc < 0)
            return rc;
        if (rc)
            state_add(state, &last[i].frame);
        else if (i + 1 == held)
            whole = last[i].at;
    }
    *ret_whole = whole;
    return 0;
}

/* What a maker that died before its first frame was whole leaves: nothing, or the beginning of that frame. */
static bool is_beginning(int fd, uint64_t size)
{
    struct sp__frame head;
    uint32_t magic = FRAME_MAGIC;
    size_t length = size < sizeof magic ? (size_t)size : sizeof magic;
    return size < sizeof head + sizeof(struct sp__identity) && sp__read_at(fd, &head, length, 0) == 0 &&
           memcmp(&head, &magic, length) == 0;
}

/* An existing spool: 0; -EEXIST: not one of this incarnation. A beginning is begun again, if it stands where this
 * process would have made it. */
static int resume(struct sp__spool *spool, bool make, const struct sp__identity *identity,
                  struct sp__spool_state *state)
{
    struct stat st;
    if (fstat(spool->fd, &st) != 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return -EEXIST;
    if (make && is_beginning(spool->fd, (uint64_t)st.st_size)) {
        if (ftruncate(spool->fd, 0) != 0)
            return -errno;
        state->torn = (uint64_t)st.st_size;
        return write_identity(spool, identity);
    }
    int fd = fcntl(spool->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    struct sp__spool_reader reader;
    struct sp__identity found;
    int rc = sp__spool_reader_open_fd(&reader, fd, UINT64_MAX, &found);
    if (rc)
        return rc == -ENODATA || rc == -EPROTONOSUPPORT ? -EEXIST : rc;
    uint64_t whole = 0;
    if (memcmp(found.incarnation, identity->incarnation, sizeof found.incarnation) != 0) {
        rc = -EEXIST;
    } else {
        reader.reading = SP__READ_HEADS;
        rc = scan(&reader, state, &whole);
    }
    sp__spool_reader_close(&reader);
    if (rc)
        return rc;
    if (whole < (uint64_t)st.st_size) {
        state->torn = (uint64_t)st.st_size - whole;
        SP__INSTANT(spool_cut);
        if (ftruncate(spool->fd, (off_t)whole) != 0)
            return -errno;
        SP__INSTANT(spool_cut_after);
    }
    spool->size = whole;
    return 0;
}

static int set_path(struct sp__spool *spool, const char *path)
{
    size_t length = strlen(path);
    if (length >= sizeof spool->path)
        return -ENAMETOOLONG;
    memcpy(spool->path, path, length + 1);
    return 0;
}

static int make_folder(const char *path)
{
    char folder[SP__PATH_SIZE];
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return 0;
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    int rc = sp__make_dirs(folder);
    struct stat st;
    /* In a data folder that several users share, another one may have made it beforehand, open to all: he could take away
     * or replace whatever is put there. */
    if (rc == 0 && stat(folder, &st) != 0)
        rc = -errno;
    return rc == 0 && st.st_uid != geteuid() ? -EPERM : rc;
}

/* The steps of opening, on a spool whose descriptor the caller closes on failure. */
static int open_steps(struct sp__spool *spool, bool make, const struct sp__identity *identity,
                      struct sp__spool_state *state)
{
    int rc = make ? make_folder(spool->path) : 0;
    if (rc)
        return rc;
    if (make) {
        spool->fd = open(spool->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (spool->fd >= 0) {
            SP__INSTANT(spool_made);
            return write_identity(spool, identity);
        }
        if (errno != EEXIST)
            return -errno;
    }
    /* O_NONBLOCK: a FIFO under that name must not hold up its opener. */
    spool->fd = open(spool->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (spool->fd < 0)
        return make && (errno == ELOOP || errno == EISDIR || errno == EACCES || errno == ENXIO) ? -EEXIST : -errno;
    return resume(spool, make, identity, state);
}

static int copy_whole(int from, int to, uint64_t size)
{
    enum { STEP = 1 << 18 };
    unsigned char *buffer = sp__pages_take(STEP);
    int rc = buffer ? 0 : -ENOMEM;
    for (uint64_t at = 0; rc == 0 && at < size; at += STEP) {
        size_t length = size - at < STEP ? (size_t)(size - at) : STEP;
        rc = sp__read_at(from, buffer, length, at);
        if (rc == 0)
            rc = sp__write_at(to, buffer, length, at);
    }
    sp__pages_give(buffer, STEP);
    return rc;
}

int sp__spool_restore(struct sp__spool *spool)
{
    char path[SP__PATH_SIZE + 16];
    int rc = make_folder(spool->path);
    if (rc)
        return rc;
    (void)snprintf(path, sizeof path, "%s.XXXXXX", spool->path);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    rc = copy_whole(spool->fd, fd, spool->size);
    /* All of it or nothing under that name, and never in place of another file. */
    if (rc == 0 && link(path, spool->path) != 0)
        rc = -errno;
    unlink(path);
    if (rc) {
        close(fd);
        return rc;
    }
    close(spool->fd);
    spool->fd = fd;
    return 0;
}

static int open_spool(struct sp__spool *ret, const char *path, bool make, const struct sp__identity *identity,
                      struct sp__spool_state *ret_state)
{
    struct sp__spool *spool = sp__pages_take(sizeof *spool);
    struct sp__spool_state *state = sp__pages_take(sizeof *state);
    int rc = spool && state ? set_path(spool, path) : -ENOMEM;
    if (rc == 0) {
        spool->fd = -1;
        rc = open_steps(spool, make, identity, state);
        if (rc == 0) {
            *ret = *spool;
            *ret_state = *state;
        } else {
            sp__spool_close(spool);
        }
    }
    sp__pages_give(spool, sizeof *spool);
    sp__pages_give(state, sizeof *state);
    return rc;
}

int sp__spool_open(struct sp__spool *ret, const char *path, const struct sp__identity *identity,
                   struct sp__spool_state *ret_state)
{
    return open_spool(ret, path, true, identity, ret_state);
}

int sp__spool_reopen(struct sp__spool *ret, const char *path, const struct sp__identity *identity,
                     struct sp__spool_state *ret_state)
{
    return open_spool(ret, path, false, identity, ret_state);
}

int sp__spool_open_unnamed(struct sp__spool *ret, const char *folder, const struct sp__identity *identity)
{
    struct sp__spool spool = {.fd = sp__unnamed_file(folder)};
    if (spool.fd < 0)
        return spool.fd;
    int rc = write_identity(&spool, identity);
    if (rc)
        sp__spool_close(&spool);
    else
        *ret = spool;
    return rc;
}
