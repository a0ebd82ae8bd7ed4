/* durations.h: how long the calls of each region took: percentiles, histograms, and over time. */
#ifndef SPCTL_PAGE_DURATIONS_H
#define SPCTL_PAGE_DURATIONS_H

#include "scope.h"

struct durations;
struct durations *durations_create(const struct page_scope *scope);
void durations_destroy(struct durations *durations);
void durations_add(struct durations *durations, const sp_walk_call *call);

/* ns, within SPREAD_ERROR; negative: not known. */
double durations_percentile(const struct durations *durations, size_t line, double percent);

/* "histograms" and "over_time" of the document, a list each for the regions of most time. */
void durations_json(const struct durations *durations, json_t *document);

#endif
