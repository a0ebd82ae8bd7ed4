/* soak-program LEDGER SESSION RANK SEED MILLISECONDS OPTION...: one life of a rank for tests/soak.
 *
 * It makes calls from several threads in bursts and counts them in the ledger, a file that all programs map: `before`
 * goes up before an end, `after` behind it. Whatever kills the program, what has ended is at least `after` and at most
 * `before`, and no more than one a region and thread lies between. Region names hold the number of the life, so that
 * counts can be told for each.
 *
 * Options: flush, fork, follow (SP_FORK=follow is set: its children record and are lives of their own), leave (ends
 * without finalize), kill (the kernel kills it at a random instant), twin (another one was started with it, and one of
 * the two may be refused). Exit status: 0 done, 3 its rank is in use, 4 finalize failed, 1 anything else. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <scope_profiler.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, REGIONS = 2, LIFE_RECORDING = 1, LIFE_ENDED = 2, LIFE_REFUSED = 3 };

/* tests/soak reads these by offset. */
struct count {
    _Atomic uint64_t before;
    _Atomic uint64_t after;
};

struct life {
    _Atomic uint32_t pid;
    _Atomic uint32_t state;
    uint32_t session;
    uint32_t rank;
    _Atomic uint32_t init_status;
    _Atomic uint32_t finalize_status;
    uint32_t is_child;
    uint32_t is_twin;
    _Atomic uint32_t flush_failures;
    uint32_t reserved[7];
    struct count counts[THREADS][REGIONS];
};

struct ledger {
    _Atomic uint32_t lives;
    _Atomic uint32_t stop;
    uint32_t room;
    uint32_t reserved[13];
    struct life life[];
};

_Static_assert(sizeof(struct life) == 192 && sizeof(struct ledger) == 64, "tests/soak knows the layout");

static struct ledger *ledger;
static struct life *life; /* of this process */
static uint32_t number;   /* of it */
static uint64_t seed;
static bool does_flush, does_fork, does_follow, leaves, is_killed, is_twin;
static uint64_t until_ns;

static uint64_t draw(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15U;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static unsigned long parse(const char *text)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end) {
        fprintf(stderr, "soak-program: '%s' is not a number\n", text);
        exit(1);
    }
    return value;
}

static void take_life(uint32_t session, uint32_t rank, bool child)
{
    number = atomic_fetch_add(&ledger->lives, 1);
    if (number >= ledger->room) {
        fprintf(stderr, "soak-program: the ledger is full\n");
        _exit(1);
    }
    life = &ledger->life[number];
    life->session = session;
    life->rank = rank;
    life->is_child = child;
    life->is_twin = is_twin;
    atomic_store(&life->pid, (uint32_t)getpid());
}

static void end_call(struct count *count, int region)
{
    atomic_fetch_add(&count->before, 1);
    sp_end(region);
    atomic_fetch_add(&count->after, 1);
}

struct job {
    unsigned thread;
    uint64_t seed;
    uint64_t until_ns;
};

static void make_calls(const struct job *job)
{
    uint64_t state = job->seed;
    int regions[REGIONS];
    struct count *counts = life->counts[job->thread];
    for (int i = 0; i < REGIONS; i++) {
        char name[64];
        snprintf(name, sizeof name, "life %u thread %u %s", number, job->thread, i ? "inner" : "outer");
        regions[i] = sp_region(name);
    }
    while (now_ns() < job->until_ns && !atomic_load(&ledger->stop)) {
        uint64_t r = draw(&state);
        unsigned burst = r % 24 == 0 ? (unsigned)(r >> 8) % 3000 : 1 + (unsigned)(r >> 8) % 60;
        for (unsigned i = 0; i < burst; i++) {
            sp_begin(regions[0]);
            for (unsigned n = 0; n < 1 + i % 2; n++) {
                sp_begin(regions[1]);
                end_call(&counts[1], regions[1]);
            }
            end_call(&counts[0], regions[0]);
        }
        usleep((useconds_t)(draw(&state) % 300000));
    }
}

