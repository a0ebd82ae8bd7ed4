/* balance.h: how the time of each region is spread over the ranks. */
#ifndef SPCTL_PAGE_BALANCE_H
#define SPCTL_PAGE_BALANCE_H

#include "scope.h"

/* Of a region, by the time that the page weighs it by; ranks without the region count as 0. */
struct balance_region {
    int64_t most;
    uint32_t slowest; /* the rank with the most */
    double ratio;     /* the most over the mean of all ranks; 1 where there is no time */
};

struct balance;
struct balance *balance_create(const struct page_scope *scope);
void balance_destroy(struct balance *balance);

const struct balance_region *balance_of(const struct balance *balance, size_t line);

/* "heat" of the document: time and calls by region and rank, or group of neighbouring ranks. */
void balance_json(const struct balance *balance, json_t *document);

#endif
