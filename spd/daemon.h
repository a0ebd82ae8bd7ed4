/* daemon.h: the loop and what hangs on it. Everything here belongs to the loop's thread; worker threads get copies. */
#ifndef SPD_DAEMON_H
#define SPD_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "finder.h"
#include "layout.h"
#include "options.h"
#include "publisher.h"
#include "runtime.h"

struct control;
struct rank;
struct session;

enum { DAEMON_RATE_TICKS = 10 };

struct daemon {
    uv_loop_t loop;
    const struct options *options;
    char data_dir[SP__PATH_SIZE]; /* absolute */
    char hostname[SP__HOST_SIZE];
    struct runtime runtime;
    struct finder finder;
    struct publisher publisher;
    struct control *control;

    uv_signal_t term, interrupt, hangup;
    uv_timer_t tick;   /* once a second: every rank, the clock of retries, the watchdog */
    uv_timer_t linger; /* while a rank lingers: see rank.h */
    uv_idle_t busy;    /* runs while a rank is due, so that the loop does not sleep */
    struct rank *due;  /* ranks to be served, in the order they asked */
    struct rank **due_end;

    struct rank *ranks;
    size_t rank_count, rank_limit; /* the limit is what the open files allow */
    struct session *sessions;
    uint64_t started_ms;
    bool stopping, stopped;
    bool watchdog;
    bool attach_fails; /* said */

    /* What had been drained at the last ticks, the newest at ticks - 1: from it comes the drain rate. */
    struct {
        uint64_t ms, records;
    } drained[DAEMON_RATE_TICKS];
    uint64_t ticks;

    /* Since the start; what spctl status shows. */
    uint64_t attached, finalized, died, discarded, set_aside, records, published, publish_failures, limit_uses;
};

/* Runs until a signal ends it. The exit status. */
int daemon_run(const struct options *options);

/* Records a second, over the last DAEMON_RATE_TICKS seconds or since the start. */
double daemon_drain_rate(const struct daemon *daemon);

/* Puts a rank in the line of those to be served; once, however often it asks. */
void daemon_due(struct daemon *daemon, struct rank *rank);

/* Has it looked at every few milliseconds for a while. */
void daemon_linger(struct daemon *daemon, struct rank *rank);

/* Whatever may have been the last thing that a stopping daemon waits for. */
void daemon_check_stopped(struct daemon *daemon);

#endif
