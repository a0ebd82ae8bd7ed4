/* rank_end.c: publishing a rank, and the order of things at its end. Killed at any line, the next spd finds a segment
 * that it attaches to and goes on, or a spool that whoever merges takes; never a spool gone before the profile and the
 * segment's name say so. */
#include "rank.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"
#include "flush.h"
#include "guard.h"
#include "instant.h"
#include "log.h"
#include "names.h"
#include "node.h"
#include "scope_profiler.h"
#include "session.h"

enum { RETRY_MS = 1000, RETRY_MOST_MS = 30000, SHORTLY_MS = 20 };

static struct sp__header *header_of(const struct rank *rank)
{
    return rank->consumer->segment.header;
}

static bool merged(const struct rank *rank)
{
    return rank->daemon->options->format == OPTIONS_MERGED;
}

/* Everything that is published in the lanes now, then what a publication needs besides. */
static int drain_and_mark(struct rank *rank, enum sp__end end)
{
    uint64_t records = 0;
    int status = sp__consumer_drain(rank->consumer, 0, &records);
    rank->records += records;
    rank->daemon->records += records;
    if (!status)
        status = sp__consumer_mark(rank->consumer, end);
    if (guard_poisoned(rank->guard))
        status = -EBADMSG;
    if (status && status != -EBADMSG)
        rank_spool_status(rank, status);
    return status;
}

static void answer_flush(struct rank *rank, uint32_t request, int error, uint32_t format, const char *path)
{
    struct sp__header *header = header_of(rank);
    if (request == atomic_load_explicit(&header->flush_done, memory_order_relaxed))
        return;
    sp__consumer_answer(rank->consumer, error ? SP_ERR_IO : SP_OK, error, format, error ? NULL : path);
    SP__INSTANT(flush_answered);
    atomic_store_explicit(&header->flush_done, request,
                          memory_order_release); /* pairs with the waiting program's load */
}

void rank_flush(struct rank *rank)
{
    uint32_t request = atomic_load_explicit(&header_of(rank)->flush_request, memory_order_acquire);
    int status = drain_and_mark(rank, 0);
    if (status == -EBADMSG) {
        rank_set_aside(rank, NULL);
        return;
    }
    SP__INSTANT(spd_flush);
    rank->flush_wanted = false;
    rank->flush_taken = request;
    if (status) {
        answer_flush(rank, request, -status, SP__FORMAT_AUTO, NULL);
        flush_complete(&rank->waiting, &(struct flush_part){.error = -status, .why = "its spool takes nothing"});
        return;
    }
    if (merged(rank)) {
        rank->flush_marked = true;
        session_want_merge(rank->session, true);
        return;
    }
    publisher_rank(&rank->daemon->publisher, rank, PUBLISH_FLUSH);
}

void rank_end(struct rank *rank, uint32_t end)
{
    uint64_t now = uv_now(&rank->daemon->loop);
    if (now < rank->retry_ms || (rank->daemon->stopping && rank->failures))
        return;
    int status = drain_and_mark(rank, end);
    if (status == -EBADMSG) {
        rank_set_aside(rank, NULL);
        return;
    }
    if (status)
        return; /* the tick comes back to it */
    SP__INSTANT(spd_end);
    if (!rank->ended && end == SP__END_DIED)
        log_say(LOG_WARNING, RANK_SAYS ": program (pid %u) died; publishing what it recorded", RANK_NAMES(rank),
                (unsigned)rank_identity(rank)->pid);
    rank->ended = end;
    rank->flush_wanted = false;
    publisher_rank(&rank->daemon->publisher, rank, PUBLISH_FINAL);
}

void rank_set_aside(struct rank *rank, const char *why)
{
    struct daemon *daemon = rank->daemon;
    const struct sp__segment *segment = &rank->consumer->segment;
    char words[256];
    if (rank->aside)
        return;
    if (!why) {
        const char *fault = rank->consumer->fault;
        snprintf(words, sizeof words, "the segment %s%s", fault ? "contradicts itself: " : "contradicts itself",
                 fault ? fault : "");
        why = guard_poisoned(rank->guard) ? "the segment was cut short" : words;
    }
    rank->aside = true;
    ++daemon->set_aside;
    log_say(LOG_WARNING, "segment %s: drain: %s; it is set aside, what was drained is published", segment->name, why);
    finder_set_aside(&daemon->finder, segment->name, segment->ino, 0, false, why);
    if (!rank->publication)
        publisher_rank(&daemon->publisher, rank, PUBLISH_ASIDE);
}

static void remove_spools(struct rank *rank)
{
    if (rank->removed_spool < 0)
        rank->removed_spool = fcntl(rank->consumer->spool.fd, F_DUPFD_CLOEXEC, 0);
    unlink(rank->consumer->spool.path);
    if (*rank->other_spool)
        unlink(rank->other_spool);
}

static bool undrained(const struct rank *rank)
{
    struct sp__counters counters;
    uint64_t heads, left;
    rank_counters(rank, &counters, &heads, &left);
    return left != 0;
}

