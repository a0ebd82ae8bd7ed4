/* recover: a call whose start and end are there is saved, whatever happened to the bytes around it, and none is made up.
 */
#include "producer.h"

#include "scope_profiler_io.h"

enum { BYTES = 8192, REGIONS = 16, CALLS = 256 };

struct trace {
    bool big;
    int version;
    size_t regions;
    struct {
        char name[64];
        size_t at, calls_at, starts_at, end, calls;
        int64_t start[CALLS], end_ns[CALLS];
    } region[REGIONS];
};

static unsigned char good[BYTES];
static size_t length;
static struct trace whole, saved;
static char broken[256], output[128];
static unsigned losses;
static const char *const fixtures[] = {"v2-little_rank00000.spt", "v2-big_rank00001.spt", "v1-little_rank00002.spt",
                                       "v1-big_rank00003.spt", "recursive_rank00004.spt"};

static int64_t number(const unsigned char *at, size_t size, bool big)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value = value << 8 | at[big ? i : size - 1 - i];
    return size == 4 ? (int32_t)value : (int64_t)value;
}

static size_t load(const char *path, unsigned char *data)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, data, BYTES);
    close(fd);
    assert_true(n >= 0 && n < BYTES);
    return (size_t)n;
}

static void save(const unsigned char *data, size_t size)
{
    int fd = open(broken, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, size), size);
    close(fd);
}

static void parse(const unsigned char *data, size_t size, struct trace *ret)
{
    ret->big = data[8] == 0;
    ret->version = (int)number(data + 8, 4, ret->big);
    ret->regions = (size_t)number(data + 16, 8, ret->big);
    assert_true(ret->regions <= REGIONS);
    size_t at = 24;
    for (size_t r = 0; r < ret->regions; r++) {
        ret->region[r].at = at;
        size_t name = (size_t)number(data + at, 4, ret->big);
        snprintf(ret->region[r].name, sizeof ret->region[r].name, "%.*s", (int)name, (const char *)data + at + 4);
        at += 4 + name;
        if (ret->version == 2)
            at += 4 + (size_t)number(data + at, 4, ret->big) + 4;
        ret->region[r].calls_at = at;
        size_t calls = (size_t)number(data + at, 8, ret->big);
        assert_true(calls <= CALLS);
        at += 8;
        ret->region[r].starts_at = at;
        ret->region[r].calls = calls;
        for (size_t i = 0; i < calls; i++) {
            ret->region[r].start[i] = number(data + at + 8 * i, 8, ret->big);
            ret->region[r].end_ns[i] = number(data + at + 8 * (calls + i), 8, ret->big);
        }
        at += 16 * calls;
        ret->region[r].end = at;
    }
    assert_int_equal(at, size);
}

static void load_fixture(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", SP_TEST_FIXTURES, name);
    length = load(path, good);
    parse(good, length, &whole);
}

static void lost(void *context, const char *place, const char *text)
{
    (void)context;
    assert_true(*place && *text);
    losses++;
}

/* What is saved is in `saved`; no regions where nothing is. */
static int recover(sp_recover_report *report)
{
    static unsigned char data[BYTES];
    sp_error error = {0};
    losses = 0;
    saved.regions = 0;
    unlink(output);
    int status = sp_recover(broken, output, NULL, lost, NULL, report, &error);
    if (status) {
        assert_int_equal(error.status, status);
        assert_non_null(strstr(error.text, broken));
        assert_int_equal(access(output, F_OK), -1);
    } else {
        parse(data, load(output, data), &saved);
    }
    return status;
}

/* How many calls of a region are saved as they were; *ret_other: and how many that were none. */
static size_t same_calls(size_t region, size_t *ret_other)
{
    size_t same = 0;
    *ret_other = 0;
    for (size_t r = 0; r < saved.regions; r++) {
        if (strcmp(saved.region[r].name, whole.region[region].name) != 0)
            continue;
        for (size_t i = 0, k = 0; i < saved.region[r].calls; i++) {
            size_t from = k;
            while (k < whole.region[region].calls && (saved.region[r].start[i] != whole.region[region].start[k] ||
                                                      saved.region[r].end_ns[i] != whole.region[region].end_ns[k]))
                k++;
            if (k < whole.region[region].calls) {
                same++;
                k++;
            } else {
                k = from;
                ++*ret_other;
            }
        }
    }
    return same;
}

