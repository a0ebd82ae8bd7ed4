/* Merging traces of one and of many ranks into one profile, beside cp of the same bytes.
 *
 * Usage: merge [--ranks N[,N...]] [--calls N | --each N] [--folder DIR] [--json]: so many calls in all, spread over N
 * ranks, or so many a rank: then a call's time should not depend on the number of ranks. As spctl merge does it, without
 * waiting for the disk; within this process, without the start of one. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scope_profiler_io.h"

enum { REGIONS = 5, TRIES = 3 };

static unsigned long long seed = 88172645463325252ULL;

static int64_t roll(int64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (unsigned long long)below);
}

static void fail(const char *what)
{
    fprintf(stderr, "merge: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void put(FILE *file, const void *data, size_t size)
{
    if (fwrite(data, 1, size, file) != size)
        fail("cannot write a trace");
}

/* Five regions, each call of one inside a call of the one before. */
static void make_trace(const char *folder, int32_t rank, int64_t calls)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/p_rank%05d.spt", folder, (int)rank);
    FILE *file = fopen(path, "w");
    int64_t *outer = malloc((size_t)calls * sizeof *outer), *column = malloc(2 * (size_t)calls * sizeof *column);
    if (!file || !outer || !column)
        fail(path);
    int64_t time = 1000000000000000;
    for (int64_t i = 0; i < calls; i++)
        outer[i] = time += 1000 + roll(1000);
    int32_t version = 2, length = 7, none = 0, line = -1;
    int64_t regions = REGIONS;
    put(file, SP_MAGIC, 8);
    put(file, &version, 4);
    put(file, &rank, 4);
    put(file, &regions, 8);
    for (int k = 0; k < REGIONS; k++) {
        char name[8];
        snprintf(name, sizeof name, "region%d", k);
        for (int64_t i = 0; i < calls; i++) {
            column[i] = outer[i] + 40 * k + roll(20);
            column[calls + i] = outer[i] + 900 - 40 * k + roll(20);
        }
        put(file, &length, 4);
        put(file, name, 7);
        put(file, &none, 4);
        put(file, &line, 4);
        put(file, &calls, 8);
        put(file, column, 2 * (size_t)calls * sizeof *column);
    }
    if (fclose(file))
        fail(path);
    free(outer);
    free(column);
}

static double copy(const char *from, const char *to)
{
    double begun = now();
    pid_t child = fork();
    if (child == 0) {
        execlp("cp", "cp", "-r", from, to, (char *)NULL);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status)
        fail("cp failed");
    return now() - begun;
}

static double worked(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static double merge(const char *from, const char *to)
{
    double begun = now();
    sp_inputs *inputs;
    sp_error error = {0};
    sp_write_settings settings = sp_write_settings_default();
    settings.sync = false;
    if (sp_inputs_create(&inputs, &error) < 0 || sp_inputs_add_path(inputs, from, &error) < 0 ||
        sp_inputs_write(inputs, to, &settings, NULL, &error) < 0) {
        fprintf(stderr, "merge: %s\n", error.text);
        exit(1);
    }
    sp_inputs_destroy(inputs);
    return now() - begun;
}

static void clear(const char *folder)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", folder, (char *)NULL);
        _exit(127);
    }
    waitpid(child, NULL, 0);
}

/* Some calls, spread over some ranks; the best of a few tries, in turns with cp so that both meet the same machine. */
static void measure(const char *parent, long ranks, long calls, int json)
{
    char folder[1024], in[1100], out[1100], copied[1100];
    snprintf(folder, sizeof folder, "%s/sp-bench-merge-XXXXXX", parent);
    if (!mkdtemp(folder))
        fail(folder);
    snprintf(in, sizeof in, "%s/in", folder);
    snprintf(out, sizeof out, "%s/out.h5", folder);
    snprintf(copied, sizeof copied, "%s/copy", folder);
    if (mkdir(in, 0700) < 0)
        fail(in);
    long each = calls / ranks / REGIONS;
    pid_t child = fork(); /* whose memory is not the merge's */
    if (child == 0) {
        for (long r = 0; r < ranks; r++)
            make_trace(in, (int32_t)r, each);
        _exit(0);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) < 0 || status)
        fail(in);
    double all = (double)ranks * (double)(each * REGIONS), bytes = all * 16, best_merge = 1e9, best_copy = 1e9;
    double best_cpu = 1e9;
    for (int i = 0; i < TRIES; i++) {
        double taken = copy(in, copied);
        best_copy = taken < best_copy ? taken : best_copy;
        clear(copied);
        double before = worked(), cpu;
        taken = merge(in, out);
        cpu = worked() - before;
        best_cpu = cpu < best_cpu ? cpu : best_cpu;
        best_merge = taken < best_merge ? taken : best_merge;
        unlink(out);
    }
    clear(folder);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double ratio = best_merge / best_copy;
    if (json)
        printf("{\"benchmark\":\"merge\",\"ranks\":%ld,\"calls\":%.0f,\"bytes\":%.0f,\"merge_s\":%.6f,\"cp_s\":%.6f,"
               "\"merge_bytes_per_s\":%.0f,\"cp_bytes_per_s\":%.0f,\"ns_per_call\":%.2f,\"cpu_ns_per_call\":%.2f,"
               "\"times_cp\":%.3f,"
               "\"peak_kib\":%ld}\n",
               ranks, all, bytes, best_merge, best_copy, bytes / best_merge, bytes / best_copy, best_merge * 1e9 / all,
               best_cpu * 1e9 / all, ratio, usage.ru_maxrss);
    else
        printf("%6ld %12.0f %8.3fs %8.3fs %8.2f %9.1f ns %9.1f ns %8.0f MB/s %8ld KiB\n", ranks, all, best_merge,
               best_copy, ratio, best_merge * 1e9 / all, best_cpu * 1e9 / all, bytes / best_merge / 1e6,
               usage.ru_maxrss);
}

int main(int count, char **arguments)
{
    static const struct option options[] = {
        {"ranks", required_argument, NULL, 'r'}, {"calls", required_argument, NULL, 'c'},
        {"each", required_argument, NULL, 'e'},  {"folder", required_argument, NULL, 'f'},
        {"json", no_argument, NULL, 'j'},        {0}};
    long calls = 16000000, each = 0;
    const char *parent = "/tmp", *list = "1,4,32,1000";
    int json = 0, option;
    while ((option = getopt_long(count, arguments, "", options, NULL)) != -1) {
        if (option == 'r')
            list = optarg;
        else if (option == 'c')
            calls = strtol(optarg, NULL, 10);
        else if (option == 'e')
            each = strtol(optarg, NULL, 10);
        else if (option == 'f')
            parent = optarg;
        else if (option == 'j')
            json = 1;
        else
            return 2;
    }
    if (!json)
        printf("%6s %12s %9s %9s %8s %12s %12s %13s %12s\n", "ranks", "calls", "merge", "cp", "times cp", "a call",
               "CPU", "", "peak memory");
    for (char *end; *list; list = *end ? end + 1 : end) {
        long ranks = strtol(list, &end, 10);
        calls = each ? each * ranks : calls;
        if (end == list || (*end && *end != ',') || ranks < 1 || ranks > 100000 || calls / ranks < REGIONS)
            return 2;
        measure(parent, ranks, calls, json);
    }
    return 0;
}
