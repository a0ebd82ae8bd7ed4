/* file_id.c: see file_id.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_id.h"

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
