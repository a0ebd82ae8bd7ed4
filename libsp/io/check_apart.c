/* check_apart.c: checking a profile in a child process. HDF5 1.10 trusts lengths that stand in the file (those of
 * variable-length strings among them) and can crash or loop over damaged ones; only a process of its own contains that.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
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

enum { CPU_MILLISECONDS = 800, HEAD_START_MOST = 2000, MEMORY_BYTES = 256 << 20 };

/* What the child sends: findings, then one end. */
struct message {
    bool end;
    int status;
    char place[256];
    char text[1024];
    sp_check_result result;
    sp_error error;
};

static bool transfer(int fd, void *buffer, size_t length, bool sending)
{
    for (size_t done = 0; done < length;) {
        ssize_t n =
            sending ? write(fd, (char *)buffer + done, length - done) : read(fd, (char *)buffer + done, length - done);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        if (n > 0)
            done += (size_t)n;
    }
    return true;
}

static void send_finding(void *context, const char *place, const char *text)
{
    struct message message = {0};
    snprintf(message.place, sizeof message.place, "%s", place);
    snprintf(message.text, sizeof message.text, "%s", text);
    (void)transfer(*(int *)context, &message, sizeof message, true);
}

/* How long the child may work, in processor time: what no sound file of this size needs, and once its tables hold, more
 * by what there is to read. */
static void allow(uint64_t milliseconds)
{
    const struct itimerval limit = {
        .it_value = {.tv_sec = (time_t)(milliseconds / 1000), .tv_usec = (suseconds_t)(milliseconds % 1000 * 1000)}};
    setitimer(ITIMER_PROF, &limit, NULL);
}

/* Of the child; set before it is made, under the lock. */
static uint64_t child_time, child_size;

static void allow_more(uint64_t calls)
{
    allow(child_time + (calls >> 9));
}

/* A process that took long to get here the first time, under an instrumenting tool say, is slow in its children too. */
static void choose_limits(const char *path)
{
    static uint64_t head_start;
    static bool measured;
    struct rusage used;
    struct stat s;
    if (!measured && !getrusage(RUSAGE_SELF, &used)) {
        measured = true;
        head_start = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
                     (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000;
        head_start = head_start < HEAD_START_MOST ? head_start : HEAD_START_MOST;
    }
    child_size = stat(path, &s) ? 0 : (uint64_t)s.st_size;
    child_time = CPU_MILLISECONDS + head_start + (child_size >> 6);
}

static void limit_child(void)
{
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    sigset_t all;
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    static const int deadly[] = {SIGPROF, SIGPIPE, SIGSEGV, SIGBUS, SIGABRT};
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        signal(deadly[i], SIG_DFL);
    allow(child_time);
#if SP__LIMIT_MEMORY
    /* Beside what the caller has mapped already. */
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    bool known = statm && fscanf(statm, "%lu", &pages) == 1;
    if (statm)
        fclose(statm);
    rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_BYTES + (rlim_t)child_size * 64;
    struct rlimit space;
    if (known && !getrlimit(RLIMIT_AS, &space) && most < space.rlim_cur) {
        space.rlim_cur = most;
        setrlimit(RLIMIT_AS, &space);
    }
#endif
}

_Noreturn static void child(const struct sp__checking *c, int fd)
{
    sp__h5_lock_afresh();
    limit_child();
    /* A dying allocator's last words are no use to anybody. */
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (quiet >= 0)
        dup2(quiet, STDERR_FILENO);
    struct message message = {.end = true};
    struct sp__checking own = {
        .path = c->path, .found = send_finding, .context = &fd, .expects = allow_more, .error = &message.error};
    message.status = sp__check_h5_here(&own);
    if (message.status == SP_ERR_SYSTEM && message.error.system == ENOMEM) {
        sp__check_found(&own, message.error.place, "needs more memory than a sound file of its size: it is damaged");
        message.status = 0;
    }
    message.result = own.result;
    (void)transfer(fd, &message, sizeof message, true);
    _exit(0);
}

static int gather(struct sp__checking *c, int fd, pid_t pid)
{
    struct message message = {0};
    while (transfer(fd, &message, sizeof message, false) && !message.end)
        sp__check_found(c, message.place, "%s", message.text);
    int state = 0;
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
        continue;
    if (message.end) {
        c->result = message.result; /* counts those that were not told, too */
        if (message.status && c->error)
            *c->error = message.error;
        return message.status;
    }
    snprintf(c->result.format, sizeof c->result.format, "HDF5");
    bool slow = WIFSIGNALED(state) && WTERMSIG(state) == SIGPROF;
    sp__check_found(c, "",
                    slow ? "HDF5 comes to no end over this file: it is damaged"
                         : "HDF5 crashes over this file: it is damaged");
    return 0;
}

int sp__check_h5(struct sp__checking *c)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return sp__fail(c->error, SP_ERR_SYSTEM, errno, c->path, NULL, "cannot be checked");
    /* Under the lock, so that no other thread is inside HDF5 at that moment. */
    sp__h5_lock();
    choose_limits(c->path);
    pid_t pid = fork();
    if (pid == 0)
        child(c, ends[1]);
    sp__h5_unlock();
    close(ends[1]);
    int status = pid < 0
                     ? sp__fail(c->error, SP_ERR_SYSTEM, errno, c->path, NULL, "cannot be checked: no process for it")
                     : gather(c, ends[0], pid);
    close(ends[0]);
    return status;
}
