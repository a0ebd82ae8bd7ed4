/* durable.c: files that appear whole or not at all, and stay after a power cut. */
#include "durable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "instant.h"
#include "names.h"

enum { TRIES_MOST = 1000, BASE_MOST = 200 }; /* a temporary's own name stays below 255 bytes */

/* The part of `path` up to and with its last slash; 0 where there is none. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

int sp__durable_begin(struct sp__durable *ret, const char *path, unsigned mode)
{
    static atomic_uint counter;
    size_t length = strlen(path);
    if (length >= sizeof ret->path)
        return -ENAMETOOLONG;
    char temporary[SP__PATH_SIZE];
    int fd = -1;
    for (int tries = 0; fd < 0; tries++) {
        /* Another node or pid namespace may use the same number in a shared folder. */
        unsigned number = atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
        int written = snprintf(temporary, sizeof temporary, "%.*s.%.*s.%d-%u.tmp", folder_length(path), path, BASE_MOST,
                               sp__base_name(path), (int)getpid(), number);
        if (written >= (int)sizeof temporary)
            return -ENAMETOOLONG;
        fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EINTR && (errno != EEXIST || tries >= TRIES_MOST))
            return -errno;
    }
    if (fchmod(fd, (mode_t)mode & 07777) < 0) { /* what was asked for, whatever the umask is */
        int error = -errno;
        unlink(temporary);
        close(fd);
        return error;
    }
    ret->fd = fd;
    memcpy(ret->path, path, length + 1);
    memcpy(ret->temporary, temporary, sizeof temporary);
    SP__INSTANT(durable_created);
    return 0;
}

static int sync_file(int fd)
{
    while (fsync(fd) < 0) {
        if (errno == EINTR)
            continue;
        /* Some file systems cannot sync a folder: there is nothing more to be had from those. */
        return errno == EINVAL || errno == EROFS ? 0 : -errno;
    }
    return 0;
}

static int sync_folder(const char *path)
{
    char folder[SP__PATH_SIZE];
    int length = folder_length(path);
    (void)snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? path : ".");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0 : -errno; /* a folder may be written and not read */
    int error = sync_file(fd);
    close(fd);
    return error;
}

void sp__durable_abandon(struct sp__durable *file)
{
    if (file->fd < 0)
        return;
    unlink(file->temporary);
    close(file->fd);
    file->fd = -1;
}

static int take_name(struct sp__durable *file, int error)
{
    if (!error && rename(file->temporary, file->path) < 0)
        error = -errno;
    if (error)
        sp__durable_abandon(file);
    return error;
}

int sp__durable_commit(struct sp__durable *file)
{
    SP__INSTANT(durable_written);
    int error = sync_file(file->fd);
    SP__INSTANT(durable_synced);
    error = take_name(file, error);
    if (error)
        return error;
    close(file->fd); /* synced: there is nothing left that could fail */
    file->fd = -1;
    SP__INSTANT(durable_renamed);
    error = sync_folder(file->path);
    SP__INSTANT(durable_folder);
    return error;
}

int sp__durable_rename(struct sp__durable *file)
{
    SP__INSTANT(durable_written);
    /* What a file system says of room and quota only now must be heard before the old file is gone. */
    int copy = dup(file->fd), error = copy < 0 || close(copy) < 0 ? -errno : 0;
    error = take_name(file, error);
    if (error)
        return error;
    close(file->fd);
    file->fd = -1;
    SP__INSTANT(durable_renamed);
    return 0;
}

static int write_whole(const char *path, const void *data, size_t length, unsigned mode,
                       int (*end)(struct sp__durable *file))
{
    struct sp__durable file;
    int error = sp__durable_begin(&file, path, mode);
    if (error)
        return error;
    for (const char *at = data; length > 0;) {
        ssize_t put = write(file.fd, at, length);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) {
            error = put < 0 ? -errno : -EIO;
            sp__durable_abandon(&file);
            return error;
        }
        at += put;
        length -= (size_t)put;
    }
    return end(&file);
}

int sp__durable_write(const char *path, const void *data, size_t length, unsigned mode)
{
    return write_whole(path, data, length, mode, sp__durable_commit);
}

int sp__durable_write_soon(const char *path, const void *data, size_t length, unsigned mode)
{
    return write_whole(path, data, length, mode, sp__durable_rename);
}
