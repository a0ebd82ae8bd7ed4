/* page.h: a report as one HTML file that needs nothing else. */
#ifndef SPCTL_PAGE_PAGE_H
#define SPCTL_PAGE_PAGE_H

#include <stdbool.h>

#include "scope_profiler_io.h"

/* Whether a page can be written there: END_DONE; else, after a line, END_USAGE (another suffix) or END_FAILED (what is
 * there is no page, or the place cannot be written). */
int page_possible(const char *output);

/* Reads all calls once, in memory that does not grow with them. The table is sorted by `sort` at first (NULL: by time).
 * Says on stdout what was written. END_DONE or END_FAILED (said; the output is as it was). */
int page_write(sp_results *results, const char *source, const char *sort, const char *output, bool as_json);

#endif
