/* encode: every record comes back bit by bit, and damaged bytes are refused without reading past them. */
#include "producer.h"

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void round_trip(const struct sp__record *records, size_t count, size_t *ret_length)
{
    unsigned char *bytes = malloc(count * SP__ENCODED_MOST + 1);
    struct sp__record *back = malloc((count + 1) * sizeof *back);
    size_t length = sp__records_encode(records, count, bytes);
    assert_true(length <= count * SP__ENCODED_MOST);
    /* A copy of exactly that size: a sanitizer sees a read behind it. */
    unsigned char *exact = malloc(length + !length);
    memcpy(exact, bytes, length);
    assert_int_equal(sp__records_decode(exact, length, back, count), 0);
    assert_memory_equal(back, records, count * sizeof *back);
    if (ret_length)
        *ret_length = length;
    free(exact);
    free(back);
    free(bytes);
}

static void hostile_records_survive(void **state)
{
    static const uint64_t odd[] = {0,          1, 127, 128, UINT64_MAX, UINT64_MAX - 1, INT64_MAX, UINT64_C(1) << 63,
                                   12345678901};
    struct sp__record records[9 * 9];
    (void)state;
    for (size_t i = 0; i < 9; i++)
        for (size_t j = 0; j < 9; j++)
            records[i * 9 + j] = (struct sp__record){odd[i], odd[j], (uint32_t)odd[(i + j) % 9],
                                                     (uint16_t)odd[(i * j) % 9], (uint16_t)odd[(i + 2 * j) % 9]};
    round_trip(records, 81, NULL);
    for (size_t i = 0; i < 81; i++)
        round_trip(&records[i], 1, NULL);
    round_trip(records, 0, NULL);
}

static void random_records_survive(void **state)
{
    struct sp__record records[257];
    (void)state;
    for (int round = 0; round < 500; round++) {
        for (size_t i = 0; i < 257; i++) {
            unsigned shift = (unsigned)(next_random() % 64);
            records[i] = (struct sp__record){next_random() >> shift, next_random() >> (next_random() % 64),
                                             (uint32_t)(next_random() >> shift), (uint16_t)(next_random() % 40),
                                             (uint16_t)(next_random() % 7 ? 0 : next_random())};
        }
        round_trip(records, 257, NULL);
    }
}

static void calls_take_few_bytes(void **state)
{
    static struct sp__record records[8000];
    uint64_t now = 1000000000000;
    size_t n = 0, length = 0;
    (void)state;
    while (n + 4 <= 8000) { /* three inner calls of two regions in an outer one */
        uint64_t outer = now;
        for (uint32_t i = 0; i < 3; i++) {
            now += 40 + next_random() % 100;
            uint64_t start = now;
            now += 100 + next_random() % 10000;
            records[n++] = (struct sp__record){start, now, 1 + i % 2, 1, SP__CALL};
        }
        now += 50;
        records[n++] = (struct sp__record){outer, now, 0, 0, SP__CALL};
        now += 30;
    }
    round_trip(records, n, &length);
    assert_true(length <= n * 8);
}

static void damaged_bytes_are_refused(void **state)
{
    struct sp__record records[16], back[16];
    unsigned char bytes[16 * SP__ENCODED_MOST];
    (void)state;
    for (unsigned i = 0; i < 16; i++)
        records[i] = (struct sp__record){i * 1000, i * 1000 + 500, i, (uint16_t)i, 0};
    size_t length = sp__records_encode(records, 16, bytes);
    for (size_t cut = 0; cut < length; cut++) {
        unsigned char *exact = malloc(cut + !cut);
        memcpy(exact, bytes, cut);
        assert_int_equal(sp__records_decode(exact, cut, back, 16), -EBADMSG);
        free(exact);
    }
    assert_int_equal(sp__records_decode(bytes, length, back, 15), -EBADMSG);
    for (int round = 0; round < 20000; round++) {
        unsigned char noise[64];
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (unsigned char)next_random();
        int rc = sp__records_decode(noise, (size_t)(next_random() % sizeof noise), back, 4);
        assert_true(rc == 0 || rc == -EBADMSG);
    }
}

/* What the check before writing must notice: any byte that is another one. */
static void a_broken_encoding_is_noticed(void **state)
{
    struct sp__record records[24];
    unsigned char bytes[24 * SP__ENCODED_MOST];
    uint64_t now = UINT64_C(1) << 62;
    (void)state;
    for (unsigned i = 0; i < 24; i++) {
        now += next_random() % 300;
        uint64_t start = i % 4 == 3 ? records[i - 3].start - 20 : now;
        now += next_random() % 20000;
        records[i] = (struct sp__record){start, now, i % 5, i % 4 == 3 ? 0 : (uint16_t)(1 + i % 7), i % 11 ? 0 : 3};
    }
    size_t length = sp__records_encode(records, 24, bytes);
    assert_true(sp__records_match(bytes, length, records, 24));
    assert_false(sp__records_match(bytes, length, records, 23));
    assert_false(sp__records_match(bytes, length - 1, records, 24));
    for (size_t at = 0; at < length; at++) {
        unsigned char right = bytes[at];
        for (unsigned other = 1; other < 256; other++) {
            bytes[at] = (unsigned char)(right ^ other);
            assert_false(sp__records_match(bytes, length, records, 24));
        }
        bytes[at] = right;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_records_survive),      cmocka_unit_test(random_records_survive),
        cmocka_unit_test(calls_take_few_bytes),         cmocka_unit_test(damaged_bytes_are_refused),
        cmocka_unit_test(a_broken_encoding_is_noticed),
    };
    return cmocka_run_group_tests_name("encode", tests, NULL, NULL);
}
