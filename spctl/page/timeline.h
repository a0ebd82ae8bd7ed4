/* timeline.h: what each lane did when, in a bounded number of blocks. */
#ifndef SPCTL_PAGE_TIMELINE_H
#define SPCTL_PAGE_TIMELINE_H

#include "scope.h"

/* Each rank has a quantum, 0 at first: calls at least as long are blocks of their own, with their very times; shorter
 * ones that start in the same quantum of the profile, in one lane and depth, join into one block. Where a rank's blocks
 * become too many, its quantum grows. So a rank of few calls is there call by call, and long calls always are. */
struct timeline;

/* Chooses the ranks to draw (scope->ranks[].drawn), all where they are few. */
struct timeline *timeline_create(struct page_scope *scope);
void timeline_destroy(struct timeline *timeline);

/* Calls of the n-th rank of the scope, in order of start. */
void timeline_add(struct timeline *timeline, size_t rank, const sp_walk_call *call);

/* Once all calls were added. */
void timeline_finish(struct timeline *timeline);

/* Half as fine, for a page that turned out too large. */
void timeline_coarsen(struct timeline *timeline);

/* "timeline" of the document. */
void timeline_json(const struct timeline *timeline, json_t *document);

#endif
