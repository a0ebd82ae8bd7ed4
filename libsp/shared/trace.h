/* trace.h: writing .spt traces, version 2, little-endian (FORMATS: one rank per file, no place for threads). */
#ifndef SP__TRACE_H
#define SP__TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "recording.h"

/* Writes `recording` to `path` whole or not at all: temporary beside it, rename; where it is the last that its spool is
 * kept for, on the disk before that. Rows without calls are left out; threads are joined. 0 or -errno (-ENOSPC, -EACCES,
 * ...); on failure the old file stands. */
int sp__trace_write(const struct sp__recording *recording, const char *path, bool last);

#endif
