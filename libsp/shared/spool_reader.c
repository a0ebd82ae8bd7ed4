/* spool_reader.c: frames of a spool in file order, also of a damaged one and of one that grows meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pages.h"
#include "spool.h"

enum { SEARCH_ROOM = 1 << 16, WINDOW = 1 << 16 };

static const char magic[4] = {'S', 'P', 'F', 'R'};

static bool head_sound(const struct sp__frame *head)
{
    return memcmp(&head->magic, magic, sizeof magic) == 0 && head->length <= SP__FRAME_LENGTH_MOST &&
           head->head_hash == sp__frame_head_hash(head);
}

static int want_room(struct sp__spool_reader *reader, size_t room)
{
    if (reader->room >= room)
        return 0;
    unsigned char *larger = sp__pages_take(room);
    if (!larger)
        return -ENOMEM;
    sp__pages_give(reader->payload, reader->room);
    reader->payload = larger;
    reader->room = room;
    return 0;
}

static void tell(const struct sp__spool_reader *reader, enum sp__damage what, uint64_t length,
                 const struct sp__frame *head)
{
    if (reader->damaged && length)
        reader->damaged(reader->context, what, reader->at, length, head);
}

/* Looks for the next sound head from reader->at + 1 on. 1: reader->at stands on it; 0: none; -errno. */
static int search(struct sp__spool_reader *reader, struct sp__frame *head)
{
    int rc = want_room(reader, SEARCH_ROOM);
    uint64_t from = reader->at + 1;
    while (rc == 0 && reader->end >= sizeof *head && from <= reader->end - sizeof *head) {
        size_t length = reader->end - from < SEARCH_ROOM ? (size_t)(reader->end - from) : SEARCH_ROOM;
        if ((rc = sp__read_at(reader->fd, reader->payload, length, from)) != 0)
            break;
        const unsigned char *hit = reader->payload;
        while ((hit = memmem(hit, length - (size_t)(hit - reader->payload), magic, sizeof magic)) != NULL) {
            uint64_t at = from + (uint64_t)(hit - reader->payload);
            size_t left = length - (size_t)(hit - reader->payload);
            bool there = at <= reader->end - sizeof *head;
            if (there && left >= sizeof *head)
                memcpy(head, hit, sizeof *head);
            else if (there)
                there = sp__read_at(reader->fd, head, sizeof *head, at) == 0;
            if (there && head_sound(head)) {
                tell(reader, SP__DAMAGED_BYTES, at - reader->at, NULL);
                reader->bad_bytes += at - reader->at;
                reader->at = at;
                return 1;
            }
            hit++;
        }
        from += length - (sizeof magic - 1); /* the magic may straddle two pieces */
    }
    return rc == -EBADMSG ? 0 : rc;
}

static int fill_window(struct sp__spool_reader *reader, uint64_t at)
{
    size_t wanted = reader->end - at < WINDOW ? (size_t)(reader->end - at) : WINDOW;
    if (!reader->window && !(reader->window = malloc(WINDOW)))
        return -ENOMEM;
    reader->window_at = at;
    reader->window_length = 0;
    while (reader->window_length < wanted) {
        ssize_t got = pread(reader->fd, reader->window + reader->window_length, wanted - reader->window_length,
                            (off_t)(at + reader->window_length));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        reader->window_length += (size_t)got;
    }
    return 0;
}

/* As sp__read_at, with one system call for many frames. What was read once is not read again while it lies in the
 * window, so that all passes over a short spool see the same bytes. */
static int read_near(struct sp__spool_reader *reader, void *buffer, size_t length, uint64_t at)
{
    if (length > WINDOW / 2)
        return sp__read_at(reader->fd, buffer, length, at);
    for (bool filled = false;; filled = true) {
        uint64_t from = at - reader->window_at;
        if (at >= reader->window_at && from <= reader->window_length && length <= reader->window_length - from) {
            memcpy(buffer, reader->window + from, length);
            return 0;
        }
        int rc = filled ? -EBADMSG : fill_window(reader, at);
        if (rc)
            return rc;
    }
}

/* 1: a sound head at reader->at; 0: no more; -errno. */
static int next_head(struct sp__spool_reader *reader, struct sp__frame *head)
{
    uint64_t left = reader->end - reader->at;
    if (left < sizeof *head) {
        tell(reader, SP__TORN, left, NULL);
        reader->torn += left;
        reader->at = reader->end;
        return 0;
    }
    int rc = read_near(reader, head, sizeof *head, reader->at);
    if (rc == -EBADMSG) { /* cut off since it was opened: a torn end that its consumer removed */
        reader->end = reader->at;
        return 0;
    }
    if (rc)
        return rc;
    if (head_sound(head))
        return 1;
    rc = search(reader, head);
    if (rc == 0) {
        tell(reader, SP__DAMAGED_BYTES, reader->end - reader->at, NULL);
        reader->bad_bytes += reader->end - reader->at;
        reader->at = reader->end;
    }
    return rc;
}