static void failed(struct rank *rank, const struct publication *publication)
{
    ++rank->daemon->publish_failures;
    if (rank->failures++ == 0)
        log_say(LOG_WARNING, RANK_SAYS ": publish: %s; its spool %s is kept%s", RANK_NAMES(rank), publication->why,
                rank->consumer->spool.path, publication->kind == PUBLISH_FINAL ? ", and it is tried again" : "");
    uint64_t wait = (uint64_t)RETRY_MS << (rank->failures < 6 ? rank->failures - 1 : 5);
    rank->retry_ms = uv_now(&rank->daemon->loop) + (wait > RETRY_MOST_MS ? RETRY_MOST_MS : wait);
}

static void say_published(struct rank *rank, const struct publication *publication)
{
    const char *how = publication->kind == PUBLISH_FLUSH ? "flushed"
                      : rank->ended == SP__END_DIED      ? "died, published"
                                                         : "published";
    log_say(publication->lost || publication->dropped ? LOG_WARNING : LOG_INFO,
            RANK_SAYS ": %s: %llu calls, %llu dropped, %llu lost: %s", RANK_NAMES(rank), how,
            (unsigned long long)publication->calls, (unsigned long long)publication->dropped,
            (unsigned long long)publication->lost, publication->file);
}

void rank_published(struct rank *rank, const struct publication *publication)
{
    struct daemon *daemon = rank->daemon;
    int error = publication->error;
    rank->publication = NULL;
    SP__INSTANT(publish_told);
    if (error) {
        failed(rank, publication);
    } else {
        rank->failures = 0;
        ++daemon->published;
        if (*publication->file)
            say_published(rank, publication);
    }
    node_add(rank->session, publication->facts);
    if (publication->kind == PUBLISH_FLUSH)
        answer_flush(rank, publication->request, error, publication->written, publication->file);
    if (rank->aside) {
        if (publication->kind == PUBLISH_ASIDE)
            rank_destroy(rank);
        else
            publisher_rank(&daemon->publisher, rank, PUBLISH_ASIDE);
        return;
    }
    if (publication->kind == PUBLISH_FINAL && !error) {
        if (undrained(rank)) { /* a writer that was held up longer than its finalize: once more, with its record */
            if (rank->again++) /* but not as fast as somebody writes into a segment that has ended */
                rank->retry_ms = uv_now(&daemon->loop) + RETRY_MS;
            daemon_due(daemon, rank);
            return;
        }
        if (rank->ended == SP__END_DIED)
            ++daemon->died;
        else
            ++daemon->finalized;
        rank->whole = true;
        sp__consumer_answer(rank->consumer, SP_OK, 0, publication->written,
                            merged(rank) ? rank->session->merged : publication->file);
        rank_bury(rank);
        return;
    }
    daemon_due(daemon, rank); /* what came meanwhile: an end, another flush */
}

void rank_merged(struct rank *rank, int error, const char *path)
{
    answer_flush(rank, rank->flush_merging, error, SP__FORMAT_HDF5, path);
    rank->in_merge = false;
    daemon_due(rank->daemon, rank);
}

void rank_discard(struct rank *rank)
{
    ++rank->daemon->discarded;
    log_say(LOG_DEBUG, RANK_SAYS ": discarded by its program", RANK_NAMES(rank));
    /* Spools first: a segment that is still there says that they may go; a spool alone would be merged. */
    remove_spools(rank);
    SP__INSTANT(spd_discard);
    rank->discarded = true;
    rank_bury(rank);
}

/* The name, and the one that it has when a restart moved it aside; whichever is another inode's stays. */
static int remove_names(struct rank *rank)
{
    struct sp__segment *segment = &rank->consumer->segment;
    int status = sp__segment_unlink(segment);
    char incarnation[33], name[sizeof segment->name];
    sp__incarnation_text(rank_identity(rank)->incarnation, incarnation);
    struct sp__segment moved = *segment;
    size_t length = strlen(segment->name);
    if (!status && length + 11 < sizeof name) {
        snprintf(moved.name, sizeof moved.name, "%.*s.d%.8s", (int)length, segment->name, incarnation);
        status = sp__segment_unlink(&moved);
    }
    return status;
}

void rank_bury(struct rank *rank)
{
    struct sp__header *header = header_of(rank);
    if (rank->whole && rank->ended)
        /* Its name may go from now on, also where it does not: who finds it so only removes it, and looks for its calls
         * where they were published. Pairs with consumers' acquire loads. */
        atomic_store_explicit(&header->state, SP__FINALIZED, memory_order_release);
    SP__INSTANT(rank_state);
    int status = remove_names(rank);
    if (status == -EAGAIN || status == -EBUSY) {
        rank->retry_ms = uv_now(&rank->daemon->loop) + SHORTLY_MS;
        return; /* somebody is at the name this moment; the tick comes back */
    }
    if (status)
        log_say(LOG_WARNING, "segment %s: remove: %s; remove it by hand", rank->consumer->segment.name,
                strerror(-status));
    SP__INSTANT(rank_name);
    if (rank->whole && rank->ended && !merged(rank))
        remove_spools(rank);
    SP__INSTANT(rank_spool);
    /* Whatever flush was still asked for is answered by this end. */
    atomic_store_explicit(&header->flush_done, atomic_load_explicit(&header->flush_request, memory_order_acquire),
                          memory_order_release);
    /* Last: when sp_finalize sees it, nothing is left. Pairs with its acquire load. */
    atomic_store_explicit(&header->published, 1, memory_order_release);
    SP__INSTANT(rank_told);
    if (merged(rank) && rank->whole)
        session_want_merge(rank->session, false);
    rank_destroy(rank);
}
