/* recording: rows in order, each record once, threads and resets told apart, damage counted, memory bounded. */
#include <sys/resource.h>

#include "producer.h"

static struct producer p;
static char spool[SP__PATH_SIZE];

static void start(uint32_t mode)
{
    producer_start(&p, SP__CLOCK_MONOTONIC, mode);
    producer_region(&p, "outer");
    producer_region(&p, "inner \xff\"name");
    producer_region(&p, "unused");
    producer_lane(&p, 0, 65536, 0);
}

/* Drains once and leaves. */
static void drain(const char *data, int end)
{
    struct sp__consumer *c = attach(&p, data);
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    if (end >= 0)
        assert_int_equal(sp__consumer_mark(c, (enum sp__end)end), 0);
    snprintf(spool, sizeof spool, "%s", c->spool.path);
    sp__consumer_destroy(c);
}

static struct sp__recording *only(void)
{
    return open_recording((const char *[]){spool}, 1, NULL);
}

/* All of a row, read in pieces, in order. */
static void check_order(const struct sp__recording *r, size_t row)
{
    int64_t last = INT64_MIN, last_end = INT64_MAX;
    for (uint64_t at = 0; at < r->rows[row].calls; at += 1000) {
        int64_t starts[1000], ends[1000];
        int32_t threads[1000];
        size_t n = r->rows[row].calls - at < 1000 ? (size_t)(r->rows[row].calls - at) : 1000;
        assert_int_equal(sp__recording_read(r, row, at, n, starts, ends, threads), 0);
        for (size_t i = 0; i < n; i++) {
            assert_true(starts[i] > last || (starts[i] == last && ends[i] <= last_end));
            assert_true(ends[i] >= starts[i]);
            assert_true(threads[i] >= -1 && threads[i] < (int64_t)r->thread_count);
            last = starts[i];
            last_end = ends[i];
        }
    }
    assert_int_equal(sp__recording_read(r, row, r->rows[row].calls, 1, NULL, NULL, NULL), -EINVAL);
}

static void recursion_stands_outer_first(void **state)
{
    (void)state;
    start(SP__MODE_RECORDS);
    for (uint64_t nest = 0; nest < 100; nest++)
        for (uint64_t depth = 100; depth-- > 0;)
            producer_put(&p, 0, SP__CALL, nest * 1000 + depth / 2, nest * 1000 + 900 - depth, 0, (uint16_t)depth);
    drain("data", SP__END_FINALIZED);
    struct sp__recording *r = only();
    assert_int_equal(r->calls, 10000);
    check_order(r, 0);
    assert_true(r->ended && !r->died);
    assert_int_equal(r->thread_count, 1); /* made up: no marker */
    sp__recording_destroy(r);
    producer_finish(&p);
}

static void regions_keep_their_order_and_late_locations(void **state)
{
    (void)state;
    start(SP__MODE_RECORDS);
    producer_call(&p, 0, 5, 6, 1);
    drain("data", 0);
    producer_locate(&p, 1, "late.c", 17);
    drain("data", 0);
    struct sp__recording *r = only();
    assert_int_equal(r->row_count, 3);
    assert_string_equal(r->rows[0].name, "outer");
    assert_string_equal(r->rows[1].name, "inner \xef\xbf\xbd\"name");
    assert_string_equal(r->rows[1].file, "late.c");
    assert_int_equal(r->rows[1].line, 17);
    assert_int_equal(r->rows[0].line, -1);
    assert_string_equal(r->rows[0].file, "");
    assert_int_equal(r->rows[2].calls, 0);
    sp__recording_destroy(r);
    producer_finish(&p);
}

