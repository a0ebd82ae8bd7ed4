/* results_print.c: results as a table for people. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"

enum { NAME_LEAST = 6, NAME_MOST = 60 };

/* Characters, not bytes, of UTF-8. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void print_seconds(FILE *to, double value)
{
    if (isnan(value))
        fprintf(to, " %12s", "-");
    else
        fprintf(to, " %12.6g", value);
}

/* A control character in a name is no command to a terminal. */
static void print_name(FILE *to, const char *name, int width)
{
    int own = width_of(name);
    for (const char *at = name; *at; at++)
        putc((unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at, to);
    fprintf(to, "%*s", own < width ? width - own : 0, "");
}

static int print_lines(sp_results *results, FILE *to, int width, sp_error *error)
{
    for (size_t i = 0; i < results->regions.count; i++) {
        sp_statistics s;
        int status = sp_results_statistics(results, i, SP_ALL_RANKS, &s, error);
        if (status)
            return status;
        print_name(to, results->regions.names[i], width);
        fprintf(to, " %6zu %12" PRIu64, sp_results_region_ranks(results, i, NULL, 0), s.count);
        const double values[] = {s.total, s.exclusive, s.mean, s.minimum, s.maximum, s.deviation};
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            print_seconds(to, values[k]);
        putc('\n', to);
    }
    return 0;
}

int sp_results_print_summary(sp_results *results, FILE *to, sp_error *error)
{
    if (!results || !to)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "a summary needs results and a stream");
    int status = sp_results_sum_up(results, error), width = NAME_LEAST;
    if (status)
        return status;
    for (size_t i = 0; i < results->regions.count; i++) {
        int own = width_of(results->regions.names[i]);
        own = own < NAME_MOST ? own : NAME_MOST;
        width = own > width ? own : width;
    }
    fprintf(to, "%s%s%zu %s, %zu %s; times in seconds\n", results->label, results->label[0] ? ": " : "",
            results->rank_count, results->rank_count == 1 ? "rank" : "ranks", results->regions.count,
            results->regions.count == 1 ? "region" : "regions");
    if (results->regions.count)
        fprintf(to, "%-*s %6s %12s %12s %12s %12s %12s %12s %12s\n", width, "region", "ranks", "calls", "total",
                "exclusive", "mean", "min", "max", "std");
    status = print_lines(results, to, width, error);
    if (!status && (fflush(to) || ferror(to)))
        status = sp__fail(error, SP_ERR_SYSTEM, errno, NULL, NULL, "the summary cannot be printed");
    return status;
}
