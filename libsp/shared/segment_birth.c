/* segment_birth.c: making a segment that is complete before it has a name, and reserving its memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "instant.h"
#include "names.h"
#include "segment.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { SHM_PATH_SIZE = 288 };

static const uint64_t POOL_MOST = 64U << 20; /* statistics and strings */
static const uint64_t POOL_LEAST = 2U << 20;
static const uint32_t LANES_LEAST = 8;
static const int TRIES_MOST = 32; /* newcomers over dead segments of one name */
static const uint64_t NAME_WAIT_NS = 1000000000U;

struct plan {
    uint64_t lanes_offset;
    uint64_t regions_offset;
    uint64_t heap_offset;
    uint64_t size;
    uint32_t lanes;
};

static uint64_t pages(uint64_t length)
{
    return (length + SP__PAGE - 1) & ~(uint64_t)(SP__PAGE - 1);
}

/* Address space of a lane: ring, open stack, the directory of its statistics, and the first blocks of those. */
static uint64_t lane_space(uint64_t ring)
{
    return pages(ring * sizeof(struct sp__record)) + pages(SP__STACK_MOST * sizeof(struct sp__open)) +
           pages(SP__BANKS * SP__STATS_BLOCKS * sizeof(uint64_t)) +
           SP__BANKS * pages(SP__STATS_REGIONS * sizeof(struct sp__stats));
}

/* Address space that one segment may take: a quarter of a finite RLIMIT_AS, and no more than RLIMIT_FSIZE, since a file
 * made longer than that brings SIGXFSZ. */
static uint64_t space_limit(void)
{
    uint64_t limit = (uint64_t)1 << 46;
    struct rlimit r;
    if (getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY && r.rlim_cur / 4 < limit)
        limit = r.rlim_cur / 4;
    if (getrlimit(RLIMIT_FSIZE, &r) == 0 && r.rlim_cur != RLIM_INFINITY && r.rlim_cur < limit)
        limit = r.rlim_cur;
    return limit;
}

/* The largest plan within `limit`: fewer lanes first, then less for strings, then shorter rings. 0 or -ENOMEM. */
static int make_plan(const struct sp__birth *birth, uint64_t limit, struct plan *ret)
{
    uint32_t lanes = birth->lanes < 1 ? 1 : birth->lanes > SP__LANES ? SP__LANES : birth->lanes;
    uint64_t ring = birth->ring < SP__RING_LEAST ? SP__RING_LEAST : birth->ring;
    uint64_t pool = POOL_MOST;
    ret->lanes_offset = pages(sizeof(struct sp__header));
    for (;;) {
        ret->lanes = lanes;
        ret->regions_offset = ret->lanes_offset + pages(lanes * sizeof(struct sp__lane));
        ret->heap_offset = ret->regions_offset + pages(SP__REGIONS * sizeof(struct sp__region));
        ret->size = ret->heap_offset + lanes * lane_space(ring) + pool;
        if (ret->size <= limit)
            return 0;
        if (lanes > LANES_LEAST)
            lanes = lanes / 2 < LANES_LEAST ? LANES_LEAST : lanes / 2;
        else if (pool > POOL_LEAST)
            pool /= 2;
        else if (ring > SP__RING_LEAST)
            ring /= 2;
        else
            return -ENOMEM;
    }
}

