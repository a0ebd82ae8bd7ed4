/* guard.c: a segment that is cut short under its mapping, in the loop's thread, in another, and while it is attached to;
 * and what else raises SIGBUS. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "guard.h"
#include "producer.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

/* cmocka's own handler stands at the begin of each test. */
static void guarded(void)
{
    assert_int_equal(guard_init(4), 0);
    sp__segment_watch(guard_add, guard_remove);
}

static void unguarded(void)
{
    sp__segment_watch(NULL, NULL);
    guard_finish();
}

static void cut(const struct sp__segment *segment)
{
    assert_int_equal(ftruncate(segment->fd, 0), 0);
}

static void *touch(void *at)
{
    _Atomic uint32_t *word = at;
    errno = 4711;
    atomic_fetch_add(word, 7);
    assert_int_equal(errno, 4711);
    return NULL;
}

static void a_cut_segment_reads_as_zeros_and_is_marked(void **state)
{
    (void)state;
    guarded();
    struct producer p[2];
    struct sp__segment segment[2];
    char why[256];
    int slot[2];
    for (int i = 0; i < 2; i++) {
        producer_start(&p[i], SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
        assert_int_equal(sp__segment_open(&segment[i], p[i].born.name, true, why), 0);
        slot[i] = guard_find(segment[i].header);
        assert_int_not_equal(slot[i], GUARD_NONE);
    }
    cut(&segment[0]);
    assert_false(guard_poisoned(slot[0])); /* nobody has touched it */
    touch(&segment[0].header->published);
    assert_int_equal(atomic_load(&segment[0].header->published), 7);
    assert_int_equal(atomic_load(&segment[0].header->state), 0);
    assert_int_equal(atomic_load(&segment[0].lanes[segment[0].lane_capacity - 1].head), 0);
    assert_true(guard_poisoned(slot[0]));
    assert_false(guard_poisoned(slot[1]));
    assert_int_equal(atomic_load(&segment[1].header->state), SP__RECORDING);
    sp__segment_close(&segment[0]);
    assert_int_equal(sp__segment_open(&segment[0], p[1].born.name, false, why), 0); /* in the slot of the first */
    assert_false(guard_poisoned(guard_find(segment[0].header)));
    for (int i = 0; i < 2; i++) {
        sp__segment_close(&segment[i]);
        producer_finish(&p[i]);
    }
    unguarded();
}

static void a_worker_survives_too(void **state)
{
    (void)state;
    guarded();
    struct producer p;
    struct sp__segment segment;
    char why[256];
    pthread_t thread;
    producer_start(&p, SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
    assert_int_equal(sp__segment_open(&segment, p.born.name, true, why), 0);
    cut(&segment);
    assert_int_equal(pthread_create(&thread, NULL, touch, &segment.header->spooled), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&segment.header->spooled), 7);
    assert_true(guard_poisoned(guard_find(segment.header)));
    sp__segment_close(&segment);
    producer_finish(&p);
    unguarded();
}

/* Cut by another process at any instant of many attaches and drains. */
static void cut_while_it_is_attached_to(void **state)
{
    (void)state;
    guarded();
    for (unsigned i = 0; i < 150; i++) {
        struct producer p;
        struct sp__consumer *c = NULL;
        char why[256], folder[96];
        snprintf(folder, sizeof folder, "%s/data", test_folder);
        producer_start(&p, SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
        producer_lane(&p, 0, 1024, 0);
        producer_call(&p, 0, 1, 2, producer_region(&p, "r"));
        pid_t child = fork();
        if (child == 0) {
            usleep(i * 20);
            _exit(ftruncate(p.born.fd, 0) != 0);
        }
        if (sp__consumer_attach(&c, p.born.name, folder, why) == 0) {
            int rc;
            while ((rc = sp__consumer_drain(c, 0, NULL)) == 0 && !guard_poisoned(guard_find(c->segment.header)))
                sp__consumer_answer(c, 0, 0, SP__FORMAT_TRACE, "/somewhere");
            assert_true(rc == 0 || rc == -EBADMSG);
            sp__consumer_destroy(c);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        producer_finish(&p);
    }
    unguarded();
}

static void another_bus_error_still_ends_the_process(void **state)
{
    (void)state;
    if (SANITIZED) /* which reports the signal itself */
        skip();
    guarded();
    for (int by_kill = 0; by_kill < 2; by_kill++) {
        pid_t child = fork();
        if (child == 0) {
            struct rlimit none = {0, 0};
            setrlimit(RLIMIT_CORE, &none);
            int fd = memfd_create("short", MFD_CLOEXEC);
            unsigned char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            if (by_kill)
                raise(SIGBUS);
            else
                *(volatile unsigned char *)map = 1;
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    }
    unguarded();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_segment_reads_as_zeros_and_is_marked),
        cmocka_unit_test(a_worker_survives_too),
        cmocka_unit_test(cut_while_it_is_attached_to),
        cmocka_unit_test(another_bus_error_still_ends_the_process),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
