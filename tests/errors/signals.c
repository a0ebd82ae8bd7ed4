/* signals [-a] [-s SECONDS] PREFIX SESSION: calls in SIGPROF and SIGALRM handlers, at 10 kHz and 3 kHz, over the
 * same thread's own
 * calls, its malloc, and whatever the library does meanwhile.
 *
 * First with resets and flushes, in two threads; then, counted, with a thread whose first call is a handler's; then
 * with pauses. -a: the handlers run on an alternate stack of 16 KiB with a guard below it.
 *
 * Prints what was made since the last reset, what the segment counts as lost, and the process's own findings:
 *   "outer N inner N fast N slow N nested N lost N unmatched N" and, before it, one line a finding. Status 0: none. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <scope_profiler.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "layout.h"

enum { OUTER, INNER, FAST, SLOW, NESTED, REGIONS };
enum { STACK = 16384, ERRNO = 4711 };

static const char *const names[REGIONS] = {"outer", "inner", "fast", "slow", "nested"};
static int region[REGIONS];
static _Atomic uint64_t made[REGIONS];
static atomic_int stop, wrong_errno, wrong_end, handled, lingers;
static struct sp__header *header;
static bool alternate;
static int findings;

/* By way of malloc's lock; a pair that nobody looks at would be left out by the compiler. */
static void use_malloc(void)
{
    void *volatile memory = malloc(5000);
    free(memory);
}

static void finding(const char *what, long long value)
{
    printf("%s: %lld\n", what, value);
    findings++;
}

/* A begin that was taken, or refused and counted, while not paused. Only the thread that asks changes the state. */
static bool counts(bool paused)
{
    return !paused && sp_profiler_last_error(sp_default_profiler()) != SP_ERR_INACTIVE;
}

static bool paused_now(void)
{
    return header && atomic_load(&header->state) == SP__PAUSED;
}

static void call(int which, int inside)
{
    bool paused = paused_now();
    sp_begin(region[which]);
    bool one = counts(paused);
    if (one)
        atomic_fetch_add(&made[which], 1);
    if (inside >= 0 && atomic_load(&lingers)) /* a reset comes between this begin and its end */
        for (int64_t until = sp_now_ns() + 30000; sp_now_ns() < until;)
            ;
    if (inside >= 0)
        call(inside, -1);
    sp_end(region[which]);
    if (one && sp_profiler_last_error(sp_default_profiler()) == SP_ERR_UNMATCHED_END)
        atomic_fetch_add(&wrong_end, 1);
}

static void handler(int number)
{
    int saved = errno;
    errno = ERRNO;
    call(number == SIGPROF ? FAST : SLOW, NESTED);
    atomic_fetch_add(&wrong_errno, errno != ERRNO);
    atomic_fetch_add(&handled, 1);
    errno = saved;
}

static void use_alternate_stack(void)
{
    unsigned char *map = mmap(NULL, STACK + SP__PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = map + SP__PAGE, .ss_size = STACK};
    if (map == MAP_FAILED || mprotect(stack.ss_sp, STACK, PROT_READ | PROT_WRITE) || sigaltstack(&stack, NULL))
        exit(2);
}

static void timer_start(timer_t *ret, int number, long ns)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    struct itimerspec every = {{0, ns}, {0, ns}};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &event, ret) || timer_settime(*ret, 0, &every, NULL))
        exit(2);
}

static void timers_start(timer_t timers[2])
{
    timer_start(&timers[0], SIGPROF, 100000);
    timer_start(&timers[1], SIGALRM, 333333);
}

static void timers_stop(timer_t timers[2])
{
    timer_delete(timers[0]);
    timer_delete(timers[1]);
}

/* outer { inner }, with memory taken and given back in between, for the handlers to come by. */
static void iterate(void)
{
    bool paused = paused_now();
    sp_begin(region[OUTER]);
    bool one = counts(paused); /* may speak of a handler's call, which is taken where this one is */
    void *volatile memory = malloc(100 + (size_t)rand() % 4000);
    if (one)
        atomic_fetch_add(&made[OUTER], 1);
    call(INNER, -1);
    free(memory);
    sp_end(region[OUTER]);
}

/* Its first call is a handler's, over malloc. */
static void *thread(void *unused)
{
    timer_t timers[2];
    int before = atomic_load(&handled);
    timers_start(timers);
    while (atomic_load(&handled) < before + 20)
        use_malloc();
    while (!atomic_load(&stop))
        iterate();
    timers_stop(timers);
    return unused;
}

static void map_segment(const char *session)
{
    DIR *dir = opendir("/dev/shm");
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        if (!strstr(e->d_name, session))
            continue;
        int fd = openat(dirfd(dir), e->d_name, O_RDWR | O_CLOEXEC);
        struct sp__header head;
        if (fd < 0 || pread(fd, (void *)&head, sizeof head, 0) != (ssize_t)sizeof head)
            exit(2);
        void *map = mmap(NULL, head.regions_offset, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        header = map == MAP_FAILED ? NULL : map;
        close(fd);
    }
    if (dir)
        closedir(dir);
    if (!header)
        exit(2);
}

struct counted {
    uint64_t lost, without_lane, unmatched, mended;
};

