/* thread-kinds KIND PREFIX [TRUTH]: threads of all kinds, which make a known number of calls: outer { inner { leaf } },
 * the same three regions in all of them at once.
 *
 *   c11       four of <threads.h>, each ROUNDS calls
 *   ends      pthreads that end by return, pthread_exit and cancellation, and name themselves after their first call
 *   lives     two that are alive at the finalize, idle and named late
 *   flushed   the same two, flushed while they live; then they end
 *   _exit     the same two under _exit, after a flush
 *
 * Each thread writes what it knows of itself to TRUTH: "NATIVE_ID NAME FIRST_NS LAST_NS CPU_NS", its own readings of
 * CLOCK_MONOTONIC around its calls and of CLOCK_THREAD_CPUTIME_ID as late as it can. */
#include <pthread.h>
#include <scope_profiler.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 2000, BUSY_MS = 60 };

static int outer, inner, leaf;
static FILE *truth;
static pthread_barrier_t made, told;

static int64_t cpu_ns(void)
{
    struct timespec cpu;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    return (int64_t)cpu.tv_sec * 1000000000 + cpu.tv_nsec;
}

static void nest(void)
{
    sp_begin(outer);
    sp_begin(inner);
    sp_begin(leaf);
    sp_end(leaf);
    sp_end(inner);
    sp_end(outer);
}

/* ROUNDS calls over some time on a processor, in two parts, between which the thread gets its name. */
static void live(const char *name)
{
    int64_t first = sp_now_ns();
    for (int round = 0; round < ROUNDS; round++) {
        nest();
        if (round == ROUNDS / 2)
            pthread_setname_np(pthread_self(), name);
    }
    int64_t last = sp_now_ns();
    while (cpu_ns() < (int64_t)BUSY_MS * 1000000)
        ;
    fprintf(truth, "%ld %s %lld %lld %lld\n", (long)syscall(SYS_gettid), name, (long long)first, (long long)last,
            (long long)cpu_ns());
}

static void *returns(void *name)
{
    live(name);
    return NULL;
}

static void *exits(void *name)
{
    live(name);
    pthread_exit(NULL);
}

static void *is_cancelled(void *name)
{
    live(name);
    pthread_barrier_wait(&made);
    while (pause() == -1)
        ;
    return NULL;
}

static void *waits(void *name)
{
    live(name);
    pthread_barrier_wait(&made);
    pthread_barrier_wait(&told);
    return NULL;
}

static int c11(void *unused)
{
    (void)unused;
    for (int round = 0; round < ROUNDS; round++)
        nest();
    return 7;
}

static int run_c11(void)
{
    thrd_t ids[4];
    for (int n = 0; n < 4; n++)
        if (thrd_create(&ids[n], c11, NULL) != thrd_success)
            return 2;
    for (int n = 0, result; n < 4; n++)
        if (thrd_join(ids[n], &result) != thrd_success || result != 7)
            return 2;
    return 0;
}

static int run_ends(void)
{
    static void *(*const ways[])(void *) = {returns, exits, is_cancelled};
    static char names[][16] = {"returns", "exits", "is cancelled 1 "};
    pthread_t ids[3];
    names[2][2] = names[2][12] = '-'; /* one of 15 bytes, without blanks */
    names[2][14] = '5';
    pthread_barrier_init(&made, NULL, 2);
    for (int n = 0; n < 3; n++)
        if (pthread_create(&ids[n], NULL, ways[n], names[n]))
            return 2;
    pthread_barrier_wait(&made);
    pthread_cancel(ids[2]);
    for (int n = 0; n < 3; n++)
        pthread_join(ids[n], NULL);
    return 0;
}

static int run_alive(const char *kind)
{
    static char names[][16] = {"late-1", "late-2"};
    pthread_t ids[2];
    pthread_barrier_init(&made, NULL, 3);
    pthread_barrier_init(&told, NULL, 3);
    for (int n = 0; n < 2; n++)
        if (pthread_create(&ids[n], NULL, waits, names[n]))
            return 2;
    pthread_barrier_wait(&made);
    usleep(20000); /* both sleep: what they used is what the kernel says they used */
    (void)fflush(truth);
    if (strcmp(kind, "lives") && sp_profiler_flush(sp_default_profiler()))
        return 2;
    if (!strcmp(kind, "flushed")) {
        puts("flushed");
        (void)fflush(stdout);
        if (getchar() == EOF)
            return 2;
        pthread_barrier_wait(&told);
        for (int n = 0; n < 2; n++)
            pthread_join(ids[n], NULL);
    }
    if (!strcmp(kind, "_exit"))
        _exit(0);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3 || sp_init(argv[2], 0))
        return 2;
    truth = fopen(argc > 3 ? argv[3] : "/dev/null", "w");
    outer = sp_region("outer");
    inner = sp_region("inner");
    leaf = sp_region("leaf");
    if (!truth)
        return 2;
    int result = !strcmp(argv[1], "c11") ? run_c11() : !strcmp(argv[1], "ends") ? run_ends() : run_alive(argv[1]);
    (void)fflush(truth);
    return result || sp_finalize();
}