static bool payload_wanted(enum sp__reading reading, uint16_t type)
{
    return reading == SP__READ_ALL || (reading == SP__READ_TABLES && type != SP__FRAME_RECORDS);
}

int sp__spool_reader_next(struct sp__spool_reader *reader, struct sp__frame *ret)
{
    struct sp__frame head;
    int rc;
    while ((rc = next_head(reader, &head)) == 1) {
        uint64_t left = reader->end - reader->at - sizeof head;
        if (head.length > left) {
            tell(reader, SP__TORN, left + sizeof head, &head);
            reader->torn += left + sizeof head;
            reader->at = reader->end;
            return 0;
        }
        uint64_t payload_at = reader->at + sizeof head;
        bool wanted = payload_wanted(reader->reading, head.type);
        if (wanted) {
            if ((rc = want_room(reader, head.length ? head.length : 1)) != 0)
                return rc;
            rc = read_near(reader, reader->payload, head.length, payload_at);
            if (rc && rc != -EBADMSG)
                return rc;
            if (rc || sp__frame_payload_hash(reader->payload, head.length) != head.payload_hash) {
                tell(reader, SP__DAMAGED_PAYLOAD, sizeof head + head.length, &head);
                reader->bad_frames++;
                reader->bad_bytes += head.length;
                reader->at = payload_at + head.length;
                continue;
            }
        }
        reader->at = reader->whole = payload_at + head.length;
        if (!wanted && reader->reading == SP__READ_TABLES)
            continue;
        *ret = head;
        return 1;
    }
    return rc;
}

void sp__spool_reader_rewind(struct sp__spool_reader *reader)
{
    reader->at = reader->whole = 0;
    reader->bad_bytes = reader->bad_frames = reader->torn = 0;
}

void sp__spool_reader_close(struct sp__spool_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    sp__pages_give(reader->payload, reader->room);
    free(reader->window);
    reader->fd = -1;
    reader->payload = reader->window = NULL;
    reader->window_length = 0;
    reader->room = 0;
}

static void terminate(struct sp__identity *identity)
{
    identity->session[sizeof identity->session - 1] = '\0';
    identity->hostname[sizeof identity->hostname - 1] = '\0';
    identity->boot_id[sizeof identity->boot_id - 1] = '\0';
    identity->prefix[sizeof identity->prefix - 1] = '\0';
}

/* The first frame says whose spool it is; where that one is damaged, a later one does. */
static int find_identity(struct sp__spool_reader *reader, struct sp__identity *ret)
{
    struct sp__frame frame;
    int rc;
    reader->reading = SP__READ_TABLES;
    while ((rc = sp__spool_reader_next(reader, &frame)) == 1)
        if (frame.type == SP__FRAME_SEGMENT) {
            if (frame.first != SP__SPOOL_VERSION || frame.length != sizeof *ret)
                return -EPROTONOSUPPORT;
            memcpy(ret, reader->payload, sizeof *ret);
            terminate(ret);
            break;
        }
    sp__spool_reader_rewind(reader);
    reader->reading = SP__READ_ALL;
    return rc == 1 ? 0 : rc == 0 ? -ENODATA : rc;
}

int sp__spool_reader_open_fd(struct sp__spool_reader *ret, int fd, uint64_t end, struct sp__identity *ret_identity)
{
    struct sp__spool_reader reader = {.fd = fd};
    struct stat st;
    int rc = 0;
    if (fstat(fd, &st) != 0)
        rc = -errno;
    else if (!S_ISREG(st.st_mode))
        rc = -ENODATA;
    if (rc == 0) {
        reader.end = end < (uint64_t)st.st_size ? end : (uint64_t)st.st_size;
        rc = find_identity(&reader, ret_identity);
    }
    if (rc)
        sp__spool_reader_close(&reader);
    else
        *ret = reader;
    return rc;
}

int sp__spool_reader_open(struct sp__spool_reader *ret, const char *path, uint64_t end,
                          struct sp__identity *ret_identity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd < 0 ? -errno : sp__spool_reader_open_fd(ret, fd, end, ret_identity);
}
