/* spd_load.c: what spd takes of a core, and of memory: while it drains 64 ranks that each make 10,000 calls a second, and
 * while 256 ranks of 4 lanes each that have recorded a while are attached and idle.
 *
 *   spd_load SPD [--seconds N] [--busy RANKS] [--idle RANKS] [--json]
 *
 * CPU time is that of all threads of spd, in ns, as the kernel's scheduler counts it, over N (10) seconds; what was lost
 * is what the published profiles lack of the calls made. Beside the drain's CPU time stands what copying the same
 * records once takes in the same run. Never fails by time. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "spd.h"
#include <scope_profiler.h>
#include <scope_profiler_io.h>

enum { CALLS_A_SECOND = 10000, TURN_MS = 10, LANES = 4, IDLE_CALLS = 9000, RECORD = 24 };

struct load {
    const char *name;
    int ranks, lanes;
    bool busy;
    uint64_t made, kept, dropped;
    double share;             /* of a core */
    double ns_per_call;       /* busy: spd's CPU time for each call */
    double bytes_per_call;    /* busy: read and written by spd for each call */
    double copy_ns;           /* busy: copying one record */
    long resident, anonymous; /* KiB */
    double share_must;
    long resident_must; /* KiB, 0 none */
};

static int seconds = 10;

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void make_calls(const int *regions, long pairs)
{
    for (long i = 0; i < pairs; i++) {
        sp_begin(regions[i & 3]);
        sp_end(regions[i & 3]);
    }
}

static void name_regions(int regions[4])
{
    static const char *const names[] = {"read", "parse", "solve", "write"};
    for (int i = 0; i < 4; i++)
        regions[i] = sp_region(names[i]);
}

static bool pending(int fd)
{
    fd_set set;
    struct timeval none = {0};
    FD_ZERO(&set);
    FD_SET(fd, &set);
    return select(fd + 1, &set, NULL, NULL, &none) == 0;
}

/* Turns at a fixed pace until the parent closes its end. Returns the calls made. */
static uint64_t keep_pace(const int *regions, int go)
{
    struct timespec next;
    uint64_t made = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &next);
    while (pending(go)) {
        make_calls(regions, CALLS_A_SECOND * TURN_MS / 1000);
        made += CALLS_A_SECOND * TURN_MS / 1000;
        next.tv_nsec += TURN_MS * 1000000L;
        if (next.tv_nsec >= 1000000000L) {
            next.tv_nsec -= 1000000000L;
            next.tv_sec++;
        }
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return made;
}

static pthread_barrier_t recorded;

static void *lane(void *regions)
{
    make_calls(regions, IDLE_CALLS);
    (void)pthread_barrier_wait(&recorded);
    for (;;)
        (void)pause();
    return NULL;
}

static uint64_t record_and_idle(int *regions)
{
    pthread_attr_t attr;
    pthread_t thread;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, 256 << 10);
    (void)pthread_barrier_init(&recorded, NULL, LANES);
    for (int i = 1; i < LANES; i++)
        if (pthread_create(&thread, &attr, lane, regions))
            bench_fail("a thread");
    make_calls(regions, IDLE_CALLS);
    (void)pthread_barrier_wait(&recorded);
    return (uint64_t)IDLE_CALLS * LANES;
}

static _Noreturn void be_rank(const struct load *load, int rank, int ready, int go)
{
    int regions[4];
    uint64_t made;
    char byte = 'r';
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (sp_init("load", rank))
        bench_fail("sp_init");
    name_regions(regions);
    /* What it says of publications that take spd longer than it waits does not concern what is measured. */
    if (!freopen("/dev/null", "w", stderr))
        _exit(1);
    if (!load->busy)
        made = record_and_idle(regions);
    if (write(ready, &byte, 1) != 1)
        _exit(1);
    if (load->busy)
        made = keep_pace(regions, go);
    else
        (void)read(go, &byte, 1);
    int status = sp_finalize();
    if (write(ready, &made, sizeof made) != (ssize_t)sizeof made)
        status = 1;
    _exit(status ? 1 : 0);
}

static int add_up(void *context, const sp_rank_info *info)
{
    struct load *load = context;
    if (info->state != SP_RANK_PUBLISHED)
        return 0;
    load->kept += info->calls;
    load->dropped += info->dropped;
    return 0;
}

/* One record after another out of a ring of the usual size. */
static double copy_ns(void)
{
    enum { RING = 32768, TURNS = 64 };
    static unsigned char from[RING * RECORD], to[RING * RECORD];
    volatile unsigned char sink;
    memset(from, 1, sizeof from);
    double start = now();
    for (int i = 0; i < TURNS; i++) {
        memcpy(to, from, sizeof to);
        sink = to[(unsigned)i * 4099U];
    }
    (void)sink;
    return (now() - start) / TURNS / RING;
}

/* Bytes that went through spd's system calls. */
static double read_and_written(pid_t spd)
{
    return (double)(bench_proc(spd, "io", "rchar") + bench_proc(spd, "io", "wchar"));
}

