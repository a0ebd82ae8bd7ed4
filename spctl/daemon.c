#include "daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "control_client.h"
#include "env.h"
#include "say.h"
#include "segment.h"

static const char folder_prefix[] = "run-";

enum { START_SECONDS = 20, STOP_SECONDS = 120 };

static void rest(long milliseconds)
{
    struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Whoever may write to the parent folder could put another folder in the private one's place. */
static int parent_safe(const char *parent)
{
    struct stat info;
    if (stat(parent, &info) != 0)
        return -errno;
    bool ours = info.st_uid == geteuid() || info.st_uid == 0;
    bool closed = !(info.st_mode & (S_IWGRP | S_IWOTH)) || (info.st_mode & S_ISVTX);
    return ours && closed ? 0 : -EPERM;
}

static bool make_folder(struct daemon *daemon, const char *parent)
{
    int length = snprintf(daemon->runtime_dir, sizeof daemon->runtime_dir, "%s/%sXXXXXX", parent, folder_prefix);
    int status = length < (int)sizeof daemon->runtime_dir ? sp__make_dirs(parent) : -ENAMETOOLONG;
    if (status == 0)
        status = parent_safe(parent);
    if (status == 0 && !mkdtemp(daemon->runtime_dir))
        status = -errno;
    if (status < 0)
        say("cannot make a private folder in %s: %s; give another --runtime-dir", parent,
            status == -EPERM ? "others may write there" : strerror(-status));
    snprintf(daemon->log, sizeof daemon->log, "%s/spd.log", daemon->runtime_dir);
    return status == 0;
}

/* It holds plain files and a socket, all of its spd. */
int daemon_folder_remove(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return -errno;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    return rmdir(path) == 0 ? 0 : -errno;
}

bool daemon_folder_stale(const char *runtime_parent, const char *name)
{
    char path[2 * SP__PATH_SIZE];
    struct stat info;
    if (strncmp(name, folder_prefix, sizeof folder_prefix - 1) != 0 || strlen(name) != sizeof folder_prefix - 1 + 6)
        return false;
    snprintf(path, sizeof path, "%s/%s", runtime_parent, name);
    if (lstat(path, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
        time(NULL) - info.st_mtime < 60)
        return false;
    snprintf(path, sizeof path, "%s/%s/spd.lock", runtime_parent, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool free = fd < 0 ? errno == ENOENT : sp__lock_held(fd, 0) == 0;
    if (fd >= 0)
        close(fd);
    return free;
}

/* spd as it lies beside this program when installed, or in the build folder; "spd" for PATH. */
static void find_program(char *ret, size_t size)
{
    static const char *const places[] = {"spd", "../sbin/spd", "../spd/spd"};
    char own[SP__PATH_SIZE];
    struct stat info;
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length > 0) {
        own[length] = 0;
        char *slash = strrchr(own, '/');
        for (size_t i = 0; slash && i < sizeof places / sizeof *places; ++i) {
            snprintf(ret, size, "%.*s/%s", (int)(slash - own), own, places[i]);
            if (stat(ret, &info) == 0 && S_ISREG(info.st_mode) && access(ret, X_OK) == 0)
                return;
        }
    }
    snprintf(ret, size, "spd");
}

/* In the child: never returns. The errno of a failed exec goes through `fault`. */
static void become(const char *program, char *const *argv, const char *log, pid_t parent, int fault)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setpgid(0, 0); /* Ctrl-C at the terminal is for the command */
    int in = open("/dev/null", O_RDONLY);
    int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in >= 0 && out >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0 && getppid() == parent)
        execvp(program, argv);
    int error = errno;
    if (write(fault, &error, sizeof error) < 0)
        _exit(126);
    _exit(127);
}

/* 0, or the errno of fork or exec. */
static int launch(struct daemon *daemon, const char *program, char *const *argv)
{
    int ends[2], error = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0)
        become(program, argv, daemon->log, parent, ends[1]);
    if (pid < 0)
        error = errno;
    close(ends[1]);
    while (pid > 0 && read(ends[0], &error, sizeof error) < 0 && errno == EINTR)
        continue;
    close(ends[0]);
    if (pid > 0 && error != 0)
        waitpid(pid, NULL, 0);
    daemon->pid = error == 0 ? pid : 0;
    return error;
}

