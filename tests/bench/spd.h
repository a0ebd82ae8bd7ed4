/* spd.h: a private spd for a benchmark, and what it took of a core so far. */
#ifndef BENCH_SPD_H
#define BENCH_SPD_H

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static inline _Noreturn void bench_fail(const char *what)
{
    (void)fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* After bench_folder. It answers when this returns, and dies with its parent. */
static inline pid_t bench_spd(const char *path)
{
    char session[128], control[128];
    (void)snprintf(session, sizeof session, "%s*", getenv("SP_SESSION"));
    (void)snprintf(control, sizeof control, "%s/control", getenv("SP_RUNTIME_DIR"));
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (freopen("/dev/null", "w", stderr)) /* what it says is counted otherwise */
            (void)execl(path, path, "--session", session, "--format", "spt", (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 1000 && waitpid(pid, NULL, WNOHANG) == 0; i++) {
        if (access(control, F_OK) == 0)
            return pid;
        usleep(10000);
    }
    errno = ECANCELED;
    bench_fail(path);
}

/* SIGTERM, which publishes everything; waits for it. */
static inline void bench_spd_end(pid_t pid)
{
    (void)kill(pid, SIGTERM);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* ns that all threads of a process ran, as the scheduler counts it. */
static inline double bench_cpu_ns(pid_t pid)
{
    char path[64], file[384];
    double all = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)) != NULL) {
        char ran[64] = "";
        (void)snprintf(file, sizeof file, "%s/%s/schedstat", path, entry->d_name);
        FILE *stat = entry->d_name[0] == '.' ? NULL : fopen(file, "r");
        if (stat && fgets(ran, sizeof ran, stat))
            all += strtod(ran, NULL);
        if (stat)
            (void)fclose(stat);
    }
    if (dir)
        (void)closedir(dir);
    return all;
}

/* A line "KEY: NUMBER" of /proc/PID/<file>; -1: there is none. */
static inline long bench_proc(pid_t pid, const char *name, const char *key)
{
    char path[64], line[256];
    long number = -1;
    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
            number = strtol(line + strlen(key) + 1, NULL, 10);
    if (file)
        (void)fclose(file);
    return number;
}

#endif
