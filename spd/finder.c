#include "finder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "consumer.h"
#include "daemon.h"
#include "instant.h"
#include "log.h"
#include "names.h"
#include "rank.h"
#include "session.h"

enum {
    SCAN_MS = 2000,
    DEATH_SOON_MS = 2,   /* after the event: several deaths at once are one look */
    DEATH_LATER_MS = 20, /* the lock is dropped just after the event, and looks are no more frequent than this */
    READS_MOST = 16
};

static unsigned bucket_of(const char *name)
{
    uint32_t hash = 2166136261U;
    for (; *name; ++name)
        hash = (hash ^ (unsigned char)*name) * 16777619U;
    return hash % FINDER_BUCKETS;
}

void finder_add(struct finder *finder, struct rank *rank)
{
    unsigned bucket = bucket_of(rank->consumer->segment.name);
    rank->next_of_name = finder->buckets[bucket];
    finder->buckets[bucket] = rank;
}

void finder_remove(struct finder *finder, struct rank *rank)
{
    struct rank **at = &finder->buckets[bucket_of(rank->consumer->segment.name)];
    while (*at && *at != rank)
        at = &(*at)->next_of_name;
    if (*at)
        *at = rank->next_of_name;
}

static struct rank *find_name(struct finder *finder, const char *name)
{
    struct rank *rank = finder->buckets[bucket_of(name)];
    while (rank && strcmp(rank->consumer->segment.name, name))
        rank = rank->next_of_name;
    return rank;
}

static struct rank *find_inode(struct finder *finder, const struct stat *stat)
{
    for (struct rank *rank = finder->daemon->ranks; rank; rank = rank->next)
        if (rank->consumer->segment.ino == stat->st_ino && rank->consumer->segment.dev == stat->st_dev)
            return rank;
    return NULL;
}

static struct aside *find_aside(struct finder *finder, const char *name)
{
    struct aside *aside = finder->asides;
    while (aside && strcmp(aside->name, name))
        aside = aside->next;
    return aside;
}

void finder_set_aside(struct finder *finder, const char *name, ino_t ino, unsigned seconds, bool foreign,
                      const char *why)
{
    struct aside *aside = find_aside(finder, name);
    if (!aside) {
        aside = calloc(1, sizeof *aside);
        if (!aside)
            return; /* it is looked at again, which costs time alone */
        aside->next = finder->asides;
        finder->asides = aside;
        snprintf(aside->name, sizeof aside->name, "%s", name);
    }
    aside->ino = ino;
    aside->retry_ms = seconds ? uv_now(&finder->daemon->loop) + seconds * 1000U : UINT64_MAX;
    aside->foreign = foreign;
    aside->scan = finder->scan;
    snprintf(aside->why, sizeof aside->why, "%s", why);
}

static void forget_aside(struct finder *finder, const char *name)
{
    for (struct aside **at = &finder->asides; *at; at = &(*at)->next) {
        if (strcmp((*at)->name, name))
            continue;
        struct aside *aside = *at;
        *at = aside->next;
        free(aside);
        return;
    }
}

static void drop_vanished(struct finder *finder)
{
    for (struct aside **at = &finder->asides; *at;) {
        struct aside *aside = *at;
        if (aside->scan == finder->scan) {
            at = &aside->next;
            continue;
        }
        *at = aside->next;
        free(aside);
    }
}

/* By its name alone: "sp.<uid>.<session>.<hash>.r<rank>...", since its header is not to be believed. */
static bool name_is_ours(const struct finder *finder, const char *name)
{
    char session[SP__SESSION_SIZE];
    const char *from = strchr(name + sizeof "sp." - 1, '.') + 1; /* the name is a valid one */
    const char *to = strrchr(name, '.');
    while (to > from && strncmp(to, ".r", 2))
        to = memrchr(name, '.', (size_t)(to - name));
    to = to > from ? memrchr(name, '.', (size_t)(to - name)) : NULL; /* before the hash */
    if (!to || to <= from || (size_t)(to - from) >= sizeof session)
        return true;
    snprintf(session, sizeof session, "%.*s", (int)(to - from), from);
    return options_take(finder->daemon->options, session);
}

static void refuse(struct finder *finder, const char *name, ino_t ino, int status, const char *why)
{
    struct daemon *daemon = finder->daemon;
    switch (status) {
    case -ENOENT:
        return;
    case -EACCES: /* another user's */
        finder_set_aside(finder, name, ino, 0, true, "another user's");
        return;
    case -EBUSY:
        finder_set_aside(finder, name, ino, 1, false, "somebody else drains it");
        return;
    case -EPROTONOSUPPORT:
    case -EBADMSG:
        if (!name_is_ours(finder, name)) {
            finder_set_aside(finder, name, ino, 0, true, why);
            return;
        }
        log_say(LOG_WARNING, "segment %s: attach: %s; it is left alone, the others are served", name, why);
        finder_set_aside(finder, name, ino, 0, false, why);
        ++daemon->set_aside;
        return;
    case -EMFILE:
    case -ENFILE:
        if (log_begins(&finder->short_of_files))
            log_say(LOG_WARNING, "segment %s: attach: no descriptors left (%zu ranks are served); raise ulimit -n",
                    name, daemon->rank_count);
        finder_set_aside(finder, name, ino, 2, false, "spd has no descriptors left; raise its ulimit -n");
        return;
    default:
        if (log_begins(&daemon->attach_fails))
            log_say(LOG_WARNING, "segment %s: attach: %s%s%s; its program keeps its records meanwhile, tried again",
                    name, strerror(-status), why && *why ? ", " : "", why ? why : "");
        finder_set_aside(finder, name, ino, 2, false, why && *why ? why : strerror(-status));
    }
}

