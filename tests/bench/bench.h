/* bench.h: what the benchmarks share: a private place and medians. */
#ifndef BENCH_H
#define BENCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char bench_path[64];

static inline int bench_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts. */
static inline double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, bench_ascending);
    return values[count / 2];
}

/* A session, data and runtime folder of this process alone. */
static inline void bench_folder(const char *name)
{
    char value[128];
    snprintf(bench_path, sizeof bench_path, "/tmp/sp-bench-XXXXXX");
    if (!mkdtemp(bench_path) || chdir(bench_path)) {
        perror(bench_path);
        exit(1);
    }
    snprintf(value, sizeof value, "bench-%s-%ld", name, (long)getpid());
    setenv("SP_SESSION", value, 1);
    snprintf(value, sizeof value, "%s/data", bench_path);
    setenv("SP_DATA_DIR", value, 1);
    snprintf(value, sizeof value, "%s/run", bench_path);
    setenv("SP_RUNTIME_DIR", value, 1);
}

static inline int bench_unlink(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static inline void bench_remove(void)
{
    (void)nftw(bench_path, bench_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
