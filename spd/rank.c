#include "rank.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aside.h"
#include "clock.h"
#include "daemon.h"
#include "flush.h"
#include "guard.h"
#include "instant.h"
#include "log.h"
#include "names.h"
#include "session.h"
#include "target.h"

enum {
    SLICE = 32768,       /* records of one turn: some 2 ms of work */
    BUSY = 2048,         /* a turn that got so many of a program that rings, or should have, is followed by another */
    SAY_EVERY_MS = 10000 /* drops of one rank */
};

static struct sp__header *header_of(const struct rank *rank)
{
    return rank->consumer->segment.header;
}

void rank_planned(const struct rank *rank, char *ret, size_t size, uint32_t *ret_format)
{
    const struct options *options = rank->daemon->options;
    uint32_t asked = atomic_load_explicit(&header_of(rank)->format, memory_order_relaxed);
    bool hdf5 = options->format == OPTIONS_HDF5 || options->format == OPTIONS_MERGED ||
                (options->format == OPTIONS_AUTO && asked == SP__FORMAT_HDF5) ||
                rank_identity(rank)->mode == SP__MODE_STATS;
    *ret_format = hdf5 ? SP__FORMAT_HDF5 : SP__FORMAT_TRACE;
    if (options->format == OPTIONS_MERGED)
        snprintf(ret, size, "%s", rank->session->merged);
    else if (sp__profile_name(rank->base, rank_identity(rank)->rank, rank->life, hdf5, ret, size))
        *ret = '\0';
}

static void find_other_spool(struct rank *rank)
{
    struct sp__header *header = header_of(rank);
    if (!atomic_load_explicit(&header->spool_chosen, memory_order_acquire)) /* pairs with the chooser's release */
        return;
    char path[SP__PATH_SIZE];
    memcpy(path, header->spool, sizeof path);
    path[sizeof path - 1] = '\0';
    struct sp__spool_reader reader;
    struct sp__identity identity;
    if (!strcmp(path, rank->consumer->spool.path) || *path != '/')
        return;
    if (sp__spool_reader_open(&reader, path, UINT64_MAX, &identity))
        return;
    sp__spool_reader_close(&reader);
    if (!memcmp(identity.incarnation, rank_identity(rank)->incarnation, SP__INCARNATION_SIZE))
        snprintf(rank->other_spool, sizeof rank->other_spool, "%s", path);
}

static int choose_names(struct rank *rank)
{
    const struct sp__identity *id = rank_identity(rank);
    char stem[96];
    sp__incarnation_stem(id, stem);
    if ((size_t)snprintf(rank->note, sizeof rank->note, "%s/%s" SP__NOTE_SUFFIX, rank->session->folder, stem) >=
        sizeof rank->note)
        return -ENAMETOOLONG;
    int status = target_base(rank->daemon, id, rank->session->folder, rank->base, sizeof rank->base);
    if (!status)
        status = target_life(rank->daemon, rank);
    return status;
}

int rank_create(struct daemon *daemon, struct sp__consumer *consumer)
{
    const struct sp__identity *id = &consumer->segment.identity;
    struct rank *rank = NULL;
    struct session *session = NULL;
    int status = sp__session_valid(id->session) && options_take(daemon->options, id->session) ? 0 : -ESTALE;
    if (!status && (!(rank = calloc(1, sizeof *rank)) || !(session = session_get(daemon, id->session))))
        status = -ENOMEM;
    if (status) {
        free(rank);
        sp__consumer_destroy(consumer);
        return status;
    }
    *rank = (struct rank){.daemon = daemon, .session = session, .consumer = consumer, .removed_spool = -1};
    rank->guard = guard_find(consumer->segment.header);
    rank->flush_taken = atomic_load_explicit(&header_of(rank)->flush_done, memory_order_relaxed);
    status = choose_names(rank);
    if (status) {
        sp__consumer_destroy(consumer);
        free(rank);
        session_release(session);
        return status;
    }
    find_other_spool(rank);
    /* Its program published for itself and removed its spool while byte 1 changed hands: an empty one must not stand in
     * for what was published. */
    if (atomic_load_explicit(&header_of(rank)->state, memory_order_acquire) == SP__FINALIZED &&
        consumer->spool.size <= sizeof(struct sp__frame) + sizeof(struct sp__identity)) {
        unlink(consumer->spool.path);
        rank->whole = true; /* not drained any more, which would give the spool its name back */
    }
    rank->next = daemon->ranks;
    if (rank->next)
        rank->next->previous = rank;
    daemon->ranks = rank;
    ++daemon->rank_count;
    ++session->ranks;
    ++daemon->attached;
    finder_add(&daemon->finder, rank);

    char path[SP__PATH_SIZE];
    uint32_t format;
    rank_planned(rank, path, sizeof path, &format);
    sp__consumer_answer(consumer, 0, 0, format, path);
    log_say(LOG_DEBUG, RANK_SAYS ": attached: pid %u, spool %s", RANK_NAMES(rank), (unsigned)id->pid,
            consumer->spool.path);
    daemon_due(daemon, rank);
    SP__INSTANT(spd_attached);
    return 0;
}