static void reused_lane_has_several_threads(void **state)
{
    (void)state;
    start(SP__MODE_RECORDS);
    producer_lane(&p, 1, 1024, 0);
    producer_put(&p, 0, SP__THREAD_BEGIN, 1, 1001, 0, 0);
    producer_put(&p, 0, SP__THREAD_IDENT, 77, 1, 0, 0);
    producer_call(&p, 0, 100, 200, 0);
    producer_put(&p, 0, SP__THREAD_END, 300, 42, 0, 0);
    producer_put(&p, 1, SP__THREAD_BEGIN, 150, 1002, 1, 0);
    producer_put(&p, 1, SP__THREAD_IDENT, 78, 2, 1, 0);
    producer_call(&p, 1, 160, 170, 0);
    drain("data", -1);
    uint64_t name[2] = {0};
    memcpy(name, "worker\xc3", 7);
    producer_put(&p, 0, SP__THREAD_BEGIN, 400, 1003, 9, 0); /* a hole in the numbers */
    producer_put(&p, 0, SP__THREAD_NAME, name[0], name[1], 9, 0);
    producer_call(&p, 0, 500, 600, 0);
    drain("data", 0);
    struct sp__recording *r = only();
    int64_t starts[3];
    int32_t threads[3];
    assert_int_equal(r->thread_count, 3);
    assert_int_equal(sp__recording_read(r, 0, 0, 3, starts, NULL, threads), 0);
    assert_int_equal(starts[1], 160);
    assert_int_equal(threads[0], 0);
    assert_int_equal(threads[1], 1);
    assert_int_equal(threads[2], 2);
    assert_true(r->threads[0].main && r->threads[0].end_ns == 300 && r->threads[0].cpu_ns == 42);
    assert_true(r->threads[1].signal && r->threads[1].end_ns == -1 && r->threads[1].native_id == 1002);
    assert_string_equal(r->threads[2].name, "worker?");
    assert_int_equal(r->threads[2].index, 2);
    assert_int_equal(r->last[0], 7);
    assert_int_equal(r->calls, 3);
    sp__recording_destroy(r);
    producer_finish(&p);
}

static void what_was_reset_does_not_come_back(void **state)
{
    (void)state;
    start(SP__MODE_RECORDS);
    for (uint64_t i = 0; i < 100; i++)
        producer_call(&p, 0, i * 10, i * 10 + 5, 0);
    drain("data", 0);
    for (uint64_t i = 100; i < 150; i++)
        producer_call(&p, 0, i * 10, i * 10 + 5, 0);
    atomic_store(&p.lanes[0].base[1], 150);
    atomic_store_explicit(&p.header->epoch, 1, memory_order_release);
    producer_call(&p, 0, 5000, 5001, 0);
    drain("data", 0);
    struct sp__recording *r = only();
    assert_int_equal(r->calls, 1);
    assert_int_equal(r->start_ns, 5000);
    assert_int_equal(r->gaps, 0);
    sp__recording_destroy(r);
    /* A spool without the records before: no gap, they were forgotten. And again over the living segment. */
    struct sp__recording *live = open_recording((const char *[]){spool}, 1, p.born.name);
    assert_int_equal(live->calls, 1);
    sp__recording_destroy(live);
    producer_finish(&p);
}

static void overlapping_spools_count_once(void **state)
{
    char first[SP__PATH_SIZE];
    (void)state;
    start(SP__MODE_RECORDS);
    for (uint64_t i = 0; i < 1000; i++)
        producer_call(&p, 0, i * 10, i * 10 + 5, (uint32_t)i % 2);
    drain("data", 0);
    memcpy(first, spool, sizeof first);
    atomic_store(&p.lanes[0].tail, 400); /* a second consumer that takes part of it again, into a spool of its own */
    atomic_store(&p.header->spool_chosen, 0);
    for (uint64_t i = 1000; i < 1100; i++)
        producer_call(&p, 0, i * 10, i * 10 + 5, 0);
    drain("other", 0);
    const char *paths[] = {spool, first, spool};
    struct sp__recording *r = open_recording(paths, 3, NULL);
    assert_int_equal(r->calls, 1100);
    assert_int_equal(r->gaps, 0);
    check_order(r, 0);
    check_order(r, 1);
    sp__recording_destroy(r);
    r = open_recording((const char *[]){spool}, 1, NULL);
    assert_int_equal(r->calls, 700);
    assert_int_equal(r->gaps, 400);
    sp__recording_destroy(r);
    uint64_t ends[1] = {0};
    struct sp__recording_source source = {.spools = paths, .spool_count = 1, .ends = ends, .scratch_dir = test_folder};
    char why[256];
    assert_int_equal(sp__recording_create(&r, &source, why), -ENODATA);
    producer_finish(&p);
}

/* Between a look at a session and the opening of what it found: a first consumer drained the ring into a new spool. */
static void ring_drained_after_the_look_is_not_a_gap(void **state)
{
    (void)state;
    start(SP__MODE_RECORDS);
    producer_call(&p, 0, 1, 2, 0);
    drain("data", -1);
    producer_call(&p, 0, 3, 4, 0);
    struct sp__recording *r;
    struct sp__recording_source source = {.live = p.born.name, .scratch_dir = test_folder};
    assert_int_equal(sp__recording_create(&r, &source, NULL), -ENOENT);
    source.spools = (const char *[]){spool};
    source.spool_count = 1;
    assert_int_equal(sp__recording_create(&r, &source, NULL), 0);
    assert_int_equal(r->calls, 2);
    assert_int_equal(r->gaps, 0);
    sp__recording_destroy(r);
    producer_finish(&p);
}

