/* format.c: see format.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "file_id.h"
#include "format.h"
#include "inputs.h"
#include "names.h"

static int open_profile(sp_inputs *inputs, const char *path, sp_error *error)
{
    return sp__open_h5(inputs, path, -1, error);
}

static int open_spool(sp_inputs *inputs, const char *path, sp_error *error)
{
    return sp__open_spools(inputs, &path, NULL, 1, NULL, error);
}

static const struct sp__file_type formats[] = {
    {.suffix = SP_TRACE_SUFFIX,
     .magic = SP_MAGIC,
     .length = sizeof SP_MAGIC - 1,
     .open = sp__open_trace,
     .check = sp__check_trace},
    {.suffix = SP_HDF5_SUFFIX,
     .magic = "\x89HDF\r\n\x1a\n",
     .length = 8,
     .further = true,
     .open = open_profile,
     .check = sp__check_h5},
    {.suffix = SP__SPOOL_SUFFIX, .magic = "SPFR", .length = 4, .open = open_spool, .check = sp__check_spool},
};
enum { FORMATS = sizeof formats / sizeof *formats, START = 8 };

/* By what stands at byte `at`; NULL: nothing that is known there. `cut`: a beginning of a magic is enough. */
static const struct sp__file_type *look(int fd, uint64_t at, bool cut, int *ret_errno)
{
    char start[START];
    ssize_t n = pread(fd, start, sizeof start, (off_t)at);
    if (n < 0)
        *ret_errno = errno;
    for (size_t i = 0; n > 0 && i < FORMATS; i++) {
        const struct sp__file_type *format = &formats[i];
        size_t length = cut && (size_t)n < format->length ? (size_t)n : format->length;
        if ((!at || format->further) && (size_t)n >= length && !memcmp(start, format->magic, length))
            return format;
    }
    return NULL;
}

static const struct sp__file_type *by_name(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < FORMATS; i++) {
        size_t suffix = strlen(formats[i].suffix);
        if (length > suffix && !strcmp(path + length - suffix, formats[i].suffix))
            return &formats[i];
    }
    return NULL;
}

int sp__file_type_of(const struct sp__file_type **ret, const char *path, sp_error *error)
{
    int fd, code = 0;
    struct sp__file_id id;
    int status = sp__file_open(&fd, &id, NULL, path, error);
    if (status)
        return status;
    const struct sp__file_type *found = look(fd, 0, false, &code);
    for (uint64_t at = 512; !code && !found && at < id.size && at <= INT64_MAX / 2; at *= 2)
        found = look(fd, at, false, &code);
    if (!found)
        found = by_name(path);
    if (!found)
        found = look(fd, 0, true, &code);
    close(fd);
    if (code)
        return sp__fail(error, SP_ERR_SYSTEM, code, path, "byte 0", "cannot be read");
    if (!found)
        return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, "byte 0",
                        "%snot a trace (it does not begin with " SP_MAGIC "), not HDF5 and not a spool",
                        id.size ? "" : "empty: ");
    *ret = found;
    return 0;
}