static void *run_thread(void *job)
{
    make_calls(job);
    return NULL;
}

/* A death that no line of the program knows of beforehand. */
static void die_at(uint64_t ns)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec when = {.it_value = {(time_t)(ns / 1000000000U), (long)(ns % 1000000000U) + 1}};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        timer_settime(timer, 0, &when, NULL);
}

static void be_child(uint64_t r)
{
    if (!does_follow) { /* makes calls that nobody records */
        for (int i = 0; i < 1000; i++) {
            sp_begin(0);
            sp_end(0);
        }
        exit(sp_is_active() ? 1 : 0);
    }
    uint32_t session = life->session, rank = life->rank;
    take_life(session, rank, true);
    atomic_store(&life->state, LIFE_RECORDING);
    uint64_t length = draw(&r) % 1500000000U;
    if (draw(&r) % 3 == 0)
        die_at(draw(&r) % (length + 1));
    make_calls(&(struct job){0, r, now_ns() + length});
    int status = draw(&r) % 2 ? sp_finalize() : 0;
    atomic_store(&life->finalize_status, (uint32_t)status);
    atomic_store(&life->state, LIFE_ENDED);
    exit(0);
}

/* Threads come and go while the first one flushes and forks. */
static void live(void)
{
    uint64_t state = seed;
    pthread_t threads[THREADS];
    struct job jobs[THREADS];
    unsigned count = (unsigned)(draw(&state) % THREADS);
    while (now_ns() < until_ns && !atomic_load(&ledger->stop)) {
        uint64_t turn = now_ns() + 200000000U + draw(&state) % 1500000000U;
        unsigned started = 0;
        for (unsigned i = 1; i <= count; i++, started++) {
            jobs[i] = (struct job){i, draw(&state), turn};
            if (pthread_create(&threads[i], NULL, run_thread, &jobs[i]))
                break;
        }
        if (does_fork && draw(&state) % 2) {
            uint64_t r = draw(&state);
            if (fork() == 0)
                be_child(r);
        }
        make_calls(&(struct job){0, draw(&state), turn - 100000000U});
        if (does_flush && draw(&state) % 2 && sp_profiler_flush(sp_default_profiler()))
            atomic_fetch_add(&life->flush_failures, 1);
        for (unsigned i = 1; i <= started; i++)
            pthread_join(threads[i], NULL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static void read_options(int count, char **options)
{
    struct {
        const char *name;
        bool *flag;
    } known[] = {{"flush", &does_flush}, {"fork", &does_fork}, {"follow", &does_follow},
                 {"leave", &leaves},     {"kill", &is_killed}, {"twin", &is_twin}};
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (!strcmp(options[i], known[k].name))
                *known[k].flag = true;
}

int main(int argc, char **argv)
{
    if (argc < 6)
        return 1;
    int fd = open(argv[1], O_RDWR | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) ||
        (ledger = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
        return 1;
    close(fd);
    read_options(argc - 6, argv + 6);
    uint32_t rank = (uint32_t)parse(argv[3]);
    seed = parse(argv[4]);
    uint64_t length = parse(argv[5]) * 1000000U;
    until_ns = now_ns() + length;
    take_life((uint32_t)parse(argv[2]), rank, false);
    if (is_killed)
        die_at(seed % (length + 1));
    int status = sp_init("soak", (int)rank);
    atomic_store(&life->init_status, (uint32_t)status);
    if (status) {
        atomic_store(&life->state, LIFE_REFUSED);
        return status == SP_ERR_RANK_IN_USE ? 3 : 1;
    }
    atomic_store(&life->state, LIFE_RECORDING);
    live();
    for (int tries = 0; tries < 3 && !leaves; tries++) {
        status = sp_finalize();
        if (!status)
            break;
    }
    atomic_store(&life->finalize_status, (uint32_t)status);
    atomic_store(&life->state, LIFE_ENDED);
    return status ? 4 : 0;
}
