/* languages.c: what a begin/end pair costs from Fortran and C++, as a ratio to one from C, in rounds that take turns.
 *
 *   languages [--json]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "child.h"
#include "languages.h"
#include <clock.h>
#include <scope_profiler.h>

enum { PAIRS = 4000, ROUNDS = 201, REGION = 0 };

static void c_pairs(int pairs, int region)
{
    for (int i = 0; i < pairs; i++) {
        sp_begin(region);
        sp_end(region);
    }
}

/* A token each, as C++ scopes have. */
static void c_scopes(int pairs, int region)
{
    for (int i = 0; i < pairs; i++) {
        sp_scope scope = sp_profiler_scope_begin(sp_default_profiler(), region);
        (void)sp_scope_end(&scope);
    }
}

static const struct {
    const char *name;
    void (*pairs)(int pairs, int region);
} rows[] = {
    {"C, sp_begin and sp_end", c_pairs},
    {"C, sp_profiler_scope_begin", c_scopes},
#ifdef BENCH_FORTRAN
    {"Fortran, sp_begin and sp_end", fortran_pairs},
    {"Fortran, with stat", fortran_pairs_stat},
#endif
#ifdef BENCH_CPP
    {"C++, sp::Scope", cpp_scopes},
    {"C++, SP_PROFILE_SCOPE(literal)", cpp_literals},
    {"C++, SP_PROFILE_FUNCTION()", cpp_functions},
    {"C++, SP_PROFILE_SCOPE(string)", cpp_strings},
#endif
};

enum { ROWS = sizeof rows / sizeof *rows };

int main(int argc, char **argv)
{
    static double cost[ROWS][ROUNDS];
    bool json = argc > 1 && argv[1][0] == '-';
    bench_folder("languages");
    pid_t child = bench_drain();
    if (sp_init("languages", 0) != 0 || sp_region("region") != REGION) {
        (void)fprintf(stderr, "languages: %s\n", sp_error_string(sp_profiler_last_error(sp_default_profiler())));
        return 2;
    }
    usleep(20000); /* the child has found it */
    for (int r = -5; r < ROUNDS; r++)
        for (int row = 0; row < ROWS; row++) {
            double start = (double)sp__clock_mono();
            rows[row].pairs(PAIRS, REGION);
            if (r >= 0)
                cost[row][r] = ((double)sp__clock_mono() - start) / PAIRS;
            usleep(1500); /* the ring is drained */
        }
    sp_destroy(sp_default_profiler());
    bench_end(child);
    bench_remove();
    double base = 0;
    if (json)
        (void)printf("{\"benchmark\":\"languages\",\"rows\":[");
    for (int row = 0; row < ROWS; row++) {
        double pair = bench_median(cost[row], ROUNDS);
        base = row == 0 ? pair : base;
        if (json)
            (void)printf("%s{\"name\":\"%s\",\"pair_ns\":%.2f,\"ratio\":%.3f}", row > 0 ? "," : "", rows[row].name,
                         pair, pair / base);
        else
            (void)printf("%-32s pair %7.2f ns   to C's %.3f\n", rows[row].name, pair, pair / base);
    }
    if (json)
        (void)printf("]}\n");
    return 0;
}