/* ... or the program died, and the name is that of the rank's next life. */
static void next_life_under_the_name_is_not_taken_for_this_one(void **state)
{
    (void)state;
    char dead[33] = "00000000000000000000000000000001";
    start(SP__MODE_RECORDS);
    producer_call(&p, 0, 1, 2, 0);
    drain("data", -1);
    struct sp__recording *r;
    struct sp__recording_source source = {.spools = (const char *[]){spool},
                                          .spool_count = 1,
                                          .live = p.born.name,
                                          .incarnation = dead,
                                          .scratch_dir = test_folder};
    assert_int_equal(sp__recording_create(&r, &source, NULL), -ENOENT); /* the rest of it may stand elsewhere */
    drain("data", SP__END_DIED);
    assert_int_equal(sp__recording_create(&r, &source, NULL), 0); /* its spool says that this is all */
    assert_int_equal(r->calls, 1);
    sp__recording_destroy(r);
    source.spool_count = 0;
    assert_int_equal(sp__recording_create(&r, &source, NULL), -ENOENT);
    producer_finish(&p);
}

static void spools_of_two_lives_are_refused(void **state)
{
    char first[SP__PATH_SIZE], why[256] = "";
    struct sp__recording *r;
    (void)state;
    start(SP__MODE_RECORDS);
    drain("data", 0);
    memcpy(first, spool, sizeof first);
    producer_finish(&p);
    start(SP__MODE_RECORDS);
    drain("data", 0);
    const char *paths[] = {first, spool};
    struct sp__recording_source source = {.spools = paths, .spool_count = 2, .scratch_dir = test_folder};
    assert_int_equal(sp__recording_create(&r, &source, why), -EINVAL);
    assert_non_null(strstr(why, "incarnation"));
    producer_finish(&p);
}

static void flipped_byte_costs_one_block(void **state)
{
    uint64_t size[3];
    (void)state;
    start(SP__MODE_RECORDS);
    for (int block = 0; block < 3; block++) {
        for (uint64_t i = 0; i < 100; i++)
            producer_call(&p, 0, i * 10, i * 10 + 5, 0);
        drain("data", -1);
        struct stat st;
        assert_int_equal(stat(spool, &st), 0);
        size[block] = (uint64_t)st.st_size;
    }
    for (uint64_t at = size[0]; at < size[1]; at += 7) {
        int fd = open(spool, O_RDWR);
        unsigned char byte;
        assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
        struct sp__recording *r = only();
        assert_int_equal(r->calls, 200);
        assert_int_equal(r->gaps, 100);
        assert_true(r->bad_bytes > 0);
        sp__recording_destroy(r);
        byte ^= 1;
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
        close(fd);
    }
    producer_finish(&p);
}

static void clock_that_stepped_back_is_mended(void **state)
{
    (void)state;
    start(SP__MODE_RECORDS);
    producer_call(&p, 0, 100, 50, 0);
    producer_call(&p, 0, UINT64_MAX, 3, 1);
    producer_call(&p, 0, 7, UINT64_MAX, 1);
    producer_call(&p, 0, 8, 9, UINT32_MAX); /* no such region */
    producer_call(&p, 0, 8, 9, 5000);       /* one whose name is not known */
    drain("data", 0);
    struct sp__recording *r = only();
    assert_int_equal(r->calls, 4);
    assert_int_equal(r->counters.mended, 2);
    assert_int_equal(r->gaps, 1);
    assert_string_equal(r->rows[r->row_count - 1].name, "(region 5000)");
    check_order(r, 1);
    sp__recording_destroy(r);
    producer_finish(&p);
}

static void ended_open_call_is_not_open_any_more(void **state)
{
    (void)state;
    start(SP__MODE_RECORDS);
    producer_put(&p, 0, SP__THREAD_BEGIN, 1, 1001, 0, 0);
    producer_open(&p, 0, 10, 0, 0);
    producer_open(&p, 0, 20, 1, 0);
    drain("data", 0);
    producer_put(&p, 0, SP__CALL, 20, 30, 1, 1);
    drain("data", -1);
    struct sp__recording *r = only();
    assert_int_equal(r->open_call_count, 1);
    assert_int_equal(r->open_calls[0].start_ns, 10);
    assert_int_equal(r->open_calls[0].thread, 0);
    sp__recording_destroy(r);
    atomic_store(&p.lanes[0].depth, 0);
    producer_put(&p, 0, SP__CALL, 10, 40, 0, 0);
    drain("data", 0);
    r = only();
    assert_int_equal(r->open_call_count, 0);
    assert_int_equal(r->calls, 2);
    sp__recording_destroy(r);
    producer_finish(&p);
}

