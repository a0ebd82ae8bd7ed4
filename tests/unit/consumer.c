/* consumer: exactly once from ring to spool, whoever dies between any two stores. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "producer.h"

static struct producer p;

/* Sequence numbers and starts of all calls of a spool's lane, checked to be without repeats or gaps from `first`. */
static uint64_t check_lane(const char *path, uint16_t lane, uint64_t first)
{
    static struct sp__record records[SP__FRAME_RECORDS_MOST];
    struct sp__spool_reader reader;
    struct sp__identity identity;
    struct sp__frame frame;
    uint64_t next = first;
    uint32_t regions = 0;
    assert_int_equal(sp__spool_reader_open(&reader, path, UINT64_MAX, &identity), 0);
    while (sp__spool_reader_next(&reader, &frame) == 1) {
        if (frame.type == SP__FRAME_REGIONS && frame.first + frame.count > regions)
            regions = (uint32_t)(frame.first + frame.count);
        if (frame.type != SP__FRAME_RECORDS || frame.lane != lane)
            continue;
        assert_true(frame.first == next);
        assert_int_equal(sp__records_decode(reader.payload, frame.length, records, frame.count), 0);
        for (uint32_t i = 0; i < frame.count; i++) {
            assert_true(records[i].start == (next - first + i) * 10);
            assert_true(records[i].region < regions); /* regions stand before the records that name them */
        }
        next += frame.count;
    }
    assert_int_equal(reader.bad_bytes + reader.bad_frames + reader.torn, 0);
    sp__spool_reader_close(&reader);
    return next - first;
}

static void calls(uint32_t lane, uint64_t from, uint64_t count)
{
    for (uint64_t i = from; i < from + count; i++)
        producer_call(&p, lane, i * 10, i * 10 + 5, 0);
}