/* fallocate, which tmpfs undoes and refuses with EINTR when a signal comes: by small steps where signals come often. */
static int reserve_blocks(int fd, uint64_t offset, uint64_t length)
{
    for (int tries = 0; tries < 8; tries++) {
        if (fallocate(fd, 0, (off_t)offset, (off_t)length) == 0)
            return 0;
        if (errno != EINTR)
            return -errno;
    }
    const uint64_t step = 16 * SP__PAGE;
    while (length > 0) {
        uint64_t part = length < step ? length : step;
        if (fallocate(fd, 0, (off_t)offset, (off_t)part) == 0) {
            offset += part;
            length -= part;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    return 0;
}

/* What is reserved at birth: the header with the first page of the lane table, and the first page of the region table.
 * Further pages are reserved as lanes are claimed and regions registered. */
static int reserve_first(int fd, const struct plan *plan)
{
    int error = reserve_blocks(fd, 0, plan->lanes_offset + SP__PAGE);
    return error ? error : reserve_blocks(fd, plan->regions_offset, SP__PAGE);
}

/* Without access at first: a program under mlockall(MCL_FUTURE) would otherwise have all of the sparse file filled and
 * locked. In no child: a child's mapping would keep the lock on byte 0 and hide its parent's death. */
static int map_private_to_process(int fd, uint64_t size, unsigned char **ret)
{
    void *map = mmap(NULL, size, PROT_NONE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return errno == EAGAIN ? -ENOMEM : -errno;
    (void)munlock(map, size);
    (void)madvise(map, size, MADV_DONTDUMP);
    if (madvise(map, size, MADV_DONTFORK) < 0 || mprotect(map, size, PROT_READ | PROT_WRITE) < 0) {
        int error = -errno;
        munmap(map, size);
        return error;
    }
    *ret = map;
    return 0;
}

static void fill(unsigned char *map, const struct plan *plan, const struct sp__birth *birth)
{
    struct sp__header *header = (void *)map;
    header->magic = SP__MAGIC;
    header->abi_major = SP__ABI_MAJOR;
    header->abi_minor = SP__ABI_MINOR;
    header->byte_order = SP__BYTE_ORDER;
    header->header_size = sizeof *header;
    header->segment_size = plan->size;
    header->lanes_offset = plan->lanes_offset;
    header->regions_offset = plan->regions_offset;
    header->heap_offset = plan->heap_offset;
    header->lane_capacity = plan->lanes;
    header->lane_stride = sizeof(struct sp__lane);
    header->region_capacity = SP__REGIONS;
    header->region_stride = sizeof(struct sp__region);
    header->record_size = sizeof(struct sp__record);
    header->stack_entry_size = sizeof(struct sp__open);
    header->stats_entry_size = sizeof(struct sp__stats);
    header->stats_block_regions = SP__STATS_REGIONS;
    header->identity = birth->identity;
    atomic_init(&header->state, SP__RECORDING);
    atomic_init(&header->format, birth->format);
    atomic_init(&header->heap_next, plan->heap_offset);
}

/* An unnamed file, sized, reserved, mapped, filled, and locked on byte 0. Killed anywhere in here, nothing is left. */
static int make_unnamed(const struct sp__birth *birth, struct sp__born *born, int *ret_fd, uint64_t *ret_need)
{
    int fd = open(SP__SHM_DIR, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    struct plan plan;
    struct stat stat;
    uint64_t limit = space_limit();
    int error = fchmod(fd, 0600) < 0 || fstat(fd, &stat) < 0 ? -errno : 0; /* whatever the umask is */
    if (!error)
        error = make_plan(birth, limit, &plan);
    if (!error) {
        *ret_need = plan.lanes_offset + 2 * SP__PAGE + lane_space(birth->ring);
        for (;;) {
            error = ftruncate(fd, (off_t)plan.size) < 0 ? -errno : map_private_to_process(fd, plan.size, &born->map);
            if (error != -ENOMEM || make_plan(birth, plan.size / 2, &plan) < 0)
                break;
        }
    }
    if (error) {
        close(fd);
        return error;
    }
    error = reserve_first(fd, &plan);
    if (!error) {
        fill(born->map, &plan, birth);
        error = sp__lock_take(fd, SP__BYTE_PRODUCER);
    }
    if (error) {
        munmap(born->map, plan.size);
        close(fd);
        return error;
    }
    born->size = plan.size;
    born->dev = stat.st_dev;
    born->ino = stat.st_ino;
    *ret_fd = fd;
    return 0;
}

static bool same_file(int fd, dev_t dev, ino_t ino)
{
    struct stat stat;
    return fstat(fd, &stat) == 0 && stat.st_dev == dev && stat.st_ino == ino;
}

/* 1: the segment behind `fd` has a living owner who may still record; 0: it is over; -errno. */
static int in_use(int fd)
{
    int held = sp__lock_held(fd, SP__BYTE_PRODUCER);
    if (held <= 0)
        return held;
    uint32_t state = 0;
    if (pread(fd, &state, sizeof state, (off_t)offsetof(struct sp__header, state)) != (ssize_t)sizeof state)
        return 1;
    return state != SP__FINALIZED && state != SP__DISCARDED;
}

static int take_name_lock(int fd)
{
    for (uint64_t start = sp__clock_mono();;) {
        int error = sp__lock_take(fd, SP__BYTE_NAME);
        if (error != -EAGAIN)
            return error;
        if (sp__clock_mono() - start > NAME_WAIT_NS)
            return -EBUSY;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

/* Frees the name of a dead segment. The description opened here holds byte 2 while bury works, so that one newcomer at
 * a time buries, and only what the name leads to. bury drains and then unlinks or moves aside through the same
 * description (or a duplicate of it, which it may close): to that, its own byte 2 is no obstacle. Closing the
 * description releases what it still holds. 0: try the name again; -EEXIST: taken by the living; -errno. */
static int clear_name(const char *path, const char *name, int (*bury)(int fd, const char *name))
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : errno == ELOOP || errno == EISDIR || errno == ENXIO ? -EACCES : -errno;
    struct stat opened, named;
    int error = 0;
    if (fstat(fd, &opened) < 0)
        error = -errno;
    else if (!S_ISREG(opened.st_mode) || opened.st_uid != geteuid())
        error = -EACCES;
    if (!error) {
        int used = in_use(fd); /* before the wait for byte 2, so that a rank in use is refused at once */
        error = used > 0 ? -EEXIST : used;
    }
    if (!error)
        error = take_name_lock(fd);
    if (!error) {
        int used = in_use(fd);
        error = used > 0 ? -EEXIST : used;
        if (!error && lstat(path, &named) == 0 && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino)
            error = bury(fd, name);
    }
    close(fd);
    return error;
}

static int link_name(int fd, const char *path)
{
    char self[64];
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
        return 0;
    if (errno != ENOENT) /* else there is no /proc, or the folder has just gone */
        return -errno;
    return linkat(fd, "", AT_FDCWD, path, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

static int take_name(int fd, const char *path, const char *name, int (*bury)(int fd, const char *name))
{
    for (int tries = 0; tries < TRIES_MOST; tries++) {
        int error = link_name(fd, path);
        if (error != -EEXIST)
            return error;
        error = clear_name(path, name, bury);
        if (error)
            return error;
    }
    return -EBUSY;
}

/* The description that is kept. Through the real name, because inotify reports what was opened through /proc under the
 * unnamed file's own name; through /proc where the name has gone already. */
static int open_kept(int locked, const char *path, const struct sp__born *born)
{
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && !same_file(fd, born->dev, born->ino)) {
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        char self[64];
        (void)snprintf(self, sizeof self, "/proc/self/fd/%d", locked);
        fd = open(self, O_RDWR | O_CLOEXEC);
    }
    if (fd < 0)
        return -errno;
    /* Out of the way of programs that count on the lowest numbers. */
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 64);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

int sp__segment_create(const struct sp__birth *birth, int (*bury)(int fd, const char *name), struct sp__born *ret,
                       uint64_t *ret_need)
{
    struct sp__born born = {.fd = -1};
    char path[SHM_PATH_SIZE];
    int locked = -1;
    int error = sp__segment_name(&birth->identity, born.name, sizeof born.name);
    if (error)
        return error;
    (void)snprintf(path, sizeof path, "%s/%s", SP__SHM_DIR, born.name);
    *ret_need = 0;
    error = make_unnamed(birth, &born, &locked, ret_need);
    if (error)
        return error;
    SP__INSTANT(birth_locked);
    error = take_name(locked, path, born.name, bury);
    if (!error) {
        SP__INSTANT(birth_linked);
        born.fd = open_kept(locked, path, &born);
        if (born.fd < 0) {
            struct stat stat;
            error = born.fd;
            /* Byte 0 is ours, so that nobody else frees this name. */
            if (lstat(path, &stat) == 0 && stat.st_dev == born.dev && stat.st_ino == born.ino)
                unlink(path);
        }
    }
    SP__INSTANT(birth_kept);
    close(locked); /* the mapping alone keeps the description, and with it the lock on byte 0 */
    if (error) {
        munmap(born.map, born.size);
        return error;
    }
    *ret = born;
    return 0;
}

bool sp__born_fd_good(const struct sp__born *born)
{
    return born->fd >= 0 && same_file(born->fd, born->dev, born->ino);
}

void sp__born_finish(struct sp__born *born)
{
    if (sp__born_fd_good(born))
        close(born->fd);
    if (born->map)
        munmap(born->map, born->size);
    born->map = NULL;
    born->fd = -1;
}

/* Faults every page in through the mapping: never a SIGBUS, an error where there is no block. 0 or -errno. */
static int populate(unsigned char *from, uint64_t length)
{
    int error;
    do
        error = madvise(from, length, MADV_POPULATE_WRITE) < 0 ? -errno : 0;
    while (error == -EINTR || error == -EAGAIN);
    return error == -EFAULT || error == -ENOMEM ? -ENOSPC : error; /* EFAULT: what would have been a SIGBUS */
}

int sp__born_reserve(struct sp__born *born, uint64_t offset, uint64_t length, bool touch)
{
    if (length == 0)
        return 0;
    if (offset > born->size || length > born->size - offset)
        return -ENOSPC;
    uint64_t end = pages(offset + length);
    offset &= ~(uint64_t)(SP__PAGE - 1);
    if (!sp__born_fd_good(born)) {
        int error = populate(born->map + offset, end - offset);
        return error == -EINVAL ? -EBADF : error; /* an older kernel: there is no safe way left */
    }
    int error = reserve_blocks(born->fd, offset, end - offset);
    if (error || !touch)
        return error;
    if (populate(born->map + offset, end - offset) != 0) {
        /* An add of 0 faults a page in and changes nothing that another thread may be writing. */
        for (uint64_t at = offset; at < end; at += SP__PAGE)
            (void)__atomic_fetch_add(born->map + at, 0, __ATOMIC_RELAXED);
    }
    return 0;
}

uint64_t sp__heap_take(struct sp__header *header, uint64_t length)
{
    uint64_t size = header->segment_size;
    uint64_t at = atomic_load_explicit(&header->heap_next, memory_order_relaxed);
    if (length == 0 || length > size)
        return 0;
    length = pages(length);
    do {
        if (at > size || length > size - at)
            return 0;
        /* Relaxed: the word only hands out distinct ranges; what lies in them is published by the owner's own stores.
         */
    } while (!atomic_compare_exchange_weak_explicit(&header->heap_next, &at, at + length, memory_order_relaxed,
                                                    memory_order_relaxed));
    return at;
}
