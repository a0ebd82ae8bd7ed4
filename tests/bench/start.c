/* start.c: how long a program takes from before sp_init until its first call is in the ring, and a further thread until
 * its own is: medians of new processes, as a ratio to 1 ms.
 *
 *   start SPD [--json]
 *
 * Once without spd, where the program also begins its own spool, once under a private spd. Never fails by time. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "spd.h"
#include <clock.h>
#include <scope_profiler.h>

enum { STARTS = 61 };

struct start {
    double first, thread, faults; /* ns; page faults of the first */
};

static double now(void)
{
    return (double)sp__clock_mono();
}

static void *in_thread(void *region)
{
    static double took;
    double begin = now();
    sp_begin(*(int *)region);
    sp_end(*(int *)region);
    took = now() - begin;
    return &took;
}

/* The process that is measured; tells its parent through standard output. */
static int once(void)
{
    struct rusage before, after;
    struct start start;
    pthread_t thread;
    void *took;
    (void)getrusage(RUSAGE_SELF, &before);
    double begin = now();
    if (sp_init("start", 0))
        return 1;
    int region = sp_region("first");
    sp_begin(region);
    sp_end(region);
    start.first = now() - begin;
    (void)getrusage(RUSAGE_SELF, &after);
    start.faults = (double)(after.ru_minflt - before.ru_minflt);
    if (pthread_create(&thread, NULL, in_thread, &region) || pthread_join(thread, &took))
        return 1;
    start.thread = *(double *)took;
    bool told = sp_num_calls(region) == 2 && write(STDOUT_FILENO, &start, sizeof start) == (ssize_t)sizeof start;
    sp_destroy(sp_default_profiler());
    return told ? 0 : 1;
}

static struct start start_once(void)
{
    struct start start;
    int fds[2];
    if (pipe(fds))
        bench_fail("pipe");
    pid_t child = fork();
    if (child == 0) {
        if (dup2(fds[1], STDOUT_FILENO) >= 0)
            (void)execl("/proc/self/exe", "start", "--once", (char *)NULL);
        _exit(1);
    }
    (void)close(fds[1]);
    if (read(fds[0], &start, sizeof start) != (ssize_t)sizeof start)
        bench_fail("a process that only starts");
    (void)close(fds[0]);
    (void)waitpid(child, NULL, 0);
    return start;
}

static struct start starts(void)
{
    double first[STARTS], thread[STARTS], faults[STARTS];
    for (int i = 0; i < STARTS; i++) {
        struct start one = start_once();
        first[i] = one.first;
        thread[i] = one.thread;
        faults[i] = one.faults;
    }
    return (struct start){bench_median(first, STARTS), bench_median(thread, STARTS), bench_median(faults, STARTS)};
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"without spd", "under spd"};
    struct start rows[2];
    if (argc == 2 && strcmp(argv[1], "--once") == 0)
        return once();
    bool json = argc == 3 && strcmp(argv[2], "--json") == 0;
    char *path = argc == 2 || json ? realpath(argv[1], NULL) : NULL;
    if (!path) {
        (void)fprintf(stderr, "usage: start SPD [--json]\n");
        return 2;
    }
    bench_folder("start");
    rows[0] = starts();
    pid_t spd = bench_spd(path);
    rows[1] = starts();
    bench_spd_end(spd);
    bench_remove();
    free(path);
    if (json)
        (void)printf("{\"benchmark\":\"start\",\"rows\":[");
    else
        (void)printf("%-14s %18s %7s %6s %12s %18s\n", "a start", "sp_init, call: us", "to 1 ms", "must", "page faults",
                     "thread's call: us");
    for (int i = 0; i < 2; i++)
        if (json)
            (void)printf("%s{\"name\":\"%s\",\"first_us\":%.1f,\"ratio\":%.3f,\"must\":1,\"faults\":%.0f,"
                         "\"thread_us\":%.1f}",
                         i ? "," : "", names[i], rows[i].first / 1e3, rows[i].first / 1e6, rows[i].faults,
                         rows[i].thread / 1e3);
        else
            (void)printf("%-14s %18.1f %7.3f %6.2f %12.0f %18.1f\n", names[i], rows[i].first / 1e3, rows[i].first / 1e6,
                         1.0, rows[i].faults, rows[i].thread / 1e3);
    if (json)
        (void)printf("]}\n");
    return 0;
}
