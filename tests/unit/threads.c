/* threads.c: many threads, exact counts, lanes that are used again, handlers over appends, resets while others record.
 */
#include "recording_util.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { THREADS = 8, PAIRS = 50000, SHORT = 2000 };

static int outer, inner;

static void *nest(void *bad)
{
    for (int i = 0; i < PAIRS; i++) {
        sp_begin(outer);
        sp_begin(inner);
        sp_end(inner);
        sp_end(outer);
        if (last() != SP_OK)
            ++*(int *)bad;
    }
    return NULL;
}

static void eight_threads_lose_nothing(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int bad[THREADS] = {0};
    /* Rings that hold all, so that no thread waits for a slow disk. */
    assert_int_equal(setenv("SP_RING", "131072", 1), 0);
    assert_int_equal(sp_init("threads", 0), 0);
    unsetenv("SP_RING");
    outer = sp_region("outer");
    inner = sp_region("inner");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, nest, &bad[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(bad[i], 0);
    assert_int_equal(sp_num_calls(outer), THREADS * PAIRS);
    sp_region_stats s;
    assert_int_equal(sp_profiler_get_region_stats(sp_default_profiler(), inner, &s), 0);
    assert_int_equal(s.calls, THREADS * PAIRS);
    assert_int_equal(sp_finalize(), 0);
    struct trace t = trace_read("threads_rank00000.spt");
    assert_int_equal(trace_calls(&t, "outer"), THREADS * PAIRS);
    assert_int_equal(trace_calls(&t, "inner"), THREADS * PAIRS);
    trace_free(&t);
    /* A .spt has no place for threads: their lanes stay for a merge. */
    assert_int_equal(data_files(".spool"), 1);
    assert_int_equal(data_files(".note"), 1);
    assert_int_equal(segments_left(false), 0);
}

static void *one_call(void *unused)
{
    (void)unused;
    sp_begin(outer);
    sp_begin(inner);
    sp_end(inner);
    sp_end(outer);
    sp_begin(outer); /* left open: the thread ends */
    return NULL;
}

static void short_threads_share_lanes(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(sp_init("short", 0), 0);
    outer = sp_region("outer");
    inner = sp_region("inner");
    for (int i = 0; i < SHORT; i++) {
        assert_int_equal(pthread_create(&thread, NULL, one_call, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_int_equal(sp_num_calls(outer), SHORT); /* what ended threads left open is forgotten */
    assert_int_equal(sp_profiler_reset(sp_default_profiler()), 0);
    assert_int_equal(pthread_create(&thread, NULL, one_call, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("short_rank00000.spt", "inner"), 1);
}

static pthread_barrier_t barrier;

static void *hold_lane(void *unused)
{
    (void)unused;
    sp_begin(outer);
    sp_status status = last();
    sp_begin(inner);
    sp_end(inner);
    assert_int_equal(last(), SP_OK); /* swallowed by its own begin, also without a lane */
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    sp_end(outer);
    assert_int_equal(last(), SP_OK);
    sp_end(outer);
    assert_int_not_equal(last(), SP_OK);
    return status == SP_OK ? NULL : &barrier;
}

/* 512 lanes at most: what finds none is counted, and outer calls keep their ends. */
static void more_threads_than_lanes(void **state)
{
    (void)state;
    enum { MANY = 530 };
    static pthread_t threads[MANY];
    pthread_attr_t small;
    assert_int_equal(setenv("SP_RING", "1024", 1), 0);
    assert_int_equal(sp_init("crowd", 0), 0);
    unsetenv("SP_RING");
    outer = sp_region("outer");
    inner = sp_region("inner");
    assert_int_equal(pthread_barrier_init(&barrier, NULL, MANY + 1), 0);
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, 256 * 1024), 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(pthread_create(&threads[i], &small, hold_lane, NULL), 0);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    int without = 0;
    for (int i = 0; i < MANY; i++) {
        void *lost;
        assert_int_equal(pthread_join(threads[i], &lost), 0);
        without += lost != NULL;
    }
    pthread_attr_destroy(&small);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(without, MANY - 512);
    sp_begin(outer); /* lanes are free again */
    assert_int_equal(last(), SP_OK);
    sp_end(outer);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("crowd_rank00000.spt", "outer"), 512 + 1);
    assert_int_equal(file_calls("crowd_rank00000.spt", "inner"), 512);
}

static atomic_int stop, handled;
static int in_handler;

static void handler(int number)
{
    (void)number;
    sp_begin(in_handler);
    if (last() == SP_OK)
        atomic_fetch_add(&handled, 1);
    sp_end(in_handler);
}

static void handlers_record_over_appends(void **state)
{
    (void)state;
    assert_int_equal(setenv("SP_RING", "4096", 1), 0); /* handlers meet full rings and drains too */
    assert_int_equal(sp_init("handlers", 0), 0);
    unsetenv("SP_RING");
    outer = sp_region("outer");
    inner = sp_region("inner");
    in_handler = sp_region("handler");
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec every = {{0, 100000}, {0, 100000}};
    timer_t timer;
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &every, NULL), 0);
    int64_t pairs = 0, bad = 0;
    for (int64_t until = sp_now_ns() + 500000000; sp_now_ns() < until; pairs++) {
        sp_begin(outer);
        sp_begin(inner);
        sp_end(inner);
        sp_end(outer);
        bad += last() != SP_OK;
    }
    assert_int_equal(timer_delete(timer), 0);
    assert_int_equal(bad, 0);
    assert_true(atomic_load(&handled) > 100);
    assert_int_equal(sp_num_calls(in_handler), atomic_load(&handled));
    assert_int_equal(sp_finalize(), 0);
    struct trace t = trace_read("handlers_rank00000.spt");
    assert_int_equal(trace_calls(&t, "outer"), pairs);
    assert_int_equal(trace_calls(&t, "inner"), pairs);
    assert_int_equal(trace_calls(&t, "handler"), atomic_load(&handled));
    trace_free(&t);
}

static void *record_until_stopped(void *pairs)
{
    while (!atomic_load(&stop)) {
        sp_begin(inner);
        sp_end(inner);
        ++*(int64_t *)pairs;
    }
    return NULL;
}

static void resets_while_others_record(void **state)
{
    (void)state;
    pthread_t threads[2];
    int64_t pairs[2] = {0};
    assert_int_equal(sp_init("resets", 0), 0);
    inner = sp_region("inner");
    atomic_store(&stop, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_until_stopped, &pairs[i]), 0);
    int done = 0;
    for (int64_t until = sp_now_ns() + 20000000000; done < 20 && sp_now_ns() < until;)
        done += sp_profiler_reset(sp_default_profiler()) == 0;
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(done > 0);
    assert_int_equal(sp_profiler_reset(sp_default_profiler()), 0);
    for (int i = 0; i < 100; i++) {
        sp_begin(inner);
        sp_end(inner);
    }
    assert_int_equal(sp_num_calls(inner), 100);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("resets_rank00000.spt", "inner"), 100);
}

/* sp_init, finalize and destroy under the feet of threads that record. */
static void lives_end_while_others_record(void **state)
{
    (void)state;
    pthread_t threads[2];
    int64_t pairs[2] = {0};
    char prefix[32];
    assert_int_equal(sp_init("ends", 0), 0);
    inner = sp_region("inner");
    atomic_store(&stop, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_until_stopped, &pairs[i]), 0);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(prefix, sizeof prefix, "ends-%d", i);
        assert_int_equal(sp_init(prefix, 0), 0);
        assert_int_equal(sp_region("inner"), inner);
        usleep(2000);
        if (i % 2)
            assert_int_equal(sp_finalize(), 0);
        else
            sp_destroy(sp_default_profiler());
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(segments_left(false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(eight_threads_lose_nothing, fresh),
        cmocka_unit_test_teardown(short_threads_share_lanes, fresh),
        cmocka_unit_test_teardown(more_threads_than_lanes, fresh),
        cmocka_unit_test_teardown(handlers_record_over_appends, fresh),
        cmocka_unit_test_teardown(resets_while_others_record, fresh),
        cmocka_unit_test_teardown(lives_end_while_others_record, fresh),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
