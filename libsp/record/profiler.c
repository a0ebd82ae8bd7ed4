/* profiler.c: the profilers of this process, their ends and resets, and what a thread remembers of them. */
#include "profiler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "arena.h"
#include "instant.h"
#include "own.h"
#include "region.h"
#include "stats.h"

static const uint64_t LEAVE_NS = 10000000000U;

_Thread_local struct sp__this_thread sp__self;

struct sp__header sp__dead_header = {.state = SP__DISCARDED};

struct sp_profiler sp__default = {.control = PTHREAD_MUTEX_INITIALIZER, .table = PTHREAD_MUTEX_INITIALIZER};

static _Atomic(struct sp_profiler *) all = &sp__default; /* grows at its head: CAS release, loaded acquire */

struct sp_profiler *sp__first_profiler(void)
{
    return atomic_load_explicit(&all, memory_order_acquire);
}

struct sp_profiler *sp__profiler_take(void)
{
    for (struct sp_profiler *p = sp__first_profiler(); p; p = p->next) {
        if (p == &sp__default || pthread_mutex_trylock(&p->control) != 0)
            continue;
        if (atomic_load_explicit(&p->phase, memory_order_relaxed) == SP__IDLE)
            return p;
        pthread_mutex_unlock(&p->control);
    }
    static _Atomic uint32_t made;
    struct sp_profiler *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    pthread_mutex_init(&p->control, NULL);
    pthread_mutex_init(&p->table, NULL);
    p->slot = 1 + atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) % (SP__SLOTS - 1);
    pthread_mutex_lock(&p->control);
    p->next = atomic_load_explicit(&all, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&all, &p->next, p, memory_order_release, memory_order_relaxed))
        ;
    return p;
}

void sp__renew_generation(struct sp_profiler *p)
{
    static _Atomic uint64_t last;
    uint64_t mine = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    atomic_store_explicit(&p->generation, mine, memory_order_relaxed);
}

void sp__sleep_ns(uint64_t ns)
{
    int saved = errno;
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000U), .tv_nsec = (long)(ns % 1000000000U)};
    nanosleep(&t, NULL);
    errno = saved;
}

bool sp__enter(struct sp_profiler *p)
{
    /* seq_cst against sp__profiler_discard's store of phase and load of users: one of the two sees the other. */
    atomic_fetch_add(&p->users, 1);
    if (atomic_load(&p->phase) == SP__LIVE || atomic_load(&p->phase) == SP__ENDED)
        return true;
    sp__leave(p);
    return false;
}

void sp__leave(struct sp_profiler *p)
{
    atomic_fetch_sub(&p->users, 1);
}

struct sp__slot *sp__slot_of(struct sp_profiler *p)
{
    struct sp__slot *slot = &sp__self.slots[p->slot];
    if (slot->profiler != p) {
        slot->writer = NULL;
        slot->error = SP_OK;
        slot->profiler = p;
    }
    return slot;
}

void sp__set_error(struct sp_profiler *p, sp_status status)
{
    if (p)
        sp__slot_of(p)->error = (uint32_t)status;
}

static void add_open(struct sp__writer *w, void *context)
{
    uint64_t *open = context;
    *open += atomic_load_explicit(&w->deep_open, memory_order_relaxed);
}

uint64_t sp__open_calls(const struct sp_profiler *p)
{
    uint64_t open = 0;
    uint32_t used = atomic_load_explicit(&p->header->lanes_used, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++)
        open += atomic_load_explicit(&sp__lane_at(p, i)->depth, memory_order_acquire);
    sp__writers_each((struct sp_profiler *)(uintptr_t)p, add_open, &open);
    return open;
}

/* Waits until nobody is inside without `control`. false: somebody hangs there. */
static bool wait_empty(struct sp_profiler *p)
{
    for (uint64_t start = sp__clock_mono(); atomic_load(&p->users) != 0;) {
        if (sp__clock_mono() - start > LEAVE_NS)
            return false;
        sp__sleep_ns(20000);
    }
    return true;
}

/* A recording that nobody wants: its name and, where no consumer has them, its spool go. A consumer that is there reads
 * the state and does the same. */
