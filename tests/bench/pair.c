/* pair.c: what a begin/end pair costs, each way beside its limit or its peer in the same run: rounds of both take turns,
 * and the ratio is the median of the rounds' ratios. A child drains the rings between rounds, as spd would, so that the
 * recording alone is measured.
 *
 *   pair [--json]
 *
 * Bases: two bare reads of the clock in use; the pair of one thread alone; two calls of an empty function through the
 * PLT; the pair with records. Never fails by time. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "child.h"
#include "empty.h"
#include <clock.h>
#include <scope_profiler.h>

enum { PAIRS = 4000, ROUNDS = 201, WARM = 5, LIVES = 15, ROUNDS_OF_A_LIFE = 9, REGIONS = 8 };

static int regions[REGIONS];

struct row {
    const char *name, *base_name;
    double pair, base, ratio, must; /* ns; pair 0: not measured here */
};

static double now(void)
{
    return (double)sp__clock_mono();
}

static _Noreturn void fail(const char *what)
{
    (void)fprintf(stderr, "pair: %s: %s\n", what, sp_error_string(sp_profiler_last_error(sp_default_profiler())));
    exit(1);
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

static double mono_round(void)
{
    volatile uint64_t sink = 0;
    double start = now();
    for (int i = 0; i < 2 * PAIRS; i++)
        sink = sink + sp__clock_now(SP__CLOCK_MONOTONIC);
    return (now() - start) / PAIRS;
}

static double tsc_round(void)
{
    volatile uint64_t sink = 0;
    double start = now();
    for (int i = 0; i < 2 * PAIRS; i++)
        sink = sink + sp__clock_now(SP__CLOCK_TSC);
    return (now() - start) / PAIRS;
}

static double empty_round(void)
{
    double start = now();
    for (int i = 0; i < PAIRS; i++) {
        bench_empty(regions[i % REGIONS]);
        bench_empty(regions[i % REGIONS]);
    }
    return (now() - start) / PAIRS;
}

static void begin_life(const char *clock, const char *mode)
{
    (void)setenv("SP_CLOCK", clock, 1);
    (void)setenv("SP_MODE", mode, 1);
    if (sp_init("pair", 0))
        fail("sp_init");
    for (int i = 0; i < REGIONS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "region %d", i);
        regions[i] = sp_region(name);
    }
    usleep(20000); /* the child has found it */
}

static void end_life(void)
{
    sp_destroy(sp_default_profiler());
}

static void fill(struct row *row, double *pairs, double *bases, int count)
{
    double ratios[ROUNDS];
    for (int i = 0; i < count; i++)
        ratios[i] = pairs[i] / bases[i];
    row->ratio = bench_median(ratios, count);
    row->pair = bench_median(pairs, count);
    row->base = bench_median(bases, count);
}

/* The pair beside the base, in turn. */
static void compare(struct row *row, double (*base)(void), useconds_t rest)
{
    double bases[ROUNDS], pairs[ROUNDS];
    for (int r = -WARM; r < ROUNDS; r++) {
        double a = base(), b = pair_round();
        if (r >= 0) {
            bases[r] = a;
            pairs[r] = b;
        }
        if (rest)
            usleep(rest); /* the ring is drained */
    }
    fill(row, pairs, bases, ROUNDS);
}

static void recorded(struct row *row, const char *clock, double (*base)(void))
{
    begin_life(clock, "records");
    compare(row, base, 3000);
    end_life();
}

struct other {
    pthread_barrier_t begin, end;
    double took;
};

static void *other_thread(void *context)
{
    struct other *other = context;
    for (int r = -WARM; r < ROUNDS; r++) {
        (void)pthread_barrier_wait(&other->begin);
        other->took = pair_round();
        (void)pthread_barrier_wait(&other->end);
    }
    return NULL;
}

/* One thread alone, then two at once, in turn. The slower of the two counts. */
static void two_threads(struct row *row, const char *clock)
{
    static struct other other;
    double alone[ROUNDS], both[ROUNDS];
    pthread_t thread;
    begin_life(clock, "records");
    if (pthread_barrier_init(&other.begin, NULL, 2) || pthread_barrier_init(&other.end, NULL, 2) ||
        pthread_create(&thread, NULL, other_thread, &other))
        fail("a second thread");
    for (int r = -WARM; r < ROUNDS; r++) {
        double one = pair_round();
        usleep(3000);
        (void)pthread_barrier_wait(&other.begin);
        double two = pair_round();
        (void)pthread_barrier_wait(&other.end);
        if (r >= 0) {
            alone[r] = one;
            both[r] = two > other.took ? two : other.took;
        }
        usleep(3000);
    }
    (void)pthread_join(thread, NULL);
    end_life();
    fill(row, both, alone, ROUNDS);
}