static void statistics_of_lanes_are_summed(void **state)
{
    (void)state;
    start(SP__MODE_STATS);
    producer_lane(&p, 1, 1024, 0);
    for (uint32_t lane = 0; lane < 2; lane++) {
        uint64_t *table = (void *)(p.born.map + p.lanes[lane].stats_offset);
        uint64_t at = producer_take(&p, SP__STATS_REGIONS * sizeof(struct sp__stats));
        struct sp__stats *stats = (void *)(p.born.map + at);
        stats[1] =
            (struct sp__stats){.calls = 10, .total = 100, .minimum = 2 + lane, .maximum = 50 + lane, .exclusive = 90};
        table[0] = at;
    }
    atomic_store(&p.lanes[1].dropped, 5);
    atomic_store(&p.lanes[0].waited_ns, 6);
    atomic_store(&p.header->lost_no_lane, 9);
    drain("data", SP__END_FINALIZED);
    struct sp__recording *r = only();
    assert_int_equal(r->stats_count, 1);
    assert_int_equal(r->stats[0].region, 1);
    assert_int_equal(r->stats[0].calls, 20);
    assert_int_equal(r->stats[0].total, 200);
    assert_int_equal(r->stats[0].minimum, 2);
    assert_int_equal(r->stats[0].maximum, 51);
    assert_int_equal(r->stats[0].exclusive, 180);
    assert_int_equal(r->counters.dropped, 5);
    assert_int_equal(r->counters.waited_ns, 6);
    assert_int_equal(r->counters.lost_no_lane, 9);
    sp__recording_destroy(r);
    producer_finish(&p);
}

/* A spool written frame by frame: lanes whose calls overlap in time, in more batches than fit into memory at once. */
/* What a damaged or hostile segment may hold: sums that overflow, a minimum above the maximum. */
static void statistics_run_over(void **state)
{
    (void)state;
    start(SP__MODE_STATS);
    producer_lane(&p, 1, 1024, 0);
    for (uint32_t lane = 0; lane < 2; lane++) {
        uint64_t *table = (void *)(p.born.map + p.lanes[lane].stats_offset);
        uint64_t at = producer_take(&p, SP__STATS_REGIONS * sizeof(struct sp__stats));
        struct sp__stats *stats = (void *)(p.born.map + at);
        stats[0] = (struct sp__stats){.calls = 1, .total = 90, .minimum = UINT64_MAX - lane, .maximum = 90};
        stats[1] = (struct sp__stats){UINT64_MAX - 1, UINT64_MAX / 2, 7, UINT64_MAX / 2, UINT64_MAX, 0};
        table[0] = at;
    }
    drain("data", SP__END_FINALIZED);
    struct sp__recording *r = only();
    assert_int_equal(r->stats_count, 2);
    for (size_t i = 0; i < r->stats_count; i++) {
        const struct sp__region_stats *s = &r->stats[i];
        assert_true(s->minimum >= 0 && s->minimum <= s->maximum && s->maximum <= s->total);
        assert_true(s->exclusive >= 0 && s->exclusive <= s->total);
        assert_true(s->calls <= INT64_MAX);
    }
    assert_int_equal(r->stats[0].minimum, 90);
    assert_int_equal(r->stats[1].total, INT64_MAX);
    sp__recording_destroy(r);
    producer_finish(&p);
}

