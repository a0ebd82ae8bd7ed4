/* trace_file.c: see trace_file.h. */
#include <byteswap.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace_file.h"

enum { HEAD_BYTES = 24, REGION_LEAST = 4, CALL_BYTES = 16 };

__attribute__((format(printf, 4, 5))) static int bad(const struct sp__trace_file *file, uint64_t at, sp_error *error,
                                                     const char *format, ...)
{
    char place[32], text[512];
    snprintf(place, sizeof place, "byte %" PRIu64, at);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return sp__fail(error, SP_ERR_TRACE_FORMAT, 0, file->path, place, "%s", text);
}

static int read_at(struct sp__trace_file *file, uint64_t at, void *buffer, size_t length, sp_error *error)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = pread(file->fd, (char *)buffer + done, length - done, (off_t)(at + done));
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (n == 0)
            return bad(file, at + done, error, "truncated while it was being read");
        if (errno != EINTR) {
            char place[32];
            snprintf(place, sizeof place, "byte %" PRIu64, at + done);
            return sp__fail(error, SP_ERR_SYSTEM, errno, file->path, place, "cannot be read");
        }
    }
    return 0;
}

/* The next `length` bytes, at most a window, after checking that the file has them. */
static int take(struct sp__trace_file *file, size_t length, const char *what, const unsigned char **ret,
                sp_error *error)
{
    if (length > file->id.size - file->at)
        return bad(file, file->at, error, "truncated: %s needs %zu bytes, %" PRIu64 " are left", what, length,
                   file->id.size - file->at);
    if (file->at < file->window_at || file->at + length > file->window_at + file->window_length) {
        uint64_t left = file->id.size - file->at;
        size_t fill = left < SP__TRACE_WINDOW ? (size_t)left : SP__TRACE_WINDOW;
        file->window_length = 0;
        int status = read_at(file, file->at, file->window, fill, error);
        if (status)
            return status;
        file->window_at = file->at;
        file->window_length = fill;
    }
    *ret = file->window + (file->at - file->window_at);
    file->at += length;
    return 0;
}

static int take_32(struct sp__trace_file *file, const char *what, int32_t *ret, sp_error *error)
{
    const unsigned char *bytes = NULL;
    int status = take(file, 4, what, &bytes, error);
    if (status)
        return status;
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    *ret = (int32_t)(file->swap ? bswap_32(value) : value);
    return 0;
}

static int take_64(struct sp__trace_file *file, const char *what, int64_t *ret, sp_error *error)
{
    const unsigned char *bytes = NULL;
    int status = take(file, 8, what, &bytes, error);
    if (status)
        return status;
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    *ret = (int64_t)(file->swap ? bswap_64(value) : value);
    return 0;
}

/* A string with its length before it. */
static int take_string(struct sp__trace_file *file, const char *what, char **ret, bool *ret_mended, sp_error *error)
{
    uint64_t at = file->at;
    int32_t length;
    int status = take_32(file, what, &length, error);
    if (status)
        return status;
    if (length < 0)
        return bad(file, at, error, "%s has a negative length, %" PRId32, what, length);
    if ((uint64_t)length > file->id.size - file->at)
        return bad(file, at, error, "truncated: %s of %" PRId32 " bytes, %" PRIu64 " are left", what, length,
                   file->id.size - file->at);
    const unsigned char *bytes = NULL;
    unsigned char *large = NULL;
    if (length <= SP__TRACE_WINDOW) {
        status = take(file, (size_t)length, what, &bytes, error);
    } else {
        large = malloc((size_t)length);
        status = large ? read_at(file, file->at, large, (size_t)length, error)
                       : sp__fail(error, SP_ERR_SYSTEM, ENOMEM, file->path, NULL, "%s cannot be read", what);
        bytes = large;
        file->at += (uint64_t)length;
    }
    char *copy = status ? NULL : sp__utf8_copy((const char *)bytes, (size_t)length, ret_mended);
    free(large);
    if (status)
        return status;
    if (!copy)
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, file->path, NULL, "%s cannot be read", what);
    *ret = copy;
    return 0;
}

static int take_version(struct sp__trace_file *file, sp_error *error)
{
    int32_t version;
    int status = take_32(file, "the version", &version, error);
    if (status)
        return status;
    int32_t other = (int32_t)bswap_32((uint32_t)version);
    if (version == 1 || version == 2) {
        file->version = (unsigned)version;
    } else if (other == 1 || other == 2) {
        file->version = (unsigned)other;
        file->swap = true;
    } else {
        return bad(file, 8, error, "version %" PRId32 " is unknown: versions 1 and 2 are read", version);
    }
    return 0;
}

