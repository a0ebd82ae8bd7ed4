/* trace_file.h: a walk over the bytes of one .spt, versions 1 and 2, either byte order (source_trace.c). Every length
 * and count is held against what is left of the file before anything is allocated for it. */
#ifndef SP__TRACE_FILE_H
#define SP__TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "file_id.h"
#include "source.h"

enum { SP__TRACE_WINDOW = 16384 };

struct sp__trace_file {
    const char *path; /* the caller's */
    int fd;
    struct sp__file_id id;
    bool swap; /* the other byte order than this machine's */
    unsigned version;
    uint32_t rank;
    uint64_t regions;
    uint64_t regions_seen;
    uint64_t at; /* the next byte to be looked at */
    uint64_t window_at;
    size_t window_length;
    unsigned char *window; /* only between open and close */
};

struct sp__trace_region {
    char *name;  /* heap, UTF-8 */
    char *file;  /* heap, "" unknown */
    bool mended; /* bad bytes of the name became U+FFFD */
    int32_t line;
    uint64_t name_at;
    uint64_t calls;
    uint64_t starts_at; /* byte of the first start; the ends follow */
};

int sp__trace_file_open(struct sp__trace_file *ret, const char *path, sp_error *error);
void sp__trace_file_close(struct sp__trace_file *file);

/* 1 and the next region; 0 at a sound end of the file; a negative status. */
int sp__trace_file_next(struct sp__trace_file *file, struct sp__trace_region *ret, sp_error *error);

/* `count` times that stand at byte `at`. */
int sp__trace_file_times(struct sp__trace_file *file, uint64_t at, int64_t *ret, size_t count, sp_error *error);

#endif
