/* lane.c: writers and lanes come and go with threads. Lock-free: a signal handler may come by anywhere. */
#include "lane.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arena.h"
#include "fork.h"
#include "instant.h"
#include "message.h"
#include "names.h"
#include "stats.h"

static pthread_key_t key;
static int key_error = -EAGAIN; /* until there is one */

static void say_no_space(const struct sp_profiler *p, uint64_t need)
{
    struct statvfs fs;
    unsigned long long available = statvfs(SP__SHM_DIR, &fs) == 0 ? (unsigned long long)fs.f_bavail * fs.f_frsize : 0;
    sp__say(
        SP__SAY_SHM,
        "%s: no room for a thread of rank %d: %llu bytes needed, %llu free; enlarge it (mount -o remount,size=...) or "
        "set SP_RING lower; calls of that thread are counted, not recorded",
        SP__SHM_DIR, p->settings.rank, (unsigned long long)need, available);
}

/* The blocks of one ring: halved while /dev/shm has no room. */
static int reserve_ring(struct sp_profiler *p, struct sp__lane *lane)
{
    uint32_t records = atomic_load_explicit(&p->ring, memory_order_relaxed);
    uint32_t wanted = records;
    int error;
    while ((error = sp__born_reserve(&p->born, lane->ring_offset, records * sizeof(struct sp__record), true)) ==
               -ENOSPC &&
           records > SP__RING_LEAST)
        records /= 2;
    if (error)
        return error;
    if (records < wanted) {
        atomic_store_explicit(&p->ring, records, memory_order_relaxed);
        sp__say(SP__SAY_RING, "%s is short of room: rings hold %u records instead of %u; enlarge it, or set SP_RING=%u",
                SP__SHM_DIR, records, wanted, records);
    }
    lane->ring_records = records;
    return 0;
}

static int heap_place(struct sp_profiler *p, uint64_t *offset, uint64_t length)
{
    if (!*offset)
        *offset = sp__heap_take(p->header, length);
    return *offset ? 0 : -ENOSPC;
}

/* A lane's memory, at its first claim. What an earlier try took of the address space is used again. */
static int prepare(struct sp_profiler *p, struct sp__lane *lane, bool is_signal)
{
    uint64_t stats = SP__BANKS * SP__STATS_BLOCKS * sizeof(uint64_t);
    int error = heap_place(p, &lane->stats_offset, stats);
    if (!error)
        error = heap_place(p, &lane->stack_offset, SP__STACK_MOST * sizeof(struct sp__open));
    if (!error)
        error = heap_place(p, &lane->ring_offset, p->settings.ring * sizeof(struct sp__record));
    if (!error)
        error = sp__born_reserve(&p->born, lane->stats_offset, stats, true);
    if (!error)
        error = sp__born_reserve(&p->born, lane->stack_offset, SP__PAGE, true);
    if (!error && !sp__stats_make(p, lane, 0)) /* before the ring, which takes what it can get */
        error = -ENOSPC;
    if (!error)
        error = reserve_ring(p, lane);
    if (error)
        return error;
    SP__INSTANT(reserve_done);
    lane->signal_lane = is_signal;
    /* The places above are good: pairs with the acquire loads of whoever reads lanes. */
    atomic_store_explicit(&lane->ready, 1, memory_order_release);
    SP__INSTANT(claim_ready);
    return 0;
}

/* The row's page has blocks before anything in it is touched. */
static int reserve_row(struct sp_profiler *p, uint32_t n)
{
    if (n < atomic_load_explicit(&p->lanes_reserved, memory_order_acquire))
        return 0;
    int error = sp__born_reserve(&p->born, p->header->lanes_offset + n * sizeof(struct sp__lane),
                                 sizeof(struct sp__lane), true);
    if (error)
        return error;
    uint32_t reserved = n;
    atomic_compare_exchange_strong_explicit(&p->lanes_reserved, &reserved, n + 1, memory_order_acq_rel,
                                            memory_order_relaxed);
    return 0;
}

