/* Figures for people: the right unit at every border, rounding that never shows "1000 us", no overflow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "units.h"

static void time_steps_up_where_rounding_fills_the_unit(void **state)
{
    (void)state;
    units_buffer b;
    assert_string_equal(units_time(0, b), "0 ns");
    assert_string_equal(units_time(999, b), "999 ns");
    assert_string_equal(units_time(1000, b), "1.00 \xc2\xb5s");
    assert_string_equal(units_time(9994, b), "9.99 \xc2\xb5s");
    assert_string_equal(units_time(9996, b), "10.0 \xc2\xb5s");
    assert_string_equal(units_time(99960, b), "100 \xc2\xb5s");
    assert_string_equal(units_time(999400, b), "999 \xc2\xb5s");
    assert_string_equal(units_time(999600, b), "1.00 ms");
    assert_string_equal(units_time(12345678, b), "12.3 ms");
    assert_string_equal(units_time(4560000000, b), "4.56 s");
    assert_string_equal(units_time(1234000000000, b), "1234 s");
    assert_string_equal(units_time(-12345678, b), "-12.3 ms");
    assert_string_equal(units_time(INT64_MAX, b), "9223372037 s");
    assert_string_equal(units_time(INT64_MIN, b), "-9223372037 s");
}

static void ages_grow_coarser(void **state)
{
    (void)state;
    units_buffer b;
    const int64_t s = 1000000000;
    assert_string_equal(units_age(-1, b), "-");
    assert_string_equal(units_age(12 * s + 340000000, b), "12.3 s");
    assert_string_equal(units_age(119 * s, b), "119 s");
    assert_string_equal(units_age(120 * s, b), "2 min");
    assert_string_equal(units_age(7199 * s, b), "119 min");
    assert_string_equal(units_age(7200 * s, b), "2 h");
    assert_string_equal(units_age(172800 * s, b), "2 d");
}

static void bytes_count_in_powers_of_two(void **state)
{
    (void)state;
    units_buffer b;
    assert_string_equal(units_bytes(0, b), "0 B");
    assert_string_equal(units_bytes(1023, b), "1023 B");
    assert_string_equal(units_bytes(1024, b), "1.00 KiB");
    assert_string_equal(units_bytes(1048575, b), "1.00 MiB");
    assert_string_equal(units_bytes(12897485, b), "12.3 MiB");
    assert_string_equal(units_bytes(UINT64_MAX, b), "16.0 EiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(time_steps_up_where_rounding_fills_the_unit),
                                       cmocka_unit_test(ages_grow_coarser),
                                       cmocka_unit_test(bytes_count_in_powers_of_two)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