static void leave_due_line(struct rank *rank)
{
    struct daemon *daemon = rank->daemon;
    if (!rank->due)
        return;
    struct rank **at = &daemon->due;
    while (*at != rank)
        at = &(*at)->next_due;
    *at = rank->next_due;
    if (daemon->due_end == &rank->next_due)
        daemon->due_end = at;
}

void rank_destroy(struct rank *rank)
{
    struct daemon *daemon = rank->daemon;
    struct session *session = rank->session;
    leave_due_line(rank);
    finder_remove(&daemon->finder, rank);
    if (rank->previous)
        rank->previous->next = rank->next;
    else
        daemon->ranks = rank->next;
    if (rank->next)
        rank->next->previous = rank->previous;
    --daemon->rank_count;
    --session->ranks;
    flush_complete(&rank->waiting, &(struct flush_part){0});
    sp__consumer_destroy(rank->consumer);
    publisher_close(&daemon->publisher, rank->removed_spool);
    free(rank);
    session_step(session);
    session_release(session);
}

void rank_spool_status(struct rank *rank, int status)
{
    struct session *session = rank->session;
    rank->stalled = status != 0;
    if (status && log_begins(&session->spool_fails))
        log_say(LOG_WARNING,
                RANK_SAYS ": append to %s: %s; its records stay in the ring, and only a full ring drops; make room, "
                          "it is tried each second",
                RANK_NAMES(rank), rank->consumer->spool.path, strerror(-status));
    if (!status && log_ends(&session->spool_fails))
        log_say(LOG_INFO, "session %s: append to %s: works again", session->name, rank->consumer->spool.path);
}

/* Which of the things that can be next is next. Only called when everything published so far was drained once. */
static void next_step(struct rank *rank)
{
    struct sp__header *header = header_of(rank);
    /* Pairs with the program's release store: records appended before it are seen by the drain that follows. byte 0 was
     * looked at before, so that a program that finalized and then ended is not taken for a death. */
    uint32_t state = atomic_load_explicit(&header->state, memory_order_acquire);
    if (state < SP__RECORDING || state > SP__DISCARDED) {
        rank_set_aside(rank, "the segment contradicts itself: its state is none");
    } else if (state == SP__DISCARDED) {
        rank_discard(rank);
    } else if (state == SP__FINALIZED) { /* an spd before this one published it and was killed over the names */
        rank->whole = true;
        rank_bury(rank);
    } else if (state == SP__FINALIZING) {
        rank_end(rank, SP__END_FINALIZED);
    } else if (rank->dead) {
        rank_end(rank, SP__END_DIED);
    } else {
        /* Pairs with sp_profiler_flush's fetch_add. */
        uint32_t request = atomic_load_explicit(&header->flush_request, memory_order_acquire);
        if (rank->flush_wanted || request != rank->flush_taken)
            rank_flush(rank);
    }
}

void rank_step_aside(const struct rank *rank)
{
    aside_step(atomic_load_explicit(&header_of(rank)->bell_cpu, memory_order_relaxed)); /* a hint: pairs with nothing */
}