static void raise_used(struct sp_profiler *p, uint32_t n)
{
    uint32_t used = atomic_load_explicit(&p->header->lanes_used, memory_order_relaxed);
    /* After the lane's markers: pairs with the acquire load of readers. */
    while (used < n && !atomic_compare_exchange_weak_explicit(&p->header->lanes_used, &used, n, memory_order_release,
                                                              memory_order_relaxed))
        ;
}

static void adopt(struct sp_profiler *p, struct sp__writer *w, struct sp__lane *lane, uint32_t n)
{
    w->lane_number = n;
    w->stack = (void *)(p->born.map + lane->stack_offset);
    w->ring = (void *)(p->born.map + lane->ring_offset);
    w->mask = lane->ring_records - 1;
    w->head = atomic_load_explicit(&lane->head, memory_order_relaxed);
    w->depth = 0;
    w->stalled = 0;
    memset((void *)w->stats, 0, sizeof w->stats);
    w->thread_number = atomic_fetch_add_explicit(&p->header->threads, 1, memory_order_relaxed);
    w->anchor_due = 0;
    w->markers_due = 1;
    atomic_store_explicit(&lane->depth, 0, memory_order_release);
    atomic_store_explicit(&lane->owner, (uint64_t)w->native_id << 32 | w->thread_number, memory_order_relaxed);
    w->lane = lane;
    sp__set_limit(w);
    sp__put_begin_markers(p, w);
    SP__INSTANT(claim_marked);
    raise_used(p, n + 1);
    SP__INSTANT(claim_used);
    w->reserved = SP__STACK_PAGE;
}

