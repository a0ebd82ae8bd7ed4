/* family [OPTION]... WAY: makes children while it records, and looks at what each of them does.
 *
 *   WAY: fork, _Fork (no fork handlers run), clone (the raw call: neither handlers nor the C library know),
 *   vfork and spawn (both run this program anew: "family -x RANK")
 *
 *   -n N   children, 100           -j N   so many at once, 1        -t N   threads that record meanwhile, 0
 *   -f     SP_FORK=follow is set: each child makes 7 calls of "a" and 3 of a region of its own
 *   -k     every third child kills itself after its calls
 *   -o     instead: one child that outlives its parent, which kills itself; prints "child PID"
 *   -x R   what vfork and spawn run: rank R, 7 calls of "a"
 *
 * A child of fork that does not follow has to find the profiler off, to write nothing and to be gone within a second.
 * Prints "made N in M ms", how many calls of "a" were made by this process and those that follow, then "finalize". */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <scope_profiler.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE_MOST = 64, THREADS_MOST = 16, CHILD_CALLS = 7, CHILD_OWN = 3 };

static const int64_t LATE_NS = 1000000000, HUNG_NS = 5000000000;

struct child {
    pid_t pid;
    int64_t since;
    bool killed;
};

static struct {
    const char *way, *self;
    long children, at_once, threads;
    bool follow, kill, outlives;
} options = {.way = "fork", .children = 100, .at_once = 1};

static struct child running[AT_ONCE_MOST];
static atomic_bool stop;
static int region;
static long bad, late, hung, made;

static long number(const char *text)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < 0) {
        fprintf(stderr, "family: '%s' is not a number\n", text);
        exit(2);
    }
    return value;
}

static void call(int which, long times)
{
    for (long i = 0; i < times; i++) {
        sp_begin(which);
        sp_end(which);
    }
}

static void *record(void *count)
{
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        call(region, 1);
        ++*(long *)count;
        if (*(long *)count % 16 == 0)
            usleep(300); /* the children are what is tested */
    }
    return NULL;
}

/* Which step went wrong, 0 none. */
static int child_stays_off(void)
{
    call(region, 20);
    if (sp_profiler_last_error(sp_default_profiler()) != SP_ERR_INACTIVE || sp_is_active())
        return 1;
    if (sp_region("child") != -1 || sp_num_calls(region) != 0)
        return 2;
    return sp_finalize() != 0 || sp_profiler_flush(sp_default_profiler()) != 0 ? 3 : 0;
}

static int child_follows(void)
{
    call(region, CHILD_CALLS);
    if (sp_profiler_last_error(sp_default_profiler()) != SP_OK || !sp_is_active())
        return 1;
    call(sp_region("child's own"), CHILD_OWN);
    return sp_num_calls(region) == CHILD_CALLS ? 0 : 2;
}

__attribute__((noreturn)) static void be_child(long n, bool kills_itself)
{
    if (options.outlives)
        sleep(30);
    int status = options.follow ? child_follows() : child_stays_off();
    if (kills_itself)
        raise(SIGKILL);
    if (options.follow || n % 2)
        exit(status); /* destructors and handlers at exit run too */
    _exit(status);
}

