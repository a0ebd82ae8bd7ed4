/* file_id.h: opening somebody's file for reading, and knowing it again when its turn comes a second time. */
#ifndef SP__FILE_ID_H
#define SP__FILE_ID_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "source.h"

struct sp__file_id {
    dev_t dev;
    ino_t ino;
    uint64_t size;
    struct timespec changed;
};

/* Opens a regular file without following what could hang (a FIFO) and tells which file it is. With `expected` it must
 * still be that one, unchanged. 0 and *ret_fd, or a status. */
int sp__file_open(int *ret_fd, struct sp__file_id *ret_id, const struct sp__file_id *expected, const char *path,
                  sp_error *error);

#endif
