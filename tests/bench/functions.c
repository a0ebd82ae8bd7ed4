/* functions.c: what the hooks of -finstrument-functions cost beside sp_begin and sp_end, in rounds that take turns in
 * one run. A private spd is not needed: SP_MODE=stats keeps the ring out of it.
 *
 *   functions [--json]
 *
 * pair is sp_begin and sp_end; hooks is an enter and an exit of a known function, which make such a pair; excluded is
 * the same for a function that SP_FILTER leaves out. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include <scope_profiler.h>

enum { PAIRS = 4000, ROUNDS = 301, KINDS = 3 };

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);
void function_taken(void);
void function_left_out(void);

static volatile int sink;
static int region;

void function_taken(void)
{
    sink++;
}

void function_left_out(void)
{
    sink--;
}

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double pairs(void)
{
    double start = now();
    for (int i = 0; i < PAIRS; i++) {
        sp_begin(region);
        sp_end(region);
    }
    return (now() - start) / PAIRS;
}

static double hooks(void (*function)(void))
{
    void *address;
    memcpy(&address, &function, sizeof address);
    double start = now();
    for (int i = 0; i < PAIRS; i++) {
        __cyg_profile_func_enter(address, NULL);
        __cyg_profile_func_exit(address, NULL);
    }
    return (now() - start) / PAIRS;
}

static void filter(void)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/filter", bench_path);
    FILE *file = fopen(path, "w");
    if (!file || fputs("!function_left_out\n", file) < 0 || fclose(file) != 0)
        exit(2);
    (void)setenv("SP_FILTER", path, 1);
}

int main(int argc, char **argv)
{
    static const char *const names[KINDS] = {"sp_begin and sp_end", "hooks", "hooks, excluded"};
    static double costs[KINDS][ROUNDS];
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    bench_folder("functions");
    filter();
    (void)setenv("SP_MODE", "stats", 1);
    if (sp_init("functions", 0) != 0)
        return 2;
    region = sp_region("region");
    for (int r = -5; r < ROUNDS; r++) {
        double cost[KINDS] = {pairs(), hooks(function_taken), hooks(function_left_out)};
        for (int k = 0; k < KINDS && r >= 0; k++)
            costs[k][r] = cost[k];
    }
    sp_region_stats stats = {0};
    (void)sp_profiler_get_region_stats(sp_default_profiler(), sp_find_region("function_taken"), &stats);
    bool counted = stats.calls == (int64_t)PAIRS * (ROUNDS + 5) && sp_find_region("function_left_out") < 0;
    sp_destroy(sp_default_profiler());
    bench_remove();
    if (!counted) {
        (void)fprintf(stderr, "functions: %lld calls of function_taken were recorded\n", (long long)stats.calls);
        return 1;
    }
    double base = bench_median(costs[0], ROUNDS);
    for (int k = 0; k < KINDS; k++) {
        double cost = bench_median(costs[k], ROUNDS);
        if (json)
            (void)printf("%s{\"name\":\"%s\",\"pair_ns\":%.2f,\"ratio\":%.3f}%s",
                         k ? "," : "{\"benchmark\":\"functions\",\"rows\":[", names[k], cost, cost / base,
                         k + 1 == KINDS ? "]}\n" : "");
        else
            (void)printf("%-20s %7.2f ns   ratio %.3f\n", names[k], cost, cost / base);
    }
    return 0;
}
