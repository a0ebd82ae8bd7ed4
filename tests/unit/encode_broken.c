/* encode_broken: in a test build a consumer whose encoding is wrong in one byte dies before it writes the frame, and the
 * records stay in the ring for one whose encoding is right. */
#include <signal.h>
#include <sys/wait.h>

#include "producer.h"

static bool broken;

/* What the linker puts in the encoder's place, and the encoder. */
size_t __real_sp__records_encode(const struct sp__record *records, size_t count, unsigned char *buffer);
size_t __wrap_sp__records_encode(const struct sp__record *records, size_t count, unsigned char *buffer);

size_t __wrap_sp__records_encode(const struct sp__record *records, size_t count, unsigned char *buffer)
{
    size_t length = __real_sp__records_encode(records, count, buffer);
    if (broken)
        buffer[length / 2] ^= 1;
    return length;
}

static void nothing_wrong_is_written(void **state)
{
    struct producer p;
    int status;
    (void)state;
    producer_start(&p, SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
    producer_region(&p, "a");
    producer_lane(&p, 0, 1024, 0);
    for (uint64_t i = 0; i < 100; i++)
        producer_call(&p, 0, i * 100, i * 100 + 50, 0);
    pid_t child = fork();
    if (child == 0) {
        broken = true;
        struct sp__consumer *c = attach(&p, "data");
        (void)sp__consumer_drain(c, 0, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    uint64_t taken = 0;
    struct sp__consumer *c = attach(&p, "data");
    assert_int_equal(sp__consumer_drain(c, 0, &taken), 0);
    assert_int_equal(taken, 100);
    sp__consumer_destroy(c);
    producer_finish(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_wrong_is_written)};
    return cmocka_run_group_tests_name("encode_broken", tests, test_setup, test_teardown);
}
