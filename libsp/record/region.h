/* region.h: the region table, the program's side: names to numbers. */
#ifndef SP__REGION_H
#define SP__REGION_H

#include "profiler.h"

/* The number of a region, registered where it is new. Entered; takes the table lock. -1 with *ret_status. */
int sp__region_get(struct sp_profiler *p, const char *name, const char *file, int line, sp_status *ret_status);

/* The same where it is registered, else -1. */
int sp__region_find(struct sp_profiler *p, const char *name);

/* In a child that follows: the names in its parent's segment, which is mapped at `map`, registered here in the same
 * order. 0 or -errno. */
int sp__regions_inherit(struct sp_profiler *p, const unsigned char *map, uint64_t size);

void sp__names_free(struct sp__names *names);

#endif
