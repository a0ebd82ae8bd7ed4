/* format.h: the kinds of files there are. A further one is one file, which opens and checks it, and one row in format.c. */
#ifndef SP__FORMAT_H
#define SP__FORMAT_H

#include "check.h"

struct sp__file_type {
    const char *suffix;                                                /* decides where the content does not */
    const char *magic;                                                 /* what its files begin with */
    size_t length;                                                     /* of the magic */
    bool further;                                                      /* or what stands at byte 512, 1024, 2048, ... */
    int (*open)(sp_inputs *inputs, const char *path, sp_error *error); /* appends its sources */
    int (*check)(struct sp__checking *checking);
};

/* The content decides; a file that begins with no magic, or with a part of one, goes by its name, so that the error is
 * that of the format it was meant to be. 0; the status of a file that cannot be read; SP_ERR_CORRUPT_PROFILE for what
 * is of no format. */
int sp__file_type_of(const struct sp__file_type **ret, const char *path, sp_error *error);

#endif