/* The session stands in the header. Nothing is locked before it is known to be ours: another spd may take it. 1: it is
 * finished with, and only its name was left; -ECHILD: not ours. */
static int session_is_ours(struct finder *finder, const char *name, char why[256])
{
    struct sp__segment segment;
    int status = sp__segment_open(&segment, name, true, why);
    if (status)
        return status;
    if (!sp__session_valid(segment.identity.session) ||
        !options_take(finder->daemon->options, segment.identity.session))
        status = -ECHILD;
    else if (atomic_load_explicit(&segment.header->state, memory_order_acquire) == SP__FINALIZED)
        status = sp__segment_unlink(&segment) ? 0 : 1;
    sp__segment_close(&segment);
    return status;
}

static void attach(struct finder *finder, const char *name, ino_t ino)
{
    struct daemon *daemon = finder->daemon;
    if (daemon->stopping)
        return;
    char why[256] = "";
    int status = session_is_ours(finder, name, why);
    if (status == 1)
        return;
    if (status == -ECHILD) {
        finder_set_aside(finder, name, ino, 0, true, "a session that this spd does not take");
        return;
    }
    struct sp__consumer *consumer = NULL;
    if (!status && daemon->rank_count >= daemon->rank_limit)
        status = -EMFILE;
    SP__INSTANT(spd_attach);
    if (!status)
        status = sp__consumer_attach(&consumer, name, daemon->data_dir, why);
    if (!status)
        status = rank_create(daemon, consumer); /* takes the consumer, also when it fails */
    if (status) {
        refuse(finder, name, ino, status, why);
        return;
    }
    forget_aside(finder, name);
    if (log_ends(&daemon->attach_fails))
        log_say(LOG_INFO, "segment %s: attach: works again", name);
}

/* A valid name that exists, existed, or was given to another segment. */
static void consider(struct finder *finder, const char *name)
{
    char path[sizeof SP__SHM_DIR + 256];
    struct stat stat;
    snprintf(path, sizeof path, "%s/%s", SP__SHM_DIR, name);
    if (lstat(path, &stat)) {
        forget_aside(finder, name);
        return;
    }
    struct aside *aside = find_aside(finder, name);
    if (aside && aside->ino == stat.st_ino)
        aside->scan = finder->scan;
    struct rank *rank = find_name(finder, name);
    if (rank && rank->consumer->segment.ino == stat.st_ino && rank->consumer->segment.dev == stat.st_dev)
        return;
    rank = find_inode(finder, &stat);
    if (rank) { /* a restart moved its dead predecessor aside while that one is being drained */
        finder_remove(finder, rank);
        snprintf(rank->consumer->segment.name, sizeof rank->consumer->segment.name, "%s", name);
        finder_add(finder, rank);
        return;
    }
    if (aside && aside->ino == stat.st_ino && uv_now(&finder->daemon->loop) < aside->retry_ms)
        return;
    attach(finder, name, stat.st_ino);
}

static int consider_each(const char *name, void *context)
{
    consider(context, name);
    return 0;
}

static void add_watch(struct finder *finder)
{
    if (finder->fd < 0 || finder->watch >= 0)
        return;
    finder->watch = inotify_add_watch(finder->fd, SP__SHM_DIR,
                                      IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_ONLYDIR);
    if (finder->watch >= 0) {
        if (log_ends(&finder->blind))
            log_say(LOG_INFO, "%s: watch: works", SP__SHM_DIR);
    } else if (log_begins(&finder->blind)) {
        log_say(LOG_WARNING, "%s: watch: %s; it is scanned every %d s instead, and full rings wait", SP__SHM_DIR,
                strerror(errno), SCAN_MS / 1000);
    }
}

static void scan(struct finder *finder)
{
    add_watch(finder);
    ++finder->scan;
    int status = sp__segment_each((uint32_t)geteuid(), consider_each, finder);
    if (!status) {
        drop_vanished(finder);
        finder->unreadable = false;
    } else if (log_begins(&finder->unreadable)) {
        log_say(LOG_WARNING, "%s: read: %s; tried again", SP__SHM_DIR, strerror(-status));
    }
    if (finder->short_of_files && finder->daemon->rank_count + 1 < finder->daemon->rank_limit)
        finder->short_of_files = false;
}