static void measure(struct load *load, const char *spd_path)
{
    int ready[2], go[2];
    char byte;
    bench_folder(load->busy ? "busy" : "idle");
    pid_t spd = bench_spd(spd_path);
    if (pipe(ready) || pipe(go))
        bench_fail("pipe");
    for (int rank = 0; rank < load->ranks; rank++) {
        if (fork() == 0) {
            (void)close(go[1]);
            be_rank(load, rank, ready[1], go[0]);
        }
    }
    for (int rank = 0; rank < load->ranks; rank++)
        if (read(ready[0], &byte, 1) != 1)
            bench_fail("the ranks");
    sleep(3); /* what is left of the beginning is drained */
    double cpu = bench_cpu_ns(spd), from = now();
    double moved = read_and_written(spd);
    sleep((unsigned)seconds);
    cpu = bench_cpu_ns(spd) - cpu;
    moved = read_and_written(spd) - moved;
    load->share = cpu / (now() - from);
    load->resident = bench_proc(spd, "status", "VmRSS");
    load->anonymous = bench_proc(spd, "status", "RssAnon");
    if (load->busy) {
        load->ns_per_call = cpu / ((double)load->ranks * CALLS_A_SECOND * seconds);
        load->bytes_per_call = moved / ((double)load->ranks * CALLS_A_SECOND * seconds);
        load->copy_ns = copy_ns();
    }
    (void)close(go[1]);
    for (int rank = 0; rank < load->ranks; rank++) {
        uint64_t made;
        if (read(ready[0], &made, sizeof made) != (ssize_t)sizeof made)
            bench_fail("the ranks");
        load->made += made;
    }
    bench_spd_end(spd);
    while (wait(NULL) > 0 || errno == EINTR)
        continue;
    sp_error error;
    if (sp_sessions_each(getenv("SP_DATA_DIR"), getenv("SP_SESSION"), add_up, load, &error))
        bench_fail("the profiles");
    (void)close(ready[0]);
    (void)close(ready[1]);
    (void)close(go[0]);
    bench_remove();
}

static void print_table(const struct load *loads, size_t count)
{
    (void)printf("%-38s %9s %6s %12s %10s %6s %9s %6s %10s\n", "spd", "of a core", "must", "calls", "lost", "ns/call",
                 "MiB", "must", "MiB anon");
    for (size_t i = 0; i < count; i++) {
        const struct load *l = &loads[i];
        (void)printf("%-38s %8.2f%% %5.1f%% %12" PRIu64 " %10" PRId64 " %6.1f %9.1f %6.0f %10.1f\n", l->name,
                     l->share * 100, l->share_must * 100, l->made, (int64_t)(l->made - l->kept), l->ns_per_call,
                     (double)l->resident / 1024, (double)l->resident_must / 1024, (double)l->anonymous / 1024);
        if (l->busy)
            (void)printf(
                "%-38s copying a record of 24 bytes once: %.2f ns, ratio %.1f; %.1f bytes read and written a call\n",
                "", l->copy_ns, l->ns_per_call / l->copy_ns, l->bytes_per_call);
    }
}

static void print_json(const struct load *loads, size_t count)
{
    (void)printf("{\"benchmark\":\"spd_load\",\"rows\":[");
    for (size_t i = 0; i < count; i++) {
        const struct load *l = &loads[i];
        (void)printf("%s{\"name\":\"%s\",\"ranks\":%d,\"lanes\":%d,\"core\":%.5f,\"core_must\":%.4f,\"made\":%" PRIu64
                     ",\"kept\":%" PRIu64 ",\"dropped\":%" PRIu64
                     ",\"ns_per_call\":%.2f,\"copy_ns\":%.2f,\"bytes_per_call\":%.1f,"
                     "\"resident_kib\":%ld,\"resident_must_kib\":%ld,\"anonymous_kib\":%ld}",
                     i ? "," : "", l->name, l->ranks, l->lanes, l->share, l->share_must, l->made, l->kept, l->dropped,
                     l->ns_per_call, l->copy_ns, l->bytes_per_call, l->resident, l->resident_must, l->anonymous);
    }
    (void)printf("]}\n");
}

static int number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || value < 1 || value > 4096) {
        (void)fprintf(stderr, "spd_load: '%s' is no number from 1 to 4096\n", text);
        exit(2);
    }
    return (int)value;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"busy", required_argument, NULL, 'b'},
                                            {"idle", required_argument, NULL, 'i'},
                                            {NULL, 0, NULL, 0}};
    struct load loads[] = {
        {.name = "busy", .ranks = 64, .lanes = 1, .busy = true, .share_must = 0.03},
        {.name = "idle", .ranks = 256, .lanes = LANES, .share_must = 0.003, .resident_must = 32 << 10}};
    char names[2][40];
    bool json = false;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'j')
            json = true;
        else if (option == 's')
            seconds = number(optarg);
        else if (option == 'b' || option == 'i')
            loads[option == 'i'].ranks = number(optarg);
        else
            return 2;
    }
    char *spd = optind + 1 == argc ? realpath(argv[optind], NULL) : NULL;
    if (!spd) {
        (void)fprintf(stderr, "usage: spd_load SPD [--seconds N] [--busy RANKS] [--idle RANKS] [--json]\n");
        return 2;
    }
    for (int i = 0; i < 2; i++) {
        (void)snprintf(names[i], sizeof names[i], i ? "idle, %d ranks of 4 lanes" : "%d ranks x 10,000 calls/s",
                       loads[i].ranks);
        loads[i].name = names[i];
        measure(&loads[i], spd);
    }
    (json ? print_json : print_table)(loads, 2);
    free(spd);
    return 0;
}
