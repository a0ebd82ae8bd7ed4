/* consumer.h: draining one segment into its spool, exactly once: by spd, by the program itself, by a merge over a dead
 * segment. Whoever holds a consumer holds byte 1. Not thread-safe; one thread at a time per consumer. */
#ifndef SP__CONSUMER_H
#define SP__CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

#include "segment.h"
#include "spool.h"

struct sp__consumer {
    struct sp__segment segment;
    struct sp__spool spool;
    uint32_t regions; /* rows that are in the spool */
    uint32_t located; /* of those, rows whose location is there too; which ones: */
    unsigned char *located_bits;
    uint32_t epoch;
    uint64_t next[SP__LANES]; /* sequence number that the spool wants next; tail follows it */
    uint64_t gaps;            /* records that were overwritten before anybody drained them (scribbled tail) */
    struct sp__lane_place place[SP__LANES];
    bool placed[SP__LANES]; /* place and next are good */
    bool open[SP__LANES];   /* the spool may name open calls of this lane */
    uint32_t turn;          /* lane that the next bounded drain begins with */
    bool observer;          /* holds no lock and writes nothing to the segment: copies what is not spooled yet */
    struct sp__anchor last_anchor;
    bool ended;                 /* an END frame stands in the spool */
    int spool_error;            /* the errno of the last append that failed, 0 once one worked again */
    const char *fault;          /* what was wrong with the segment at the last -EBADMSG; NULL none yet */
    struct sp__record *records; /* buffers of SP__FRAME_RECORDS_MOST records */
    unsigned char *encoded;
};

/* From now on all consumers that this process creates, observers aside, use one pair of buffers in turn, so that memory
 * does not grow with their number: for a process whose consumers are all called by one thread. Once. 0 or -ENOMEM. */
int sp__consumer_share_buffers(void);

/* Takes byte 1 through `fd` (an open description of the segment used for nothing else; owned by the consumer on
 * success, closed with it), maps and checks the segment, and opens the spool: the one that the header names if it can
 * be appended to and lies in a file of this user, else its own below `data_dir`/<session>/, which the header then names
 * if it named none. tails that lag behind the spool are moved up.
 * 0; -EBUSY: byte 1 is held; -EPROTONOSUPPORT, -EBADMSG: see sp__segment_open, worded in ret_why; -errno of the spool.
 * On failure fd is closed. */
int sp__consumer_create(struct sp__consumer **ret, int fd, const char *name, const char *data_dir, char ret_why[256]);

/* Opens SP__SHM_DIR/name and creates a consumer over it. */
int sp__consumer_attach(struct sp__consumer **ret, const char *name, const char *data_dir, char ret_why[256]);

/* The other kind: copies what stands in the rings of SP__SHM_DIR/name, and all its tables, to a spool without a name in
 * `folder`, and gives back that spool's descriptor. Takes no lock, disturbs nobody. Whoever reads the named spools
 * afterwards misses nothing: what its consumer moved from ring to spool meanwhile is in one or in both. ret_spool is the
 * one that the header names then, "" for none: a caller that knows of no spool yet may have to look for it. ret_state is the state then. */
int sp__consumer_observe(const char *name, const char *folder, struct sp__identity *ret_identity, int *ret_fd,
                         char ret_spool[SP__PATH_SIZE], uint32_t *ret_state, char ret_why[256]);

/* Releases byte 1 and closes everything. */
void sp__consumer_destroy(struct sp__consumer *consumer);

/* In a forked child: closes the child's copies of the descriptors and frees the memory; releases no lock and unmaps
 * nothing, since the mapping is not in a child. */
void sp__consumer_leave(struct sp__consumer *consumer);

/* One look at all lanes, at most `most` records (0: all that were published when it began): new regions, then records
 * lane by lane, each block written before its tail moves; a consumer's anchor where the last is over 100 ms old and
 * anything was drained. 0 and *ret_records (may be NULL); -EBADMSG: the segment is not what it was (set it aside);
 * -errno of the spool: nothing lost, tails stand, call again later. */
int sp__consumer_drain(struct sp__consumer *consumer, uint64_t most, uint64_t *ret_records);

/* Most records that any lane holds undrained, as a share of its ring in 1/1024. */
unsigned sp__consumer_pressure(const struct sp__consumer *consumer);

/* Writes what a publication needs besides records: a last anchor, open calls, counters and, in stats mode, statistics.
 * `end` 0 for a flush of a living program; else also the END frame (once). 0 or -errno. */
int sp__consumer_mark(struct sp__consumer *consumer, enum sp__end end);

/* Keeps the words for c->fault. -EBADMSG. */
int sp__consumer_bad(struct sp__consumer *consumer, const char *fault);

/* consumer_mark.c's, for drain and mark: regions that the spool does not hold yet, up to `count` of them in all; one
 * frame to the spool, noting its failure; a reading of both clocks. */
int sp__consumer_send_regions(struct sp__consumer *consumer, uint32_t count);
int sp__consumer_append(struct sp__consumer *consumer, uint16_t type, uint32_t lane, uint64_t first, uint32_t count,
                        const void *payload, size_t length);
int sp__consumer_send_anchor(struct sp__consumer *consumer);

/* consumer_thread.c's, for mark: name and CPU time of the thread that lives in the lane, as /proc knows them. 0 also
 * where it does not: another pid namespace, no /proc, a thread that has ended. -errno of the spool. */
int sp__consumer_send_thread(struct sp__consumer *consumer, uint32_t lane, uint64_t now);

/* Lanes to look at, and whether this one is ready; -EBADMSG where it points outside of the segment. */
uint32_t sp__consumer_lanes(const struct sp__consumer *consumer);
int sp__consumer_place(struct sp__consumer *consumer, uint32_t lane);

/* Tells the program: seqlock over header->answer. path may be NULL (keep). */
void sp__consumer_answer(struct sp__consumer *consumer, int status, int error, uint32_t format, const char *path);

#endif
