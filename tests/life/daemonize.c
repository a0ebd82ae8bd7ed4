/* daemonize WHEN: records, then does what daemons do: closes every descriptor from 3 on and opens files of its own as 0 to
 * 9, and records on, much enough to fill its ring many times.
 *
 *   WHEN: here (no fork), child (sp_init, fork, setsid, fork; the last child goes on), first (fork, setsid, close, sp_init)
 *
 * The files own.0 to own.9 hold 100 lines "own N" each, nothing else, or it ends with status 3. What the process that
 * goes on counted as recorded goes to the file "made", how it ended to "ended": "finalize STATUS ACTIVE". */
#include <fcntl.h>
#include <scope_profiler.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES = 10, LINES = 100, CALLS = 20000, LINE = 6 };

static int region;
static long made;

static void call(long times)
{
    for (long i = 0; i < times; i++) {
        sp_begin(region);
        made += sp_profiler_last_error(sp_default_profiler()) == SP_OK;
        sp_end(region);
    }
}

static void reopen(void)
{
    char name[16];
    for (int n = 0; n < FILES; n++) {
        (void)snprintf(name, sizeof name, "own.%d", n);
        int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
        if (fd < 0 || (fd != n && dup2(fd, n) != n))
            _exit(4);
        if (fd > n)
            close(fd);
    }
}

static void close_all(void)
{
    for (int n = 0; n < 3; n++)
        close(n);
    if (close_range(3, ~0U, 0) != 0)
        _exit(4);
}

/* Own lines and calls in turn. */
static void serve(void)
{
    for (int i = 0; i < LINES; i++) {
        char line[LINE + 2];
        for (int n = 0; n < FILES; n++) {
            (void)snprintf(line, sizeof line, "own %d\n", n);
            if (write(n, line, LINE) != LINE)
                _exit(4);
        }
        call(CALLS / LINES);
    }
}

static bool files_are_own(void)
{
    char name[16], text[LINE * LINES + 1], line[LINE + 2];
    for (int n = 0; n < FILES; n++) {
        (void)snprintf(name, sizeof name, "own.%d", n);
        (void)snprintf(line, sizeof line, "own %d\n", n);
        int fd = open(name, O_RDONLY | O_CLOEXEC);
        ssize_t length = read(fd, text, sizeof text);
        close(fd);
        if (length != LINE * LINES)
            return false;
        for (int i = 0; i < LINES; i++)
            if (memcmp(text + (ptrdiff_t)i * LINE, line, LINE) != 0)
                return false;
    }
    return true;
}

static void note(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        _exit(4);
    close(fd);
}

static int start(void)
{
    int status = sp_init("daemon", 0);
    region = sp_region("a");
    return status;
}

int main(int argc, char **argv)
{
    char text[64];
    if (argc != 2)
        return 2;
    bool here = !strcmp(argv[1], "here"), first = !strcmp(argv[1], "first");
    if (!first) {
        if (start())
            return 2;
        call(CALLS);
    }
    if (!here) {
        pid_t child = fork();
        if (child > 0) {
            int status;
            if (!first && sp_finalize())
                return 2;
            return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 5;
        }
        if (!first)
            made = 0;
        setsid();
        pid_t last = first ? 0 : fork(); /* so that no terminal can become its own */
        if (last > 0) {
            int status;
            _exit(waitpid(last, &status, 0) == last && WIFEXITED(status) ? WEXITSTATUS(status) : 5);
        }
    }
    close_all();
    reopen();
    if (first && start())
        return 2;
    serve();
    int active = sp_is_active();
    int status = sp_finalize();
    (void)snprintf(text, sizeof text, "%ld\n", made);
    note("made", text);
    (void)snprintf(text, sizeof text, "finalize %d %d\n", status, active);
    note("ended", text);
    _exit(files_are_own() ? status : 3);
}
