/* clock.h: the clock that lanes hold, anchors, and conversion of ticks to CLOCK_MONOTONIC nanoseconds. */
#ifndef SP__CLOCK_H
#define SP__CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "layout.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static inline uint64_t sp__clock_mono(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

/* One reading of what lanes hold. */
static inline uint64_t sp__clock_now(uint32_t clock)
{
#if defined(__x86_64__)
    if (clock == SP__CLOCK_TSC)
        return __rdtsc();
#endif
    (void)clock;
    return sp__clock_mono();
}

/* TSC where the processor says it is invariant and the kernel keeps time by it: its clocksource is "tsc", or in a
 * virtual machine "kvm-clock" in the form that the vDSO reads (Linux, arch/x86/kernel/pvclock.c: only with
 * PVCLOCK_TSC_STABLE_BIT). `wanted` (-1, or an enum sp__clock from SP_CLOCK) overrides the clocksource test, never the
 * invariance test. */
uint32_t sp__clock_choose(int wanted);

/* Both clocks at once, the tightest of a few tries. For CLOCK_MONOTONIC both numbers are the same reading. */
struct sp__anchor sp__clock_anchor(uint32_t clock);

/* A map from ticks to nanoseconds: piecewise linear through anchors, monotone, so that order and containment within a
 * lane survive. The same anchors always give the same map, and adding later anchors leaves earlier results alone. */
struct sp__clock_map;

/* Anchors in any order, copied; ones out of order in either clock are left out. Heap; sp__clock_map_destroy frees.
 * 0, -ENOMEM, or -EINVAL where a TSC map has no anchor. One anchor alone says nothing of the rate: 1 tick = 1 ns is
 * taken then. */
int sp__clock_map_create(struct sp__clock_map **ret, uint32_t clock, const struct sp__anchor *anchors, size_t count);
void sp__clock_map_destroy(struct sp__clock_map *map);
int64_t sp__clock_map_ns(const struct sp__clock_map *map, uint64_t ticks);

/* Largest difference in ns that neighbouring slopes allow (-1: one anchor alone, nothing is known), and how many breaks
 * (suspend) the anchors show. */
int64_t sp__clock_map_error_ns(const struct sp__clock_map *map);
unsigned sp__clock_map_breaks(const struct sp__clock_map *map);

#endif