static void cut_takes_a_whole_call_or_makes_one_up(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof fixtures / sizeof *fixtures; f++) {
        load_fixture(fixtures[f]);
        for (size_t cut = 0; cut < length; cut += 1 + cut % 3) {
            sp_recover_report report;
            save(good, cut);
            size_t wanted = 0;
            int status = recover(&report);
            assert_true(!status || status == SP_ERR_TRACE_FORMAT);
            for (size_t r = 0; r < whole.regions; r++) {
                size_t ends_at = whole.region[r].starts_at + 8 * whole.region[r].calls, other;
                size_t there = cut < ends_at ? 0 : (cut - ends_at) / 8;
                there = there < whole.region[r].calls ? there : whole.region[r].calls;
                if (same_calls(r, &other) != there || other)
                    fail_msg("%s cut at %zu: not %zu calls of %s", fixtures[f], cut, there, whole.region[r].name);
                wanted += there;
            }
            assert_int_equal(status == 0, wanted > 0);
            assert_true(status || (report.calls == wanted && losses));
        }
    }
}

static void one_damaged_byte_costs_more_than_its_region(void **state)
{
    (void)state;
    static unsigned char bad[BYTES];
    for (size_t f = 0; f < 2; f++) {
        load_fixture(fixtures[3 * f]);
        for (size_t at = 24; at < length; at += 1 + at % 2) {
            sp_recover_report report;
            memcpy(bad, good, length);
            bad[at] ^= (unsigned char)(at % 3 ? 0xff : 1U << (at % 8));
            save(bad, length);
            assert_int_equal(recover(&report), 0);
            for (size_t r = 0; r < whole.regions; r++) {
                size_t other, same = same_calls(r, &other), calls = whole.region[r].calls;
                bool hit = at >= whole.region[r].at && at < whole.region[r].end;
                /* Of a damaged time the call is lost, or kept where its order says nothing; of a damaged name all. */
                size_t spared = !hit ? calls : at >= whole.region[r].starts_at ? calls - (calls > 1 ? 2 : 1) : 0;
                if (same < spared || other > (hit ? 1 : 0))
                    fail_msg("%s, byte %zu: %zu calls of %zu of %s, and %zu others", fixtures[3 * f], at, same, calls,
                             whole.region[r].name, other);
            }
        }
    }
}

static void damaged_number_of_calls_costs_calls(void **state)
{
    (void)state;
    static unsigned char bad[BYTES];
    for (size_t f = 0; f < 4; f++) {
        load_fixture(fixtures[f]);
        for (size_t r = 0; r < whole.regions; r++)
            for (unsigned bit = 0; bit < 64; bit += 1 + bit / 8) {
                sp_recover_report report;
                memcpy(bad, good, length);
                bad[whole.region[r].calls_at + bit / 8] ^= (unsigned char)(1U << (bit % 8));
                save(bad, length);
                assert_int_equal(recover(&report), 0);
                assert_int_not_equal(losses, 0);
                for (size_t k = 0; k < whole.regions; k++) {
                    size_t other, same = same_calls(k, &other);
                    if (same != whole.region[k].calls || other)
                        fail_msg("%s, bit %u of %s: %zu calls of %zu of %s, and %zu others", fixtures[f], bit,
                                 whole.region[r].name, same, whole.region[k].calls, whole.region[k].name, other);
                }
            }
    }
}

static void damaged_head_of_the_file_costs_a_call(void **state)
{
    (void)state;
    static unsigned char bad[BYTES];
    for (size_t f = 0; f < 4; f++) {
        load_fixture(fixtures[f]);
        for (size_t at = 0; at < 24; at++) {
            sp_recover_report report;
            memcpy(bad, good, length);
            bad[at] ^= 0x81;
            save(bad, length);
            assert_int_equal(recover(&report), 0);
            assert_int_equal(losses == 0, at >= 12 && at < 16 && number(bad + 12, 4, whole.big) >= 0);
            for (size_t r = 0; r < whole.regions; r++) {
                size_t other;
                assert_int_equal(same_calls(r, &other), whole.region[r].calls);
                assert_int_equal(other, 0);
            }
        }
    }
}

static void sound_file_loses_something(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof fixtures / sizeof *fixtures; f++) {
        sp_recover_report report;
        load_fixture(fixtures[f]);
        save(good, length);
        assert_int_equal(recover(&report), 0);
        assert_int_equal(losses, 0);
        assert_int_equal(report.regions, whole.regions);
        assert_int_equal(report.lost_regions + report.lost_calls + report.lost_bytes, 0);
    }
}

