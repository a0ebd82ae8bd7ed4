/* fork.h: a child stops recording, or follows as a part of its parent's rank. */
#ifndef SP__FORK_H
#define SP__FORK_H

#include "profiler.h"

int sp__fork_init(void); /* 0 or -errno; more calls do nothing */

/* True in a child made without fork handlers, the first time: its profilers are turned off by this call. */
bool sp__fork_seen(void);

/* The first call of a child of SP_FORK=follow: a segment of its own, or off. Takes the control lock. */
void sp__fork_follow(struct sp_profiler *p);

#endif