int sp__lane_claim(struct sp_profiler *p, struct sp__writer *w)
{
    struct sp__header *header = p->header;
    int error = -EMFILE;
    w->lanes_seen = atomic_load_explicit(&p->lanes_freed, memory_order_acquire);
    for (uint32_t n = 0; n < header->lane_capacity; n++) {
        int reserved = reserve_row(p, n);
        if (reserved) {
            error = reserved;
            break;
        }
        struct sp__lane *lane = sp__lane_at(p, n);
        uint32_t free = 0;
        SP__INSTANT(claim_before);
        /* Acquire: pairs with the release store of the thread that ended, after its last record. */
        if (atomic_load_explicit(&lane->claimed, memory_order_relaxed) != 0 ||
            !atomic_compare_exchange_strong_explicit(&lane->claimed, &free, 1, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        SP__INSTANT(claim_taken);
        bool ready = atomic_load_explicit(&lane->ready, memory_order_relaxed) != 0;
        if (ready && lane->signal_lane != w->is_signal) {
            atomic_store_explicit(&lane->claimed, 0, memory_order_release);
            continue;
        }
        error = ready ? 0 : prepare(p, lane, w->is_signal);
        if (!error) {
            adopt(p, w, lane, n);
            return 0;
        }
        atomic_store_explicit(&lane->claimed, 0, memory_order_release);
        break;
    }
    if (error == -EMFILE)
        sp__say(SP__SAY_LANES,
                "more than %u threads of rank %d record at once; calls of the others are counted, not "
                "recorded",
                header->lane_capacity, p->settings.rank);
    else
        say_no_space(p, SP__RING_LEAST * sizeof(struct sp__record) + 4 * SP__PAGE);
    return error;
}

static struct sp__writer *make_writer(struct sp_profiler *p, bool is_signal)
{
    struct sp__writer *w = sp__writer_new();
    if (!w)
        return NULL;
    w->clock = p->settings.clock;
    w->records = p->settings.mode == SP__MODE_RECORDS;
    w->generation = atomic_load_explicit(&p->generation, memory_order_relaxed);
    w->is_signal = is_signal;
    w->native_id = (uint32_t)syscall(SYS_gettid);
    w->token = atomic_fetch_add_explicit(&p->token_serial, 1, memory_order_relaxed) << 32 & INT64_MAX;
    w->lanes_seen = UINT64_MAX; /* a lane is tried for at the first call */
    atomic_store_explicit(&w->header, p->header, memory_order_relaxed);
    /* Whole now: pairs with the acquire load of a scan. */
    atomic_store_explicit(&w->profiler, p, memory_order_release);
    return w;
}

static bool is_gone(const struct sp__writer *w)
{
    return atomic_load_explicit(&w->header, memory_order_relaxed) == &sp__dead_header;
}

void sp__writers_reap(void)
{
    for (struct sp__writer **at = &sp__self.writers; *at;) {
        struct sp__writer *w = *at;
        if (!is_gone(w)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        for (unsigned s = 0; s < SP__SLOTS; s++)
            if (sp__self.slots[s].writer == w)
                sp__self.slots[s].writer = NULL;
        if (w->signal)
            sp__writer_free(w->signal);
        sp__writer_free(w);
    }
}

struct sp__writer *sp__writer_of(struct sp_profiler *p)
{
    sp__writers_reap();
    struct sp__writer *w = sp__self.writers;
    while (w && atomic_load_explicit(&w->profiler, memory_order_relaxed) != p)
        w = w->next;
    if (!w) {
        w = make_writer(p, false);
        if (!w)
            return NULL;
        w->next = sp__self.writers;
        sp__self.writers = w;
        pthread_setspecific(key, &sp__self);
    }
    return w;
}

struct sp__writer *sp__signal_writer(struct sp_profiler *p, struct sp__writer *w)
{
    if (!w->signal)
        w->signal = make_writer(p, true);
    return w->signal;
}

/* What is open in an ended thread will never end: forgotten. The lane is anybody's at once. */
static void give_back(struct sp_profiler *p, struct sp__writer *w)
{
    struct sp__lane *lane = w->lane;
    if (!lane)
        return;
    uint32_t state;
    bool room = false;
    if (sp__hold(p, w, &state) == SP_OK) {
        room = sp__has_room(w, SP__END_MARKERS);
        sp__release(w);
    }
    if (!room)
        sp__make_room(p, w, SP__END_MARKERS);
    if (sp__hold(p, w, &state) == SP_OK) {
        w->depth = 0;
        atomic_store_explicit(&lane->depth, 0, memory_order_release);
        sp__put_end_markers(p, w);
        sp__release(w);
    }
    w->reserved = w->depth_limit = 0;
    w->lane = NULL;
    atomic_store_explicit(&lane->owner, 0, memory_order_relaxed);
    SP__INSTANT(lane_ending);
    /* Pairs with the acquire of the next claim. */
    atomic_store_explicit(&lane->claimed, 0, memory_order_release);
    SP__INSTANT(lane_free);
    atomic_fetch_add_explicit(&p->lanes_freed, 1, memory_order_release);
}

/* Runs again where a later destructor of the thread recorded once more. */
static void thread_ends(void *unused)
{
    (void)unused;
    int saved = errno;
    if (sp__fork_seen()) /* a child's only thread ends: nothing of the parent's is here */
        return;
    sp__self.slow = 1;
    for (unsigned s = 0; s < SP__SLOTS; s++)
        sp__self.slots[s].writer = NULL;
    while (sp__self.writers) {
        struct sp__writer *w = sp__self.writers;
        struct sp_profiler *p = atomic_load_explicit(&w->profiler, memory_order_relaxed);
        if (sp__enter(p)) {
            if (!is_gone(w)) {
                if (w->signal)
                    give_back(p, w->signal);
                give_back(p, w);
            }
            sp__leave(p);
        }
        sp__self.writers = w->next;
        if (w->signal)
            sp__writer_free(w->signal);
        sp__writer_free(w);
    }
    sp__self.slow = 0;
    errno = saved;
}

/* When the library is loaded: glibc sets the values of a process's first 32 keys without malloc, which a handler that is
 * a thread's first call may have interrupted. */
__attribute__((constructor)) static void make_key(void)
{
    key_error = -pthread_key_create(&key, thread_ends);
}

int sp__thread_key_init(void)
{
    if (key_error)
        make_key();
    return key_error;
}
