/* recording_util.h: what tests of a recording program share: a place of their own, and reading a .spt. */
#ifndef RECORDING_UTIL_H
#define RECORDING_UTIL_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
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

#include <scope_profiler.h>

static char place[256], session[64];

/* Names in /dev/shm that hold this test's session; removed where `remove_them`. */
static inline int segments_left(bool remove_them)
{
    int left = 0;
    DIR *dir = opendir("/dev/shm");
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (!strstr(e->d_name, session))
            continue;
        left++;
        if (remove_them)
            (void)unlinkat(dirfd(dir), e->d_name, 0);
    }
    closedir(dir);
    return left;
}

static inline void set_place(void)
{
    char path[512];
    (void)snprintf(place, sizeof place, "/tmp/sp-unit-XXXXXX");
    assert_non_null(mkdtemp(place));
    (void)snprintf(session, sizeof session, "unit-%d-%.6s", (int)getpid(), place + strlen(place) - 6);
    assert_int_equal(chdir(place), 0);
    (void)snprintf(path, sizeof path, "%s/data", place);
    assert_int_equal(setenv("SP_DATA_DIR", path, 1), 0);
    (void)snprintf(path, sizeof path, "%s/run", place);
    assert_int_equal(setenv("SP_RUNTIME_DIR", path, 1), 0);
    assert_int_equal(setenv("SP_SESSION", session, 1), 0);
    static const char *const others[] = {"SP_DISABLE", "SP_MODE", "SP_RING", "SP_FORK", "SP_FULL_WAIT", "SP_RANK"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        unsetenv(others[i]);
}

static inline int group_setup(void **state)
{
    (void)state;
    set_place();
    return 0;
}

static inline int group_teardown(void **state)
{
    (void)state;
    char command[1024];
    sp_destroy(sp_default_profiler());
    int left = segments_left(true);
    (void)snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", place, place);
    (void)!system(command);
    return left;
}

static inline sp_status last(void)
{
    return sp_profiler_last_error(sp_default_profiler());
}

static inline bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* How many files of this suffix are in the session's data folder. */
static inline int data_files(const char *suffix)
{
    char path[512];
    int count = 0;
    (void)snprintf(path, sizeof path, "%s/data/%s", place, session);
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        size_t length = strlen(e->d_name), tail = strlen(suffix);
        count += length >= tail && strcmp(e->d_name + length - tail, suffix) == 0;
    }
    if (dir)
        closedir(dir);
    return count;
}

/* What the note about the profile of this name counts under a key. */
static inline uint64_t noted(const char *profile, const char *key)
{
    char path[512], name[80], text[8192];
    uint64_t count = UINT64_MAX;
    (void)snprintf(path, sizeof path, "%s/data/%s", place, session);
    (void)snprintf(name, sizeof name, "/%s\"", profile);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (!strstr(e->d_name, ".note"))
            continue;
        int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC);
        ssize_t length = read(fd, text, sizeof text - 1);
        assert_true(length > 0);
        text[length] = '\0';
        close(fd);
        const char *at = strstr(text, name) ? strstr(text, key) : NULL;
        if (at)
            count = strtoull(at + strlen(key) + 2, NULL, 10); /* behind the quote and the colon */
    }
    closedir(dir);
    return count;
}

/* A whole .spt, checked while it is read: starts ascend, no end is before its start, no byte is left over. */
struct trace_region {
    char *name;
    int64_t calls;
    int64_t *starts, *ends;
};

struct trace {
    int rank;
    int64_t count;
    struct trace_region *regions;
};

static inline void take(FILE *file, void *to, size_t length)
{
    assert_int_equal(fread(to, 1, length, file), length);
}

static inline struct trace trace_read(const char *path)
{
    struct trace t = {0};
    char magic[8];
    int32_t version, rank, length;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    take(file, magic, 8);
    assert_memory_equal(magic, "SCOPEPRF", 8);
    take(file, &version, 4);
    assert_int_equal(version, 2);
    take(file, &rank, 4);
    t.rank = rank;
    take(file, &t.count, 8);
    t.regions = calloc((size_t)t.count + 1, sizeof *t.regions);
    assert_non_null(t.regions);
    for (int64_t r = 0; r < t.count; r++) {
        struct trace_region *to = &t.regions[r];
        char source[4096];
        take(file, &length, 4);
        to->name = calloc((size_t)length + 1, 1);
        assert_non_null(to->name);
        take(file, to->name, (size_t)length);
        take(file, &length, 4);
        assert_in_range(length, 0, sizeof source);
        take(file, source, (size_t)length);
        take(file, &length, 4);
        take(file, &to->calls, 8);
        to->starts = calloc((size_t)to->calls, 8);
        to->ends = calloc((size_t)to->calls, 8);
        assert_true(to->calls > 0 && to->starts && to->ends);
        take(file, to->starts, (size_t)to->calls * 8);
        take(file, to->ends, (size_t)to->calls * 8);
        for (int64_t c = 0; c < to->calls; c++) {
            assert_true(to->ends[c] >= to->starts[c]);
            assert_true(c == 0 || to->starts[c] >= to->starts[c - 1]);
        }
    }
    assert_int_equal(fgetc(file), EOF);
    (void)fclose(file);
    return t;
}

static inline const struct trace_region *trace_find(const struct trace *t, const char *name)
{
    for (int64_t r = 0; r < t->count; r++)
        if (strcmp(t->regions[r].name, name) == 0)
            return &t->regions[r];
    return NULL;
}

static inline int64_t trace_calls(const struct trace *t, const char *name)
{
    const struct trace_region *r = trace_find(t, name);
    return r ? r->calls : 0;
}

static inline void trace_free(struct trace *t)
{
    for (int64_t r = 0; r < t->count; r++) {
        free(t->regions[r].name);
        free(t->regions[r].starts);
        free(t->regions[r].ends);
    }
    free(t->regions);
}

/* Calls of one region in a file. */
static inline int64_t file_calls(const char *path, const char *name)
{
    struct trace t = trace_read(path);
    int64_t calls = trace_calls(&t, name);
    trace_free(&t);
    return calls;
}

static inline void check_child(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static inline void start(const char *prefix)
{
    assert_int_equal(sp_init(prefix, 0), 0);
    assert_true(sp_is_active());
}

/* A teardown: the next test begins without a profiler. */
static inline int fresh(void **state)
{
    (void)state;
    sp_destroy(sp_default_profiler());
    return 0;
}

#endif
