/* apart.c: see apart.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apart.h"
#include "h5.h"

/* Sanitizers map more than any limit leaves. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || __has_feature(address_sanitizer) ||                 \
    __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SP__LIMIT_MEMORY 0
#else
#define SP__LIMIT_MEMORY 1
#endif

enum { HEAD_START_MOST = 2000, MEMORY_BYTES = 256 << 20 };

bool sp__apart_send(int fd, const void *bytes, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = send(fd, (const char *)bytes + done, length - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0)
            done += (size_t)n;
    }
    return true;
}

bool sp__apart_receive(int fd, void *ret, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = recv(fd, (char *)ret + done, length - done, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        if (n > 0)
            done += (size_t)n;
    }
    return true;
}

/* ---- limits of the child ---------------------------------------------------------------------------------------- */

static uint64_t head_start; /* before the fork, under HDF5's lock */
static uint64_t time_allowed;

static void allow(uint64_t milliseconds)
{
    const struct itimerval limit = {
        .it_value = {.tv_sec = (time_t)(milliseconds / 1000), .tv_usec = (suseconds_t)(milliseconds % 1000 * 1000)}};
    setitimer(ITIMER_PROF, &limit, NULL);
}

void sp__apart_limit_calls(uint64_t calls)
{
    allow(time_allowed + (calls >> 9));
}

void sp__apart_limit(const char *path, unsigned milliseconds)
{
    struct stat s;
    uint64_t size = stat(path, &s) ? 0 : (uint64_t)s.st_size;
    time_allowed = milliseconds + head_start + (size >> 6);
    allow(time_allowed);
#if SP__LIMIT_MEMORY
    static unsigned long pages; /* at first */
    struct rlimit space;
    FILE *statm = pages ? NULL : fopen("/proc/self/statm", "re");
    if (statm) {
        if (fscanf(statm, "%lu", &pages) != 1)
            pages = 0;
        fclose(statm);
    }
    rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_BYTES + (rlim_t)size * 64;
    /* The soft limit alone, so that the next file's can be higher. */
    if (pages && !getrlimit(RLIMIT_AS, &space)) {
        space.rlim_cur = most < space.rlim_max ? most : space.rlim_max;
        setrlimit(RLIMIT_AS, &space);
    }
#endif
}

/* A process that took long to get here the first time, under an instrumenting tool say, is slow in its children too. */
static void measure_head_start(void)
{
    static bool measured;
    struct rusage used;
    if (measured || getrusage(RUSAGE_SELF, &used))
        return;
    measured = true;
    head_start = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
                 (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
    head_start = head_start < HEAD_START_MOST ? head_start : HEAD_START_MOST;
}

/* ---- the child -------------------------------------------------------------------------------------------------- */

static void die_plainly(void)
{
    static const int deadly[] = {SIGPROF, SIGPIPE, SIGSEGV, SIGBUS, SIGABRT, SIGTERM, SIGINT};
    const struct rlimit none = {0, 0};
    sigset_t all;
    setrlimit(RLIMIT_CORE, &none);
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        signal(deadly[i], SIG_DFL);
}

/* The locks of the parent's files must not outlive them there. Where HDF5 has files open, it may want them here too. */
static int keep_alone(int fd)
{
    const int lowest = STDERR_FILENO + 1;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, lowest), quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (own < 0)
        return fd;
    /* A dying allocator's last words are no use to anybody. */
    if (quiet >= 0)
        dup2(quiet, STDERR_FILENO);
    if (H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_FILE) > 0 || (own != lowest && dup2(own, lowest) < 0))
        return own;
    close_range((unsigned)lowest + 1, ~0U, 0);
    return lowest;
}

int sp__apart_start(struct sp__apart *ret, void (*work)(void *context, int fd), void *context, const char *path,
                    sp_error *error)
{
    int ends[2], status = 0;
    sp__h5_lock();
    measure_head_start();
    bool paired = !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
    pid_t pid = paired ? fork() : -1;
    if (pid == 0) {
        sp__h5_lock_afresh();
        die_plainly();
        work(context, keep_alone(ends[1]));
        _exit(0);
    }
    if (pid < 0)
        status = sp__fail(error, SP_ERR_SYSTEM, errno, path, NULL, "no process can be made that looks at it");
    if (paired)
        close(ends[1]);
    if (paired && pid < 0)
        close(ends[0]);
    sp__h5_unlock();
    if (!status)
        *ret = (struct sp__apart){.pid = pid, .fd = ends[0]};
    return status;
}

const char *sp__apart_end(struct sp__apart *apart)
{
    int state = 0;
    if (apart->pid <= 0)
        return "";
    kill(apart->pid, SIGKILL); /* of what is dead already the cause stays */
    while (waitpid(apart->pid, &state, 0) < 0 && errno == EINTR)
        continue;
    close(apart->fd);
    *apart = (struct sp__apart){0};
    return WIFSIGNALED(state) && WTERMSIG(state) == SIGPROF ? "comes to no end over" : "crashes over";
}