static void write_large(uint32_t lanes, uint64_t frames)
{
    static struct sp__record records[SP__FRAME_RECORDS_MOST];
    static unsigned char bytes[SP__FRAME_RECORDS_MOST * SP__ENCODED_MOST];
    struct sp__identity identity;
    struct sp__spool_state resumed;
    struct sp__spool s;
    identity_make(&identity, SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
    snprintf(spool, sizeof spool, "%s/large-%u.spool", test_folder, lanes);
    unlink(spool);
    assert_int_equal(sp__spool_open(&s, spool, &identity, &resumed), 0);
    for (uint64_t frame = 0; frame < frames; frame++) {
        uint16_t lane = (uint16_t)(frame % lanes);
        uint64_t first = frame / lanes * SP__FRAME_RECORDS_MOST;
        for (uint32_t i = 0; i < SP__FRAME_RECORDS_MOST; i++) {
            uint64_t at = (first + i) * 100 + lane;
            records[i] = (struct sp__record){at, at + 60, i % 5, 0, SP__CALL};
        }
        size_t length = sp__records_encode(records, SP__FRAME_RECORDS_MOST, bytes);
        assert_int_equal(
            sp__spool_append(&s, SP__FRAME_RECORDS, lane, first, SP__FRAME_RECORDS_MOST, bytes, (uint32_t)length), 0);
    }
    sp__spool_close(&s);
}

/* Sanitizers keep freed memory for a while, and are slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static long peak_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void memory_does_not_grow_with_calls(void **state)
{
    (void)state;
    long peak[2];
    for (int i = 0; i < 2; i++) {
        uint64_t frames = i == 0 ? 260 : SANITIZED ? 270 : 900; /* 2.1 and 7.4 million calls */
        write_large(3, frames);
        struct sp__recording *r = only();
        assert_int_equal(r->calls, frames * SP__FRAME_RECORDS_MOST);
        assert_int_equal(r->thread_count, 3);
        for (size_t row = 0; row < 5; row++)
            check_order(r, row);
        sp__recording_destroy(r);
        unlink(spool);
        peak[i] = peak_kib();
    }
    assert_true(SANITIZED || peak[1] - peak[0] < 8 * 1024);
    write_large(1, 300);
    struct sp__recording *r = only();
    for (size_t row = 0; row < 5; row++)
        check_order(r, row);
    sp__recording_destroy(r);
}

static void scratch_without_room_is_an_error(void **state)
{
    struct sp__recording *r;
    struct rlimit old, small;
    char why[256] = "";
    (void)state;
    write_large(1, 4);
    struct sp__recording_source source = {
        .spools = (const char *[]){spool}, .spool_count = 1, .scratch_dir = "/nonexistent"};
    assert_int_equal(sp__recording_create(&r, &source, why), -ENOENT);
    assert_non_null(strstr(why, "/nonexistent"));
    source.scratch_dir = test_folder;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &small);
    int rc = sp__recording_create(&r, &source, why);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(rc, -EFBIG);
}

static void clock_of_ticks_is_converted(void **state)
{
    (void)state;
    if (sp__clock_choose(SP__CLOCK_TSC) != SP__CLOCK_TSC)
        skip();
    producer_start(&p, SP__CLOCK_TSC, SP__MODE_RECORDS);
    producer_region(&p, "a");
    producer_lane(&p, 0, 1024, 0);
    struct timespec nap = {.tv_nsec = 20000000};
    int64_t mono[10];
    for (int i = 0; i < 10; i++) {
        uint64_t begin = sp__clock_now(SP__CLOCK_TSC);
        mono[i] = (int64_t)sp__clock_mono();
        nanosleep(&nap, NULL);
        producer_call(&p, 0, begin, sp__clock_now(SP__CLOCK_TSC), 0);
        struct sp__anchor anchor = sp__clock_anchor(SP__CLOCK_TSC);
        producer_put(&p, 0, SP__ANCHOR, anchor.ticks, (uint64_t)anchor.mono_ns, 0, 0);
    }
    drain("data", SP__END_FINALIZED);
    struct sp__recording *r = only();
    int64_t starts[10], ends[10];
    assert_int_equal(sp__recording_read(r, 0, 0, 10, starts, ends, NULL), 0);
    for (int i = 0; i < 10; i++) {
        assert_in_range(starts[i] + 100000, mono[i], mono[i] + 200000);
        assert_true(ends[i] - starts[i] >= 20000000);
    }
    assert_true(r->end_ns >= ends[9]);
    sp__recording_destroy(r);
    producer_finish(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_does_not_grow_with_calls),
        cmocka_unit_test(recursion_stands_outer_first),
        cmocka_unit_test(regions_keep_their_order_and_late_locations),
        cmocka_unit_test(reused_lane_has_several_threads),
        cmocka_unit_test(what_was_reset_does_not_come_back),
        cmocka_unit_test(overlapping_spools_count_once),
        cmocka_unit_test(ring_drained_after_the_look_is_not_a_gap),
        cmocka_unit_test(next_life_under_the_name_is_not_taken_for_this_one),
        cmocka_unit_test(spools_of_two_lives_are_refused),
        cmocka_unit_test(flipped_byte_costs_one_block),
        cmocka_unit_test(clock_that_stepped_back_is_mended),
        cmocka_unit_test(ended_open_call_is_not_open_any_more),
        cmocka_unit_test(statistics_of_lanes_are_summed),
        cmocka_unit_test(statistics_run_over),
        cmocka_unit_test(scratch_without_room_is_an_error),
        cmocka_unit_test(clock_of_ticks_is_converted),
    };
    return cmocka_run_group_tests_name("recording", tests, test_setup, test_teardown);
}