static void on_scan(uv_timer_t *timer)
{
    scan(timer->data);
}

/* Closed after writing: byte 0 of these may be free now, or is about to be. */
static void on_death_timer(uv_timer_t *timer)
{
    struct finder *finder = timer->data;
    finder->death_looked_ms = uv_now(&finder->daemon->loop);
    for (struct rank *rank = finder->daemon->ranks; rank; rank = rank->next) {
        if (rank->closed)
            rank_look_alive(rank);
        rank->closed = false;
    }
    if (finder->death_event)
        uv_timer_start(timer, on_death_timer, DEATH_LATER_MS, 0);
    finder->death_event = false;
}

static void closed(struct finder *finder, struct rank *rank)
{
    rank->closed = true;
    finder->death_event = true;
    if (uv_is_active((uv_handle_t *)&finder->death_timer))
        return;
    uint64_t since = uv_now(&finder->daemon->loop) - finder->death_looked_ms;
    uint64_t wait = since >= DEATH_LATER_MS ? DEATH_SOON_MS : DEATH_LATER_MS - since;
    uv_timer_start(&finder->death_timer, on_death_timer, wait, 0);
}

/* A mapping's own description never had a name: what the kernel calls it instead is "#" and its inode's number. Other
 * programs' files without a name come by here too, and must not cost a look at every rank. */
static void closed_unnamed(struct finder *finder, const char *name)
{
    char *end;
    unsigned long long ino = strtoull(name + 1, &end, 10);
    bool number = end > name + 1 && *end == '\0';
    for (struct rank *rank = finder->daemon->ranks; rank; rank = rank->next)
        if (!number || rank->consumer->segment.ino == (ino_t)ino)
            closed(finder, rank);
}

static void on_event(struct finder *finder, const struct inotify_event *event)
{
    if (event->mask & (IN_IGNORED | IN_UNMOUNT))
        finder->watch = -1;
    if (event->mask & (IN_Q_OVERFLOW | IN_IGNORED | IN_UNMOUNT)) {
        log_say(LOG_DEBUG, "%s: watch: events were lost; scanned instead", SP__SHM_DIR);
        scan(finder);
        for (struct rank *rank = finder->daemon->ranks; rank; rank = rank->next) {
            closed(finder, rank);
            daemon_due(finder->daemon, rank);
        }
        return;
    }
    if (!event->len)
        return;
    const char *name = event->name;
    if (name[0] == '#') {
        if (event->mask & IN_CLOSE_WRITE)
            closed_unnamed(finder, name);
        return;
    }
    struct rank *rank = event->mask & (IN_MODIFY | IN_CLOSE_WRITE) ? find_name(finder, name) : NULL;
    if (rank) {
        if (event->mask & IN_MODIFY) {
            rank->rung = true;
            rank_step_aside(rank);
        }
        daemon_due(finder->daemon, rank);
        if (event->mask & IN_CLOSE_WRITE)
            closed(finder, rank);
    } else if (sp__segment_name_valid(name, (uint32_t)geteuid())) {
        consider(finder, name);
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct finder *finder = poll->data;
    (void)events;
    if (status)
        return;
    _Alignas(struct inotify_event) char buffer[32768];
    for (int n = 0; n < READS_MOST; ++n) { /* then the others' turn; what is left wakes the loop again */
        ssize_t length = read(finder->fd, buffer, sizeof buffer);
        if (length <= 0)
            return;
        for (char *at = buffer; at < buffer + length;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
            at += sizeof *event + event->len;
            on_event(finder, event);
        }
    }
}

int finder_init(struct finder *finder, struct daemon *daemon)
{
    *finder = (struct finder){.daemon = daemon, .watch = -1, .fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    if (finder->fd < 0) {
        finder->blind = true;
        log_say(LOG_WARNING, "inotify: begin: %s; %s is scanned instead; raise fs.inotify.max_user_instances",
                strerror(errno), SP__SHM_DIR);
    } else {
        int status = uv_poll_init(&daemon->loop, &finder->poll, finder->fd);
        if (status)
            return status;
        finder->poll.data = finder;
        uv_poll_start(&finder->poll, UV_READABLE, on_readable);
    }
    uv_timer_init(&daemon->loop, &finder->scan_timer);
    uv_timer_init(&daemon->loop, &finder->death_timer);
    finder->scan_timer.data = finder->death_timer.data = finder;
    scan(finder); /* the watch stands before: no birth falls between */
    uv_timer_start(&finder->scan_timer, on_scan, SCAN_MS, SCAN_MS);
    return 0;
}

void finder_close(struct finder *finder)
{
    if (finder->fd >= 0)
        uv_close((uv_handle_t *)&finder->poll, NULL);
    uv_close((uv_handle_t *)&finder->scan_timer, NULL);
    uv_close((uv_handle_t *)&finder->death_timer, NULL);
}

void finder_finish(struct finder *finder)
{
    if (finder->fd >= 0)
        close(finder->fd);
    while (finder->asides)
        forget_aside(finder, finder->asides->name);
}
