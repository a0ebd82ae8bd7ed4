/* slow.c: what begin and end do where the fast path does not fit: the first call of a thread, a pause, a full ring, a
 * handle that is new or bad, crossed and unmatched ends, calls too deep, handlers over appends, children. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "fork.h"
#include "instant.h"
#include "lane.h"
#include "own.h"
#include "stats.h"

static const uint64_t RESET_NS = 1000000000U;

static void count_lost(struct sp_profiler *p)
{
    atomic_fetch_add_explicit(&p->header->lost_no_lane, 1, memory_order_relaxed);
}

static void show_deep(struct sp__writer *w)
{
    atomic_store_explicit(&w->deep_open, w->deep_count + w->deep_lost, memory_order_relaxed);
}

/* A finalize failed after this thread had been held off too long: which of its open calls have ended is not known. */
static void get_in_step(struct sp__writer *w)
{
    w->out_of_step = 0;
    w->deep_count = w->deep_lost = 0;
    show_deep(w);
    if (!w->lane)
        return;
    sp__count(&w->lane->dropped, w->depth);
    w->depth = 0;
    atomic_store_explicit(&w->lane->depth, 0, memory_order_release);
}

/* A handler over an append does not wait, so its end may pass by unseen: what it has open would stay open for good. A
 * reset forgets it; for a finalize it is open, and forgotten should that one fail. */
static void leave_open(struct sp__writer *w, uint32_t state)
{
    if (state == SP__RESETTING)
        get_in_step(w);
    else
        w->out_of_step = 1;
}

sp_status sp__hold(struct sp_profiler *p, struct sp__writer *w, uint32_t *ret_state)
{
    for (uint64_t start = 0;;) {
        atomic_store_explicit(&w->busy, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst); /* with sp__quiesce's membarrier: busy before state */
        struct sp__header *header = atomic_load_explicit(&w->header, memory_order_relaxed);
        uint32_t state = atomic_load_explicit(&header->state, memory_order_acquire);
        if (state == SP__RECORDING || state == SP__PAUSED) {
            if (w->out_of_step)
                get_in_step(w);
            *ret_state = state;
            return SP_OK;
        }
        sp__release(w);
        uint64_t limit = state == SP__RESETTING ? RESET_NS : p->settings.full_wait_ns;
        if (w->is_signal && w->lane && (state == SP__RESETTING || state == SP__FINALIZING))
            leave_open(w, state);
        if ((state != SP__RESETTING && state != SP__FINALIZING) || sp__self.holds_off || w->is_signal || w->out_of_step)
            return SP_ERR_INACTIVE;
        if (start == 0)
            start = sp__clock_mono();
        else if (sp__clock_mono() - start >= limit) {
            w->out_of_step = 1;
            return SP_ERR_INACTIVE;
        }
        sp__sleep_ns(20000);
    }
}

/* What begins during a pause is not to be recorded, so that nothing is lost there. */
static void count_deep(struct sp_profiler *p, struct sp__writer *w, uint32_t state)
{
    if (state == SP__PAUSED)
        return;
    if (w->lane)
        sp__count(&w->lane->too_deep, 1);
    else
        count_lost(p);
}

