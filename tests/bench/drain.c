/* drain.c: how fast a consumer moves records from a ring to its spool, beside copying the same bytes out of the
 * segment.
 *
 *   drain [--json]
 *
 * A child fills its ring by the C API and waits; the parent drains it. Records per second, bytes of spool per record,
 * and the time as a ratio to pread of the ring alone, all in one run. Never fails by time. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include <clock.h>
#include <consumer.h>
#include <names.h>
#include <scope_profiler.h>

enum { PAIRS = 900000, ROUNDS = 7 };

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "drain: %s\n", what);
    exit(1);
}

static _Noreturn void record(int go, int done)
{
    char byte = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sp_init("drain", 0))
        fail("sp_init failed");
    int outer = sp_region("outer"), inner = sp_region("inner");
    while (read(go, &byte, 1) == 1 && byte == 'g') {
        for (int i = 0; i < PAIRS / 3; i++) {
            sp_begin(outer);
            for (int k = 0; k < 2; k++) {
                sp_begin(inner);
                sp_end(inner);
            }
            sp_end(outer);
        }
        if (write(done, &byte, 1) != 1)
            break;
    }
    sp_destroy(sp_default_profiler());
    _exit(0);
}

static int take_name(const char *name, void *ret)
{
    const char *session = getenv("SP_SESSION");
    if (!strstr(name, session))
        return 0;
    snprintf(ret, 256, "%s", name);
    return 1;
}

/* The same bytes out of the segment and nowhere else. */
static double copy_ring(const struct sp__consumer *c)
{
    static struct sp__record records[SP__FRAME_RECORDS_MOST];
    struct sp__lane_place place;
    if (sp__segment_lane(&c->segment, 0, &place))
        fail("the lane has no place");
    double start = (double)sp__clock_mono();
    for (uint64_t at = 0; at < PAIRS; at += SP__FRAME_RECORDS_MOST)
        if (sp__segment_read(&c->segment, place.ring_offset + at * sizeof *records, records, sizeof records))
            fail("the ring cannot be read");
    return (double)sp__clock_mono() - start;
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && !strcmp(argv[1], "--json");
    int go[2], done[2];
    char name[256] = "", data[4096], why[256] = "", byte = 'g';
    struct sp__consumer *c = NULL;
    double drains[ROUNDS], copies[ROUNDS], bytes = 0;

    bench_folder("drain");
    snprintf(data, sizeof data, "%s", getenv("SP_DATA_DIR"));
    setenv("SP_RING", "1048576", 1);
    if (pipe(go) || pipe(done))
        fail("pipe failed");
    pid_t child = fork();
    if (child == 0) {
        close(go[1]);
        close(done[0]);
        record(go[0], done[1]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        if (write(go[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1)
            fail("the program ended");
        if (!c && (!sp__segment_each(geteuid(), take_name, name) || sp__consumer_attach(&c, name, data, why)))
            fail(why[0] ? why : "there is no segment");
        uint64_t before = c->spool.size, records = 0;
        double start = (double)sp__clock_mono();
        if (sp__consumer_drain(c, 0, &records) || records < PAIRS)
            fail("not all was drained");
        drains[round] = ((double)sp__clock_mono() - start) / (double)records;
        bytes = (double)(c->spool.size - before) / (double)records;
        copies[round] = copy_ring(c) / PAIRS;
    }
    sp__consumer_destroy(c);
    close(go[1]);
    waitpid(child, NULL, 0);
    bench_remove();

    double drain = bench_median(drains, ROUNDS), copy = bench_median(copies, ROUNDS);
    if (json)
        printf(
            "{\"records_per_s\": %.0f, \"ns_per_record\": %.2f, \"copy_ns_per_record\": %.2f, \"ratio_to_copy\": %.2f, "
            "\"spool_bytes_per_record\": %.2f}\n",
            1e9 / drain, drain, copy, drain / copy, bytes);
    else
        printf("drain            %8.1f M records/s  %6.2f ns a record\n"
               "copy of the ring %8.1f M records/s  %6.2f ns a record\n"
               "drain / copy     %8.2f\n"
               "spool            %8.2f bytes a record\n",
               1e3 / drain, drain, 1e3 / copy, copy, drain / copy, bytes);
    return 0;
}
