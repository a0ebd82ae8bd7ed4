/* pair.c: what a begin/end pair costs, as a ratio to two bare clock reads measured between the pairs of the same run.
 * A child drains the rings meanwhile, as spd would, so that the recording alone is measured.
 *
 *   pair [--json]
 *
 * base is two bare reads of the clock in use. off: the profiler was destroyed; its base is a pair of calls of an empty
 * function through a pointer, which is what a call into any library costs at least. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "child.h"
#include <clock.h>
#include <scope_profiler.h>

enum { PAIRS = 4000, ROUNDS = 201, REGIONS = 8 };

static int regions[REGIONS];

struct cost {
    double reads; /* ns of two bare reads; 0 not measured */
    double pair;
};

static double now(void)
{
    return (double)sp__clock_mono();
}

static double pair_round(void)
{
    double start = now();
    for (int i = 0; i < PAIRS; i++) {
        sp_begin(regions[i % REGIONS]);
        sp_end(regions[i % REGIONS]);
    }
    return (now() - start) / PAIRS;
}

static double read_round(uint32_t clock)
{
    volatile uint64_t sink = 0;
    double start = now();
    for (int i = 0; i < 2 * PAIRS; i++)
        sink = sink + sp__clock_now(clock);
    return (now() - start) / PAIRS;
}

static struct cost measure(uint32_t clock)
{
    double reads[ROUNDS], pairs[ROUNDS];
    for (int r = -5; r < ROUNDS; r++) {
        double a = read_round(clock), b = pair_round();
        if (r >= 0) {
            reads[r] = a;
            pairs[r] = b;
        }
        usleep(3000); /* the ring is drained */
    }
    return (struct cost){bench_median(reads, ROUNDS), bench_median(pairs, ROUNDS)};
}

static void begin_life(const char *clock, const char *mode)
{
    (void)setenv("SP_CLOCK", clock, 1);
    (void)setenv("SP_MODE", mode, 1);
    if (sp_init("pair", 0) != 0) {
        (void)fprintf(stderr, "pair: sp_init: %s\n", sp_error_string(sp_profiler_last_error(sp_default_profiler())));
        exit(2);
    }
    for (int i = 0; i < REGIONS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "region %d", i);
        regions[i] = sp_region(name);
    }
    usleep(20000); /* the child has found it */
}

static struct cost life(const char *clock, const char *mode)
{
    begin_life(clock, mode);
    struct cost cost = measure(strcmp(clock, "tsc") == 0 ? SP__CLOCK_TSC : SP__CLOCK_MONOTONIC);
    sp_destroy(sp_default_profiler());
    return cost;
}

static void *in_thread(void *cost)
{
    *(struct cost *)cost = measure(SP__CLOCK_MONOTONIC);
    return NULL;
}

static struct cost two_threads(void)
{
    struct cost here, there;
    pthread_t thread;
    begin_life("monotonic", "records");
    if (pthread_create(&thread, NULL, in_thread, &there) != 0)
        exit(2);
    here = measure(SP__CLOCK_MONOTONIC);
    (void)pthread_join(thread, NULL);
    sp_destroy(sp_default_profiler());
    return here.pair / here.reads > there.pair / there.reads ? here : there;
}

__attribute__((noinline)) static void empty(int region)
{
    (void)region;
}

static double empty_round(void)
{
    void (*volatile call)(int) = empty;
    double start = now();
    for (int i = 0; i < PAIRS; i++) {
        call(regions[i % REGIONS]);
        call(regions[i % REGIONS]);
    }
    return (now() - start) / PAIRS;
}

static struct cost off(void)
{
    double calls[ROUNDS], pairs[ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        calls[r] = empty_round();
        pairs[r] = pair_round();
    }
    return (struct cost){bench_median(calls, ROUNDS), bench_median(pairs, ROUNDS)};
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    bench_folder("pair");
    pid_t child = bench_drain();
    bool tsc = sp__clock_choose(SP__CLOCK_TSC) == SP__CLOCK_TSC;
    struct {
        const char *name;
        struct cost cost;
    } rows[] = {
        {"on, monotonic", life("monotonic", "records")},
        {"on, tsc", tsc ? life("tsc", "records") : (struct cost){0, 0}},
        {"statistics only, monotonic", life("monotonic", "stats")},
        {"two threads, monotonic", two_threads()},
        {"off (base: two empty calls)", off()},
    };
    bench_end(child);
    bench_remove();
    if (json)
        (void)printf("{\"benchmark\":\"pair\",\"rows\":[");
    for (size_t i = 0, printed = 0; i < sizeof rows / sizeof *rows; i++) {
        double reads = rows[i].cost.reads, pair = rows[i].cost.pair;
        if (reads <= 0)
            continue;
        if (json)
            (void)printf("%s{\"name\":\"%s\",\"pair_ns\":%.2f,\"base_ns\":%.2f,\"ratio\":%.3f}", printed++ ? "," : "",
                         rows[i].name, pair, reads, pair / reads);
        else
            (void)printf("%-30s pair %7.2f ns   base %7.2f ns   ratio %.3f\n", rows[i].name, pair, reads, pair / reads);
    }
    if (json)
        (void)printf("]}\n");
    return 0;
}
