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
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "h5.h"

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

/* Seconds of processor time that no sound file of this size needs. */
static rlim_t time_allowed(const char *path)
{
    struct stat s;
    return 5 + (stat(path, &s) ? 0 : (rlim_t)s.st_size >> 16);
}

_Noreturn static void child(const struct sp__checking *c, int fd)
{
    sp__h5_lock_afresh();
    const struct rlimit none = {0, 0}, time = {time_allowed(c->path), RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &time);
    /* A dying allocator's last words are no use to anybody. */
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (quiet >= 0)
        dup2(quiet, STDERR_FILENO);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    struct message message = {.end = true};
    struct sp__checking own = {.path = c->path, .found = send_finding, .context = &fd, .error = &message.error};
    message.status = sp__check_h5_here(&own);
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
    bool slow = WIFSIGNALED(state) && WTERMSIG(state) == SIGXCPU;
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
