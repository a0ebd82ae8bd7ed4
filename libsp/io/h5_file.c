/* h5_file.c: how HDF5 writes to a file that is ours: through the descriptor of the temporary, and never told of a
 * failure. HDF5 cannot close a file that it cannot write (it keeps it and falls over it at exit), while a temporary
 * that is thrown away need not be written. So the first failure is noted, with its errno, and all later writing is
 * skipped. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "h5_out.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

struct target {
    int fd;
    int *error; /* 0, or the first errno */
};

struct open_file {
    H5FD_t pub; /* HDF5's own, first */
    struct target target;
    haddr_t allocated, end;
};

static H5FD_t *open_target(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    const struct target *target = H5Pget_driver_info(access);
    struct open_file *file = calloc(1, sizeof *file);
    struct stat now;
    (void)name;
    (void)flags;
    (void)most;
    if (!file || !target || fstat(target->fd, &now) < 0) {
        free(file);
        return NULL;
    }
    file->target = *target;
    file->end = (haddr_t)now.st_size;
    return &file->pub;
}

static herr_t close_target(H5FD_t *pub)
{
    free(pub); /* the descriptor is not HDF5's to close */
    return 0;
}

static herr_t query(const H5FD_t *pub, unsigned long *ret_features)
{
    (void)pub;
    *ret_features = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
                    H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

static haddr_t get_allocated(const H5FD_t *pub, H5FD_mem_t type)
{
    (void)type;
    return ((const struct open_file *)pub)->allocated;
}

static herr_t set_allocated(H5FD_t *pub, H5FD_mem_t type, haddr_t at)
{
    (void)type;
    ((struct open_file *)pub)->allocated = at;
    return 0;
}

static haddr_t get_end(const H5FD_t *pub, H5FD_mem_t type)
{
    (void)type;
    return ((const struct open_file *)pub)->end;
}

static herr_t read_some(H5FD_t *pub, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size, void *buffer)
{
    const struct open_file *file = (const struct open_file *)pub;
    char *to = buffer;
    (void)type;
    (void)transfer;
    while (size) {
        ssize_t n = pread(file->target.fd, to, size, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0) {
            memset(to, 0, size);
            return 0;
        }
        to += n;
        at += (haddr_t)n;
        size -= (size_t)n;
    }
    return 0;
}

static herr_t write_some(H5FD_t *pub, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size, const void *buffer)
{
    struct open_file *file = (struct open_file *)pub;
    (void)type;
    (void)transfer;
    if (!*file->target.error)
        *file->target.error = -sp__write_at(file->target.fd, buffer, size, at);
    file->end = at + size > file->end ? at + size : file->end;
    return 0;
}

static herr_t truncate_to_allocated(H5FD_t *pub, hid_t transfer, hbool_t closing)
{
    struct open_file *file = (struct open_file *)pub;
    (void)transfer;
    (void)closing;
    if (file->end != file->allocated && !*file->target.error && ftruncate(file->target.fd, (off_t)file->allocated) < 0)
        *file->target.error = errno;
    file->end = file->allocated;
    return 0;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)600,
#endif
    .name = "scope_profiler",
    .maxaddr = ((haddr_t)1 << 62) - 1,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(struct target),
    .open = open_target,
    .close = close_target,
    .query = query,
    .get_eoa = get_allocated,
    .set_eoa = set_allocated,
    .get_eof = get_end,
    .read = read_some,
    .write = write_some,
    .truncate = truncate_to_allocated,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t sp__h5_access(int fd, int *ret_error)
{
    static hid_t registered = -1; /* under sp__h5_lock; gone where the program closed the library meanwhile */
    struct target target = {fd, ret_error};
    if (registered < 0 || H5Iis_valid(registered) <= 0)
        registered = H5FDregister(&driver);
    hid_t access = registered < 0 ? -1 : H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 && H5Pset_driver(access, registered, &target) < 0) {
        H5Pclose(access);
        access = -1;
    }
    return access;
}
