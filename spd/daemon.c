#include "daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "aside.h"
#include "control.h"
#include "env.h"
#include "guard.h"
#include "instant.h"
#include "log.h"
#include "rank.h"
#include "session.h"

enum {
    TICK_MS = 1000,
    LINGER_MS = 5,
    LINGER_FOR_MS = 50,
    FILES_OF_A_RANK = 2,
    RANKS_MOST = 65536,
    LOOP_NICE = -10,
    OPEN_BESIDES = 64
};

static void on_busy(uv_idle_t *idle);

void daemon_due(struct daemon *daemon, struct rank *rank)
{
    if (rank->due || daemon->stopped)
        return;
    rank->due = true;
    rank->next_due = NULL;
    *daemon->due_end = rank;
    daemon->due_end = &rank->next_due;
    uv_idle_start(&daemon->busy, on_busy); /* the loop does not sleep while it runs */
}

/* One round: those that were due when it began, each one slice; between rounds the loop looks at everything else. */
static void on_busy(uv_idle_t *idle)
{
    struct daemon *daemon = idle->data;
    struct rank **last = daemon->due_end;
    while (daemon->due && !daemon->stopped) {
        struct rank *rank = daemon->due;
        bool end = &rank->next_due == last;
        daemon->due = rank->next_due;
        if (!daemon->due)
            daemon->due_end = &daemon->due;
        rank->due = false;
        rank_service(rank);
        if (end)
            break;
    }
    if (!daemon->due && !daemon->stopped)
        uv_idle_stop(idle);
    daemon_check_stopped(daemon);
}

static void on_linger(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;
    bool any = false;
    for (struct rank *rank = daemon->ranks; rank; rank = rank->next)
        if (uv_now(&daemon->loop) < rank->linger_until_ms) {
            rank_step_aside(rank);
            daemon_due(daemon, rank);
            any = true;
        }
    if (!any)
        uv_timer_stop(timer);
}

void daemon_linger(struct daemon *daemon, struct rank *rank)
{
    rank->linger_until_ms = uv_now(&daemon->loop) + LINGER_FOR_MS;
    if (!daemon->stopped && !uv_is_active((uv_handle_t *)&daemon->linger))
        uv_timer_start(&daemon->linger, on_linger, LINGER_MS, LINGER_MS);
}

double daemon_drain_rate(const struct daemon *daemon)
{
    bool full = daemon->ticks >= DAEMON_RATE_TICKS;
    uint64_t oldest = daemon->ticks % DAEMON_RATE_TICKS;
    uint64_t from = full ? daemon->drained[oldest].ms : daemon->started_ms;
    uint64_t records = daemon->records - (full ? daemon->drained[oldest].records : 0);
    uint64_t now = uv_now(&daemon->loop);
    return now > from ? 1000.0 * (double)records / (double)(now - from) : 0;
}

static void on_tick(uv_timer_t *timer)
{
    struct daemon *daemon = timer->data;
    uint64_t now = uv_now(&daemon->loop);
    daemon->drained[daemon->ticks % DAEMON_RATE_TICKS].ms = now;
    daemon->drained[daemon->ticks++ % DAEMON_RATE_TICKS].records = daemon->records;
    for (struct rank *rank = daemon->ranks; rank; rank = rank->next)
        rank_tick(rank, now);
    for (struct session *session = daemon->sessions, *next; session; session = next) {
        next = session->next;
        session_step(session);
        session_release(session);
    }
    if (daemon->watchdog)
        sd_notify(0, "WATCHDOG=1");
    daemon_check_stopped(daemon);
}

static void stop(struct daemon *daemon)
{
    daemon->stopping = true;
    SP__INSTANT(spd_stopping);
    sd_notify(0, "STOPPING=1");
    log_say(LOG_INFO, "stopping: publishing %zu ranks; their programs go on recording", daemon->rank_count);
    control_stop_listening(daemon);
    runtime_unlink(&daemon->runtime);
    for (struct rank *rank = daemon->ranks; rank; rank = rank->next) {
        rank->flush_wanted = true;
        daemon_due(daemon, rank);
    }
    for (struct session *session = daemon->sessions; session; session = session->next)
        if (daemon->options->format == OPTIONS_MERGED)
            session_want_merge(session, true);
    daemon_check_stopped(daemon);
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct daemon *daemon = signal->data;
    if (!daemon->stopping) {
        stop(daemon);
        return;
    }
    log_say(LOG_WARNING, "stopping: told again by signal %d: ends before everything is published; the spools hold it",
            number);
    runtime_finish(&daemon->runtime);
    _exit(1);
}

