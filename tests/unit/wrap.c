/* wrap.c: rings that fill and wrap many times with nobody to drain them but the program. */
#include "recording_util.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/inotify.h>

enum { STEPS = 400000 };

static void make_calls(int region, int count)
{
    for (int i = 0; i < count; i++) {
        sp_begin(region);
        sp_end(region);
    }
}

/* How often the segment of this session was written to by a system call since the last time. */
static int rings(int watch)
{
    _Alignas(struct inotify_event) char buffer[8192];
    int count = 0;
    ssize_t length = read(watch, buffer, sizeof buffer);
    for (char *at = buffer; length > 0 && at < buffer + length;) {
        const struct inotify_event *event = (const void *)at;
        count += event->len && strstr(event->name, getenv("SP_SESSION")) != NULL;
        at += sizeof *event + event->len;
    }
    return count;
}

/* The first words of a segment are what a consumer knows it by. */
static void read_words(uint64_t ret[2])
{
    char path[512] = "";
    DIR *dir = opendir("/dev/shm");
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));)
        if (strstr(e->d_name, getenv("SP_SESSION")))
            (void)snprintf(path, sizeof path, "/dev/shm/%s", e->d_name);
    closedir(dir);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(ret, sizeof *ret, 2, file), 2);
    fclose(file);
}

static void the_doorbell_rings_at_half_and_harms_nothing(void **state)
{
    (void)state;
    uint64_t before[2], after[2];
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(watch >= 0 && inotify_add_watch(watch, "/dev/shm", IN_MODIFY) >= 0);
    start("bell");
    int region = sp_region("a");
    read_words(before);
    make_calls(region, 16000);
    (void)rings(watch); /* births and their reserving are no concern here */
    make_calls(region, 10);
    assert_int_equal(rings(watch), 0);
    make_calls(region, 500);
    assert_true(rings(watch) > 0);
    read_words(after);
    assert_memory_equal(before, after, sizeof before);
    close(watch);
    assert_int_equal(sp_finalize(), 0);
}

static void more_than_a_million_calls_are_exact(void **state)
{
    (void)state;
    static const char *const clocks[] = {"monotonic", "tsc"};
    for (int n = 0; n < 2; n++) {
        assert_int_equal(setenv("SP_CLOCK", clocks[n], 1), 0);
        assert_int_equal(sp_init(clocks[n], 3), 0);
        unsetenv("SP_CLOCK");
        int step = sp_region("step"), part = sp_region("part");
        int64_t first = sp_now_ns();
        for (int i = 0; i < STEPS; i++) {
            sp_begin(step);
            sp_begin(part);
            sp_end(part);
            sp_begin(part);
            sp_end(part);
            sp_end(step);
        }
        int64_t past = sp_now_ns();
        assert_int_equal(sp_finalize(), 0);
        struct trace t = trace_read(sp_output_path());
        const struct trace_region *s = trace_find(&t, "step"), *p = trace_find(&t, "part");
        assert_int_equal(t.rank, 3);
        assert_true(s && p);
        assert_int_equal(s->calls, STEPS);
        assert_int_equal(p->calls, 2 * STEPS);
        for (int i = 0; i < STEPS; i++) {
            assert_true(s->starts[i] <= p->starts[2 * i] && p->ends[2 * i] <= p->starts[2 * i + 1]);
            assert_true(p->ends[2 * i + 1] <= s->ends[i]);
            assert_true(i == 0 || s->ends[i - 1] <= s->starts[i]);
        }
        /* Within a microsecond of the clock that they are said to be of. */
        assert_true(s->starts[0] > first - 1000 && s->ends[STEPS - 1] < past + 1000);
        trace_free(&t);
        assert_int_equal(segments_left(false), 0);
    }
}

static void *fill(void *region)
{
    for (int i = 0; i < STEPS / 4; i++) {
        sp_begin(*(int *)region);
        sp_end(*(int *)region);
    }
    return NULL;
}

static void small_rings_of_two_threads_are_exact(void **state)
{
    (void)state;
    pthread_t threads[2];
    assert_int_equal(setenv("SP_RING", "1024", 1), 0);
    assert_int_equal(setenv("SP_FULL_WAIT", "20000000", 1), 0);
    assert_int_equal(sp_init("small", 0), 0);
    unsetenv("SP_RING");
    unsetenv("SP_FULL_WAIT");
    int a = sp_region("a");
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fill, &a), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("small_rank00000.spt", "a"), STEPS / 4 * 2);
}

/* Byte 1 held by somebody who never drains: one wait, then calls are dropped and counted, and statistics stay exact. */
static void a_stopped_consumer_costs_one_wait(void **state)
{
    (void)state;
    char name[1024], path[512] = "";
    assert_int_equal(setenv("SP_RING", "1024", 1), 0);
    assert_int_equal(sp_init("stopped", 0), 0);
    unsetenv("SP_RING");
    DIR *dir = opendir("/dev/shm");
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strstr(e->d_name, session))
            (void)snprintf(path, sizeof path, "/dev/shm/%s", e->d_name);
    closedir(dir);
    (void)snprintf(name, sizeof name, "%s", path);
    int fd = open(name, O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    int a = sp_region("a");
    int64_t start = sp_now_ns();
    for (int i = 0; i < STEPS; i++) {
        sp_begin(a);
        sp_end(a);
    }
    int64_t took = sp_now_ns() - start;
    assert_true(took > 100000000 && took < 10000000000);
    assert_int_equal(sp_num_calls(a), STEPS);
    assert_int_equal(close(fd), 0);
    assert_int_equal(sp_finalize(), 0);
    int64_t kept = file_calls("stopped_rank00000.spt", "a");
    assert_true(kept > 0 && kept <= 1024);
    /* The note says how many are missing. */
    (void)snprintf(name, sizeof name, "grep -qh '\"dropped\":%d,' %s/data/%s/*.note", (int)(STEPS - kept), place,
                   session);
    assert_int_equal(system(name), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_doorbell_rings_at_half_and_harms_nothing, fresh),
        cmocka_unit_test_teardown(more_than_a_million_calls_are_exact, fresh),
        cmocka_unit_test_teardown(small_rings_of_two_threads_are_exact, fresh),
        cmocka_unit_test_teardown(a_stopped_consumer_costs_one_wait, fresh),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
