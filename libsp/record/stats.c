/* stats.c: see stats.h. */
#include "stats.h"

#include "message.h"
#include "names.h"

enum { BLOCK_SIZE = SP__STATS_REGIONS * sizeof(struct sp__stats) };

static uint64_t *place_of(const struct sp_profiler *p, const struct sp__lane *lane, uint32_t n)
{
    return (uint64_t *)(void *)(p->born.map + lane->stats_offset) + n;
}

struct sp__stats *sp__stats_at(const struct sp_profiler *p, const struct sp__lane *lane, uint32_t n)
{
    /* Pairs with the release store in sp__stats_make: the block has blocks of the file behind it. */
    uint64_t at = __atomic_load_n(place_of(p, lane, n), __ATOMIC_ACQUIRE);
    if (at == 0 || at % 8 != 0 || at > p->born.size - BLOCK_SIZE)
        return NULL;
    return (void *)(p->born.map + at);
}

struct sp__stats *sp__stats_make(struct sp_profiler *p, struct sp__lane *lane, uint32_t n)
{
    struct sp__stats *found = sp__stats_at(p, lane, n);
    if (found)
        return found;
    uint64_t at = sp__heap_take(p->header, BLOCK_SIZE);
    if (at == 0 || sp__born_reserve(&p->born, at, BLOCK_SIZE, true) != 0) {
        sp__say(SP__SAY_SHM,
                "%s: no room for further statistics of rank %d: %d bytes needed; enlarge it (mount -o "
                "remount,size=...); statistics of some regions are not kept",
                SP__SHM_DIR, p->settings.rank, BLOCK_SIZE);
        return NULL;
    }
    __atomic_store_n(place_of(p, lane, n), at, __ATOMIC_RELEASE);
    return (void *)(p->born.map + at);
}

double sp__tick_ns(const struct sp_profiler *p)
{
    if (p->settings.clock != SP__CLOCK_TSC)
        return 1.0;
    struct sp__anchor now = sp__clock_anchor(p->settings.clock);
    double ticks = (double)(now.ticks - p->identity.birth.ticks);
    return ticks > 0 ? (double)(now.mono_ns - p->identity.birth.mono_ns) / ticks : 1.0;
}

static const struct sp__lane *ready_lane(const struct sp_profiler *p, uint32_t n)
{
    const struct sp__lane *lane = sp__lane_at(p, n);
    return atomic_load_explicit(&lane->ready, memory_order_acquire) ? lane : NULL;
}

void sp__stats_sum(const struct sp_profiler *p, uint32_t region, sp_region_stats *ret)
{
    uint64_t calls = 0, total = 0, minimum = UINT64_MAX, maximum = 0;
    uint32_t used = atomic_load_explicit(&p->header->lanes_used, memory_order_acquire);
    for (uint32_t n = 0; n < used * SP__BANKS; n++) {
        const struct sp__lane *lane = ready_lane(p, n / SP__BANKS);
        if (!lane)
            continue;
        uint32_t bank = n % SP__BANKS;
        const struct sp__stats *s = sp__stats_at(p, lane, bank * SP__STATS_BLOCKS + region / SP__STATS_REGIONS);
        if (!s || sp__stat(&s[region % SP__STATS_REGIONS].calls) == 0)
            continue;
        s += region % SP__STATS_REGIONS;
        calls += sp__stat(&s->calls);
        total += sp__stat(&s->total);
        if (sp__stat(&s->minimum) < minimum)
            minimum = sp__stat(&s->minimum);
        if (sp__stat(&s->maximum) > maximum)
            maximum = sp__stat(&s->maximum);
    }
    double ns = p->tick_ns > 0 ? p->tick_ns : sp__tick_ns(p);
    if (calls == 0)
        minimum = 0;
    if (ns == 1.0)
        *ret = (sp_region_stats){(int64_t)calls, (int64_t)total, (int64_t)minimum, (int64_t)maximum};
    else
        *ret = (sp_region_stats){(int64_t)calls, (int64_t)((double)total * ns), (int64_t)((double)minimum * ns),
                                 (int64_t)((double)maximum * ns)};
}

int64_t sp__stats_open(const struct sp_profiler *p, uint32_t region)
{
    int64_t open = 0;
    uint32_t used = atomic_load_explicit(&p->header->lanes_used, memory_order_acquire);
    for (uint32_t n = 0; n < used; n++) {
        const struct sp__lane *lane = ready_lane(p, n);
        if (!lane)
            continue;
        /* Pairs with the release store of a push. */
        uint32_t depth = atomic_load_explicit(&lane->depth, memory_order_acquire);
        const struct sp__open *stack = (const void *)(p->born.map + lane->stack_offset);
        for (uint32_t i = 0; i < depth && i < SP__STACK_MOST; i++)
            open += __atomic_load_n(&stack[i].region, __ATOMIC_RELAXED) == region &&
                    !(__atomic_load_n(&stack[i].flags, __ATOMIC_RELAXED) & SP__OPEN_UNRECORDED);
    }
    return open;
}
