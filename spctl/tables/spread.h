/* spread.h: how durations are spread: percentiles within SPREAD_ERROR, in memory that their number does not change. */
#ifndef SPCTL_SPREAD_H
#define SPCTL_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#define SPREAD_ERROR 0.008 /* of the value, where there are more than a few; below 64 ns there is none */

struct spread;
void spread_add(struct spread **spread, uint64_t ns); /* *spread NULL: it is made */
double spread_percentile(struct spread *spread, double percent);
bool spread_exact(const struct spread *spread);
void spread_destroy(struct spread *spread);

#endif
