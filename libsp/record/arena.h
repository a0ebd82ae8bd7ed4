/* arena.h: memory for writers that a fork wipes, and holding all writers of a profiler off. Lock-free and
 * async-signal-safe. */
#ifndef SP__ARENA_H
#define SP__ARENA_H

#include <stdbool.h>

#include "writer.h"

int sp__arena_init(void); /* 0 or -ENOMEM; more calls do nothing */

/* True in a child where no fork handler ran yet: everything private to the parent's life is wiped. */
bool sp__arena_wiped(void);
void sp__arena_renew(void); /* in a child: empty, and good again */

/* A zeroed writer; NULL: no memory. */
struct sp__writer *sp__writer_new(void);
void sp__writer_free(struct sp__writer *w);

/* Waits until no other thread is inside an append of p, up to 100 ms. Call after storing the state. `cut`: first takes
 * the segment away from all writers of p. false: a thread is still inside. */
bool sp__quiesce(struct sp_profiler *p, bool cut);

/* Calls each for every writer of p. */
void sp__writers_each(struct sp_profiler *p, void (*each)(struct sp__writer *w, void *context), void *context);

#endif
