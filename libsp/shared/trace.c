/* trace.c: writing a recording as .spt. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording_parts.h"
#include "trace.h"

enum { CALLS_AT_ONCE = 8192, BUFFER = 1 << 18, TRACE_VERSION = 2 };

struct writer {
    int fd;
    uint64_t at; /* of the file: where the buffer goes */
    size_t used;
    unsigned char buffer[BUFFER];
    int64_t column[CALLS_AT_ONCE];
};

static int flush(struct writer *w)
{
    int rc = sp__write_at(w->fd, w->buffer, w->used, w->at);
    if (rc)
        return rc;
    w->at += w->used;
    w->used = 0;
    return 0;
}

static int put(struct writer *w, const void *data, size_t length)
{
    int rc = length > sizeof w->buffer - w->used ? flush(w) : 0;
    if (rc)
        return rc;
    memcpy(w->buffer + w->used, data, length); /* names and columns are all smaller than the buffer */
    w->used += length;
    return 0;
}

static int put_text(struct writer *w, const char *text, uint32_t length)
{
    int rc = put(w, &length, sizeof length);
    return rc ? rc : put(w, text, length);
}

static int put_column(struct writer *w, const struct sp__recording *r, size_t row, bool ends)
{
    int rc = 0;
    for (uint64_t at = 0; rc == 0 && at < r->rows[row].calls; at += CALLS_AT_ONCE) {
        uint64_t left = r->rows[row].calls - at;
        size_t n = left < CALLS_AT_ONCE ? (size_t)left : CALLS_AT_ONCE;
        rc = sp__recording_read(r, row, at, n, ends ? NULL : w->column, ends ? w->column : NULL, NULL);
        if (rc == 0)
            rc = put(w, w->column, n * sizeof *w->column);
    }
    return rc;
}

/* The columns that are in the file already are stepped over. */
static int skip_columns(struct writer *w, const struct sp__recording *r, size_t row)
{
    uint64_t calls = r->rows[row].calls;
    int rc = flush(w);
    r->private_file->extents[row] =
        (struct sp__extent){.starts = w->at, .ends = w->at + calls * sizeof(int64_t), .capacity = calls};
    w->at += 2 * calls * sizeof(int64_t);
    return rc;
}

static int put_row(struct writer *w, const struct sp__recording *r, size_t row)
{
    const struct sp__row *from = &r->rows[row];
    int64_t calls = (int64_t)from->calls;
    int rc = put_text(w, from->name, from->name_length);
    if (rc == 0)
        rc = put_text(w, from->file, from->file_length);
    if (rc == 0)
        rc = put(w, &from->line, sizeof from->line);
    if (rc == 0)
        rc = put(w, &calls, sizeof calls);
    if (rc == 0 && r->private_file->trace)
        return skip_columns(w, r, row);
    if (rc == 0)
        rc = put_column(w, r, row, false);
    return rc ? rc : put_column(w, r, row, true);
}

static int put_all(struct writer *w, const struct sp__recording *r)
{
    int32_t version = TRACE_VERSION, rank = r->identity.rank;
    int64_t regions = 0;
    for (size_t row = 0; row < r->row_count; row++)
        regions += r->rows[row].calls > 0;
    int rc = put(w, "SCOPEPRF", 8);
    if (rc == 0)
        rc = put(w, &version, sizeof version);
    if (rc == 0)
        rc = put(w, &rank, sizeof rank);
    if (rc == 0)
        rc = put(w, &regions, sizeof regions);
    for (size_t row = 0; rc == 0 && row < r->row_count; row++)
        if (r->rows[row].calls)
            rc = put_row(w, r, row);
    return rc ? rc : flush(w);
}

static int write_all(int fd, const struct sp__recording *recording)
{
    struct writer *w = malloc(sizeof *w);
    if (!w)
        return -ENOMEM;
    w->fd = fd;
    w->at = 0;
    w->used = 0;
    int rc = put_all(w, recording);
    free(w);
    return rc;
}

int sp__trace_begin(struct sp__recording_file *file, const char *path)
{
    struct stat st;
    /* Profiles are their user's; one that is replaced keeps the mode that it was given. */
    mode_t mode = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? st.st_mode & 0777 : 0600;
    struct sp__durable *trace = malloc(sizeof *trace);
    int rc = trace ? sp__durable_begin(trace, path, mode) : -ENOMEM;
    if (rc) {
        free(trace);
        return rc;
    }
    file->trace = trace;
    file->fd = trace->fd;
    return 0;
}

int sp__trace_lay_out(const struct sp__recording *recording)
{
    return write_all(recording->private_file->fd, recording);
}

void sp__recording_file_close(struct sp__recording_file *file)
{
    if (file->trace)
        sp__durable_abandon(file->trace);
    else if (file->fd >= 0)
        close(file->fd);
    free(file->trace);
    free(file->extents);
    *file = (struct sp__recording_file){.fd = -1};
}

int sp__trace_write(const struct sp__recording *recording, const char *path, bool last)
{
    struct sp__recording_file copy = {.fd = -1}, *file = recording->private_file;
    int rc = 0;
    if (!file->trace || strcmp(file->trace->path, path) != 0) {
        file = &copy;
        rc = sp__trace_begin(file, path);
        if (rc == 0)
            rc = write_all(file->fd, recording);
    }
    if (rc == 0)
        rc = last ? sp__durable_commit(file->trace) : sp__durable_rename(file->trace);
    sp__recording_file_close(file);
    return rc;
}
