/* segment.c: opening and checking a segment, its locks, and its name. */
#include "segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "instant.h"
#include "names.h"
#include "pages.h"

static void (*tell_mapped)(void *start, size_t length);
static void (*tell_unmapping)(void *start);

void sp__segment_watch(void (*mapped)(void *start, size_t length), void (*unmapping)(void *start))
{
    tell_mapped = mapped;
    tell_unmapping = unmapping;
}

static int lock_call(int fd, int command, short type, int byte, short *ret_type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    while (fcntl(fd, command, &lock) < 0) {
        if (errno != EINTR)
            return errno == EACCES ? -EAGAIN : -errno;
    }
    if (ret_type)
        *ret_type = lock.l_type;
    return 0;
}

int sp__lock_take(int fd, int byte)
{
    return lock_call(fd, F_OFD_SETLK, F_WRLCK, byte, NULL);
}

int sp__lock_release(int fd, int byte)
{
    return lock_call(fd, F_OFD_SETLK, F_UNLCK, byte, NULL);
}

int sp__lock_held(int fd, int byte)
{
    short type = F_UNLCK;
    int error = lock_call(fd, F_OFD_GETLK, F_WRLCK, byte, &type);
    return error ? error : type != F_UNLCK;
}

static int read_exactly(int fd, uint64_t offset, void *buffer, size_t length)
{
    unsigned char *at = buffer;
    while (length > 0) {
        ssize_t got = pread(fd, at, length, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return -EBADMSG;
        at += got;
        offset += (uint64_t)got;
        length -= (size_t)got;
    }
    return 0;
}

int sp__segment_read(const struct sp__segment *segment, uint64_t offset, void *buffer, size_t length)
{
    if (offset > segment->size || length > segment->size - offset)
        return -EBADMSG;
    return read_exactly(segment->fd, offset, buffer, length);
}

/* The constant words at the beginning of a header, as another version may have written them. */
#define SP__HEAD_SIZE offsetof(struct sp__header, identity)

/* SP__SHM_DIR, a name, and the suffix of one moved aside. Small: threads of the program have small stacks. */
enum { SHM_PATH_SIZE = 288 };

/* Markers that a thread puts into its ring in one go. */
enum { LOOK_BACK = 4 };

/* True when `count` things of `stride` bytes at `offset` end by `limit`. */
static bool fits(uint64_t offset, uint64_t count, uint64_t stride, uint64_t limit)
{
    return offset <= limit && count <= (limit - offset) / stride;
}

/* What is wrong with the sizes and places that a header states, or NULL. */
static const char *fault_of(const struct sp__header *head, uint64_t file_size)
{
    if (head->byte_order != SP__BYTE_ORDER)
        return "its byte order is another machine's";
    if (head->header_size < sizeof(struct sp__header))
        return "its header is too short";
    if (head->segment_size > (uint64_t)INT64_MAX || head->segment_size % SP__PAGE)
        return "its size is not one that a segment can have";
    if (head->segment_size > file_size)
        return "the file was cut short";
    if (head->lane_stride != sizeof(struct sp__lane) || head->region_stride != sizeof(struct sp__region) ||
        head->record_size != sizeof(struct sp__record) || head->stack_entry_size != sizeof(struct sp__open) ||
        head->stats_entry_size != sizeof(struct sp__stats) || head->stats_block_regions != SP__STATS_REGIONS)
        return "its entries have other sizes";
    if (head->lane_capacity < 1 || head->lane_capacity > SP__LANES || head->region_capacity < 1 ||
        head->region_capacity > SP__REGIONS)
        return "its tables have impossible lengths";
    if (head->lanes_offset % SP__PAGE || head->regions_offset % SP__PAGE || head->heap_offset % SP__PAGE)
        return "its parts do not begin on pages";
    if (head->lanes_offset < head->header_size ||
        !fits(head->lanes_offset, head->lane_capacity, head->lane_stride, head->regions_offset) ||
        !fits(head->regions_offset, head->region_capacity, head->region_stride, head->heap_offset) ||
        head->heap_offset >= head->segment_size)
        return "its parts overlap or lie outside";
    return NULL;
}

static int refuse(int error, char ret_why[256], const char *name, const char *why)
{
    if (ret_why)
        (void)snprintf(ret_why, 256, "%s/%s is not a sound segment: %s", SP__SHM_DIR, name, why);
    return error;
}

static int check_file(int fd, const char *name, struct stat *ret, char ret_why[256])
{
    if (fstat(fd, ret) < 0)
        return -errno;
    if (!S_ISREG(ret->st_mode))
        return refuse(-EBADMSG, ret_why, name, "it is not a regular file");
    if (ret->st_uid != geteuid() || (ret->st_mode & 0077)) {
        if (ret_why)
            (void)snprintf(ret_why, 256, "%s/%s is left alone: %s", SP__SHM_DIR, name,
                           ret->st_uid != geteuid() ? "it is another user's" : "other users may open it");
        return -EACCES;
    }
    return 0;
}

static int check_head(int fd, const char *name, uint64_t file_size, struct sp__header *head, char ret_why[256])
{
    int error = read_exactly(fd, 0, head, SP__HEAD_SIZE);
    if (error)
        return error == -EBADMSG ? refuse(error, ret_why, name, "it is too short for a header") : error;
    if (head->magic != SP__MAGIC)
        return refuse(-EBADMSG, ret_why, name, "it does not begin as one");
    if (head->abi_major != SP__ABI_MAJOR) {
        if (ret_why)
            (void)snprintf(ret_why, 256, "%s/%s has segment version %u.%u, this program reads %u.%u; it is left alone",
                           SP__SHM_DIR, name, head->abi_major, head->abi_minor, SP__ABI_MAJOR, SP__ABI_MINOR);
        return -EPROTONOSUPPORT;
    }
    const char *fault = fault_of(head, file_size);
    return fault ? refuse(-EBADMSG, ret_why, name, fault) : 0;
}

static void terminate_strings(struct sp__identity *identity)
{
    identity->session[sizeof identity->session - 1] = '\0';
    identity->hostname[sizeof identity->hostname - 1] = '\0';
    identity->boot_id[sizeof identity->boot_id - 1] = '\0';
    identity->prefix[sizeof identity->prefix - 1] = '\0';
}

/* A header that names another session, rank or user than the file's name was written over: its records would go where
 * somebody else's are. A dead one may have been moved aside, which adds to the name. */
static bool names_itself(const struct sp__identity *identity, const char *name)
{
    char own[256];
    if (sp__segment_name(identity, own, sizeof own))
        return false;
    size_t length = strlen(own);
    return strncmp(name, own, length) == 0 && (!name[length] || strncmp(name + length, ".d", 2) == 0);
}

/* Reads and checks all that is constant, into `head`, and maps. By pread, not from the mapping: a file that is cut
 * short at this moment is an error here, not a SIGBUS. */
static int open_with(struct sp__header *head, struct sp__segment *ret, int fd, const char *name, bool writable,
                     char ret_why[256])
{
    struct stat stat;
    int error = check_file(fd, name, &stat, ret_why);
    if (!error)
        error = check_head(fd, name, (uint64_t)stat.st_size, head, ret_why);
    if (!error)
        error = read_exactly(fd, offsetof(struct sp__header, identity), &head->identity, sizeof head->identity);
    if (error)
        return error;
    terminate_strings(&head->identity);
    if (!names_itself(&head->identity, name))
        return refuse(-EBADMSG, ret_why, name, "its header and its name do not agree");

    void *map = mmap(NULL, head->regions_offset, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    if (tell_mapped)
        tell_mapped(map, head->regions_offset);
    *ret = (struct sp__segment){.fd = fd,
                                .header = map,
                                .lanes = (void *)((unsigned char *)map + head->lanes_offset),
                                .mapped = head->regions_offset,
                                .size = head->segment_size,
                                .lane_capacity = head->lane_capacity,
                                .region_capacity = head->region_capacity,
                                .regions_offset = head->regions_offset,
                                .identity = head->identity,
                                .dev = stat.st_dev,
                                .ino = stat.st_ino};
    (void)snprintf(ret->name, sizeof ret->name, "%s", name);
    return 0;
}

int sp__segment_open_fd(struct sp__segment *ret, int fd, const char *name, bool writable, char ret_why[256])
{
    if (ret_why)
        ret_why[0] = '\0';
    if (strlen(name) >= sizeof ret->name)
        return -ENAMETOOLONG;
    struct sp__header *head = sp__pages_take(sizeof *head);
    if (!head)
        return -ENOMEM;
    int error = open_with(head, ret, fd, name, writable, ret_why);
    sp__pages_give(head, sizeof *head);
    return error;
}

static int shm_path(const char *name, char ret[SHM_PATH_SIZE])
{
    if (strchr(name, '/'))
        return -EINVAL;
    return snprintf(ret, SHM_PATH_SIZE, "%s/%s", SP__SHM_DIR, name) < SHM_PATH_SIZE ? 0 : -ENAMETOOLONG;
}

int sp__segment_open(struct sp__segment *ret, const char *name, bool writable, char ret_why[256])
{
    char path[SHM_PATH_SIZE];
    if (ret_why)
        ret_why[0] = '\0';
    int error = shm_path(name, path);
    if (error)
        return error;
    int fd = open(path, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ELOOP ? -EACCES : -errno;
    error = sp__segment_open_fd(ret, fd, name, writable, ret_why);
    if (error)
        close(fd);
    return error;
}

void sp__segment_close(struct sp__segment *segment)
{
    if (tell_unmapping)
        tell_unmapping(segment->header);
    munmap(segment->header, segment->mapped);
    close(segment->fd);
    *segment = (struct sp__segment){.fd = -1};
}

_Static_assert(offsetof(struct sp__lane, stats_offset) - offsetof(struct sp__lane, ring_offset) ==
                   offsetof(struct sp__lane_place, stats_offset),
               "a lane's places are copied as they stand");

uint64_t sp__segment_lane_offset(const struct sp__segment *segment, uint32_t lane)
{
    return (uint64_t)((const unsigned char *)&segment->lanes[lane] - (const unsigned char *)segment->header);
}

int sp__segment_header(const struct sp__segment *segment, struct sp__header *ret)
{
    int error = sp__segment_read(segment, 0, ret, sizeof *ret);
    atomic_thread_fence(memory_order_acquire); /* what is read after the words is not older than they are */
    ret->spool[sizeof ret->spool - 1] = '\0';
    return error;
}

int sp__segment_row(const struct sp__segment *segment, uint32_t lane, struct sp__lane *ret)
{
    if (lane >= segment->lane_capacity)
        return -EBADMSG;
    uint64_t at = sp__segment_lane_offset(segment, lane), tail;
    int error = sp__segment_read(segment, at + offsetof(struct sp__lane, tail), &tail, sizeof tail);
    atomic_thread_fence(memory_order_acquire);
    if (!error)
        error = sp__segment_read(segment, at, ret, sizeof *ret);
    if (!error)
        atomic_init(&ret->tail, tail);
    return error;
}

int sp__segment_lane(const struct sp__segment *segment, uint32_t lane, struct sp__lane_place *ret)
{
    if (lane >= segment->lane_capacity)
        return -EBADMSG;
    /* By pread, so that readers that only look never touch the mapping. */
    uint64_t at = sp__segment_lane_offset(segment, lane);
    uint32_t ready;
    int error = sp__segment_read(segment, at + offsetof(struct sp__lane, ready), &ready, sizeof ready);
    if (!error && ready != 1)
        error = -EAGAIN;
    atomic_thread_fence(memory_order_acquire); /* pairs with the producer's release of ready, after the offsets */
    /* One copy, which is what is checked. */
    struct sp__lane_place place;
    if (!error)
        error = sp__segment_read(segment, at + offsetof(struct sp__lane, ring_offset), &place, sizeof place);
    if (error)
        return error;
    uint64_t records = place.ring_records;
    uint64_t least = segment->regions_offset;
    if (records < 2 || records > SP__RING_MOST || (records & (records - 1)) || place.ring_offset < least ||
        place.stack_offset < least || place.stats_offset < least ||
        (place.ring_offset | place.stack_offset | place.stats_offset) % 8 ||
        !fits(place.ring_offset, records, sizeof(struct sp__record), segment->size) ||
        !fits(place.stack_offset, SP__STACK_MOST, sizeof(struct sp__open), segment->size) ||
        !fits(place.stats_offset, SP__BANKS * SP__STATS_BLOCKS, sizeof(uint64_t), segment->size))
        return -EBADMSG;
    *ret = place;
    return 0;
}

int sp__segment_last_call(const struct sp__segment *segment, const struct sp__lane_place *place, uint64_t head,
                          struct sp__record *ret)
{
    for (uint64_t back = 1; back <= LOOK_BACK && back <= head; back++) {
        struct sp__record record;
        uint64_t at = (head - back) & (place->ring_records - 1);
        int error = sp__segment_read(segment, place->ring_offset + at * sizeof record, &record, sizeof record);
        if (error)
            return error;
        if (record.kind == SP__CALL) {
            *ret = record;
            return 1;
        }
    }
    return 0;
}

int sp__segment_alive(const struct sp__segment *segment)
{
    return sp__lock_held(segment->fd, SP__BYTE_PRODUCER);
}

/* 1: the path is this inode's name; 0: gone, or another's; -errno. */
static int names_inode(const char *path, dev_t dev, ino_t ino)
{
    struct stat stat;
    if (lstat(path, &stat) < 0)
        return errno == ENOENT ? 0 : -errno;
    return stat.st_dev == dev && stat.st_ino == ino;
}

/* 0 when nobody records into the segment any more, -EBUSY while somebody does, -errno. */
static int check_over(const struct sp__segment *segment)
{
    int alive = sp__segment_alive(segment);
    if (alive <= 0)
        return alive;
    uint32_t state = 0;
    int error = sp__segment_read(segment, offsetof(struct sp__header, state), &state, sizeof state);
    if (error)
        return error;
    return state == SP__FINALIZED || state == SP__DISCARDED ? 0 : -EBUSY;
}

/* Unlinks the name, or renames it to `aside`.
 *
 * Everybody who does either holds byte 2 of the inode that the path names, so that between the check and the act nobody
 * else can free the name and a newcomer cannot have linked its own inode there. Byte 2 is released at the end in every
 * case, also when the description held it before (sp__segment_create hands its own to bury): after a success the name
 * no longer leads here and there is nothing left to protect, and after a failure whoever tries next takes byte 2 again
 * and checks again. Killed in between, the kernel releases it and the name is either as it was or free. */
static int free_name(const struct sp__segment *segment, const char *aside)
{
    char path[SHM_PATH_SIZE];
    int error = shm_path(segment->name, path);
    if (!error)
        error = sp__lock_take(segment->fd, SP__BYTE_NAME);
    if (error)
        return error;
    int named = names_inode(path, segment->dev, segment->ino);
    error = named < 0 ? named : 0;
    if (named == 1)
        error = check_over(segment);
    if (named == 1 && !error) {
        SP__INSTANT(name_locked);
        int failed = aside ? renameat2(AT_FDCWD, path, AT_FDCWD, aside, RENAME_NOREPLACE) : unlink(path);
        if (failed && errno != ENOENT)
            error = -errno;
        SP__INSTANT(name_free);
    }
    sp__lock_release(segment->fd, SP__BYTE_NAME);
    return error;
}

int sp__segment_unlink(const struct sp__segment *segment)
{
    return free_name(segment, NULL);
}

int sp__segment_move_aside(const struct sp__segment *segment)
{
    const uint8_t *i = segment->identity.incarnation;
    char suffix[16];
    (void)snprintf(suffix, sizeof suffix, ".d%02x%02x%02x%02x", i[0], i[1], i[2], i[3]);
    size_t length = strlen(segment->name), tail = strlen(suffix);
    if (length >= tail && strcmp(segment->name + length - tail, suffix) == 0)
        return 0;

    char aside[SHM_PATH_SIZE];
    if (length + tail >= sizeof segment->name)
        return -ENAMETOOLONG;
    (void)snprintf(aside, sizeof aside, "%s/%s%s", SP__SHM_DIR, segment->name, suffix);
    return free_name(segment, aside);
}

int sp__segment_each(uint32_t uid, int (*each)(const char *name, void *context), void *context)
{
    DIR *dir = opendir(SP__SHM_DIR);
    if (!dir)
        return -errno;
    int result = 0;
    while (!result) {
        errno = 0;
        const struct dirent *entry = readdir(dir);
        if (!entry) {
            result = -errno;
            break;
        }
        if (sp__segment_name_valid(entry->d_name, uid))
            result = each(entry->d_name, context);
    }
    closedir(dir);
    return result;
}