/* A terminal that goes away, or a manager that asks for a reload: there is nothing to read anew. */
static void on_hangup(uv_signal_t *signal, int number)
{
    (void)signal;
    log_say(LOG_INFO, "signal %d: nothing to reload; SIGTERM ends spd", number);
}

static bool still_at_work(const struct daemon *daemon)
{
    if (publisher_busy(&daemon->publisher))
        return true;
    for (const struct rank *rank = daemon->ranks; rank; rank = rank->next)
        if (!rank->stalled && !rank->aside && !rank->discarded && !rank->whole && !rank->failures &&
            (rank->flush_wanted || rank->publication))
            return true;
    for (const struct session *session = daemon->sessions; session; session = session->next)
        if (session->publication || session->node_write ||
            ((session->merge_now || session->merge_ended) && !session->merge_failures))
            return true;
    return false;
}

void daemon_check_stopped(struct daemon *daemon)
{
    if (!daemon->stopping || daemon->stopped || still_at_work(daemon))
        return;
    daemon->stopped = true;
    finder_close(&daemon->finder); /* until now doorbells had to be heard */
    control_close(daemon);
    uv_close((uv_handle_t *)&daemon->tick, NULL);
    uv_close((uv_handle_t *)&daemon->linger, NULL);
    uv_close((uv_handle_t *)&daemon->busy, NULL);
    uv_close((uv_handle_t *)&daemon->term, NULL);
    uv_close((uv_handle_t *)&daemon->interrupt, NULL);
    uv_close((uv_handle_t *)&daemon->hangup, NULL);
}

/* After the loop: what came since the publications goes to the spools, and byte 1 of each segment falls free. */
static void release_ranks(struct daemon *daemon)
{
    while (daemon->ranks) {
        struct rank *rank = daemon->ranks;
        int status = sp__consumer_drain(rank->consumer, 0, NULL);
        if (status && !rank->stalled && !rank->aside)
            log_say(LOG_WARNING, RANK_SAYS ": last drain: %s; the records stay in the ring", RANK_NAMES(rank),
                    strerror(-status));
        SP__INSTANT(spd_released);
        rank_destroy(rank);
    }
}

static int prepare_data_dir(struct daemon *daemon)
{
    char path[SP__PATH_SIZE], *real = NULL;
    struct stat stat_of;
    int status = sp__data_dir(daemon->options->data_dir, path, sizeof path);
    if (status) {
        log_say(LOG_ERROR, "data folder: find: %s; name one with --data-dir", strerror(-status));
        return status;
    }
    status = sp__make_dirs(path);
    if (!status && (!(real = realpath(path, NULL)) || stat(real, &stat_of)))
        status = -errno;
    if (!status && (stat_of.st_uid != geteuid() || (stat_of.st_mode & 022)))
        log_say(LOG_WARNING,
                "%s: use the data folder: others than uid %u may write into it; chmod 700 keeps it private", real,
                (unsigned)geteuid());
    if (!status && strlen(real) >= sizeof daemon->data_dir - 512)
        status = -ENAMETOOLONG;
    if (status)
        log_say(LOG_ERROR, "%s: make the data folder: %s; name another with --data-dir", path, strerror(-status));
    else
        snprintf(daemon->data_dir, sizeof daemon->data_dir, "%s", real);
    free(real);
    return status;
}

/* Every rank costs descriptors; some are kept for clients and publications. */
static size_t allow_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files))
        return 256;
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files))
        getrlimit(RLIMIT_NOFILE, &files);
    size_t all = (size_t)files.rlim_cur;
    size_t kept = all / 4 < 288 ? all / 4 + 16 : 304;
    size_t ranks = all > kept ? (all - kept) / FILES_OF_A_RANK : 1;
    return ranks > RANKS_MOST ? RANKS_MOST : ranks;
}

/* A drain that comes late loses records, and takes little time; where that is allowed, it goes before, unless --nice says
 * otherwise. Worker threads inherit it and give it back: see publisher.c. */