static void last_line(const char *path, char ret[512])
{
    char tail[512] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        off_t size = lseek(fd, 0, SEEK_END);
        off_t from = size > (off_t)sizeof tail - 1 ? size - (off_t)sizeof tail + 1 : 0;
        ssize_t n = pread(fd, tail, sizeof tail - 1, from);
        close(fd);
        while (n > 0 && tail[n - 1] == '\n')
            --n;
        tail[n > 0 ? n : 0] = 0;
    }
    const char *line = strrchr(tail, '\n');
    snprintf(ret, 512, "%s", line ? line + 1 : *tail ? tail : "it said nothing");
}

/* Until it answers a ping, or ends, or time is up. */
static bool wait_ready(struct daemon *daemon)
{
    char why[512] = "", said[512];
    json_t *answer = NULL;
    for (int i = 0; i < START_SECONDS * 50; ++i) {
        enum control_result result = control_ask(daemon->runtime_dir, "ping", NULL, 2, NULL, NULL, &answer, why);
        if (result == CONTROL_ANSWERED) {
            json_decref(answer);
            return true;
        }
        if (!daemon_alive(daemon)) {
            last_line(daemon->log, said);
            say("spd ended at once: %s", said);
            return false;
        }
        if (result != CONTROL_ABSENT)
            break;
        rest(20);
    }
    last_line(daemon->log, said);
    say("spd does not answer: %s; it said: %s", why, said);
    return false;
}

bool daemon_start(struct daemon *ret, const char *runtime_parent, const char *data_dir, const char *session)
{
    struct daemon daemon = {0};
    char program[SP__PATH_SIZE + 32];
    if (!make_folder(&daemon, runtime_parent))
        return false;
    find_program(program, sizeof program);
    const char *words[] = {program,         "--session",        session, "--data-dir", data_dir,
                           "--runtime-dir", daemon.runtime_dir, NULL};
    char *argv[sizeof words / sizeof *words];
    memcpy(argv, words, sizeof words); /* execvp's type lacks a const that it keeps */
    int error = launch(&daemon, program, argv);
    if (error != 0)
        say("cannot start %s: %s; install spd beside spctl or on PATH", program, strerror(error));
    if (error == 0 && wait_ready(&daemon)) {
        *ret = daemon;
        return true;
    }
    if (daemon.pid > 0) {
        kill(daemon.pid, SIGKILL);
        waitpid(daemon.pid, NULL, 0);
    }
    daemon_folder_remove(daemon.runtime_dir);
    return false;
}

bool daemon_alive(struct daemon *daemon)
{
    if (daemon->pid > 0 && waitpid(daemon->pid, NULL, WNOHANG) == daemon->pid)
        daemon->pid = 0;
    return daemon->pid > 0;
}

bool daemon_stop(struct daemon *daemon)
{
    struct progress progress;
    char said[512];
    int status = -1;
    pid_t got = 0;
    progress_begin(&progress, "waiting for spd to publish");
    if (daemon->pid > 0)
        kill(daemon->pid, SIGTERM);
    for (int i = 0; daemon->pid > 0 && got == 0 && i < STOP_SECONDS * 50; ++i) {
        got = waitpid(daemon->pid, &status, WNOHANG);
        if (got == 0)
            rest(20);
        progress_show(&progress, -1);
    }
    if (daemon->pid > 0 && got == 0) {
        kill(daemon->pid, SIGKILL);
        waitpid(daemon->pid, &status, 0);
    }
    progress_end();
    bool well = got > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!well) {
        last_line(daemon->log, said);
        say("spd did not end well, its spools are read instead; it said: %s", said);
    }
    daemon->pid = 0;
    daemon_folder_remove(daemon->runtime_dir);
    return well;
}