static double life_round(const char *clock, const char *mode)
{
    double pairs[ROUNDS_OF_A_LIFE];
    begin_life(clock, mode);
    for (int r = -WARM; r < ROUNDS_OF_A_LIFE; r++) {
        double took = pair_round();
        if (r >= 0)
            pairs[r] = took;
        usleep(3000);
    }
    end_life();
    return bench_median(pairs, ROUNDS_OF_A_LIFE);
}

/* A mode is for life: lives take turns. */
static void statistics(struct row *row, const char *clock)
{
    double stats[LIVES], records[LIVES];
    for (int i = 0; i < LIVES; i++) {
        records[i] = life_round(clock, "records");
        stats[i] = life_round(clock, "stats");
    }
    fill(row, stats, records, LIVES);
}

static void print_json(const struct row *rows, size_t count)
{
    (void)printf("{\"benchmark\":\"pair\",\"rows\":[");
    for (size_t i = 0, printed = 0; i < count; i++)
        if (rows[i].pair > 0)
            (void)printf(
                "%s{\"name\":\"%s\",\"ns\":%.2f,\"base\":\"%s\",\"base_ns\":%.2f,\"ratio\":%.3f,\"must\":%.2f}",
                printed++ ? "," : "", rows[i].name, rows[i].pair, rows[i].base_name, rows[i].base, rows[i].ratio,
                rows[i].must);
    (void)printf("]}\n");
}

static void print_table(const struct row *rows, size_t count)
{
    (void)printf("%-30s %12s  %-24s %12s %7s %6s\n", "a pair", "ns", "beside", "ns", "ratio", "must");
    for (size_t i = 0; i < count; i++)
        if (rows[i].pair > 0)
            (void)printf("%-30s %12.2f  %-24s %12.2f %7.3f %6.2f\n", rows[i].name, rows[i].pair, rows[i].base_name,
                         rows[i].base, rows[i].ratio, rows[i].must);
}

int main(int argc, char **argv)
{
    enum { MONO, TSC, TWO_MONO, TWO_TSC, STATS_MONO, STATS_TSC, BEFORE, DISABLED, AFTER, ROWS };
    struct row rows[ROWS] = {
        [MONO] = {"records, monotonic", "two reads", .must = 1.15},
        [TSC] = {"records, tsc", "two reads", .must = 1.15},
        [TWO_MONO] = {"two threads, monotonic", "one thread", .must = 1.1},
        [TWO_TSC] = {"two threads, tsc", "one thread", .must = 1.1},
        [STATS_MONO] = {"SP_MODE=stats, monotonic", "with records", .must = 1},
        [STATS_TSC] = {"SP_MODE=stats, tsc", "with records", .must = 1},
        [BEFORE] = {"inactive, before sp_init", "two empty calls, PLT", .must = 1.5},
        [DISABLED] = {"SP_DISABLE=1", "two empty calls, PLT", .must = 1.5},
        [AFTER] = {"inactive, after the end", "two empty calls, PLT", .must = 1.5},
    };
    bench_folder("pair");
    pid_t child = bench_drain();
    bool tsc = sp__clock_choose(SP__CLOCK_TSC) == SP__CLOCK_TSC;
    compare(&rows[BEFORE], empty_round, 0);
    (void)setenv("SP_DISABLE", "1", 1);
    if (sp_init("pair", 0))
        fail("sp_init under SP_DISABLE");
    compare(&rows[DISABLED], empty_round, 0);
    (void)unsetenv("SP_DISABLE");
    recorded(&rows[MONO], "monotonic", mono_round);
    two_threads(&rows[TWO_MONO], "monotonic");
    statistics(&rows[STATS_MONO], "monotonic");
    if (tsc) {
        recorded(&rows[TSC], "tsc", tsc_round);
        two_threads(&rows[TWO_TSC], "tsc");
        statistics(&rows[STATS_TSC], "tsc");
    }
    compare(&rows[AFTER], empty_round, 0);
    bench_end(child);
    bench_remove();
    (argc > 1 && strcmp(argv[1], "--json") == 0 ? print_json : print_table)(rows, ROWS);
    return 0;
}
