/* durable: a target is the old file or the new one, and nothing is left beside it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "durable.h"
#include "message.h"

static char top[] = "/tmp/sp-durable-XXXXXX";
static char target[64];

static int make_top(void **state)
{
    (void)state;
    if (!mkdtemp(top))
        return -1;
    (void)snprintf(target, sizeof target, "%s/out.spt", top);
    return 0;
}

static int remove_top(void **state)
{
    (void)state;
    char command[80];
    (void)snprintf(command, sizeof command, "rm -rf %s", top);
    return system(command);
}

static int files(void)
{
    int count = 0;
    DIR *dir = opendir(top);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(dir);
    return count;
}

static void expect(const char *path, const char *text)
{
    char got[64] = "";
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    ssize_t length = read(fd, got, sizeof got - 1);
    close(fd);
    assert_int_equal(length, strlen(text));
    assert_string_equal(got, text);
}

static void mode_or_content_differ(void **state)
{
    (void)state;
    mode_t old = umask(0777);
    assert_int_equal(sp__durable_write(target, "one", 3, 0600), 0);
    umask(old);
    struct stat stat_now;
    assert_int_equal(stat(target, &stat_now), 0);
    assert_int_equal(stat_now.st_mode & 07777, 0600);
    expect(target, "one");
    assert_int_equal(sp__durable_write(target, "", 0, 0640), 0);
    assert_int_equal(stat(target, &stat_now), 0);
    assert_int_equal(stat_now.st_mode & 07777, 0640);
    expect(target, "");
    assert_int_equal(sp__durable_write_soon(target, "two", 3, 0600), 0);
    assert_int_equal(stat(target, &stat_now), 0);
    assert_int_equal(stat_now.st_mode & 07777, 0600);
    expect(target, "two");
    assert_int_equal(files(), 1);
}

static void half_a_file_seen(void **state)
{
    (void)state;
    struct sp__durable file;
    assert_int_equal(sp__durable_write(target, "old", 3, 0600), 0);
    assert_int_equal(sp__durable_begin(&file, target, 0600), 0);
    assert_int_equal(write(file.fd, "half", 4), 4);
    expect(target, "old");
    sp__durable_abandon(&file);
    sp__durable_abandon(&file);
    expect(target, "old");
    assert_int_equal(files(), 1);

    assert_int_equal(sp__durable_begin(&file, target, 0600), 0);
    assert_int_equal(write(file.fd, "new", 3), 3);
    assert_int_equal(sp__durable_commit(&file), 0);
    expect(target, "new");
    assert_int_equal(files(), 1);
}

static void temporary_left_after_a_failure(void **state)
{
    (void)state;
    char folder[80], longest[400];
    (void)snprintf(folder, sizeof folder, "%s/folder", top);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(sp__durable_write(folder, "x", 1, 0600), -EISDIR);
    (void)snprintf(folder, sizeof folder, "%s/none/x", top);
    assert_int_equal(sp__durable_write(folder, "x", 1, 0600), -ENOENT);
    assert_int_equal(files(), 2);

    /* As long as a name may be: the temporary's must not be longer. */
    (void)snprintf(longest, sizeof longest, "%s/%0255d", top, 0);
    assert_int_equal(sp__durable_write(longest, "x", 1, 0600), 0);
    expect(longest, "x");
    assert_int_equal(unlink(longest), 0);
}

static void litter_of_the_killed_stops_the_next(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        struct sp__durable file;
        if (sp__durable_begin(&file, target, 0600) == 0)
            raise(SIGKILL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    int before = files();
    assert_int_equal(sp__durable_write(target, "next", 4, 0600), 0);
    expect(target, "next");
    assert_int_equal(files(), before);
}

/* Runs `body` in a child whose stderr is a pipe; returns what came through. */
static size_t capture(void (*body)(void), char *ret, size_t size, bool reader_gone)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    if (reader_gone)
        close(ends[0]);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGPIPE, SIG_DFL);
        body();
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; !reader_gone && (got = read(ends[0], ret + length, size - 1 - length)) > 0;)
        length += (size_t)got;
    ret[length] = '\0';
    if (!reader_gone)
        close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return length;
}

static void reload_and_say(void)
{
    execl("/proc/self/exe", "durable", "say", (char *)NULL);
    _exit(1);
}

static int say(void)
{
    char path[] = "/tmp/sp-say-XXXXXX";
    errno = 42;
    sp__say(SP__SAY_SHM, "%s needs %d bytes", "here", 7);
    sp__say(SP__SAY_SHM, "never seen");
    sp__say(SP__SAY_LATE, "%02000d", 1);
    if (errno != 42)
        return 2;
    /* Descriptor 2 becomes a file with the program's own bytes. */
    close(STDERR_FILENO);
    int fd = mkstemp(path);
    if (fd != STDERR_FILENO)
        return 3;
    sp__say(SP__SAY_RING, "not into this file");
    struct stat after;
    int bad = fstat(fd, &after) < 0 || after.st_size != 0;
    unlink(path);
    return bad ? 4 : 0;
}

static void a_message_harms_the_program(void **state)
{
    (void)state;
    static char text[4096];
    size_t length = capture(reload_and_say, text, sizeof text, false);
    static const char first[] = "scope_profiler: here needs 7 bytes\n";
    assert_memory_equal(text, first, sizeof first - 1);
    assert_null(strstr(text, "never seen"));
    assert_int_equal(length, sizeof first - 1 + 1024);
    assert_int_equal(text[length - 1], '\n');
    (void)capture(reload_and_say, text, sizeof text, true);
}

int main(int count, char **arguments)
{
    if (count == 2 && strcmp(arguments[1], "say") == 0)
        return say();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mode_or_content_differ),         cmocka_unit_test(half_a_file_seen),
        cmocka_unit_test(temporary_left_after_a_failure), cmocka_unit_test(litter_of_the_killed_stops_the_next),
        cmocka_unit_test(a_message_harms_the_program),
    };
    return cmocka_run_group_tests(tests, make_top, remove_top);
}