static void start(uint64_t ring, uint64_t first)
{
    producer_start(&p, SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
    producer_region(&p, "a");
    producer_lane(&p, 0, ring, first);
}

static void ring_wraps_many_times(void **state)
{
    (void)state;
    start(1024, 0);
    struct sp__consumer *c = attach(&p, "data");
    uint64_t made = 0, taken;
    for (uint64_t round = 0; round < 100; round++) {
        uint64_t n = (round * 37) % 1025;
        calls(0, made, n);
        made += n;
        assert_int_equal(sp__consumer_drain(c, 0, &taken), 0);
        assert_int_equal(taken, n);
        assert_true(atomic_load(&p.lanes[0].tail) == made);
    }
    assert_int_equal(sp__consumer_drain(c, 0, &taken), 0);
    assert_int_equal(taken, 0);
    assert_true(check_lane(c->spool.path, 0, 0) == made);
    assert_string_equal(p.header->spool, c->spool.path);
    sp__consumer_destroy(c);
    producer_finish(&p);
}

static void sequence_numbers_wrap(void **state)
{
    const uint64_t first = UINT64_MAX - 100;
    (void)state;
    start(1024, first);
    struct sp__consumer *c = attach(&p, "data");
    calls(0, 0, 90);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    calls(0, 90, 50);
    assert_int_equal(sp__consumer_drain(c, 7, NULL), 0);
    assert_true(sp__consumer_pressure(c) == 43 * 1024 / 1024);
    sp__consumer_destroy(c);
    c = attach(&p, "data");
    calls(0, 140, 900);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    assert_true(check_lane(c->spool.path, 0, first) == 1040);
    sp__consumer_destroy(c);
    producer_finish(&p);
}

static void killed_between_block_and_tail(void **state)
{
    (void)state;
    start(1024, 0);
    calls(0, 0, 300);
    struct sp__consumer *c = attach(&p, "data");
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    sp__consumer_destroy(c);
    atomic_store(&p.lanes[0].tail, 100); /* as if the last store had never come */
    c = attach(&p, "data");
    assert_true(atomic_load(&p.lanes[0].tail) == 300);
    calls(0, 300, 10);
    uint64_t taken;
    assert_int_equal(sp__consumer_drain(c, 0, &taken), 0);
    assert_int_equal(taken, 10);
    assert_true(check_lane(c->spool.path, 0, 0) == 310);
    sp__consumer_destroy(c);
    producer_finish(&p);
}

static void torn_block_is_drained_again(void **state)
{
    (void)state;
    start(1024, 0);
    calls(0, 0, 100);
    struct sp__consumer *c = attach(&p, "data");
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    calls(0, 100, 100);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    char path[SP__PATH_SIZE];
    snprintf(path, sizeof path, "%s", c->spool.path);
    uint64_t size = c->spool.size;
    sp__consumer_destroy(c);
    assert_int_equal(truncate(path, (off_t)size - 9), 0);
    atomic_store(&p.lanes[0].tail, 100);
    c = attach(&p, "data");
    uint64_t taken;
    assert_int_equal(sp__consumer_drain(c, 0, &taken), 0);
    assert_int_equal(taken, 100);
    assert_true(check_lane(path, 0, 0) == 200);
    sp__consumer_destroy(c);
    producer_finish(&p);
}

static void one_consumer_at_a_time(void **state)
{
    char why[256] = "";
    struct sp__consumer *second;
    (void)state;
    start(1024, 0);
    struct sp__consumer *c = attach(&p, "data");
    assert_int_equal(sp__consumer_attach(&second, p.born.name, test_folder, why), -EBUSY);
    assert_true(strlen(why) > 0);
    sp__consumer_destroy(c);
    c = attach(&p, "data");
    sp__consumer_destroy(c);
    producer_finish(&p);
}

static void forked_child_does_not_keep_the_consumers_byte(void **state)
{
    (void)state;
    start(1024, 0);
    struct sp__consumer *c = attach(&p, "data");
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    sp__consumer_destroy(c);
    c = attach(&p, "data");
    sp__consumer_destroy(c);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    producer_finish(&p);
}

static void consumer_with_a_spool_of_its_own(void **state)
{
    char first[SP__PATH_SIZE], second[SP__PATH_SIZE];
    (void)state;
    start(1024, 0);
    struct sp__consumer *c = attach(&p, "data");
    calls(0, 0, 100);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    snprintf(first, sizeof first, "%s", c->spool.path);
    sp__consumer_destroy(c);
    char hidden[SP__PATH_SIZE + 8];
    snprintf(hidden, sizeof hidden, "%s.hidden", first);
    assert_int_equal(rename(first, hidden), 0);
    c = attach(&p, "other"); /* cannot append to what the header names */
    snprintf(second, sizeof second, "%s", c->spool.path);
    assert_true(strcmp(first, second) != 0);
    calls(0, 100, 50);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    sp__consumer_destroy(c);
    assert_int_equal(rename(hidden, first), 0);
    c = attach(&p, "other"); /* goes back to it, where its own stands behind tail */
    assert_string_equal(c->spool.path, first);
    calls(0, 150, 25);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    sp__consumer_destroy(c);
    const char *both[] = {second, first};
    struct sp__recording *r = open_recording(both, 2, NULL);
    assert_int_equal(r->calls, 175);
    assert_int_equal(r->gaps, 0);
    sp__recording_destroy(r);
    struct sp__recording *half = open_recording((const char *[]){first}, 1, NULL);
    assert_int_equal(half->calls, 125);
    assert_int_equal(half->gaps, 50);
    sp__recording_destroy(half);
    producer_finish(&p);
}

static void path_in_the_header_is_not_trusted(void **state)
{
    char victim[128], kept[32] = "";
    (void)state;
    start(1024, 0);
    snprintf(victim, sizeof victim, "%s/victim", test_folder);
    int fd = open(victim, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, "precious", 8), 8);
    snprintf(p.header->spool, sizeof p.header->spool, "%s", victim);
    atomic_store(&p.header->spool_chosen, 1);
    struct sp__consumer *c = attach(&p, "data");
    calls(0, 0, 10);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    assert_true(strcmp(c->spool.path, victim) != 0);
    assert_int_equal(pread(fd, kept, sizeof kept, 0), 8);
    assert_string_equal(kept, "precious");
    close(fd);
    sp__consumer_destroy(c);
    producer_finish(&p);
}

static void scribbled_words_set_the_segment_aside(void **state)
{
    (void)state;
    start(1024, 0);
    struct sp__consumer *c = attach(&p, "data");
    calls(0, 0, 10);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    atomic_store(&p.lanes[0].head, 5); /* backwards */
    assert_int_equal(sp__consumer_drain(c, 0, NULL), -EBADMSG);
    atomic_store(&p.lanes[0].head, UINT64_C(1) << 40);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), -EBADMSG);
    atomic_store(&p.lanes[0].head, 10 + 1024 + 3); /* overrun: what is left is kept, the rest counted */
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    assert_int_equal(c->gaps, 3);
    atomic_store(&p.header->region_count, UINT32_MAX);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), -EBADMSG);
    atomic_store(&p.header->region_count, 1);
    atomic_store(&p.header->lanes_used, UINT32_MAX); /* bounded by what was checked at the opening */
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    struct sp__region *row = (void *)(p.born.map + p.header->regions_offset);
    row[1] = (struct sp__region){.name_offset = UINT64_MAX - 5, .name_length = 10};
    atomic_store(&p.header->region_count, 2);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), -EBADMSG);
    row[1] = (struct sp__region){.name_offset = row[0].name_offset, .name_length = UINT32_MAX};
    assert_int_equal(sp__consumer_drain(c, 0, NULL), -EBADMSG);
    assert_string_equal(c->fault, "a region's name is longer than one can be");
    atomic_store(&p.header->region_count, 1);
    atomic_store(&p.lanes[0].base[1], UINT64_C(1) << 30); /* a reset of what was never recorded */
    atomic_store(&p.header->epoch, 1);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), -EBADMSG);
    assert_string_equal(c->fault, "a reset lies ahead of its lane");
    atomic_store(&p.header->epoch, 0);
    atomic_store(&p.lanes[0].depth, SP__STACK_MOST + 1);
    assert_int_equal(sp__consumer_mark(c, 0), -EBADMSG);
    assert_string_equal(c->fault, "a lane has more open calls than it has room for");
    assert_int_equal(ftruncate(p.born.fd, 4096), 0);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), -EBADMSG);
    sp__consumer_destroy(c);
    producer_finish(&p);
}

