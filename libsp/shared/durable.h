/* durable.h: publishing a file whole or not at all. */
#ifndef SP__DURABLE_H
#define SP__DURABLE_H

#include <stddef.h>

#include "layout.h"

/* Temporaries are ".<base>.<pid>-<n>.tmp" beside the target, so that litter of a killed process can be told. */
struct sp__durable {
    int fd;
    char path[SP__PATH_SIZE];
    char temporary[SP__PATH_SIZE];
};

int sp__durable_begin(struct sp__durable *ret, const char *path, unsigned mode); /* 0 or -errno */
/* fsync, rename over the target, fsync of the folder, close. On failure the temporary is removed. 0 or -errno. */
int sp__durable_commit(struct sp__durable *file);
/* The same without waiting for the disk, for what can be made again from files that stay: readers see the old file or
 * the new one all the same, and after a power cut there may be none. */
int sp__durable_rename(struct sp__durable *file);
void sp__durable_abandon(struct sp__durable *file);

/* The whole of a small text or record. */
int sp__durable_write(const char *path, const void *data, size_t length, unsigned mode);
int sp__durable_write_soon(const char *path, const void *data, size_t length,
                           unsigned mode); /* as sp__durable_rename */

#endif
