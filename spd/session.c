#include "session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"
#include "flush.h"
#include "instant.h"
#include "log.h"
#include "names.h"
#include "node.h"
#include "rank.h"
#include "target.h"

enum {
    RETRY_MS = 5000,
    BUSY_MS = 250 /* a program that drains itself is attached to as soon as it rests */
};

struct session *session_find(struct daemon *daemon, const char *name)
{
    struct session *session = daemon->sessions;
    while (session && strcmp(session->name, name))
        session = session->next;
    return session;
}

struct session *session_get(struct daemon *daemon, const char *name)
{
    struct session *session = session_find(daemon, name);
    if (session)
        return session;
    session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->daemon = daemon;
    snprintf(session->name, sizeof session->name, "%s", name);
    int folder = snprintf(session->folder, sizeof session->folder, "%s/%s", daemon->data_dir, name);
    int node = snprintf(session->node_path, sizeof session->node_path, "%s/%s/node-%s.json", daemon->data_dir, name,
                        daemon->hostname);
    if (folder < 0 || (size_t)folder >= sizeof session->folder || node < 0 ||
        (size_t)node >= sizeof session->node_path) {
        free(session);
        return NULL;
    }
    if (daemon->options->format == OPTIONS_MERGED)
        target_merged(session);
    session->next = daemon->sessions;
    daemon->sessions = session;
    return session;
}

void session_release(struct session *session)
{
    if (session->ranks || session->publication || session->merge_ended || session->merge_now || session->waiting ||
        session->node_dirty || session->node_write)
        return;
    struct session **at = &session->daemon->sessions;
    while (*at != session)
        at = &(*at)->next;
    *at = session->next;
    json_decref(session->node);
    free(session);
}

static bool holds_spools(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    bool found = false;
    while (dir && !found && (entry = readdir(dir))) {
        size_t length = strlen(entry->d_name), suffix = strlen(SP__SPOOL_SUFFIX);
        found = length > suffix && !strcmp(entry->d_name + length - suffix, SP__SPOOL_SUFFIX);
    }
    if (dir)
        closedir(dir);
    return found;
}

void session_recover(struct daemon *daemon)
{
    DIR *dir = opendir(daemon->data_dir);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char folder[SP__PATH_SIZE];
        if (!sp__session_valid(entry->d_name) || !options_take(daemon->options, entry->d_name) ||
            (size_t)snprintf(folder, sizeof folder, "%s/%s", daemon->data_dir, entry->d_name) >= sizeof folder ||
            !holds_spools(folder))
            continue;
        struct session *session = session_get(daemon, entry->d_name);
        if (session)
            session->merge_ended = true; /* taken up by the tick, when segments have been looked for */
    }
    if (dir)
        closedir(dir);
}

void session_want_merge(struct session *session, bool now)
{
    if (now)
        session->merge_now = true;
    else
        session->merge_ended = true;
    session_step(session);
}

void session_step(struct session *session)
{
    struct daemon *daemon = session->daemon;
    if (session->publication || uv_now(&daemon->loop) < session->merge_retry_ms)
        return;
    bool last = session->merge_ended && (!session->ranks || daemon->stopping);
    if (!session->merge_now && !last)
        return;
    for (struct rank *rank = daemon->ranks; rank; rank = rank->next)
        if (rank->session == session && !rank->stalled && !rank->ended && !rank->aside && rank->flush_wanted)
            return; /* it is about to be marked */
    for (struct rank *rank = daemon->ranks; rank; rank = rank->next) {
        if (rank->session != session || !rank->flush_marked)
            continue;
        rank->flush_marked = false;
        rank->in_merge = true;
        rank->flush_merging = rank->flush_taken;
    }
    session->merge_now = session->merge_ended = false;
    target_merged(session);
    publisher_session(&daemon->publisher, session);
}

