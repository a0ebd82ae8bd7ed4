/* lane.h: a thread's lane: claiming, its ring, and the slow ways of begin and end. Async-signal-safe where it matters.
 */
#ifndef SP__LANE_H
#define SP__LANE_H

#include "profiler.h"

enum sp__how { SP__END_REGION, SP__END_LAST, SP__END_SCOPE };

/* lane.c */
/* This thread's writer for p, made at its first call; NULL: no memory. Entered. */
struct sp__writer *sp__writer_of(struct sp_profiler *p);
/* A lane for w. 0; -EMFILE: all are taken; -ENOSPC: /dev/shm is full; -errno. Said. */
int sp__lane_claim(struct sp_profiler *p, struct sp__writer *w);
/* Forgets writers whose profiler is gone. */
void sp__writers_reap(void);
int sp__thread_key_init(void); /* 0 or -errno */
/* The signal writer of w, NULL where there is none to be had. Entered. */
struct sp__writer *sp__signal_writer(struct sp_profiler *p, struct sp__writer *w);

/* ring.c; all with w held (sp__hold) unless they say otherwise. */
/* Room for n records now, the tail looked at afresh. */
bool sp__has_room(struct sp__writer *w, uint64_t n);
/* After head or tail moved. true: the ring has passed a half, ring the doorbell. */
bool sp__set_limit(struct sp__writer *w);
/* Not held. Waits, or drains, until n records fit. false: drop. */
bool sp__make_room(struct sp_profiler *p, struct sp__writer *w, uint64_t n);
/* Who the thread is, if there is room. */
void sp__put_begin_markers(struct sp_profiler *p, struct sp__writer *w);
void sp__put_end_markers(struct sp_profiler *p, struct sp__writer *w);
void sp__put_anchor(struct sp_profiler *p, struct sp__writer *w);
enum { SP__BEGIN_MARKERS = 4, SP__END_MARKERS = 2 };

/* slow.c */
/* Takes w's busy word once the state allows recording; SP_OK: held. *ret_state is the state. */
sp_status sp__hold(struct sp_profiler *p, struct sp__writer *w, uint32_t *ret_state);
/* Returns the token of a scoped begin, 0 for an unscoped one, -1 where nothing was begun. */
int64_t sp__begin_slow(struct sp_profiler *p, int region, bool scoped);
sp_status sp__end_slow(struct sp_profiler *p, int region, uint64_t token, enum sp__how how);
/* The last anchor of w's lane is old. */
void sp__anchor_slow(struct sp__writer *w);

#endif
