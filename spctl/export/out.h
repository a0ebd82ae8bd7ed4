/* out.h: text that is written as it comes, to a file that appears whole or not at all, or to standard output. */
#ifndef SPCTL_OUT_H
#define SPCTL_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "durable.h"

/* After the first failure nothing more is written, and `error` says why: writers go on or look at it, as they like. */
struct out {
    int fd;
    const char *path; /* NULL: standard output */
    int error;        /* -errno, 0 none */
    size_t used;
    struct sp__durable file;
    char buffer[1 << 16];
};

/* False after a line. */
bool out_open(struct out *out, const char *path);
/* Puts a file in its place. False after a line where something could not be written, and then there is no file; a
 * reader of standard output that went away ends it in silence, *ret_unread set. */
bool out_close(struct out *out, bool *ret_unread);
/* Removes what was written so far. */
void out_abandon(struct out *out);

void out_bytes(struct out *out, const char *bytes, size_t length);
void out_text(struct out *out, const char *text);
void out_unsigned(struct out *out, uint64_t n);
void out_signed(struct out *out, int64_t n);
/* n / 10^places, with all its decimals. */
void out_decimal(struct out *out, uint64_t n, unsigned places);

#endif