static void remove_merged_spools(struct session *session, const struct publication *publication)
{
    /* Until the last has ended every incarnation comes from its spool, whole. One that ended while this file was
     * written may stand in it in part: the next one takes all of them again. */
    if (session->ranks || session->merge_ended)
        return;
    /* All or none: a rank of this file cannot be taken without its other lives. Where the spool of one stays, that one
     * would be counted from both. */
    if (publication->keeps_spools)
        return;
    for (size_t n = 0; n < publication->source_count; ++n) {
        const char *path = publication->sources[n].path;
        if (!publication->sources[n].ended || publication->sources[n].left_out)
            continue;
        /* Two lives of a rank stand in the file as one rank. With one spool of the two gone, a death here would have
         * that life read from the file, and the other one from there and from its spool: both stay, and whoever merges
         * takes them. */
        if (publication_rank_twice(publication, n))
            continue;
        int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        unlink(path);
        SP__INSTANT(merged_spool);
        publisher_close(&session->daemon->publisher, fd);
    }
    session->kept_bytes = 0;
}

void session_merged(struct session *session, const struct publication *publication)
{
    struct daemon *daemon = session->daemon;
    session->publication = NULL;
    int error = publication->error;
    if (error && publication->busy) {
        ++session->merge_busy;
        session->merge_ended = true;
        session->merge_retry_ms = uv_now(&daemon->loop) + BUSY_MS;
    } else if (error) {
        ++daemon->publish_failures;
        session->merge_ended = true;
        session->merge_retry_ms = uv_now(&daemon->loop) + RETRY_MS;
        if (session->merge_failures++ == 0)
            log_say(LOG_WARNING, "session %s: publish: %s; the spools are kept, and it is tried again", session->name,
                    publication->why);
    } else {
        ++daemon->published;
        session->merge_failures = 0;
        if (session->merged_plain)
            session->merge_busy = 0;
        session->merge_retry_ms = 0;
        if (*publication->file)
            log_say(publication->lost || publication->dropped ? LOG_WARNING : LOG_INFO,
                    "session %s: published: %llu ranks, %llu calls, %llu dropped, %llu lost: %s", session->name,
                    (unsigned long long)publication->ranks, (unsigned long long)publication->calls,
                    (unsigned long long)publication->dropped, (unsigned long long)publication->lost, publication->file);
        remove_merged_spools(session, publication);
    }
    node_add(session, publication->facts);
    for (struct rank *rank = daemon->ranks; rank; rank = rank->next)
        if (rank->session == session && rank->in_merge)
            rank_merged(rank, error, publication->file);
    session_step(session);
    session_release(session);
}

static uint64_t spool_bytes(const struct daemon *daemon, const struct session *session)
{
    uint64_t bytes = 0;
    for (const struct rank *rank = daemon->ranks; rank; rank = rank->next)
        if (!session || rank->session == session)
            bytes += rank->consumer->spool.size;
    for (const struct session *s = daemon->sessions; s; s = s->next)
        if (!session || s == session)
            bytes += s->kept_bytes;
    return bytes;
}

void session_limit(struct rank *rank)
{
    struct daemon *daemon = rank->daemon;
    struct session *session = rank->session;
    const struct options *options = daemon->options;
    if (rank->paused_by_limit || (!options->max_session_bytes && !options->max_bytes))
        return;
    bool over = (options->max_session_bytes && spool_bytes(daemon, session) > options->max_session_bytes) ||
                (options->max_bytes && spool_bytes(daemon, NULL) > options->max_bytes);
    if (!over)
        return;
    /* Only from recording: a reset or an end that is under way at this moment wins, and the next tick sees it. */
    uint32_t recording = SP__RECORDING;
    if (!atomic_compare_exchange_strong_explicit(&rank->consumer->segment.header->state, &recording, SP__PAUSED,
                                                 memory_order_release, memory_order_relaxed))
        return;
    rank->paused_by_limit = true;
    ++daemon->limit_uses;
    if (log_begins(&session->limited))
        log_say(LOG_WARNING,
                "session %s: recording: paused at %llu bytes of spool by the limit (policy stop); flush and end its "
                "programs, or start spd with a higher limit",
                session->name, (unsigned long long)spool_bytes(daemon, session));
}