static struct sp__consumer *looking;

/* As sp_profiler_reset does it; lane 0 stays where it is. */
static void reset_to(uint32_t epoch)
{
    for (uint32_t lane = 1; lane < p.header->lane_capacity; lane++)
        atomic_store_explicit(&p.lanes[lane].base[epoch & 1], epoch, memory_order_relaxed);
    atomic_store_explicit(&p.header->epoch, epoch, memory_order_release);
}

static void shut_lanes(int protection)
{
    size_t size = looking->segment.lane_capacity * sizeof(struct sp__lane);
    size_t pages = (size + SP__PAGE - 1) / SP__PAGE * SP__PAGE;
    assert_int_equal(mprotect(looking->segment.lanes, pages, protection), 0);
}

static void reset_twice(int signal)
{
    (void)signal;
    shut_lanes(PROT_READ | PROT_WRITE);
    reset_to(2);
    reset_to(3);
}

/* Two resets between the consumer's look at the epoch and its first look at a lane. */
static void bases_of_two_resets_are_not_mixed(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = reset_twice, .sa_flags = (int)SA_RESETHAND}, before;
    start(1024, 0);
    struct sp__consumer *c = looking = attach(&p, "data");
    for (uint32_t lane = 1; lane < p.header->lane_capacity; lane++)
        atomic_store(&p.lanes[lane].head, 10);
    atomic_store(&p.header->lanes_used, p.header->lane_capacity);
    reset_to(1);
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    shut_lanes(PROT_NONE);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_int_equal(atomic_load(&p.header->epoch), 3);
    struct sp__spool_reader reader;
    struct sp__identity identity;
    struct sp__frame frame;
    uint64_t bases[SP__LANES], epoch = 0;
    assert_int_equal(sp__spool_reader_open(&reader, c->spool.path, UINT64_MAX, &identity), 0);
    while (sp__spool_reader_next(&reader, &frame) == 1) {
        if (frame.type != SP__FRAME_BASE)
            continue;
        assert_true(frame.first > epoch && frame.length <= sizeof bases);
        epoch = frame.first;
        memcpy(bases, reader.payload, frame.length);
        for (uint32_t lane = 1; lane < frame.count; lane++)
            assert_int_equal(bases[lane], epoch);
    }
    assert_int_equal(epoch, 3);
    sp__spool_reader_close(&reader);
    sp__consumer_destroy(c);
    producer_finish(&p);
}

static void full_disk_keeps_the_records_in_the_ring(void **state)
{
    (void)state;
    start(1024, 0);
    struct sp__consumer *c = attach(&p, "data");
    calls(0, 0, 100);
    int good = c->spool.fd;
    c->spool.fd = open("/dev/full", O_WRONLY);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), -ENOSPC);
    assert_int_equal(c->spool_error, ENOSPC);
    assert_true(atomic_load(&p.lanes[0].tail) == 0);
    close(c->spool.fd);
    c->spool.fd = good;
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    assert_int_equal(c->spool_error, 0);
    assert_true(check_lane(c->spool.path, 0, 0) == 100);
    sp__consumer_destroy(c);
    producer_finish(&p);
}