static void output_is_lost_to_a_recovery_that_fails(void **state)
{
    (void)state;
    sp_error error = {0};
    char path[1024];
    save((const unsigned char *)"SCOPEPRF", 8);
    assert_int_equal(sp_recover(broken, broken, NULL, NULL, NULL, NULL, &error), SP_ERR_USAGE);
    assert_int_equal(access(broken, F_OK), 0);
    load_fixture(fixtures[0]);
    int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "old", 3), 3);
    close(fd);
    assert_int_equal(sp_recover(broken, output, NULL, NULL, NULL, NULL, &error), SP_ERR_TRACE_FORMAT);
    snprintf(path, sizeof path, "%s/cut.h5", SP_TEST_FIXTURES);
    assert_int_equal(sp_recover(path, output, NULL, NULL, NULL, NULL, &error), SP_ERR_USAGE);
    assert_non_null(strstr(error.text, "spctl check"));
    unsigned char old[BYTES];
    assert_int_equal(load(output, old), 3);
    assert_int_equal(sp_recover("/nowhere.spt", output, NULL, NULL, NULL, NULL, &error), SP_ERR_NOT_FOUND);
}

/* ---- spools ------------------------------------------------------------------------------------------------------- */

enum { BLOCKS = 5, BLOCK_CALLS = 20 };
static uint64_t block_at[BLOCKS + 1];