static struct counted look(void)
{
    struct counted now = {.without_lane = atomic_load(&header->lost_no_lane)};
    const struct sp__lane *lanes = (void *)((unsigned char *)header + header->lanes_offset);
    for (uint32_t i = 0; i < atomic_load(&header->lanes_used); i++) {
        now.lost += atomic_load(&lanes[i].dropped);
        now.without_lane += atomic_load(&lanes[i].too_deep);
        now.unmatched += atomic_load(&lanes[i].unmatched);
        now.mended += atomic_load(&lanes[i].mended);
    }
    return now;
}

static double seconds(void)
{
    return (double)sp_now_ns() / 1e9;
}

/* Two threads, resets and flushes: nothing hangs, and afterwards nothing is open. */
static void with_resets(double length)
{
    pthread_t other;
    int resets = 0;
    atomic_store(&stop, 0);
    if (pthread_create(&other, NULL, thread, NULL))
        exit(2);
    for (double end = seconds() + length; seconds() < end;) {
        for (int i = 0; i < 20; i++)
            iterate();
        resets += sp_profiler_reset(sp_default_profiler()) == 0;
        if (resets % 256 == 1 && sp_profiler_flush(sp_default_profiler()))
            finding("flush failed", 1);
    }
    atomic_store(&stop, 1);
    pthread_join(other, NULL);
}

static void counted(double length)
{
    pthread_t other;
    atomic_store(&stop, 0);
    if (pthread_create(&other, NULL, thread, NULL))
        exit(2);
    bool flushed = false;
    for (double start = seconds(); seconds() < start + length;) {
        for (int i = 0; i < 1000; i++)
            iterate();
        if (!flushed && seconds() > start + length / 8 && sp_profiler_flush(sp_default_profiler()))
            finding("flush failed", 1);
        flushed = flushed || seconds() > start + length / 8;
    }
    atomic_store(&stop, 1);
    pthread_join(other, NULL);
}

/* As spd does for spctl: one word. */
static void with_pauses(double length)
{
    for (double end = seconds() + length; seconds() < end;) {
        uint32_t state = SP__RECORDING;
        for (int i = 0; i < 500; i++)
            iterate();
        atomic_compare_exchange_strong(&header->state, &state, SP__PAUSED);
        for (int i = 0; i < 500; i++)
            iterate();
        state = SP__PAUSED;
        atomic_compare_exchange_strong(&header->state, &state, SP__RECORDING);
    }
}

static void compare(const struct counted *before)
{
    struct counted now = look();
    uint64_t all = 0, kept = now.without_lane - before->without_lane;
    for (int i = 0; i < REGIONS; i++) {
        all += made[i];
        kept += (uint64_t)sp_num_calls(region[i]);
        printf("%s %llu ", names[i], (unsigned long long)made[i]);
    }
    printf("lost %llu unmatched %llu\n",
           (unsigned long long)(now.lost + now.without_lane - before->lost - before->without_lane),
           (unsigned long long)(now.unmatched - before->unmatched));
    if (all != kept)
        finding("calls made less those of the statistics", (long long)(all - kept));
    for (int i = 0; all != kept && i < REGIONS; i++)
        finding(names[i], (long long)sp_num_calls(region[i]));
    if (all != kept)
        finding("calls without a lane", (long long)(now.without_lane - before->without_lane));
    if (now.unmatched != before->unmatched || atomic_load(&wrong_end))
        finding("ends without a begin", (long long)(now.unmatched - before->unmatched));
    if (atomic_load(&wrong_errno))
        finding("errno changed in handlers", atomic_load(&wrong_errno));
    if (atomic_load(&handled) < 1000)
        finding("handlers that ran, too few", atomic_load(&handled));
}

int main(int argc, char **argv)
{
    double length = 1.2;
    for (int option; (option = getopt(argc, argv, "as:")) != -1;) {
        if (option == 'a')
            alternate = true;
        else if (option == 's')
            length = strtod(optarg, NULL);
        else
            return 2;
    }
    pthread_key_t keys[40]; /* of a large program: those of glibc's first 32 are gone */
    for (int i = 0; i < 40; i++)
        (void)pthread_key_create(&keys[i], NULL);
    if (optind + 1 >= argc || sp_init(argv[optind], 0))
        return 2;
    map_segment(argv[optind + 1]);
    for (int i = 0; i < REGIONS; i++)
        region[i] = sp_region(names[i]);
    struct sigaction action = {.sa_handler = handler, .sa_flags = alternate ? SA_ONSTACK : 0};
    if (alternate)
        use_alternate_stack();
    sigaction(SIGPROF, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    timer_t timers[2];
    timers_start(timers);
    atomic_store(&lingers, 1);
    with_resets(length / 3);
    atomic_store(&lingers, 0);
    timers_stop(timers);
    int status = sp_profiler_reset(sp_default_profiler());
    if (status)
        finding("the reset after all calls have ended is refused with status", status);
    for (int i = 0; i < REGIONS; i++)
        atomic_store(&made[i], 0);
    atomic_store(&wrong_end, 0); /* a reset forgets what another thread's handler had open */
    struct counted before = look();
    printf("ready\n"); /* whoever reads may kill spd now */
    fflush(stdout);
    timers_start(timers);
    counted(length / 3);
    with_pauses(length / 3);
    status = sp_finalize();
    timers_stop(timers);
    if (status)
        finding("finalize", status);
    compare(&before);
    return findings ? 1 : 0;
}