void rank_service(struct rank *rank)
{
    if (rank->aside)
        return;
    if (rank->discarded || rank->whole) {
        if (!rank->publication)
            rank_bury(rank);
        return;
    }
    uint64_t records = 0;
    int status = sp__consumer_drain(rank->consumer, SLICE, &records);
    rank->records += records;
    rank->daemon->records += records;
    if (guard_poisoned(rank->guard) || status == -EBADMSG) {
        rank_set_aside(rank, NULL);
        return;
    }
    if (status || rank->stalled)
        rank_spool_status(rank, status);
    bool hurries = rank->rung || records >= SLICE / 2 || uv_now(&rank->daemon->loop) < rank->linger_until_ms;
    rank->rung = false;
    if (!status && records >= (hurries ? BUSY : SLICE))
        daemon_due(rank->daemon, rank);
    if (!status && records >= BUSY && hurries)
        daemon_linger(rank->daemon, rank);
    if (!status && !rank->publication && !rank->in_merge)
        next_step(rank);
}

void rank_look_alive(struct rank *rank)
{
    if (rank->dead || rank->aside)
        return;
    if (sp__segment_alive(&rank->consumer->segment) == 0) {
        rank->dead = true;
        daemon_due(rank->daemon, rank);
    }
}

void rank_counters(const struct rank *rank, struct sp__counters *ret, uint64_t *ret_heads, uint64_t *ret_undrained)
{
    struct sp__header *header = header_of(rank);
    uint32_t lanes = atomic_load_explicit(&header->lanes_used, memory_order_acquire);
    if (lanes > rank->consumer->segment.lane_capacity)
        lanes = rank->consumer->segment.lane_capacity;
    *ret = (struct sp__counters){.lost_no_lane = atomic_load_explicit(&header->lost_no_lane, memory_order_relaxed)};
    *ret_heads = *ret_undrained = 0;
    for (uint32_t n = 0; n < lanes; ++n) {
        struct sp__lane *lane = &rank->consumer->segment.lanes[n];
        const struct sp__consumer *consumer = rank->consumer;
        uint64_t head = atomic_load_explicit(&lane->head, memory_order_acquire);
        *ret_heads += head;
        /* By what this consumer drained, not by the lane's tail, which anybody may have written over: what never
         * becomes 0 would have a rank looked at, and published at its end, for ever. */
        if (consumer->placed[n])
            *ret_undrained += head - consumer->next[n];
        else if (atomic_load_explicit(&lane->ready, memory_order_acquire) == 1)
            *ret_undrained += head - atomic_load_explicit(&lane->tail, memory_order_relaxed);
        ret->dropped += atomic_load_explicit(&lane->dropped, memory_order_relaxed);
        ret->waited_ns += atomic_load_explicit(&lane->waited_ns, memory_order_relaxed);
        ret->mended += atomic_load_explicit(&lane->mended, memory_order_relaxed);
        ret->unmatched += atomic_load_explicit(&lane->unmatched, memory_order_relaxed);
        ret->too_deep += atomic_load_explicit(&lane->too_deep, memory_order_relaxed);
    }
}

void rank_tick(struct rank *rank, uint64_t now_ms)
{
    struct sp__header *header = header_of(rank);
    struct sp__counters counters;
    uint64_t heads, undrained;
    if (rank->aside) {
        if (!rank->publication) /* there was no memory for it */
            publisher_rank(&rank->daemon->publisher, rank, PUBLISH_ASIDE);
        return;
    }
    rank_look_alive(rank);
    rank_counters(rank, &counters, &heads, &undrained);
    atomic_store_explicit(&header->consumer_beat_ns, sp__clock_mono(), memory_order_relaxed);
    uint32_t state = atomic_load_explicit(&header->state, memory_order_relaxed);
    uint32_t request = atomic_load_explicit(&header->flush_request, memory_order_relaxed);
    bool retry = now_ms >= rank->retry_ms;
    if (undrained || rank->stalled || guard_poisoned(rank->guard) || rank->discarded || rank->whole ||
        ((state > SP__RESETTING || state < SP__RECORDING || rank->dead || rank->flush_wanted ||
          request != rank->flush_taken) &&
         retry))
        daemon_due(rank->daemon, rank);
    if (counters.dropped > rank->dropped_said && now_ms - rank->dropped_said_ms >= SAY_EVERY_MS) {
        log_say(LOG_WARNING,
                RANK_SAYS
                ": recording: %llu calls dropped so far because rings stayed full; raise SP_RING or SP_FULL_WAIT",
                RANK_NAMES(rank), (unsigned long long)counters.dropped);
        rank->dropped_said = counters.dropped;
        rank->dropped_said_ms = now_ms;
    }
    session_limit(rank);
}