static pid_t run_anew(long n)
{
    extern char **environ;
    char rank[24];
    pid_t pid = -1;
    (void)snprintf(rank, sizeof rank, "%ld", n + 1);
    char option[] = "-x", *arguments[] = {(char *)(uintptr_t)options.self, option, rank, NULL};
    if (!strcmp(options.way, "spawn")) {
        errno = posix_spawn(&pid, options.self, NULL, NULL, arguments, environ);
        return errno ? -1 : pid;
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    pid = vfork(); /* NOLINT: it is what is tested */
#pragma GCC diagnostic pop
    if (pid == 0) {
        execv(options.self, arguments);
        _exit(127);
    }
    return pid;
}

static bool is_anew(void)
{
    return !strcmp(options.way, "vfork") || !strcmp(options.way, "spawn");
}

static pid_t make_child(long n, bool kills_itself)
{
    pid_t pid;
    if (!strcmp(options.way, "fork"))
        pid = fork();
    else if (!strcmp(options.way, "_Fork"))
        pid = _Fork();
    else if (!strcmp(options.way, "clone"))
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    else
        return run_anew(n);
    if (pid == 0)
        be_child(n, kills_itself);
    return pid;
}

static struct child *slot_of(pid_t pid)
{
    for (long i = 0; i < options.at_once; i++)
        if (running[i].pid == pid)
            return &running[i];
    return NULL;
}

static void wait_one(void)
{
    int status;
    pid_t pid = waitpid(-1, &status, 0);
    struct child *child = pid > 0 ? slot_of(pid) : NULL;
    if (!child) {
        fprintf(stderr, "family: waitpid: %s\n", strerror(errno));
        exit(2);
    }
    bool good = child->killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : status == 0;
    if (!good && bad++ == 0)
        fprintf(stderr, "family: a child of %s ended with status %#x\n", options.way, (unsigned)status);
    int64_t lived = sp_now_ns() - child->since;
    late += !options.follow && !is_anew() && lived > LATE_NS; /* those that record publish too */
    hung += lived > HUNG_NS;
    child->pid = 0;
}

static void make_children(void)
{
    for (long n = 0; n < options.children; n++) {
        struct child *child;
        while (!(child = slot_of(0)))
            wait_one();
        sp_begin(region); /* open while the child is made: its end is this process's alone */
        child->since = sp_now_ns();
        child->killed = options.kill && n % 3 == 2;
        child->pid = make_child(n, child->killed);
        sp_end(region);
        made++;
        if (child->pid < 0) {
            fprintf(stderr, "family: %s: %s\n", options.way, strerror(errno));
            exit(2);
        }
    }
    for (long i = 0; i < options.at_once; i++)
        while (running[i].pid)
            wait_one();
    if (options.follow || is_anew())
        made += options.children * CHILD_CALLS;
}

/* A child that lives on must not hide the death of its parent. */
static int orphan(void)
{
    call(region, 500);
    pid_t pid = make_child(0, false);
    printf("child %d\n", (int)pid);
    (void)fflush(stdout);
    raise(SIGKILL);
    return 2;
}

/* What a program that was run anew has inherited of the profiler's: nothing. */
static bool inherited(void)
{
    char path[64], target[PATH_MAX];
    for (int fd = 3; fd < 1024; fd++) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n < 0)
            continue;
        target[n] = '\0';
        if (strstr(target, "/dev/shm") || strstr(target, ".spool"))
            return true;
    }
    return false;
}

static int anew(int rank)
{
    if (inherited())
        return 3;
    if (sp_init("family", rank))
        return 4;
    call(sp_region("a"), CHILD_CALLS);
    return sp_finalize() ? 5 : 0;
}

static void record_and_make_children(void)
{
    pthread_t ids[THREADS_MOST];
    long counts[THREADS_MOST] = {0};
    for (long i = 0; i < options.threads; i++)
        if (pthread_create(&ids[i], NULL, record, &counts[i]))
            exit(2);
    make_children();
    atomic_store(&stop, true);
    for (long i = 0; i < options.threads; i++) {
        pthread_join(ids[i], NULL);
        made += counts[i];
    }
}

static int descriptors(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    static char self[PATH_MAX];
    int rank = -1;
    for (int option; (option = getopt(argc, argv, "n:j:t:x:fko")) != -1;) {
        switch (option) {
        case 'n':
            options.children = number(optarg);
            break;
        case 'j':
            options.at_once = number(optarg);
            break;
        case 't':
            options.threads = number(optarg);
            break;
        case 'x':
            rank = (int)number(optarg);
            break;
        case 'f':
            options.follow = true;
            break;
        case 'k':
            options.kill = true;
            break;
        case 'o':
            options.outlives = true;
            break;
        default:
            return 2;
        }
    }
    if (rank >= 0)
        return anew(rank);
    if (optind < argc)
        options.way = argv[optind];
    if (options.at_once < 1 || options.at_once > AT_ONCE_MOST || options.threads > THREADS_MOST ||
        readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 2;
    options.self = self;
    if (sp_init("family", 0)) {
        fprintf(stderr, "family: sp_init fails\n");
        return 2;
    }
    region = sp_region("a");
    if (options.outlives)
        return orphan();

    call(region, 1);
    made = 1;
    int before = descriptors();
    int64_t since = sp_now_ns();
    record_and_make_children();
    int ms = (int)((sp_now_ns() - since) / 1000000);
    /* Where spd comes late this process has drained its own rings, and keeps what it opened for that. */
    if (descriptors() > before + 2)
        fprintf(stderr, "family: %d descriptors were open, %d are\n", before, descriptors()), bad++;
    printf("made %ld in %d ms, %ld bad, %ld late, %ld hung\n", made, ms, bad, late, hung);
    int status = sp_finalize();
    printf("finalize %d %s\n", status, sp_output_path());
    /* A busy machine holds one up now and then; what a child does wrong they all do. */
    return status || bad || hung || late > 2 + options.children / 50;
}
