/* own.h: the program as its own consumer, and its ways to reach its segment anew. */
#ifndef SP__OWN_H
#define SP__OWN_H

#include "profiler.h"

/* A description of the segment that nobody else has; -errno. Async-signal-safe. */
int sp__reopen(struct sp_profiler *p);

/* 1: another description holds byte 1; 0: nobody; -errno: cannot be told. Async-signal-safe. */
int sp__consumer_lives(struct sp_profiler *p);

/* One byte written into the segment: inotify tells a consumer. Nothing where the segment cannot be reached. */
void sp__bell(struct sp_profiler *p);

/* The drain word. */
bool sp__own_try(struct sp_profiler *p);
void sp__own_wait(struct sp_profiler *p);
void sp__own_done(struct sp_profiler *p);

/* With the word: takes byte 1 and the spool, p->own.consumer is good until sp__own_rest. 0; -EBUSY: another consumer
 * has byte 1; -errno, said. */
int sp__own_take(struct sp_profiler *p);
void sp__own_rest(struct sp_profiler *p);

/* With the word: take, drain all lanes, rest. 0 or -errno as above. */
int sp__own_drain(struct sp_profiler *p);

/* Makes the consumer ahead of the first full ring, where no spd is there to be it: making one allocates, which a signal
 * handler that fills a ring must not. Quiet. */
void sp__own_prepare(struct sp_profiler *p);

/* Closes the kept consumer. */
void sp__own_forget(struct sp_profiler *p);

/* In a forked child: closes the child's copies of its descriptors, and unlocks nothing. */
void sp__own_leave(struct sp_profiler *p);

/* Removes the folder that was made for a spool beside the output, if it is empty. */
void sp__own_tidy(struct sp_profiler *p);

#endif
