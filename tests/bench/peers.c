/* peers.c: a begin/end pair of libsp beside what others take for the same: LTTng-UST (a begin and an end tracepoint) and
 * two growing arrays per region. Started by peers.py, which keeps LTTng's session daemon; prints one line of JSON.
 *
 * Rounds of all take turns in one thread; a child drains libsp's ring between them, as spd would. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "arrays.h"
#include "bench.h"
#include "child.h"
#include "peers_tp.h"
#include <clock.h>
#include <scope_profiler.h>

enum { PAIRS = 4000, ROUNDS = 201, WARM = 20, REGIONS = 8, WAYS = 4, LIBSP = 1 };

static int regions[REGIONS];

static double now(void)
{
    return (double)sp__clock_mono();
}

static double reads_round(void)
{
    volatile uint64_t sink = 0;
    double start = now();
    for (int i = 0; i < 2 * PAIRS; i++)
        sink = sink + sp__clock_mono();
    return (now() - start) / PAIRS;
}

static double libsp_round(void)
{
    double start = now();
    for (int i = 0; i < PAIRS; i++) {
        sp_begin(regions[i % REGIONS]);
        sp_end(regions[i % REGIONS]);
    }
    return (now() - start) / PAIRS;
}

static double arrays_round(void)
{
    double start = now();
    for (int i = 0; i < PAIRS; i++) {
        arrays_begin(regions[i % REGIONS]);
        arrays_end(regions[i % REGIONS]);
    }
    return (now() - start) / PAIRS;
}

static double lttng_round(void)
{
    double start = now();
    for (int i = 0; i < PAIRS; i++) {
        lttng_ust_tracepoint(sp_bench, begin, regions[i % REGIONS]);
        lttng_ust_tracepoint(sp_bench, end, regions[i % REGIONS]);
    }
    return (now() - start) / PAIRS;
}

int main(void)
{
    static double (*const rounds[WAYS])(void) = {reads_round, libsp_round, arrays_round, lttng_round};
    (void)unsetenv("SP_CLOCK");
    bool tsc = sp__clock_choose(-1) == SP__CLOCK_TSC;
    const char *const names[WAYS] = {"two reads of CLOCK_MONOTONIC", tsc ? "libsp, tsc" : "libsp, monotonic",
                                     "two growing arrays", "LTTng-UST"};
    static double took[WAYS][ROUNDS], ratios[WAYS][ROUNDS];
    if (!lttng_ust_tracepoint_enabled(sp_bench, begin)) {
        (void)fprintf(stderr, "peers: LTTng does not listen; start it with peers.py\n");
        return 1;
    }
    bench_folder("peers");
    pid_t child = bench_drain();
    if (sp_init("peers", 0))
        return 1;
    for (int i = 0; i < REGIONS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "region %d", i);
        regions[i] = sp_region(name);
    }
    usleep(20000);
    for (int r = -WARM; r < ROUNDS; r++) {
        for (int way = 0; way < WAYS; way++) {
            double ns = rounds[way]();
            if (r >= 0)
                took[way][r] = ns;
        }
        for (int way = 0; r >= 0 && way < WAYS; way++)
            ratios[way][r] = took[way][r] / took[LIBSP][r];
        usleep(3000);
    }
    sp_destroy(sp_default_profiler());
    bench_end(child);
    bench_remove();
    if (arrays_finish() != (size_t)(ROUNDS + WARM) * PAIRS)
        return 1;
    (void)printf("{\"benchmark\":\"peers\",\"tracepoints\":%d,\"rows\":[", (ROUNDS + WARM) * PAIRS * 2);
    for (int way = 0; way < WAYS; way++)
        (void)printf("%s{\"name\":\"%s\",\"ns\":%.2f,\"to_libsp\":%.3f}", way ? "," : "", names[way],
                     bench_median(took[way], ROUNDS), bench_median(ratios[way], ROUNDS));
    (void)printf("]}\n");
    return 0;
}
