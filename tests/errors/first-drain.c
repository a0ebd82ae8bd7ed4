/* first-drain [-a] RUNTIME_DIR: as the program of a session whose spd has gone, over and over: the first full ring, and
 * with it the first drain of the program's own, is met by a handler that interrupts malloc. -a: on an alternate stack
 * of 16 KiB with a guard below it. Calls made = calls in the statistics; prints how many. A deadlock is the caller's to
 * notice. */
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
#include <time.h>
#include <unistd.h>

enum { LIVES = 10, CALLS = 3000, BURST = 100, STACK = 16384, PAGE = 4096 };

static sp_profiler *profiler;
static int region;
static atomic_int made;

/* By way of malloc's lock; a pair that nobody looks at would be left out by the compiler. */
static void use_malloc(void)
{
    void *volatile memory = malloc(5000);
    free(memory);
}

static void handler(int number)
{
    (void)number;
    for (int i = 0; i < BURST; i++) {
        sp_profiler_begin(profiler, region);
        sp_profiler_end(profiler, region);
    }
    atomic_fetch_add(&made, BURST);
}

static void use_alternate_stack(void)
{
    unsigned char *map = mmap(NULL, STACK + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = map + PAGE, .ss_size = STACK};
    if (map == MAP_FAILED || mprotect(stack.ss_sp, STACK, PROT_READ | PROT_WRITE) || sigaltstack(&stack, NULL))
        exit(2);
}

/* As spd holds its folder's lock: a program that sees it leaves the draining to spd. */
static int pose_as_spd(const char *folder)
{
    char path[512];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    (void)snprintf(path, sizeof path, "%s/spd.lock", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock))
        exit(2);
    return fd;
}

/* malloc takes its locks only in a process that has a second thread. */
static void *idle(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void start_idle(void)
{
    pthread_t other;
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGPROF);
    if (pthread_sigmask(SIG_BLOCK, &ours, NULL) || pthread_create(&other, NULL, idle, NULL) ||
        pthread_sigmask(SIG_UNBLOCK, &ours, NULL))
        exit(2);
}

static void live(int life, const char *folder)
{
    char prefix[32];
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct itimerspec every = {{0, 500000}, {0, 500000}};
    (void)snprintf(prefix, sizeof prefix, "life-%d", life);
    int fd = pose_as_spd(folder);
    profiler = sp_create(prefix, 0);
    close(fd);
    region = sp_profiler_region(profiler, "burst");
    atomic_store(&made, 0);
    if (!profiler || timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &every, NULL))
        exit(2);
    while (atomic_load(&made) < CALLS)
        use_malloc();
    timer_delete(timer);
    sp_region_stats stats;
    int status = sp_profiler_get_region_stats(profiler, region, &stats);
    if (status || stats.calls != atomic_load(&made)) {
        printf("%d calls made, %lld counted\n", atomic_load(&made), (long long)stats.calls);
        exit(1);
    }
    if (sp_profiler_finalize(profiler))
        exit(1);
    printf("made %d\n", atomic_load(&made));
    sp_destroy(profiler);
}

int main(int argc, char **argv)
{
    bool alternate = argc > 2 && strcmp(argv[1], "-a") == 0;
    struct sigaction action = {.sa_handler = handler, .sa_flags = alternate ? SA_ONSTACK : 0};
    if (argc < 2)
        return 2;
    start_idle();
    if (alternate)
        use_alternate_stack();
    if (sigaction(SIGPROF, &action, NULL))
        return 2;
    for (int life = 0; life < LIVES; life++)
        live(life, argv[argc - 1]);
    return 0;
}
