/* segment.h: a segment's birth, opening, locks and name. No drain, no recording. */
#ifndef SP__SEGMENT_H
#define SP__SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "layout.h"

/* Open-file-description locks on one byte. */
int sp__lock_take(int fd, int byte);    /* 0, -EAGAIN when somebody else has it, -errno (ENOLCK: none to be had) */
int sp__lock_release(int fd, int byte); /* 0 or -errno */
int sp__lock_held(int fd, int byte);    /* 1 held through another description, 0 free, -errno */

/* What a newborn segment is to be. */
struct sp__birth {
    struct sp__identity identity; /* complete, incarnation and birth anchor included */
    uint32_t lanes;               /* at most SP__LANES */
    uint32_t ring;                /* records wanted per lane: only decides the size of the address space */
    uint32_t format;
};

/* The program's own side of a segment. */
struct sp__born {
    unsigned char *map; /* MADV_DONTFORK; holds the lock on byte 0 for as long as it stands */
    size_t size;
    int fd; /* without a lock; opened through the segment's name so that inotify names it; O_CLOEXEC, number >= 64
               where possible */
    dev_t dev;
    ino_t ino;
    char name[256]; /* below SP__SHM_DIR */
};

/* Makes, reserves, fills, locks, links and maps a segment; an existing dead one of that name is drained or moved aside
 * first by `bury` (called with an open description of it, byte 2 locked through `fd`; it must leave the name free and
 * return 0). bury does not close `fd`: it works on a duplicate (F_DUPFD_CLOEXEC), which shares the description and its
 * locks, so that sp__segment_unlink and sp__segment_move_aside take byte 2 again without waiting for themselves. 0;
 * -EEXIST: byte 0 of that name is held (rank in use); -ENOSPC, -ENOENT, -EROFS, -EACCES: SP__SHM_DIR cannot take it,
 * `ret_need` bytes were wanted; other -errno. Nothing is left behind on failure. */
int sp__segment_create(const struct sp__birth *birth, int (*bury)(int fd, const char *name), struct sp__born *ret,
                       uint64_t *ret_need);

/* Unmaps and closes: the lock on byte 0 goes. The name stays. */
void sp__born_finish(struct sp__born *born);

/* True while born->fd still is the segment (its number may have been closed and taken by somebody else's file). */
bool sp__born_fd_good(const struct sp__born *born);

/* Reserves [offset, offset + length) with fallocate, or MADV_POPULATE_WRITE where the descriptor is lost; touches it
 * where `touch`. 0 or -errno (-ENOSPC). Async-signal-safe. */
int sp__born_reserve(struct sp__born *born, uint64_t offset, uint64_t length, bool touch);

/* Takes `length` bytes (rounded up to pages) of address space from the heap; nothing is reserved. 0 when full. */
uint64_t sp__heap_take(struct sp__header *header, uint64_t length);

/* A reader's or consumer's side. Only [0, regions_offset) is mapped, shared and writable where asked. Every size and
 * offset below was copied and checked once against the file at open; shared memory is not asked again. */
struct sp__segment {
    int fd;
    struct sp__header *header;
    struct sp__lane *lanes;
    size_t mapped;
    uint64_t size;
    uint32_t lane_capacity;
    uint32_t region_capacity;
    uint64_t regions_offset;
    struct sp__identity identity; /* a copy, strings terminated */
    dev_t dev;
    ino_t ino;
    char name[256];
};

/* Opens SP__SHM_DIR/name (O_NOFOLLOW). 0; -ENOENT; -EACCES: another user's; -EPROTONOSUPPORT: another ABI version,
 * which `ret_why` (256 bytes, may be NULL) words with both versions; -EBADMSG: not a segment or inconsistent, worded
 * too; other -errno. */
int sp__segment_open(struct sp__segment *ret, const char *name, bool writable, char ret_why[256]);

/* The same from a descriptor (kept open on success; its caller closes it on failure). */
int sp__segment_open_fd(struct sp__segment *ret, int fd, const char *name, bool writable, char ret_why[256]);
void sp__segment_close(struct sp__segment *segment);

/* For a process that has to outlive a segment that is cut short under its mapping: `mapped` is told of every mapping
 * before it is read, `unmapping` when it is not read any more. Any thread that opens or closes calls them. Set once,
 * before the first is opened. */
void sp__segment_watch(void (*mapped)(void *start, size_t length), void (*unmapping)(void *start));

/* pread of the segment: exactly `length` bytes or -EBADMSG (outside, or the file was cut short), or -errno. */
int sp__segment_read(const struct sp__segment *segment, uint64_t offset, void *buffer, size_t length);

/* A lane's places, copied from shared memory once and checked. -EAGAIN: not ready yet; -EBADMSG: out of bounds. */
struct sp__lane_place {
    uint64_t ring_offset;
    uint64_t ring_records;
    uint64_t stack_offset;
    uint64_t stats_offset;
};
int sp__segment_lane(const struct sp__segment *segment, uint32_t lane, struct sp__lane_place *ret);

/* For readers that only look: the words of the header, and a lane's row, as they stand now, by sp__segment_read. The
 * tail is the oldest of a row's words, so that head never lies below it but for damage. */
int sp__segment_header(const struct sp__segment *segment, struct sp__header *ret);
int sp__segment_row(const struct sp__segment *segment, uint32_t lane, struct sp__lane *ret);

/* Where a lane's row is. */
uint64_t sp__segment_lane_offset(const struct sp__segment *segment, uint32_t lane);

/* The newest call in the ring below `head`, a few markers above it passed over. 1; 0: none found; -errno. A thread that
 * dies between publishing a record and closing the call leaves that call open too. */
int sp__segment_last_call(const struct sp__segment *segment, const struct sp__lane_place *place, uint64_t head,
                          struct sp__record *ret);

/* 1: byte 0 is held; 0: the producer is gone; -errno. */
int sp__segment_alive(const struct sp__segment *segment);

/* Removes the name, or renames it to "<name>.d<8 hex of the incarnation>": takes byte 2, checks that byte 0 is free or
 * the state is FINALIZED or DISCARDED and that the path still names this inode, then acts. 0 (also when the name was
 * gone or somebody else's already), -EAGAIN: byte 2 is held; -EBUSY: the producer lives; -EBADF: opened read-only;
 * -errno. Byte 2 is released in every case. A segment that was moved aside has another name from then on: open that. */
int sp__segment_unlink(const struct sp__segment *segment);
int sp__segment_move_aside(const struct sp__segment *segment);

/* Calls `each` for every name in SP__SHM_DIR that sp__segment_name_valid accepts, until it returns non-zero, which is
 * returned. -errno when the folder cannot be read. */
int sp__segment_each(uint32_t uid, int (*each)(const char *name, void *context), void *context);

#endif
