/* A stack that is read while its thread goes on must be one that it has had. Each region is named after the whole path
 * to it, so that entries of two moments, put together, give themselves away. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "live.h"
#include "scope_profiler.h"

enum { SECONDS = 2, DEPTH = 6, WIDTH = 3, REGIONS = 1092 /* 3 + 9 + ... + 729 */ };

static atomic_bool stop;
static int regions[REGIONS];

/* The children of node n are WIDTH * (n + 1) ... and two after it; the roots 0, 1, 2. */
static void name_all(int first, int depth, const char *above)
{
    for (int child = 0; depth < DEPTH && child < WIDTH; child++) {
        char name[64];
        snprintf(name, sizeof name, "%s/%d", above, child);
        regions[first + child] = sp_region(name);
        name_all(WIDTH * (first + child + 1), depth + 1, name);
    }
}

static void descend(int first, int depth)
{
    for (int child = 0; depth < DEPTH && child < WIDTH; child++) {
        sp_begin(regions[first + child]);
        descend(WIDTH * (first + child + 1), depth + 1);
        sp_end(regions[first + child]);
    }
}

static void *run_on(void *unused)
{
    while (!atomic_load(&stop))
        descend(0, 0);
    return unused;
}

struct seen {
    struct numbers names;
    uint64_t looks, whole, deep;
};

static int check(void *context, const struct live_thread *thread)
{
    struct seen *seen = context;
    const char *above = "";
    for (uint32_t i = 0; i < thread->count; i++) {
        const char *name = seen->names.keys[thread->calls[i].name].bytes;
        size_t length = strlen(above);
        if (strncmp(name, above, length) != 0 || strlen(name) != length + 2)
            fail_msg("%s is not in %s", name, above);
        if (i > 0 && thread->calls[i].ns > thread->calls[i - 1].ns)
            fail_msg("%s began before %s", name, above);
        above = name;
    }
    seen->looks++;
    seen->whole += !thread->changing;
    seen->deep += thread->count > 2;
    return 0;
}

static int note_name(const char *name, void *context)
{
    snprintf(context, 256, "%s", name);
    return 1;
}

static void running_stack_is_one_that_was(void **state)
{
    (void)state;
    char session[64], folder[] = "/tmp/sp-unit-XXXXXX", segment[256] = "", why[256];
    struct seen seen = {.looks = 0};
    pthread_t thread;
    assert_non_null(mkdtemp(folder));
    snprintf(session, sizeof session, "unit-live-%d", (int)getpid());
    setenv("SP_SESSION", session, 1);
    setenv("SP_DATA_DIR", folder, 1);
    setenv("SP_RUNTIME_DIR", folder, 1);
    setenv("SP_MODE", "stats", 1); /* nothing but the stack: as fast as it goes */
    assert_int_equal(sp_init("live", 0), 0);
    name_all(0, 0, "");
    assert_int_equal(pthread_create(&thread, NULL, run_on, NULL), 0);
    assert_int_equal(live_each(session, note_name, segment), 1);
    time_t end = time(NULL) + SECONDS;
    while (time(NULL) <= end) {
        struct live live;
        assert_int_equal(live_open(&live, segment, &seen.names, why), 0);
        for (int i = 0; i < 100; i++)
            assert_int_equal(live_threads(&live, check, &seen), 0);
        live_close(&live);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    sp_destroy(sp_default_profiler());
    rmdir(folder);
    print_message("%llu looks, %llu whole, %llu deep\n", (unsigned long long)seen.looks, (unsigned long long)seen.whole,
                  (unsigned long long)seen.deep);
    assert_true(seen.looks > 100 && seen.deep > 0);
    numbers_finish(&seen.names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(running_stack_is_one_that_was)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