static int take_head(struct sp__trace_file *file, sp_error *error)
{
    char magic[8];
    size_t there = file->id.size < sizeof magic ? (size_t)file->id.size : sizeof magic;
    int status = read_at(file, 0, magic, there, error);
    if (status)
        return status;
    if (memcmp(magic, SP_MAGIC, there))
        return bad(file, 0, error, "not a trace: it does not begin with " SP_MAGIC);
    if (file->id.size < HEAD_BYTES)
        return bad(file, file->id.size, error, "truncated: a trace has %d bytes at least, this has %" PRIu64,
                   HEAD_BYTES, file->id.size);
    file->at = 8;
    int32_t rank;
    int64_t regions;
    if ((status = take_version(file, error)) || (status = take_32(file, "the rank", &rank, error)) ||
        (status = take_64(file, "the number of regions", &regions, error)))
        return status;
    if (rank < 0)
        return bad(file, 12, error, "the rank is negative, %" PRId32, rank);
    if (regions < 0)
        return bad(file, 16, error, "the number of regions is negative, %" PRId64, regions);
    uint64_t most = (file->id.size - HEAD_BYTES) / REGION_LEAST;
    if ((uint64_t)regions > most)
        return bad(file, 16, error,
                   "truncated: %" PRId64 " regions, but the %" PRIu64 " bytes that are left hold %" PRIu64 " at most",
                   regions, file->id.size - HEAD_BYTES, most);
    file->rank = (uint32_t)rank;
    file->regions = (uint64_t)regions;
    return 0;
}

int sp__trace_file_open(struct sp__trace_file *ret, const char *path, sp_error *error)
{
    *ret = (struct sp__trace_file){.path = path, .fd = -1};
    int status = sp__file_open(&ret->fd, &ret->id, NULL, path, error);
    if (status)
        return status;
    ret->window = malloc(SP__TRACE_WINDOW);
    status = ret->window ? take_head(ret, error) : sp__fail(error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "cannot be read");
    if (status)
        sp__trace_file_close(ret);
    return status;
}

void sp__trace_file_close(struct sp__trace_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
    free(file->window);
    file->window = NULL;
    file->window_length = 0;
}

static int take_region(struct sp__trace_file *file, struct sp__trace_region *region, sp_error *error)
{
    bool mended;
    int status = take_string(file, "a region's name", &region->name, &region->mended, error);
    if (status)
        return status;
    if (file->version == 2) {
        if ((status = take_string(file, "a region's source path", &region->file, &mended, error)) ||
            (status = take_32(file, "a region's source line", &region->line, error)))
            return status;
    } else if (!(region->file = strdup(""))) {
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, file->path, NULL, "a region cannot be read");
    }
    uint64_t at = file->at;
    int64_t calls;
    if ((status = take_64(file, "a region's number of calls", &calls, error)))
        return status;
    if (calls < 0)
        return bad(file, at, error, "region \"%.200s\" has a negative number of calls, %" PRId64, region->name, calls);
    uint64_t left = file->id.size - file->at;
    if ((uint64_t)calls > left / CALL_BYTES)
        return bad(file, at, error,
                   "truncated: region \"%.200s\" has %" PRId64 " calls of %d bytes, %" PRIu64 " bytes are left",
                   region->name, calls, CALL_BYTES, left);
    region->calls = (uint64_t)calls;
    region->starts_at = file->at;
    file->at += (uint64_t)calls * CALL_BYTES;
    return 0;
}

int sp__trace_file_next(struct sp__trace_file *file, struct sp__trace_region *ret, sp_error *error)
{
    if (file->regions_seen == file->regions) {
        if (file->at != file->id.size)
            return bad(file, file->at, error, "%" PRIu64 " byte(s) after the last region", file->id.size - file->at);
        return 0;
    }
    struct sp__trace_region region = {.line = -1, .name_at = file->at};
    int status = take_region(file, &region, error);
    if (status) {
        free(region.name);
        free(region.file);
        return status;
    }
    if (region.line < 0)
        region.line = -1;
    file->regions_seen++;
    *ret = region;
    return 1;
}

int sp__trace_file_times(struct sp__trace_file *file, uint64_t at, int64_t *ret, size_t count, sp_error *error)
{
    if (file->fd < 0) {
        struct sp__file_id id;
        int status = sp__file_open(&file->fd, &id, &file->id, file->path, error);
        if (status)
            return status;
    }
    int status = read_at(file, at, ret, count * sizeof *ret, error);
    for (size_t i = 0; !status && file->swap && i < count; i++)
        ret[i] = (int64_t)bswap_64((uint64_t)ret[i]);
    return status;
}
