/* writer.h: what one thread needs to record into one profiler's lane, and the two functions that do it.
 *
 * A writer lies in private memory that a fork wipes (arena.c). In a child that no fork handler ran in (a raw clone)
 * every field reads 0: the limits send begin and end to their slow paths before they touch the segment, which a child
 * does not have mapped.
 *
 * The busy word stands from before the state is looked at until the lane is whole again. Whoever changes the state and
 * wants every writer to have seen it stores the state, calls membarrier, and waits until busy is 0 (sp__quiesce): a
 * writer either sees the new state, or its busy word is seen. A signal handler that finds it set interrupted an append.
 */
#ifndef SP__WRITER_H
#define SP__WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "instant.h"
#include "layout.h"
#include "scope_profiler.h"

#define SP__LIKELY(x)   __builtin_expect(!!(x), 1)
#define SP__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SP__HOT         static inline __attribute__((always_inline))
#define SP__COLD        __attribute__((noinline, cold))

enum {
    SP__SLOTS = 8,           /* profilers whose writer and last status a thread remembers; [0] is the default one */
    SP__DEEP_MOST = 1 << 20, /* open calls that are only counted */
    SP__STACK_PAGE = SP__PAGE / sizeof(struct sp__open),
    SP__AHEAD = 64 /* records: fetched into this core's cache that many calls before they are written */
};

/* An open call that no lane holds: too deep, or of a thread without a lane. Its own end must still find it. */
struct sp__deep {
    uint64_t token;
    uint64_t region;
};

struct sp__writer {
    /* What begin needs: one line. The words that other threads read come first. */
    _Atomic uint32_t busy; /* stored release when the lane is whole; sp__quiesce's acquire load pairs with it */
    uint32_t clock;
    _Atomic(struct sp__header *) header; /* sp__dead_header once the segment is to go: CAS relaxed before sp__quiesce */
    _Atomic(struct sp_profiler *) profiler; /* stored release when the writer is whole, acquired by sp__writers_each */
    _Atomic uint32_t deep_open;             /* deep_count + deep_lost: stored and loaded relaxed */
    uint32_t depth;
    uint32_t depth_limit; /* reserved; 0 while this thread is in a slow path, so that no handler takes the fast one */
    uint32_t regions;     /* as many handles are known to be good */
    struct sp__open *stack;
    struct sp__lane *lane;
    uint64_t token;

    /* What end needs besides. */
    uint64_t head;
    uint64_t limit; /* the head at which to ring the doorbell or to make room, whichever comes first */
    struct sp__record *ring;
    uint64_t mask;
    uint64_t anchor_due; /* ticks */
    uint32_t records;    /* 1: SP__MODE_RECORDS */
    uint32_t reserved;   /* entries of the open stack that have blocks */

    /* Slow paths. */
    uint64_t generation;       /* of the profiler */
    struct sp__writer *next;   /* of this thread's */
    struct sp__writer *signal; /* for handlers that interrupt this one */
    struct sp__deep *deep;
    uint64_t deep_reserved;
    uint32_t deep_count;
    uint32_t deep_lost; /* beyond SP__DEEP_MOST: only their number */
    uint32_t lane_number;
    uint32_t thread_number;
    uint32_t native_id;
    uint32_t is_signal;
    uint32_t markers_due;  /* the markers of this thread's begin did not fit yet */
    uint32_t out_of_step;  /* calls passed by unseen while a finalize, that then failed, held this thread off */
    uint32_t stalled;      /* a wait for room ran out ... */
    uint64_t stalled_tail; /* ... with the tail here */
    uint64_t retry_ns;     /* CLOCK_MONOTONIC before which nothing is tried again */
    uint64_t lanes_seen;   /* sp_profiler.lanes_freed when no lane was to be had */
    uint64_t slot_in_arena;

    struct sp__stats *stats[SP__BANKS][SP__STATS_BLOCKS]; /* NULL: look it up */
};

struct sp__slot {
    struct sp_profiler *profiler;
    struct sp__writer *writer;
    uint32_t error; /* sp_status of this thread's latest call */
};

struct sp__this_thread {
    struct sp__slot slots[SP__SLOTS];
    struct sp__writer *writers; /* all of this thread's, signal writers aside */
    uint32_t slow;              /* in a slow path, which a handler must not enter again */
    uint32_t signal;            /* in the signal lane's slow path */
    uint32_t holds_off;         /* this thread is the one that finalizes or resets */
    struct sp_profiler *owns;   /* what it flushes or finalizes: a handler over that cannot wait for it to drain */
};

extern _Thread_local struct sp__this_thread sp__self;

/* Statistics are written by one thread and read by any: relaxed, each word for itself. */
SP__HOT uint64_t sp__stat(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

SP__HOT void sp__stat_set(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

SP__HOT void sp__count(_Atomic uint64_t *word, uint64_t more)
{
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + more, memory_order_relaxed);
}

SP__HOT void sp__release(struct sp__writer *w)
{
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&w->busy, 0, memory_order_release); /* pairs with the acquire load in sp__quiesce */
}

/* The clock comes last of what can be before it, and what is needed afterwards is loaded anew: less is kept over the
 * call that reads it. The entry is whole before depth says that it is there. */
SP__HOT void sp__push(struct sp__writer *w, uint32_t region, uint32_t flags, uint64_t token, uint32_t clock)
{
    struct sp__open *entry = w->stack + w->depth;
    entry->nested = 0;
    __atomic_store_n(&entry->region, region, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->flags, flags, __ATOMIC_RELAXED);
    entry->token = token;
    uint64_t now = sp__clock_now(clock);
    uint32_t depth = w->depth;
    w->stack[depth].start = now;
    w->depth = depth + 1;
    SP__INSTANT(begin_before);
    /* Pairs with the acquire load of readers of the open stack. */
    atomic_store_explicit(&w->lane->depth, depth + 1, memory_order_release);
    SP__INSTANT(begin_after);
}