/* A spool of one region, so many calls a block: call n lasts from 100 n to 100 n + 50 after the birth. */
static void make_spool(void)
{
    static struct sp__record records[BLOCK_CALLS];
    static unsigned char bytes[BLOCK_CALLS * SP__ENCODED_MOST];
    struct sp__identity identity;
    struct sp__spool spool;
    struct sp__spool_state resumed;
    char stem[96];
    identity_make(&identity, SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
    sp__incarnation_stem(&identity, stem);
    snprintf(broken, sizeof broken, "%s/%s/%s.spool", test_folder, identity.session, stem);
    assert_int_equal(sp__spool_open(&spool, broken, &identity, &resumed), 0);
    struct sp__region_entry entry = {.name_length = 5, .line = -1};
    memcpy(bytes, &entry, sizeof entry);
    memcpy(bytes + sizeof entry, "solve", 5);
    assert_int_equal(sp__spool_append(&spool, SP__FRAME_REGIONS, 0, 0, 1, bytes, sizeof entry + 5), 0);
    struct sp__anchor anchor = identity.birth;
    assert_int_equal(sp__spool_append(&spool, SP__FRAME_ANCHORS, 0, 0, 1, &anchor, sizeof anchor), 0);
    for (unsigned block = 0; block < BLOCKS; block++) {
        block_at[block] = spool.size;
        for (unsigned i = 0; i < BLOCK_CALLS; i++) {
            uint64_t n = block * BLOCK_CALLS + i, start = identity.birth.ticks + 100 * n;
            records[i] = (struct sp__record){start, start + 50, 0, 0, SP__CALL};
        }
        size_t size = sp__records_encode(records, BLOCK_CALLS, bytes);
        assert_int_equal(
            sp__spool_append(&spool, SP__FRAME_RECORDS, 0, block * BLOCK_CALLS, BLOCK_CALLS, bytes, (uint32_t)size), 0);
    }
    block_at[BLOCKS] = spool.size;
    sp__spool_close(&spool);
}

static void flip(uint64_t at)
{
    int fd = open(broken, O_RDWR | O_CLOEXEC);
    unsigned char byte;
    assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    close(fd);
}

static void damaged_block_of_a_spool_costs_another(void **state)
{
    (void)state;
    sp_recover_report report;
    char before[sizeof broken];
    memcpy(before, broken, sizeof before);
    for (unsigned block = 0; block < BLOCKS; block++)
        for (unsigned head = 0; head < 2; head++) {
            make_spool();
            flip(head ? block_at[block] + 2 : block_at[block + 1] - 3);
            assert_int_equal(recover(&report), 0);
            assert_int_equal(report.calls, (BLOCKS - 1) * BLOCK_CALLS);
            assert_int_not_equal(losses, 0);
            assert_int_equal(report.lost_bytes, block_at[block + 1] - block_at[block]);
            assert_true(block == BLOCKS - 1 || report.lost_calls == BLOCK_CALLS);
        }
    for (uint64_t cut = block_at[1] + 1; cut < block_at[BLOCKS]; cut += 37) {
        unsigned blocks = 1;
        make_spool();
        assert_int_equal(truncate(broken, (off_t)cut), 0);
        while (block_at[blocks + 1] <= cut)
            blocks++;
        assert_int_equal(recover(&report), 0);
        assert_int_equal(report.calls, blocks * BLOCK_CALLS);
        assert_int_equal(report.lost_bytes, cut - block_at[blocks]);
    }
    memcpy(broken, before, sizeof before);
}

static void spool_that_does_not_say_whose_it_is_is_lost(void **state)
{
    (void)state;
    sp_recover_report report;
    sp_error error = {0};
    char before[sizeof broken];
    memcpy(before, broken, sizeof before);
    for (unsigned at = 1; at < 3000; at += 701) {
        make_spool();
        flip(at);
        assert_int_equal(recover(&report), 0);
        assert_int_equal(report.calls, BLOCKS * BLOCK_CALLS);
        assert_int_not_equal(losses, 0);
        unsigned char data[BYTES];
        load(output, data);
        assert_int_equal(number(data + 12, 4, false), 3); /* as the file's name says */
    }
    assert_int_equal(truncate(broken, 100), 0);
    assert_int_equal(sp_recover(broken, output, NULL, NULL, NULL, NULL, &error), SP_ERR_TRACE_FORMAT);
    memcpy(broken, before, sizeof before);
}

struct findings {
    unsigned count;
    char place[64];
};

static void found(void *context, const char *place, const char *text)
{
    struct findings *findings = context;
    assert_true(*text);
    if (!findings->count++)
        snprintf(findings->place, sizeof findings->place, "%s", place);
}

static void fault_of_a_spool_is_not_found(void **state)
{
    (void)state;
    sp_check_result result;
    struct findings findings = {0};
    char before[sizeof broken], place[64];
    memcpy(before, broken, sizeof before);
    make_spool();
    assert_int_equal(sp_check_file(broken, found, &findings, &result, NULL), 0);
    assert_int_equal(findings.count, 0);
    assert_string_equal(result.format, "spool version 1");
    assert_int_equal(result.ranks, 1);
    assert_int_equal(result.regions, 1);
    assert_int_equal(result.calls, BLOCKS * BLOCK_CALLS);
    for (unsigned block = 0; block < BLOCKS; block++) {
        make_spool();
        flip(block_at[block + 1] - 3);
        findings.count = 0;
        assert_int_equal(sp_check_file(broken, found, &findings, &result, NULL), 0);
        snprintf(place, sizeof place, "byte %llu", (unsigned long long)block_at[block]);
        assert_string_equal(findings.place, place);
        assert_int_equal(result.findings, findings.count);
        assert_int_equal(result.calls, (BLOCKS - 1) * BLOCK_CALLS);
    }
    for (uint64_t cut = 0; cut < block_at[BLOCKS]; cut += 97) {
        make_spool();
        assert_int_equal(truncate(broken, (off_t)cut), 0);
        findings.count = 0;
        assert_int_equal(sp_check_file(broken, found, &findings, &result, NULL), 0);
        bool between = false; /* whole blocks, and fewer of them, are what a killed program leaves */
        for (unsigned block = 0; block < BLOCKS; block++)
            between |= cut == block_at[block];
        assert_true(findings.count > 0 || between);
    }
    memcpy(broken, before, sizeof before);
}

/* Bytes of no format, and damage all over: an answer each. */
static void hostile_bytes_crash(void **state)
{
    (void)state;
    static unsigned char bad[BYTES];
    uint64_t random = 88172645463325252ULL;
    for (unsigned round = 0; round < 300; round++) {
        load_fixture(fixtures[round % 5]);
        memcpy(bad, good, length);
        for (unsigned i = 0; i < (round % 3 ? 6U : length - 24); i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            bad[round % 3 ? random % length : 24 + i] = (unsigned char)(random >> 40);
        }
        sp_recover_report report;
        sp_check_result result;
        struct findings findings = {0};
        sp_error error = {0};
        save(bad, length - round % 7);
        (void)sp_recover(broken, output, NULL, lost, NULL, &report, &error);
        assert_int_equal(sp_check_file(broken, found, &findings, &result, NULL), 0);
    }
}

static int set_up(void **state)
{
    (void)state;
    /* In memory: each recovery waits for the disk. */
    snprintf(test_folder, sizeof test_folder, "/dev/shm/unit-recover-XXXXXX");
    if (!mkdtemp(test_folder))
        return -1;
    snprintf(broken, sizeof broken, "%s/broken_rank00003.spt", test_folder);
    snprintf(output, sizeof output, "%s/out.spt", test_folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_file_loses_something),
        cmocka_unit_test(cut_takes_a_whole_call_or_makes_one_up),
        cmocka_unit_test(one_damaged_byte_costs_more_than_its_region),
        cmocka_unit_test(damaged_number_of_calls_costs_calls),
        cmocka_unit_test(damaged_head_of_the_file_costs_a_call),
        cmocka_unit_test(output_is_lost_to_a_recovery_that_fails),
        cmocka_unit_test(damaged_block_of_a_spool_costs_another),
        cmocka_unit_test(spool_that_does_not_say_whose_it_is_is_lost),
        cmocka_unit_test(fault_of_a_spool_is_not_found),
        cmocka_unit_test(hostile_bytes_crash),
    };
    return cmocka_run_group_tests(tests, set_up, test_teardown);
}
