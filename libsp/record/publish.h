/* publish.h: what a program publishes itself, and what it waits for a consumer to publish. */
#ifndef SP__PUBLISH_H
#define SP__PUBLISH_H

#include "profiler.h"

/* Control is not held. SP_OK, SP_ERR_OPEN_SCOPES (published), SP_ERR_IO (not published, recording goes on). Nothing
 * where p is not live. */
sp_status sp__finalize(struct sp_profiler *p);
/* Control is held. */
sp_status sp__finalize_held(struct sp_profiler *p);

/* Control is not held. SP_OK or SP_ERR_IO. */
sp_status sp__flush(struct sp_profiler *p);

/* publish_own.c; with the drain word. 0; -EBUSY: another consumer has byte 1; -errno, said. */
int sp__publish_own(struct sp_profiler *p, bool final);

/* handover.c; a consumer that holds byte 1, or is about to. */
enum sp__waited {
    SP__WAITED_DONE,   /* published, p->answered says where */
    SP__WAITED_FAILED, /* refused, said */
    SP__WAITED_FREE,   /* nobody holds byte 1 */
    SP__WAITED_LONG    /* ten seconds are over */
};
enum sp__waited sp__wait_final(struct sp_profiler *p);
enum sp__waited sp__wait_flush(struct sp_profiler *p);

/* Copies where the consumer publishes into p->answered. Takes the table lock. */
void sp__read_answer(struct sp_profiler *p);
/* The same, once it speaks of the final publication. */
void sp__take_final_answer(struct sp_profiler *p);

#endif
