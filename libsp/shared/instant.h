/* instant.h: the labelled instants of the protocol: where a test build kills itself, to show that no death at any of
 * them loses a call or counts one twice. In other builds SP__INSTANT is nothing at all.
 *
 * With the build option `instants` a process reads two variables when it is loaded (a raised one reads neither):
 *   SP_KILL_AT=LABEL:HIT[,LABEL:HIT]...  SIGKILL when LABEL is passed for the HIT-th time in this process
 *   SP_KILL_SEEN=FILE                    appends "LABEL HIT" at the first, 2nd, 4th, 8th, ... passing of each label
 * Threads count together; a forked child goes on counting where its parent stood. Async-signal-safe. */
#ifndef SP__INSTANT_H
#define SP__INSTANT_H

#include <stdbool.h>

/* X(identifier, label, place), in the order of a life. */
#define SP__INSTANTS_EACH(X)                                                                                           \
    /* libsp: a segment's birth and name; who else frees a name passes the name.* ones */                              \
    X(birth_locked, "birth.locked", "segment_birth.c: whole and locked, it has no name yet")                           \
    X(birth_linked, "birth.linked", "segment_birth.c: the name leads to it")                                           \
    X(birth_kept, "birth.kept", "segment_birth.c: the second description is open")                                     \
    X(name_locked, "name.locked", "segment.c: byte 2 is held, the name about to go")                                   \
    X(name_free, "name.free", "segment.c: the name is gone, byte 2 still held")                                        \
    X(bury_begin, "bury.begin", "birth.c: a newcomer over a dead segment")                                             \
    X(bury_drained, "bury.drained", "birth.c: the dead one's calls are in its spool, its name stands")                 \
    /* libsp: a thread's lane */                                                                                       \
    X(claim_before, "claim.before", "lane.c: a lane is looked at")                                                     \
    X(claim_taken, "claim.taken", "lane.c: it is this thread's, its memory is not there yet")                          \
    X(reserve_done, "reserve.done", "lane.c: its blocks are reserved")                                                 \
    X(claim_ready, "claim.ready", "lane.c: its places are published")                                                  \
    X(claim_marked, "claim.marked", "lane.c: its begin is in the ring, readers do not look at the lane yet")           \
    X(claim_used, "claim.used", "lane.c: readers look at it")                                                          \
    X(lane_ending, "lane.ending", "lane.c: the thread's end is in the ring")                                           \
    X(lane_free, "lane.free", "lane.c: the lane is anybody's")                                                         \
    X(region_before, "region.before", "region.c: the row is whole, not counted yet")                                   \
    X(region_after, "region.after", "region.c: the row is published")                                                  \
    /* libsp: a call */                                                                                                \
    X(begin_before, "begin.before", "writer.h: the open call's entry is whole, depth does not cover it")               \
    X(begin_after, "begin.after", "writer.h: depth covers it")                                                         \
    X(head_before, "head.before", "writer.h: the record is whole, head does not cover it")                             \
    X(head_after, "head.after", "writer.h: head covers it, the call is still on the open stack")                       \
    X(wrap, "wrap", "writer.h: the ring's last record is published, the next goes to its beginning")                   \
    X(end_after, "end.after", "writer.h: the call is off the open stack")                                              \
    X(full_found, "full.found", "ring.c: the ring is full")                                                            \
    X(full_wait, "full.wait", "ring.c: about to sleep until there is room")                                            \
    X(full_drop, "full.drop", "slow.c: the call is counted as dropped")                                                \
    /* a consumer: spd, the program for itself, a merge over a dead segment */                                         \
    X(attach_locked, "attach.locked", "consumer_attach.c: byte 1 is taken")                                            \
    X(spool_made, "spool.made", "spool.c: the file is there, its first frame is not")                                  \
    X(attach_naming, "attach.naming", "consumer_attach.c: the spool's path is in the header, not said to be")          \
    X(attach_spool, "attach.spool", "consumer_attach.c: the spool is open")                                            \
    X(spool_cut, "spool.cut", "spool.c: a torn end is about to be cut")                                                \
    X(spool_cut_after, "spool.cut.after", "spool.c: it is cut")                                                        \
    X(takeover_before, "takeover.before", "consumer_attach.c: the spool is ahead of tail, which is about to move")     \
    X(takeover_after, "takeover.after", "consumer_attach.c: tail has moved up to the spool")                           \
    X(attach_done, "attach.done", "consumer_attach.c: the consumer is whole")                                          \
    X(copy, "copy", "consumer.c: a block is copied from the ring")                                                     \
    X(spool_write_before, "spool.write.before", "spool.c: a frame is ready, nothing of it written")                    \
    X(spool_write_head, "spool.write.head", "spool.c: half of the frame's head is written")                            \
    X(spool_write_half, "spool.write.half", "spool.c: the head and half of the payload are written")                   \
    X(spool_write_after, "spool.write.after", "spool.c: the frame is written")                                         \
    X(tail_before, "tail.before", "consumer.c: the block is in the spool, tail has not moved")                         \
    X(tail_after, "tail.after", "consumer.c: tail has moved")                                                          \
    X(mark_before, "mark.before", "consumer_mark.c: drained, what a publication needs besides is not written")         \
    X(mark_end, "mark.end", "consumer_mark.c: the frame before END is written")                                        \
    X(mark_after, "mark.after", "consumer_mark.c: everything is in the spool")                                         \
    X(answer, "answer", "consumer.c: the answer is half written, its number odd")                                      \
    X(own_take, "own.take", "own.c: the program is its own consumer")                                                  \
    X(own_drained, "own.drained", "own.c: it has drained, byte 1 still held")                                          \
    X(own_rest, "own.rest", "own.c: byte 1 is free")                                                                   \
    /* libsp: flush, reset, finalize, destroy, fork */                                                                 \
    X(flush_asked, "flush.asked", "handover.c: the request is counted")                                                \
    X(reset_state, "reset.state", "profiler.c: writers are held off")                                                  \
    X(reset_bases, "reset.bases", "profiler.c: every lane has its base, the epoch does not count")                     \
    X(reset_epoch, "reset.epoch", "profiler.c: the epoch counts")                                                      \
    X(reset_done, "reset.done", "profiler.c: recording again")                                                         \
    X(finalize_state, "finalize.state", "publish.c: the state is FINALIZING")                                          \
    X(finalize_quiet, "finalize.quiet", "publish.c: every writer has seen it")                                         \
    X(finalize_waited, "finalize.waited", "publish.c: the consumer has published")                                     \
    X(finalize_over, "finalize.over", "publish.c: the state is FINALIZED")                                             \
    X(own_marked, "own.marked", "publish_own.c: everything is in the program's own spool")                             \
    X(own_noted, "own.noted", "publish_own.c: the note is written")                                                    \
    X(own_written, "own.written", "publish_own.c: the profile is in its place")                                        \
    X(books_marked, "books.marked", "publish_own.c: a spool that stays has its END")                                   \
    X(books_state, "books.state", "publish_own.c: the state is FINALIZED, spool and name stand")                       \
    X(books_spool, "books.spool", "publish_own.c: the spool is gone, the name stands")                                 \
    X(books_name, "books.name", "publish_own.c: the name is gone")                                                     \
    X(discard_state, "discard.state", "profiler.c: the state is DISCARDED")                                            \
    X(discard_spool, "discard.spool", "profiler.c: its spool is gone, the name stands")                                \
    X(fork_child, "fork.child", "fork.c: a child has let go of all that is its parent's")                              \
    X(fork_follow, "fork.follow", "fork.c: it has a segment and regions of its own")                                   \
    /* spd */                                                                                                          \
    X(spd_attach, "spd.attach", "finder.c: a segment is found")                                                        \
    X(spd_attached, "spd.attached", "rank.c: it is served")                                                            \
    X(spd_flush, "spd.flush", "rank_end.c: drained and marked for a flush")                                            \
    X(spd_end, "spd.end", "rank_end.c: drained and marked, END is in the spool")                                       \
    X(publish_begin, "publish.begin", "publication.c: the job begins")                                                 \
    X(publish_synced, "publish.synced", "publication.c: the spool is on the disk")                                     \
    X(publish_spooled, "publish.spooled", "publication.c: the program is told so")                                     \
    X(publish_noted, "publish.noted", "publication.c: the note is on the disk")                                        \
    X(publish_written, "publish.written", "publication.c: the profile is in its place")                                \
    X(publish_told, "publish.told", "rank_end.c: the loop hears of it")                                                \
    X(flush_answered, "flush.answered", "rank_end.c: the answer is written, the flush not done")                       \
    X(rank_state, "rank.state", "rank_end.c: published, the state is FINALIZED")                                       \
    X(rank_name, "rank.name", "rank_end.c: the segment's name is gone, its spool is there")                            \
    X(rank_spool, "rank.spool", "rank_end.c: the spool is gone")                                                       \
    X(rank_told, "rank.told", "rank_end.c: the program knows that it is published")                                    \
    X(spd_discard, "spd.discard", "rank_end.c: a discarded one's spool is gone, its name stands")                      \
    X(merged_written, "merged.written", "publication.c: the session's file is whole beside its place")                 \
    X(merged_renamed, "merged.renamed", "publication.c: it is in its place")                                           \
    X(merged_spool, "merged.spool", "session.c: a spool that it holds is gone")                                        \
    X(spd_stopping, "spd.stopping", "daemon.c: SIGTERM came")                                                          \
    X(spd_released, "spd.released", "daemon.c: the last drain of a rank that goes on without spd")                     \
    /* whoever publishes a file: libsp, spd, spctl merge */                                                            \
    X(durable_created, "durable.created", "durable.c: the temporary is there")                                         \
    X(durable_written, "durable.written", "durable.c: its bytes are written")                                          \
    X(durable_synced, "durable.synced", "durable.c: they are on the disk")                                             \
    X(durable_renamed, "durable.renamed", "durable.c: it has its name")                                                \
    X(durable_folder, "durable.folder", "durable.c: the name is on the disk")