/* Adds the call in entry `at` to the statistics and to the time inside its parent. Returns its end. */
SP__HOT uint64_t sp__account(struct sp__writer *w, struct sp__stats *s, uint32_t at, uint64_t now)
{
    struct sp__open *entry = w->stack + at;
    uint64_t took = now - entry->start;
    if (SP__UNLIKELY((int64_t)took < 0)) {
        took = 0;
        now = entry->start;
        sp__count(&w->lane->mended, 1);
    }
    uint64_t calls = sp__stat(&s->calls);
    if (SP__UNLIKELY(took < sp__stat(&s->minimum) || calls == 0))
        sp__stat_set(&s->minimum, took);
    if (SP__UNLIKELY(took > sp__stat(&s->maximum)))
        sp__stat_set(&s->maximum, took);
    sp__stat_set(&s->total, sp__stat(&s->total) + took);
    sp__stat_set(&s->exclusive, sp__stat(&s->exclusive) + (took > entry->nested ? took - entry->nested : 0));
    sp__stat_set(&s->calls, calls + 1);
    if (at > 0)
        entry[-1].nested += took;
    return now;
}

/* Asks for the line that comes up in some calls' time. Stores retire in order, so one that had to fetch its line from
 * the consumer's core would hold up all that follow it. */
SP__HOT void sp__fetch_ahead(const struct sp__record *record)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*record)); /* the builtin fetches for reading on the oldest x86-64 */
#else
    __builtin_prefetch(record, 1);
#endif
}

SP__HOT void sp__put(struct sp__writer *w, uint64_t start, uint64_t end, uint32_t region, uint32_t depth, uint32_t kind)
{
    uint64_t head = w->head;
    sp__fetch_ahead(&w->ring[(head + SP__AHEAD) & w->mask]);
    w->ring[head & w->mask] = (struct sp__record){start, end, region, (uint16_t)depth, (uint16_t)kind};
    w->head = head + 1;
    SP__INSTANT(head_before);
    /* The record is whole before head covers it: pairs with the consumer's acquire load. */
    atomic_store_explicit(&w->lane->head, head + 1, memory_order_release);
    SP__INSTANT(head_after);
    SP__INSTANT_IF((head & w->mask) == w->mask, wrap);
}

/* Begins a call. false: nothing happened, take the slow path. */
SP__HOT bool sp__begin_on(struct sp__writer *w, uint32_t region, bool scoped, uint32_t clock)
{
    if (SP__UNLIKELY(atomic_load_explicit(&w->busy, memory_order_relaxed)))
        return false; /* a handler over this thread's own append */
    atomic_store_explicit(&w->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* with sp__quiesce's membarrier: busy before state */
    if (SP__UNLIKELY(region >= w->regions || w->depth >= w->depth_limit))
        goto slow;
    struct sp__header *header = atomic_load_explicit(&w->header, memory_order_relaxed);
    if (SP__UNLIKELY(atomic_load_explicit(&header->state, memory_order_relaxed) != SP__RECORDING))
        goto slow;
    if (scoped)
        w->token++;
    sp__push(w, region, 0, scoped ? w->token : 0, clock);
    sp__release(w);
    return true;
slow:
    sp__release(w);
    return false;
}

/* Ends, at `now`, a call that is the innermost one of this thread, and of `token` where that is not 0. */
SP__HOT bool sp__end_on(struct sp__writer *w, uint32_t region, uint64_t token, uint64_t now, uint32_t clock,
                        bool *ret_anchor)
{
    if (SP__UNLIKELY(atomic_load_explicit(&w->busy, memory_order_relaxed)))
        return false;
    atomic_store_explicit(&w->busy, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* as in sp__begin_on */
    uint32_t at = w->depth - 1;                /* nothing open: above every limit */
    if (SP__UNLIKELY(at >= w->depth_limit || atomic_load_explicit(&w->deep_open, memory_order_relaxed)))
        goto slow;
    struct sp__header *header = atomic_load_explicit(&w->header, memory_order_relaxed);
    if (SP__UNLIKELY(atomic_load_explicit(&header->state, memory_order_relaxed) != SP__RECORDING))
        goto slow;
    /* From here on the segment is there until busy is 0 again. */
    struct sp__open *entry = w->stack + at;
    if (SP__UNLIKELY(entry->region != region || entry->flags || w->head == w->limit))
        goto slow;
    if (token && SP__UNLIKELY(entry->token != token))
        goto slow;
    uint32_t bank = atomic_load_explicit(&header->bank, memory_order_relaxed) & (SP__BANKS - 1);
    struct sp__stats *block = w->stats[bank][region / SP__STATS_REGIONS % SP__STATS_BLOCKS];
    if (SP__UNLIKELY(!block))
        goto slow;
    now = sp__account(w, block + region % SP__STATS_REGIONS, at, now);
    if (SP__LIKELY(w->records))
        sp__put(w, entry->start, now, region, at, SP__CALL);
    w->depth = at;
    atomic_store_explicit(&w->lane->depth, at, memory_order_release);
    SP__INSTANT(end_after);
    sp__release(w);
    *ret_anchor = clock == SP__CLOCK_TSC && now >= w->anchor_due;
    return true;
slow:
    sp__release(w);
    return false;
}

#endif
