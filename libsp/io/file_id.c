/* file_id.c: see file_id.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_id.h"

static const unsigned char hdf5_signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

int sp__file_open(int *ret_fd, struct sp__file_id *ret_id, const struct sp__file_id *expected, const char *path,
                  sp_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return sp__fail(error, errno == ENOENT || errno == ENOTDIR ? SP_ERR_NOT_FOUND : SP_ERR_SYSTEM, errno, path,
                        NULL, "cannot be opened for reading");
    struct stat s;
    if (fstat(fd, &s) || !S_ISREG(s.st_mode)) {
        int status = !S_ISREG(s.st_mode) ? sp__fail(error, SP_ERR_USAGE, 0, path, NULL, "is no regular file")
                                         : sp__fail(error, SP_ERR_SYSTEM, errno, path, NULL, "cannot be examined");
        close(fd);
        return status;
    }
    struct sp__file_id id = {s.st_dev, s.st_ino, (uint64_t)s.st_size, s.st_mtim};
    if (expected &&
        (id.dev != expected->dev || id.ino != expected->ino || id.size != expected->size ||
         id.changed.tv_sec != expected->changed.tv_sec || id.changed.tv_nsec != expected->changed.tv_nsec)) {
        close(fd);
        return sp__fail(error, SP_ERR_BUSY, 0, path, NULL,
                        "was replaced or written while it was being read; run it again");
    }
    *ret_fd = fd;
    *ret_id = id;
    return 0;
}

int sp__file_kind(const char *path, enum sp__kind_of_file *ret, sp_error *error)
{
    int fd = -1;
    struct sp__file_id id = {0};
    int status = sp__file_open(&fd, &id, NULL, path, error);
    if (status)
        return status;
    unsigned char start[8];
    ssize_t n = pread(fd, start, sizeof start, 0);
    if (n < 0) {
        status = sp__fail(error, SP_ERR_SYSTEM, errno, path, "byte 0", "cannot be read");
    } else if (n == 0) {
        *ret = SP__FILE_IS_EMPTY;
    } else if (!memcmp(start, SP_MAGIC, (size_t)n)) {
        *ret = SP__FILE_IS_TRACE;
    } else if (!memcmp(start, hdf5_signature, (size_t)n)) {
        *ret = SP__FILE_IS_HDF5;
    } else {
        /* HDF5 also looks at 512, 1024, 2048, ...: a user block may stand before it. */
        *ret = SP__FILE_IS_OTHER;
        for (uint64_t at = 512; at < id.size && *ret == SP__FILE_IS_OTHER; at *= 2)
            if (pread(fd, start, sizeof start, (off_t)at) == (ssize_t)sizeof start &&
                !memcmp(start, hdf5_signature, sizeof start))
                *ret = SP__FILE_IS_HDF5;
    }
    close(fd);
    return status;
}