static void take_priority(const struct options *options)
{
    int nice = options->niced ? options->nice : LOOP_NICE;
    if (setpriority(PRIO_PROCESS, 0, nice) == 0)
        log_say(options->niced ? LOG_INFO : LOG_DEBUG, "priority: nice value %d", nice);
    else
        log_say(options->niced ? LOG_WARNING : LOG_DEBUG,
                "priority: nice value %d: %s; drains take their turn with everybody else", nice, strerror(errno));
}

static void find_hostname(struct daemon *daemon)
{
    if (gethostname(daemon->hostname, sizeof daemon->hostname - 1) || !*daemon->hostname)
        snprintf(daemon->hostname, sizeof daemon->hostname, "localhost");
    for (char *at = daemon->hostname; *at; ++at)
        if (*at == '/')
            *at = '_';
}

static int init_loop(struct daemon *daemon)
{
    uv_loop_t *loop = &daemon->loop;
    int status = uv_loop_init(loop);
    if (status) {
        log_say(LOG_ERROR, "event loop: make: %s", uv_strerror(status));
        return status;
    }
    uv_timer_init(loop, &daemon->tick);
    uv_timer_init(loop, &daemon->linger);
    daemon->linger.data = daemon;
    uv_idle_init(loop, &daemon->busy);
    uv_signal_init(loop, &daemon->term);
    uv_signal_init(loop, &daemon->interrupt);
    uv_signal_init(loop, &daemon->hangup);
    daemon->tick.data = daemon->busy.data = daemon->term.data = daemon->interrupt.data = daemon->hangup.data = daemon;
    uv_signal_start(&daemon->term, on_signal, SIGTERM);
    uv_signal_start(&daemon->interrupt, on_signal, SIGINT);
    uv_signal_start(&daemon->hangup, on_hangup, SIGHUP);
    uv_timer_start(&daemon->tick, on_tick, TICK_MS, TICK_MS);
    return 0;
}

static int start(struct daemon *daemon)
{
    signal(SIGPIPE, SIG_IGN); /* a client that went away is an error of its write */
    daemon->due_end = &daemon->due;
    aside_init();
    take_priority(daemon->options);
    find_hostname(daemon);
    daemon->rank_limit = allow_files();
    int status = prepare_data_dir(daemon);
    if (!status)
        status = runtime_init(&daemon->runtime, daemon->options);
    if (status)
        return status;
    status = guard_init(daemon->rank_limit + OPEN_BESIDES);
    /* From the moment that a segment is mapped: attaching alone reads words of every lane. */
    sp__segment_watch(guard_add, guard_remove);
    if (!status)
        status = sp__consumer_share_buffers(); /* the loop alone drains */
    if (!status)
        status = init_loop(daemon);
    if (!status) {
        daemon->started_ms = uv_now(&daemon->loop);
        publisher_init(&daemon->publisher, daemon);
        status = finder_init(&daemon->finder, daemon);
        if (daemon->options->format == OPTIONS_MERGED)
            session_recover(daemon);
    }
    if (!status)
        status = control_start(daemon);
    if (status) {
        log_say(LOG_ERROR, "start: %s", uv_strerror(status));
        runtime_finish(&daemon->runtime);
    }
    return status;
}

int daemon_run(const struct options *options)
{
    static struct daemon daemon; /* large, and there is one */
    daemon.options = options;
    if (start(&daemon))
        return 1;
    uint64_t watchdog_us;
    daemon.watchdog = sd_watchdog_enabled(0, &watchdog_us) > 0;
    log_say(LOG_DEBUG, "limits: %zu ranks", daemon.rank_limit);
    fprintf(stderr, "spd: ready, data in %s, control at %s\n", daemon.data_dir, daemon.runtime.socket_path);
    sd_notify(0, "READY=1");
    uv_run(&daemon.loop, UV_RUN_DEFAULT);
    release_ranks(&daemon);
    uv_run(&daemon.loop, UV_RUN_DEFAULT);
    uv_loop_close(&daemon.loop);
    control_finish(&daemon);
    finder_finish(&daemon.finder);
    guard_finish();
    runtime_finish(&daemon.runtime);
    log_say(LOG_INFO, "ended");
    return 0;
}