static sp_status push_deep(struct sp__writer *w, uint32_t region, uint64_t token, sp_status why)
{
    if (!w->deep) {
        void *map = mmap(NULL, (size_t)SP__DEEP_MOST * sizeof *w->deep, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (map != MAP_FAILED)
            w->deep = map;
    }
    if (!w->deep || w->deep_count == SP__DEEP_MOST)
        w->deep_lost++;
    else
        w->deep[w->deep_count++] = (struct sp__deep){token, region};
    show_deep(w);
    return why;
}

/* Blocks for the next page of the open stack. */
static bool grow_stack(struct sp_profiler *p, struct sp__writer *w)
{
    if (w->depth >= SP__STACK_MOST)
        return false;
    if (sp__born_reserve(&p->born, w->lane->stack_offset + w->depth * sizeof(struct sp__open), SP__PAGE, true) != 0)
        return false;
    w->reserved += SP__STACK_PAGE;
    return true;
}

static void try_lane(struct sp_profiler *p, struct sp__writer *w, sp_status *why)
{
    if (w->lane || w->deep_count || w->deep_lost ||
        w->lanes_seen == atomic_load_explicit(&p->lanes_freed, memory_order_acquire))
        return;
    *why = sp__lane_claim(p, w) == -EMFILE ? SP_ERR_TOO_MANY : SP_ERR_NO_SPACE;
}

static sp_status begin_held(struct sp_profiler *p, struct sp__writer *w, uint32_t region, uint32_t state, sp_status why,
                            uint64_t token)
{
    w->regions = atomic_load_explicit(&p->header->region_count, memory_order_acquire);
    if (region >= w->regions)
        return SP_ERR_INACTIVE;
    if (!w->lane || w->deep_count || w->deep_lost || (w->depth >= w->reserved && !grow_stack(p, w))) {
        count_deep(p, w, state);
        return push_deep(w, region, token, w->lane ? SP_ERR_TOO_DEEP : why);
    }
    sp__push(w, region, state == SP__PAUSED ? SP__OPEN_UNRECORDED : 0, token, w->clock);
    return SP_OK;
}

static bool begun(sp_status status)
{
    return status == SP_OK || status == SP_ERR_TOO_DEEP || status == SP_ERR_TOO_MANY || status == SP_ERR_NO_SPACE;
}

static sp_status begin_on_writer(struct sp_profiler *p, struct sp__writer *w, int region, bool scoped,
                                 int64_t *ret_token)
{
    uint32_t state;
    sp_status why = SP_ERR_TOO_MANY;
    if (region < 0)
        return SP_ERR_INACTIVE;
    if (atomic_load_explicit(&w->busy, memory_order_relaxed)) { /* a handler over the handlers' own lane */
        count_lost(p);
        return SP_ERR_TOO_MANY;
    }
    if (atomic_load_explicit(&p->header->state, memory_order_relaxed) < SP__FINALIZING)
        try_lane(p, w, &why);
    sp_status status = sp__hold(p, w, &state);
    if (status != SP_OK)
        return status;
    uint64_t token = scoped ? ++w->token : 0;
    status = begin_held(p, w, (uint32_t)region, state, why, token);
    sp__release(w);
    if (begun(status))
        *ret_token = (int64_t)token;
    return status;
}

/* What both slow paths begin with: which writer, and whether there is anything to record into at all. */
enum way {
    WAY_NONE,  /* a handler over a handler's slow path: no way in */
    WAY_PLAIN, /* sp__self.slow is ours */
    WAY_OVER   /* sp__self.signal is ours: a handler over this thread's own slow path or append */
};

struct entry {
    struct sp_profiler *p;
    struct sp__slot *slot;
    struct sp__writer *w;
    int saved_errno;
    enum way way;
    bool entered;
    bool opens; /* the fast path again, at the end */
};

/* The fast path of w is closed before sp__self.slow is set, and opened after it is cleared: a handler's begin and end
 * go the same way wherever it interrupts. One that comes between the two finds it closed, and leaves it so. */
static void close_fast(struct entry *e, struct sp__writer *w)
{
    e->opens = w->depth_limit > 0 || w->reserved == 0;
    w->depth_limit = 0;
    atomic_signal_fence(memory_order_seq_cst);
}

static enum way choose_way(struct entry *e, struct sp__writer *w)
{
    bool over = sp__self.slow || (w && atomic_load_explicit(&w->busy, memory_order_relaxed));
    if (over && sp__self.signal)
        return WAY_NONE;
    if (over) {
        sp__self.signal = 1;
    } else {
        if (w)
            close_fast(e, w);
        sp__self.slow = 1;
    }
    atomic_signal_fence(memory_order_seq_cst);
    return over ? WAY_OVER : WAY_PLAIN;
}

static sp_status go_in(struct entry *e, struct sp_profiler *p)
{
    *e = (struct entry){.p = p, .saved_errno = errno};
    sp__fork_seen();
    e->slot = sp__slot_of(p);
    struct sp__writer *w = e->slot->writer;
    if (w && atomic_load_explicit(&w->profiler, memory_order_relaxed) != p)
        w = NULL; /* a slot that is shared with another profiler */
    e->way = choose_way(e, w);
    if (e->way == WAY_NONE)
        return SP_ERR_TOO_MANY;
    if (e->way == WAY_PLAIN && atomic_load_explicit(&p->phase, memory_order_relaxed) == SP__FOLLOWING)
        sp__fork_follow(p);
    e->entered = sp__enter(p);
    if (!e->entered || atomic_load_explicit(&p->phase, memory_order_relaxed) != SP__LIVE) {
        e->slot->writer = NULL; /* so that the next call finds nothing at once */
        if (e->way == WAY_PLAIN)
            sp__writers_reap();
        return SP_ERR_INACTIVE;
    }
    if (e->way == WAY_PLAIN) {
        e->w = sp__writer_of(p);
        if (e->w && e->w != w)
            close_fast(e, e->w);
        e->slot->writer = e->w;
    } else {
        e->w = w ? sp__signal_writer(p, w) : NULL;
    }
    return e->w ? SP_OK : SP_ERR_TOO_MANY;
}

/* A begin that found no way in, or no memory, is counted; its end, which finds neither, is not counted again. */
static void count_begin(struct sp_profiler *p)
{
    if (!sp__enter(p))
        return;
    if (sp__active(p) && atomic_load_explicit(&p->header->state, memory_order_relaxed) == SP__RECORDING)
        count_lost(p);
    sp__leave(p);
}

static void go_out(struct entry *e, sp_status status)
{
    if (e->entered)
        sp__leave(e->p);
    atomic_signal_fence(memory_order_seq_cst);
    if (e->way == WAY_PLAIN)
        sp__self.slow = 0;
    atomic_signal_fence(memory_order_seq_cst);
    if (e->way == WAY_PLAIN && e->w && e->opens)
        e->w->depth_limit = e->w->reserved;
    if (e->way == WAY_OVER)
        sp__self.signal = 0;
    e->slot->error = (uint32_t)status;
    errno = e->saved_errno;
}

SP__COLD int64_t sp__begin_slow(struct sp_profiler *p, int region, bool scoped)
{
    struct entry e;
    int64_t token = -1;
    sp_status status = go_in(&e, p);
    if (status == SP_OK)
        status = begin_on_writer(p, e.w, region, scoped, &token);
    else if (status == SP_ERR_TOO_MANY)
        count_begin(p);
    go_out(&e, status);
    return token;
}

/* The statistics of a region in this lane. Where there is no room for them, they go where nobody reads them. */
static struct sp__stats *stats_of(struct sp_profiler *p, struct sp__writer *w, uint32_t region)
{
    static struct sp__stats nowhere[SP__STATS_REGIONS];
    uint32_t bank = atomic_load_explicit(&p->header->bank, memory_order_acquire) & (SP__BANKS - 1);
    struct sp__stats **block = &w->stats[bank][region / SP__STATS_REGIONS];
    if (!*block)
        *block = sp__stats_make(p, w->lane, bank * SP__STATS_BLOCKS + region / SP__STATS_REGIONS);
    if (!*block)
        *block = nowhere;
    return *block + region % SP__STATS_REGIONS;
}

static void remove_entry(struct sp__writer *w, uint32_t at)
{
    for (uint32_t i = at; i + 1 < w->depth; i++) {
        struct sp__open *to = w->stack + i, *from = to + 1;
        to->start = from->start;
        to->nested = from->nested;
        to->token = from->token;
        __atomic_store_n(&to->region, from->region, __ATOMIC_RELAXED);
        __atomic_store_n(&to->flags, from->flags, __ATOMIC_RELAXED);
    }
    w->depth--;
    atomic_store_explicit(&w->lane->depth, w->depth, memory_order_release);
}

/* 1: found among the calls that are only counted, and removed; 0: not there; -1: refused. */
static int end_deep(struct sp__writer *w, int region, uint64_t token, enum sp__how how)
{
    if (w->deep_lost > 0 && how != SP__END_SCOPE) {
        w->deep_lost--;
        show_deep(w);
        return 1;
    }
    for (uint32_t n = w->deep_count; n-- > 0;) {
        if (how != SP__END_LAST && w->deep[n].region != (uint64_t)region)
            continue;
        if (how == SP__END_SCOPE && w->deep[n].token != token)
            return -1;
        memmove(w->deep + n, w->deep + n + 1, (w->deep_count - n - 1) * sizeof *w->deep);
        w->deep_count--;
        show_deep(w);
        return 1;
    }
    return 0;
}

/* The innermost open call that this end means, its index, or -1. */
static int64_t find_open(const struct sp__writer *w, int region, uint64_t token, enum sp__how how)
{
    if (!w->lane)
        return -1;
    for (uint32_t n = w->depth; n-- > 0;) {
        const struct sp__open *entry = w->stack + n;
        if (how == SP__END_LAST)
            return n;
        if (entry->region == (uint32_t)region)
            return how == SP__END_REGION || entry->token == token ? (int64_t)n : -1;
    }
    return -1;
}

static bool finish_call(struct sp_profiler *p, struct sp__writer *w, uint32_t at, uint64_t now, bool drop)
{
    struct sp__open *entry = w->stack + at;
    bool bell = false;
    if (!(entry->flags & SP__OPEN_UNRECORDED)) {
        uint32_t region = entry->region;
        now = sp__account(w, stats_of(p, w, region % SP__REGIONS), at, now);
        if (drop) {
            sp__count(&w->lane->dropped, 1);
            SP__INSTANT(full_drop);
        } else if (w->records) {
            sp__put(w, entry->start, now, region, at, SP__CALL);
        }
        if (!drop && now >= w->anchor_due)
            sp__put_anchor(p, w);
    }
    remove_entry(w, at);
    if (!drop)
        bell = sp__set_limit(w);
    return bell;
}

static sp_status end_on_writer(struct sp_profiler *p, struct sp__writer *w, int region, uint64_t token,
                               enum sp__how how, uint64_t now)
{
    uint32_t state;
    bool drop = false, bell = false;
    if (atomic_load_explicit(&w->busy, memory_order_relaxed))
        return SP_ERR_TOO_MANY;
    for (;;) {
        sp_status status = sp__hold(p, w, &state);
        if (status != SP_OK)
            return status;
        int deep = end_deep(w, region, token, how);
        int64_t at = deep == 0 ? find_open(w, region, token, how) : -1;
        if (at < 0) {
            if (deep <= 0 && w->lane && how == SP__END_REGION)
                sp__count(&w->lane->unmatched, 1);
            sp__release(w);
            return deep > 0 ? SP_OK : SP_ERR_UNMATCHED_END;
        }
        if (w->records && w->markers_due)
            sp__put_begin_markers(p, w);
        if (w->records && !drop && (w->markers_due || !sp__has_room(w, 1))) {
            sp__release(w);
            drop = !sp__make_room(p, w, w->markers_due ? SP__BEGIN_MARKERS + 1 : 1);
            continue;
        }
        bool half = w->records && w->head == w->limit && !drop;
        if (half)
            bell = sp__set_limit(w);
        bell = finish_call(p, w, (uint32_t)at, now, drop) || bell;
        sp__release(w);
        if (bell)
            sp__bell(p);
        return SP_OK;
    }
}

SP__COLD sp_status sp__end_slow(struct sp_profiler *p, int region, uint64_t token, enum sp__how how)
{
    struct entry e;
    const struct sp__writer *mine = sp__self.slots[p->slot].writer;
    uint64_t now = mine ? sp__clock_now(mine->clock) : 0; /* as early as it can be */
    sp_status status = go_in(&e, p);
    if (status == SP_OK) {
        sp_status why;
        if (!mine || mine->clock != e.w->clock)
            now = sp__clock_now(e.w->clock);
        if (!e.w->lane && atomic_load_explicit(&p->header->state, memory_order_relaxed) < SP__FINALIZING)
            try_lane(p, e.w, &why); /* an unmatched end is counted in a lane */
        status = end_on_writer(p, e.w, region, token, how, now);
    }
    go_out(&e, status);
    return status;
}

SP__COLD void sp__anchor_slow(struct sp__writer *w)
{
    struct sp_profiler *p = atomic_load_explicit(&w->profiler, memory_order_relaxed);
    struct entry e;
    uint32_t state;
    if (!p || sp__self.slow)
        return;
    if (go_in(&e, p) == SP_OK && e.w == w && sp__hold(p, w, &state) == SP_OK) {
        sp__put_anchor(p, w);
        sp__set_limit(w);
        sp__release(w);
    }
    go_out(&e, SP_OK);
}
