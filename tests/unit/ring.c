/* ring: a producer, its consumer and a reader at the same time over one lane, for ThreadSanitizer too. */
#include <pthread.h>
#include <time.h>

#include "producer.h"

enum { CALLS = 150000 };

static struct producer p;
static char spool[SP__PATH_SIZE];

static atomic_bool stop;

static void *drain_on(void *data)
{
    struct sp__consumer *c = data;
    while (!atomic_load(&stop)) {
        assert_int_equal(sp__consumer_drain(c, 700, NULL), 0);
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
    return NULL;
}

static void *record_on(void *data)
{
    struct sp__lane *lane = &p.lanes[0];
    (void)data;
    for (uint64_t made = 0; made < CALLS;) {
        if (made - atomic_load_explicit(&lane->tail, memory_order_acquire) < lane->ring_records) {
            producer_call(&p, 0, made * 10, made * 10 + 5, 0);
            made++;
        }
        if (made % 64 == 0) /* in bursts, so that readers come in between */
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    return NULL;
}

static void living_segment_is_joined_without_gap_or_repeat(void **state)
{
    pthread_t drainer, recorder;
    (void)state;
    producer_start(&p, SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
    producer_region(&p, "outer");
    producer_lane(&p, 0, 4096, 0);
    struct sp__consumer *c = attach(&p, "data");
    snprintf(spool, sizeof spool, "%s", c->spool.path);
    atomic_store(&stop, false);
    pthread_create(&drainer, NULL, drain_on, c);
    pthread_create(&recorder, NULL, record_on, NULL);
    for (uint64_t seen = 0; seen < CALLS;) {
        seen = atomic_load(&p.lanes[0].head);
        struct sp__recording *r = open_recording((const char *[]){spool}, 1, p.born.name);
        assert_int_equal(r->gaps, 0);
        assert_true(r->calls >= seen);
        assert_int_equal(r->bad_bytes, 0);
        assert_true(r->last[0] == r->calls);
        sp__recording_destroy(r);
    }
    atomic_store(&stop, true);
    pthread_join(drainer, NULL);
    pthread_join(recorder, NULL);
    struct sp__recording *r = open_recording((const char *[]){spool}, 1, p.born.name);
    assert_true(r->calls == CALLS);
    sp__recording_destroy(r);
    /* The rings alone lack what was spooled since the caller looked: it has to look again. */
    const struct sp__recording_source rings = {.live = p.born.name, .scratch_dir = test_folder};
    char why[256];
    assert_int_equal(sp__recording_create(&r, &rings, why), -ENOENT);
    assert_non_null(strstr(why, "drained into another spool"));
    sp__consumer_destroy(c);
    producer_finish(&p);
    r = open_recording((const char *[]){spool}, 1, NULL); /* vanished: the spool speaks for itself */
    assert_true(r->calls <= CALLS);
    sp__recording_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(living_segment_is_joined_without_gap_or_repeat),
    };
    return cmocka_run_group_tests_name("ring", tests, test_setup, test_teardown);
}
