/* selection.h: what of the inputs an option asks for, and how it is to be written. Each function says what is wrong with
 * a value and returns false. */
#ifndef SPCTL_SELECTION_H
#define SPCTL_SELECTION_H

#include "options.h"
#include "scope_profiler_io.h"

/* The options --ranks, --regions, --from and --to of a verb. */
struct selection_options {
    const char *ranks, *from, *to;
    struct values regions;
    sp_selection wanted;
    uint32_t (*pairs)[2];
};
/* clang-format off */
#define RANKS_OPTION(s) {0, "ranks", "LIST", "only these ranks, as in 0-7,12", &(s).ranks}
#define TIMES_OPTIONS(s) \
    {0, "from", "SECONDS", "only calls that began so long after the first of all, or later", &(s).from}, \
    {0, "to", "SECONDS", "only calls that began before that", &(s).to}
#define SELECTION_OPTIONS(s) \
    RANKS_OPTION(s), \
    {0, "regions", "GLOB...", "only regions of such a name; may be given several times", &(s).regions}, \
    TIMES_OPTIONS(s)
/* clang-format on */
/* To be finished also where a value is wrong. */
bool selection_read(struct selection_options *selection);
/* Narrows the inputs to what was asked for; false after a line, *ret_end the exit status. */
bool selection_narrow(const struct selection_options *selection, sp_inputs *inputs, int *ret_end);
void selection_finish(struct selection_options *selection);

/* "0-7,12": pairs on the heap, both ends included. */
bool ranks_parse(const char *text, uint32_t (**ret)[2], size_t *ret_count);

/* "1.5" seconds, to the nanosecond. */
bool seconds_parse(const char *text, int64_t *ret_ns);

bool count_parse(const char *option, const char *text, size_t *ret);     /* from 1 on */
bool percent_parse(const char *option, const char *text, double *ret);   /* "5%" or "0.05": 5 */
bool duration_parse(const char *option, const char *text, int64_t *ret); /* "1.5s", "10ms", "20us", "20µs", "100ns" */

bool schema_parse(const char *text, int *ret);   /* "2", "3" */
bool compress_parse(const char *text, int *ret); /* "none" 0, "gzip", "gzip:1" ... "gzip:9" */

#endif
