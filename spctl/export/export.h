/* export.h: calls in other tools' formats. A format is one file here and one row of the table. */
#ifndef SPCTL_EXPORT_H
#define SPCTL_EXPORT_H

#include <stdbool.h>

#include "out.h"
#include "scope_profiler_io.h"

struct export
{
    struct out *out;
    sp_results *results;
    char **names;     /* per region, as the format writes them */
    int64_t first;    /* start of the first call of all; 0 without calls */
    size_t lanes;     /* of this rank, entered so far */
    uint64_t written; /* calls, or samples of openmetrics */
    bool partial;     /* something was left out, which was said */
    bool unsure;      /* of the rank that is walked: see sp_walk_call */
    size_t unsure_ranks;
    void *own; /* the format's */
};

/* What a format does; each may be NULL. The functions that return an int say what went wrong and return a non-zero
 * value to end it. */
struct export_format {
    const char *name;
    const char *help;
    bool callers;                   /* `above` of calls is wanted */
    bool statistics;                /* of totals, which are known; calls are not walked */
    char *(*encode)(const char *s); /* a region's name, on the heap, NULL without memory; NULL: as it is */
    void (*begin)(struct export *e);
    void (*rank)(struct export *e, uint32_t rank);
    int64_t (*enter)(void *e, const sp_walk_call *call); /* visitors, see sp_results_walk */
    int (*leave)(void *e, const sp_walk_call *call);
    int (*rank_end)(struct export *e, uint32_t rank);
    void (*finish)(struct export *e);
    void (*destroy)(struct export *e); /* also after a failure */
};

extern const struct export_format export_chrome, export_speedscope, export_csv, export_json, export_folded,
    export_openmetrics;

extern const struct export_format *const export_formats[]; /* ends with NULL */
extern const char export_names[];                          /* "chrome|speedscope|..." for the option's value */
const struct export_format *export_find(const char *name);

/* Writes all ranks. False after a line. */
bool export_write(struct export *e, const struct export_format *format);

/* For formats. A JSON string with its quotes; on the heap, NULL without memory. */
char *export_json_string(const char *s);
/* "thread 3 worker", "lane 1" where no thread is known. */
typedef char lane_buffer[128];
const char *export_lane_name(const sp_walk_call *call, lane_buffer buffer);
/* A JSON string, written. */
void export_put_json(struct out *out, const char *s);

#endif
