/* stats.h: the blocks of statistics that lanes point to, and sums over lanes. */
#ifndef SP__STATS_H
#define SP__STATS_H

#include "profiler.h"

/* Block n (bank * SP__STATS_BLOCKS + region / SP__STATS_REGIONS) of a lane; NULL: never used. */
struct sp__stats *sp__stats_at(const struct sp_profiler *p, const struct sp__lane *lane, uint32_t n);

/* The same, made where it is missing; by the lane's owner. NULL: no room. Async-signal-safe. */
struct sp__stats *sp__stats_make(struct sp_profiler *p, struct sp__lane *lane, uint32_t n);

/* Finished calls of a region over all lanes. Entered, region is good. */
void sp__stats_sum(const struct sp_profiler *p, uint32_t region, sp_region_stats *ret);

/* Open calls of a region over all lanes: exact for the calling thread, a hint for others. Entered. */
int64_t sp__stats_open(const struct sp_profiler *p, uint32_t region);

/* Nanoseconds of one tick, from the birth of the profiler until now. */
double sp__tick_ns(const struct sp_profiler *p);

#endif