/* rm -rf of the data folder while its consumer has the spool open. */
static void removed_spool_comes_back_whole(void **state)
{
    (void)state;
    start(1024, 0);
    struct sp__consumer *c = attach(&p, "data");
    calls(0, 0, 100);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    char path[SP__PATH_SIZE], folder[SP__PATH_SIZE];
    snprintf(path, sizeof path, "%s", c->spool.path);
    snprintf(folder, sizeof folder, "%s/data", test_folder);
    assert_int_equal(nftw(folder, test_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
    calls(0, 100, 50);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    assert_string_equal(c->spool.path, path);
    assert_true(check_lane(path, 0, 0) == 150);
    calls(0, 150, 10);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    assert_true(check_lane(path, 0, 0) == 160);
    sp__consumer_destroy(c);
    producer_finish(&p);
}

/* All of a lane was drained, into a spool that is not here any more: missing, not merely absent. */
static void lost_spool_is_counted(void **state)
{
    (void)state;
    start(1024, 0);
    struct sp__consumer *c = attach(&p, "data");
    calls(0, 0, 100);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    char lost[SP__PATH_SIZE];
    snprintf(lost, sizeof lost, "%s", c->spool.path);
    sp__consumer_destroy(c);
    assert_int_equal(unlink(lost), 0);
    c = attach(&p, "other");
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    assert_int_equal(sp__consumer_mark(c, SP__END_DIED), 0);
    struct sp__recording *r = open_recording((const char *[]){c->spool.path}, 1, NULL);
    assert_int_equal(r->calls, 0);
    assert_int_equal(r->gaps, 100);
    sp__recording_destroy(r);
    sp__consumer_destroy(c);
    producer_finish(&p);
}

static void bounded_drains_serve_every_lane(void **state)
{
    uint64_t taken;
    (void)state;
    start(1024, 0);
    producer_lane(&p, 1, 1024, 0);
    struct sp__consumer *c = attach(&p, "data");
    calls(0, 0, 1024);
    calls(1, 0, 1024);
    assert_int_equal(sp__consumer_drain(c, 100, &taken), 0);
    assert_int_equal(taken, 100);
    assert_int_equal(sp__consumer_drain(c, 100, &taken), 0);
    assert_true(atomic_load(&p.lanes[0].tail) == 100 && atomic_load(&p.lanes[1].tail) == 100);
    sp__consumer_destroy(c);
    producer_finish(&p);
}

static void killed_between_record_and_pop(void **state)
{
    (void)state;
    start(1024, 0);
    producer_region(&p, "b");
    producer_open(&p, 0, 10, 0, 0);
    producer_open(&p, 0, 15, 1, SP__OPEN_UNRECORDED);
    producer_open(&p, 0, 20, 1, 0);
    producer_put(&p, 0, SP__CALL, 20, 30, 1, 2); /* published, but still on the stack */
    producer_die(&p);
    struct sp__consumer *c = attach(&p, "data");
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    assert_int_equal(sp__consumer_mark(c, SP__END_DIED), 0);
    assert_int_equal(sp__consumer_mark(c, SP__END_DIED), 0); /* said once */
    struct sp__recording *r = open_recording((const char *[]){c->spool.path}, 1, NULL);
    assert_int_equal(r->open_call_count, 1);
    assert_int_equal(r->open_calls[0].region, 0);
    assert_int_equal(r->open_calls[0].start_ns, 10);
    assert_int_equal(r->calls, 1);
    assert_true(r->died && r->ended);
    sp__recording_destroy(r);
    sp__consumer_destroy(c);
    producer_remove(&p);
}

static void answer_after_a_consumer_died_answering(void **state)
{
    (void)state;
    start(1024, 0);
    atomic_store(&p.header->answer.seq, 7);
    struct sp__consumer *c = attach(&p, "data");
    sp__consumer_answer(c, 4, ENOSPC, SP__FORMAT_TRACE, "/a/b");
    assert_int_equal(atomic_load(&p.header->answer.seq), 8);
    assert_string_equal(p.header->answer.path, "/a/b");
    sp__consumer_answer(c, 0, 0, SP__FORMAT_TRACE, NULL);
    assert_int_equal(atomic_load(&p.header->answer.seq), 10);
    assert_string_equal(p.header->answer.path, "/a/b");
    sp__consumer_destroy(c);
    producer_finish(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_wraps_many_times),
        cmocka_unit_test(sequence_numbers_wrap),
        cmocka_unit_test(killed_between_block_and_tail),
        cmocka_unit_test(torn_block_is_drained_again),
        cmocka_unit_test(one_consumer_at_a_time),
        cmocka_unit_test(forked_child_does_not_keep_the_consumers_byte),
        cmocka_unit_test(consumer_with_a_spool_of_its_own),
        cmocka_unit_test(path_in_the_header_is_not_trusted),
        cmocka_unit_test(scribbled_words_set_the_segment_aside),
        cmocka_unit_test(bases_of_two_resets_are_not_mixed),
        cmocka_unit_test(full_disk_keeps_the_records_in_the_ring),
        cmocka_unit_test(removed_spool_comes_back_whole),
        cmocka_unit_test(lost_spool_is_counted),
        cmocka_unit_test(bounded_drains_serve_every_lane),
        cmocka_unit_test(killed_between_record_and_pop),
        cmocka_unit_test(answer_after_a_consumer_died_answering),
    };
    return cmocka_run_group_tests_name("consumer", tests, test_setup, test_teardown);
}
