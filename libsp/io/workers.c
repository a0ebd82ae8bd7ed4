/* workers.c: see workers.h. */
#include "workers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STACK = 1 << 20, AHEAD = 32 << 20 };
static const rlim_t heap = 80 << 20; /* of addresses, a thread: what malloc sets aside for one, and the stack */

size_t sp__workers(size_t most)
{
    cpu_set_t allowed;
    struct rlimit limit;
    bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0; /* there may be more than the set holds */
    long processors = known ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = processors < 1 ? 1 : (size_t)processors;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        rlim_t fit = 1 + limit.rlim_cur / 4 / heap; /* the rest is for what there is beside them */
        count = fit < count ? (size_t)fit : count;
    }
    return count < most ? count : most;
}

bool sp__worker_begin(pthread_t *ret, void *(*work)(void *), void *context)
{
    sigset_t all, before;
    pthread_attr_t kind;
    if (pthread_attr_init(&kind))
        return false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's own threads' */
    bool begun = pthread_attr_setstacksize(&kind, STACK) == 0 && pthread_create(ret, &kind, work, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&kind);
    return begun;
}

/* ---- syncing early ------------------------------------------------------------------------------------------------
 */

static void *keep_syncing(void *context)
{
    struct sp__early_sync *early = context;
    bool ended = false;
    while (!ended) {
        while (sem_wait(&early->wake) < 0)
            ;
        while (sem_trywait(&early->wake) == 0) /* what came since the last sync is one job */
            ;
        ended = atomic_load(&early->ended);
        if (fdatasync(early->fd) < 0 && errno != EINVAL && errno != EROFS && !early->failed)
            early->failed = errno;
    }
    return NULL;
}

void sp__early_sync_begin(struct sp__early_sync *early, int fd, uint64_t bytes)
{
    early->fd = fd;
    early->failed = 0;
    atomic_init(&early->fresh, 0);
    atomic_init(&early->ended, false);
    sem_init(&early->wake, 0, 0);
    early->running = bytes >= 2 * AHEAD && sp__worker_begin(&early->thread, keep_syncing, early);
}

void sp__early_sync_add(struct sp__early_sync *early, uint64_t bytes)
{
    if (!early->running || atomic_fetch_add_explicit(&early->fresh, bytes, memory_order_relaxed) + bytes < AHEAD)
        return;
    atomic_store_explicit(&early->fresh, 0, memory_order_relaxed);
    sync_file_range(early->fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* while the thread waits for what went before */
    sem_post(&early->wake);
}

void sp__early_sync_last(struct sp__early_sync *early)
{
    if (!early->running)
        return;
    atomic_store(&early->ended, true);
    sem_post(&early->wake);
}

int sp__early_sync_end(struct sp__early_sync *early)
{
    if (early->running) {
        sp__early_sync_last(early);
        pthread_join(early->thread, NULL);
        early->running = false;
    }
    sem_destroy(&early->wake);
    return -early->failed;
}