#define SP__INSTANT_NUMBER(identifier, label, place) SP__AT_##identifier,
enum sp__instant { SP__INSTANTS_EACH(SP__INSTANT_NUMBER) SP__INSTANT_COUNT };

#ifdef SP__INSTANTS

/* Counts a passing. true: this one is to be the last. */
bool sp__instant_pass(enum sp__instant instant);
_Noreturn void sp__instant_die(void);

/* Where the process is to die here, it does `last` before. */
#define SP__INSTANT_LEAVING(identifier, last)                                                                          \
    do {                                                                                                               \
        if (sp__instant_pass(SP__AT_##identifier)) {                                                                   \
            (void)(last);                                                                                              \
            sp__instant_die();                                                                                         \
        }                                                                                                              \
    } while (0)
#define SP__INSTANT_IF(condition, identifier)                                                                          \
    do {                                                                                                               \
        if (condition)                                                                                                 \
            SP__INSTANT(identifier);                                                                                   \
    } while (0)
#define SP__INSTANT(identifier) SP__INSTANT_LEAVING(identifier, 0)

#else

#define SP__INSTANT_LEAVING(identifier, last) ((void)0)
#define SP__INSTANT_IF(condition, identifier) ((void)0)
#define SP__INSTANT(identifier)               ((void)0)

#endif
#endif
