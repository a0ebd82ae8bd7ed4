/* findings.h: what stands out in a profile, in words. */
#ifndef SPCTL_PAGE_FINDINGS_H
#define SPCTL_PAGE_FINDINGS_H

#include "balance.h"
#include "durations.h"

/* "findings" of the document, the most important first: "kind", "text", and the "region" (a line) and "rank" it is
 * about, or null. `durations` NULL: there are no calls to read. */
void findings_json(const struct page_scope *scope, const struct balance *balance, const struct durations *durations,
                   json_t *document);

#endif
