/* spool: damage costs the damaged frame alone; a torn end is cut; nobody else's file is written to. */
#include <signal.h>
#include <sys/resource.h>

#include "producer.h"

static struct sp__identity identity;
static struct sp__spool_state resumed;
static struct sp__spool spool;
static char path[SP__PATH_SIZE];

static void fresh(void)
{
    identity_make(&identity, SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
    snprintf(path, sizeof path, "%s/data/%s/it.spool", test_folder, identity.session);
    assert_int_equal(sp__spool_open(&spool, path, &identity, &resumed), 0);
    assert_int_equal(resumed.torn, 0);
}

static void add(uint16_t lane, uint64_t first, uint32_t count)
{
    static struct sp__record records[1000];
    static unsigned char bytes[1000 * SP__ENCODED_MOST];
    for (uint32_t i = 0; i < count; i++)
        records[i] = (struct sp__record){100 * (first + i), 100 * (first + i) + 50, 1, 0, SP__CALL};
    size_t length = sp__records_encode(records, count, bytes);
    assert_int_equal(sp__spool_append(&spool, SP__FRAME_RECORDS, lane, first, count, bytes, (uint32_t)length), 0);
}

static void flip(uint64_t at)
{
    int fd = open(path, O_RDWR);
    unsigned char byte;
    assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
}

/* Records that can be read, over all frames. */
static uint64_t readable(uint64_t *ret_bad_bytes, uint64_t *ret_bad_frames, uint64_t *ret_torn)
{
    struct sp__spool_reader reader;
    struct sp__identity found;
    struct sp__frame frame;
    uint64_t records = 0;
    int rc;
    assert_int_equal(sp__spool_reader_open(&reader, path, UINT64_MAX, &found), 0);
    assert_memory_equal(&found, &identity, sizeof found);
    while ((rc = sp__spool_reader_next(&reader, &frame)) == 1)
        if (frame.type == SP__FRAME_RECORDS)
            records += frame.count;
    assert_int_equal(rc, 0);
    *ret_bad_bytes = reader.bad_bytes;
    *ret_bad_frames = reader.bad_frames;
    *ret_torn = reader.torn;
    sp__spool_reader_close(&reader);
    return records;
}

static void reopening_goes_on_where_it_ended(void **state)
{
    uint64_t bad, frames, torn;
    (void)state;
    fresh();
    add(0, 0, 100);
    add(2, 0, 10);
    add(0, 100, 50);
    sp__spool_close(&spool);
    assert_int_equal(sp__spool_open(&spool, path, &identity, &resumed), 0);
    assert_int_equal(resumed.next[0], 150);
    assert_int_equal(resumed.next[2], 10);
    assert_true(resumed.seen[2] && !resumed.seen[1]);
    add(0, 150, 1);
    sp__spool_close(&spool);
    assert_int_equal(readable(&bad, &frames, &torn), 161);
    assert_int_equal(bad + frames + torn, 0);
}

static void torn_end_is_cut_at_every_byte(void **state)
{
    (void)state;
    fresh();
    add(0, 0, 20);
    uint64_t whole = spool.size;
    add(0, 20, 20);
    uint64_t full = spool.size;
    sp__spool_close(&spool);
    for (uint64_t cut = full - 1; cut > whole; cut--) {
        assert_int_equal(truncate(path, (off_t)cut), 0);
        uint64_t bad, frames, torn;
        assert_int_equal(readable(&bad, &frames, &torn), 20);
        assert_int_equal(torn, cut - whole);
        assert_int_equal(bad + frames, 0);
    }
    assert_int_equal(sp__spool_open(&spool, path, &identity, &resumed), 0);
    assert_int_equal(resumed.torn, 1);
    assert_int_equal(resumed.next[0], 20);
    add(0, 20, 20);
    sp__spool_close(&spool);
    uint64_t bad, frames, torn;
    assert_int_equal(readable(&bad, &frames, &torn), 40);
    assert_int_equal(bad + frames + torn, 0);
}

static void end_whose_payload_never_arrived_is_not_trusted(void **state)
{
    (void)state;
    fresh();
    add(0, 0, 20);
    uint64_t whole = spool.size;
    add(0, 20, 20);
    flip(spool.size - 3);
    sp__spool_close(&spool);
    assert_int_equal(sp__spool_open(&spool, path, &identity, &resumed), 0);
    assert_int_equal(resumed.next[0], 20);
    assert_int_equal(spool.size, whole);
    sp__spool_close(&spool);
}

static void flipped_byte_costs_its_frame_alone(void **state)
{
    (void)state;
    fresh();
    add(0, 0, 100);
    uint64_t from = spool.size;
    add(0, 100, 100);
    uint64_t to = spool.size;
    add(0, 200, 100);
    sp__spool_close(&spool);
    for (uint64_t at = from; at < to; at++) {
        uint64_t bad, frames, torn;
        flip(at);
        assert_int_equal(readable(&bad, &frames, &torn), 200);
        assert_true(bad > 0 && bad <= to - from);
        assert_int_equal(torn, 0);
        flip(at);
    }
}

static void damaged_first_frame_is_read_by_a_later_identity(void **state)
{
    uint64_t bad, frames, torn;
    (void)state;
    fresh();
    add(0, 0, 100);
    assert_int_equal(sp__spool_append(&spool, SP__FRAME_SEGMENT, 0, SP__SPOOL_VERSION, 1, &identity, sizeof identity),
                     0);
    sp__spool_close(&spool);
    flip(5);
    assert_int_equal(readable(&bad, &frames, &torn), 100);
}

static void other_files_are_left_alone(void **state)
{
    struct sp__identity other;
    char link[SP__PATH_SIZE + 8], fifo[128];
    (void)state;
    fresh();
    add(0, 0, 5);
    sp__spool_close(&spool);
    identity_make(&other, SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
    assert_int_equal(sp__spool_open(&spool, path, &other, &resumed), -EEXIST);
    snprintf(link, sizeof link, "%s.link", path);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(sp__spool_reopen(&spool, link, &identity, &resumed), -ELOOP);
    assert_int_equal(sp__spool_open(&spool, link, &identity, &resumed), -EEXIST);
    snprintf(fifo, sizeof fifo, "%s/fifo.spool", test_folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(sp__spool_reopen(&spool, fifo, &identity, &resumed), -EEXIST);
    unlink(fifo);
    unlink(link);
    snprintf(link, sizeof link, "%s.not", path);
    assert_int_equal(sp__spool_reopen(&spool, link, &identity, &resumed), -ENOENT);
    FILE *text = fopen(link, "w");
    for (int i = 0; i < 10000; i++)
        fputs("a text of somebody's\n", text);
    fclose(text);
    assert_int_equal(sp__spool_open(&spool, link, &identity, &resumed), -EEXIST);
    struct stat st;
    assert_int_equal(stat(link, &st), 0);
    assert_int_equal(st.st_size, 210000);
}

static void maker_killed_before_its_first_frame(void **state)
{
    (void)state;
    fresh();
    sp__spool_close(&spool);
    for (off_t size = 0; size < 60; size += 20) {
        assert_int_equal(truncate(path, size), 0);
        assert_int_equal(sp__spool_open(&spool, path, &identity, &resumed), 0);
        assert_int_equal(resumed.torn, size);
        add(0, 0, 5);
        sp__spool_close(&spool);
        uint64_t bad, frames, torn;
        assert_int_equal(readable(&bad, &frames, &torn), 5);
    }
}

static void file_size_limit_is_an_error_and_no_signal(void **state)
{
    struct rlimit old, small;
    (void)state;
    fresh();
    add(0, 0, 100);
    uint64_t size = spool.size;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = size + 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    unsigned char bytes[100] = {0};
    int rc = sp__spool_append(&spool, SP__FRAME_RECORDS, 0, 100, 1, bytes, sizeof bytes);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, -EFBIG);
    assert_int_equal(spool.size, size);
    add(0, 100, 100);
    sp__spool_close(&spool);
    uint64_t bad, frames, torn;
    assert_int_equal(readable(&bad, &frames, &torn), 200);
    assert_int_equal(bad + frames + torn, 0);
}

static void sequence_numbers_wrap(void **state)
{
    (void)state;
    fresh();
    add(1, UINT64_MAX - 49, 100);
    add(1, 50, 7);
    sp__spool_close(&spool);
    assert_int_equal(sp__spool_open(&spool, path, &identity, &resumed), 0);
    assert_true(resumed.seen[1] && resumed.next[1] == 57);
    sp__spool_close(&spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reopening_goes_on_where_it_ended),
        cmocka_unit_test(torn_end_is_cut_at_every_byte),
        cmocka_unit_test(end_whose_payload_never_arrived_is_not_trusted),
        cmocka_unit_test(flipped_byte_costs_its_frame_alone),
        cmocka_unit_test(damaged_first_frame_is_read_by_a_later_identity),
        cmocka_unit_test(other_files_are_left_alone),
        cmocka_unit_test(maker_killed_before_its_first_frame),
        cmocka_unit_test(file_size_limit_is_an_error_and_no_signal),
        cmocka_unit_test(sequence_numbers_wrap),
    };
    return cmocka_run_group_tests_name("spool", tests, test_setup, test_teardown);
}
