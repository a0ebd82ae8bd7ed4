/* message.c: the few lines that libsp says on stderr, without harm to the program that owns it. */
#include "message.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MOST = 1024, POLL_MS = 20 };

static atomic_bool said[SP__SAY_CAUSES];
static struct stat stderr_at_load;
static bool stderr_known;

__attribute__((constructor)) static void remember_stderr(void)
{
    int saved = errno;
    stderr_known = fstat(STDERR_FILENO, &stderr_at_load) == 0;
    errno = saved;
}

/* A program that daemonizes closes descriptor 2, and its number may now be that of a file or socket with the program's
 * own data. So is anything else that was not there when the library was loaded, unless it is a terminal. */
static bool stderr_is_for_people(void)
{
    struct stat now;
    if (fstat(STDERR_FILENO, &now) < 0)
        return false;
    return (stderr_known && now.st_dev == stderr_at_load.st_dev && now.st_ino == stderr_at_load.st_ino) ||
           isatty(STDERR_FILENO);
}

/* One write that neither raises a signal in the program nor waits for a reader that has stalled. */
static void write_quietly(const char *line, size_t length)
{
    struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&ready, 1, POLL_MS) != 1 || !(ready.revents & POLLOUT))
        return;
    static const int signals[] = {SIGPIPE, SIGXFSZ, SIGTTOU};
    sigset_t ours, before, pending;
    sigemptyset(&ours);
    sigemptyset(&pending);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&ours, signals[i]);
    sigpending(&pending);
    if (pthread_sigmask(SIG_BLOCK, &ours, &before) != 0)
        return;
    bool failed = write(STDERR_FILENO, line, length) < 0 && (errno == EPIPE || errno == EFBIG);
    if (failed) {
        /* Take back the signal that this write sent to this thread, not one that was waiting before. */
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
            if (sigismember(&pending, signals[i]))
                sigdelset(&ours, signals[i]);
        }
        while (sigtimedwait(&ours, NULL, &(struct timespec){0}) < 0 && errno == EINTR)
            ;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sp__say(enum sp__cause cause, const char *format, ...)
{
    static const char start[] = "scope_profiler: ";
    int saved = errno;
    /* Relaxed: the flag guards nothing but itself. */
    if (!atomic_exchange_explicit(&said[cause], true, memory_order_relaxed) && stderr_is_for_people()) {
        char line[LINE_MOST];
        size_t at = sizeof start - 1;
        memcpy(line, start, at);
        va_list list;
        va_start(list, format);
        int wanted = vsnprintf(line + at, sizeof line - at, format, list);
        va_end(list);
        if (wanted > 0) {
            size_t room = sizeof line - at - 1; /* the NUL's place takes the newline */
            at += (size_t)wanted < room ? (size_t)wanted : room;
            line[at++] = '\n';
            write_quietly(line, at);
        }
    }
    errno = saved;
}

const char *sp__error_text(int error)
{
    const char *text = strerrordesc_np(error);
    return text ? text : "unknown error";
}

void sp__say_reset(void)
{
    for (int i = 0; i < SP__SAY_CAUSES; i++)
        atomic_store_explicit(&said[i], false, memory_order_relaxed);
}