static void remove_discarded(struct sp_profiler *p)
{
    char spool[SP__PATH_SIZE] = "";
    sp__bell(p);
    if (sp__consumer_lives(p) == 1)
        return;
    if (atomic_load_explicit(&p->header->spool_chosen, memory_order_acquire))
        memcpy(spool, p->header->spool, sizeof spool - 1);
    int fd = sp__reopen(p);
    if (fd < 0)
        return;
    struct sp__segment segment;
    if (sp__segment_open_fd(&segment, fd, p->born.name, true, NULL) != 0) {
        close(fd);
        return;
    }
    if (sp__lock_take(segment.fd, SP__BYTE_CONSUMER) == 0) {
        if (spool[0] == '/')
            unlink(spool);
        SP__INSTANT(discard_spool);
        sp__segment_unlink(&segment);
        sp__lock_release(segment.fd, SP__BYTE_CONSUMER);
    }
    sp__segment_close(&segment);
    if (spool[0] == '/')
        sp__own_tidy(p);
}

void sp__profiler_discard(struct sp_profiler *p)
{
    uint32_t phase = atomic_load_explicit(&p->phase, memory_order_relaxed);
    if (phase == SP__LIVE) {
        atomic_store_explicit(&p->header->state, SP__DISCARDED, memory_order_release);
        SP__INSTANT(discard_state);
    }
    atomic_store(&p->phase, SP__IDLE); /* seq_cst: see sp__enter */
    sp__renew_generation(p);
    if (phase == SP__FOLLOWING) { /* all that it has is its parent's names */
        munmap(p->born.map, p->born.size);
        p->born = (struct sp__born){.fd = -1};
    }
    if (!p->header)
        return;
    bool empty = wait_empty(p);
    bool idle = sp__quiesce(p, true);
    sp__own_forget(p);
    if (phase == SP__LIVE)
        remove_discarded(p);
    pthread_mutex_lock(&p->table);
    sp__names_free(&p->names);
    if (empty && idle)
        sp__born_finish(&p->born);
    p->born = (struct sp__born){.fd = -1}; /* a thread that hangs inside keeps the mapping from going under it */
    p->header = NULL;
    pthread_mutex_unlock(&p->table);
}

static void zero_stats(const struct sp_profiler *p, const struct sp__lane *lane)
{
    if (!atomic_load_explicit(&lane->ready, memory_order_acquire))
        return;
    for (unsigned n = 0; n < SP__BANKS * SP__STATS_BLOCKS; n++) {
        struct sp__stats *block = sp__stats_at(p, lane, n);
        for (unsigned r = 0; block && r < SP__STATS_REGIONS; r++) {
            sp__stat_set(&block[r].calls, 0);
            sp__stat_set(&block[r].total, 0);
            sp__stat_set(&block[r].minimum, 0);
            sp__stat_set(&block[r].maximum, 0);
            sp__stat_set(&block[r].exclusive, 0);
        }
    }
}

sp_status sp__profiler_reset(struct sp_profiler *p)
{
    pthread_mutex_lock(&p->control);
    if (atomic_load_explicit(&p->phase, memory_order_relaxed) != SP__LIVE) {
        pthread_mutex_unlock(&p->control);
        return SP_ERR_INACTIVE;
    }
    struct sp__header *header = p->header;
    sp__self.holds_off = 1;
    uint32_t before = atomic_exchange_explicit(&header->state, SP__RESETTING, memory_order_acq_rel);
    SP__INSTANT(reset_state);
    sp_status status = SP_OK;
    if (!sp__quiesce(p, false) || sp__open_calls(p) > 0) {
        status = SP_ERR_OPEN_SCOPES;
    } else {
        uint32_t epoch = atomic_load_explicit(&header->epoch, memory_order_relaxed);
        uint32_t used = atomic_load_explicit(&header->lanes_used, memory_order_acquire);
        for (uint32_t i = 0; i < used; i++) {
            struct sp__lane *lane = sp__lane_at(p, i);
            uint64_t head = atomic_load_explicit(&lane->head, memory_order_acquire);
            atomic_store_explicit(&lane->base[(epoch + 1) & 1], head, memory_order_relaxed);
            zero_stats(p, lane);
        }
        SP__INSTANT(reset_bases);
        /* After every base: pairs with the consumer's acquire load. */
        atomic_store_explicit(&header->epoch, epoch + 1, memory_order_release);
        SP__INSTANT(reset_epoch);
    }
    /* A pause that spd asked for meanwhile stands. */
    uint32_t resetting = SP__RESETTING;
    atomic_compare_exchange_strong_explicit(&header->state, &resetting, before, memory_order_release,
                                            memory_order_relaxed);
    sp__self.holds_off = 0;
    SP__INSTANT(reset_done);
    pthread_mutex_unlock(&p->control);
    return status;
}
