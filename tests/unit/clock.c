/* clock: conversion of ticks keeps order, containment and a microsecond. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "clock.h"

static struct sp__clock_map *map_of(const struct sp__anchor *anchors, size_t count)
{
    struct sp__clock_map *map = NULL;
    assert_int_equal(sp__clock_map_create(&map, SP__CLOCK_TSC, anchors, count), 0);
    return map;
}

/* Steps of `step` ns at `ghz` ticks a ns. */
static void steady(struct sp__anchor *ret, size_t count, int64_t step, double ghz)
{
    for (size_t i = 0; i < count; i++) {
        ret[i].mono_ns = 1000000000000 + (int64_t)i * step;
        ret[i].ticks = 5000000000U + (uint64_t)((double)((int64_t)i * step) * ghz);
    }
}

static void error_over_a_microsecond(void **state)
{
    (void)state;
    enum { ANCHORS = 9, SAMPLES = 4000 };
    if (sp__clock_choose(SP__CLOCK_TSC) != SP__CLOCK_TSC) {
        print_message("no invariant TSC here\n");
        skip();
    }
    struct sp__anchor anchors[ANCHORS];
    static struct sp__anchor truth[SAMPLES];
    size_t at = 0, taken = 0;
    uint64_t start = sp__clock_mono();
    uint64_t next = 0; /* ns after start at which the next anchor is due: 100 to 500 ms apart */
    while (at < ANCHORS) {
        uint64_t now = sp__clock_mono() - start;
        if (now >= next) {
            anchors[at++] = sp__clock_anchor(SP__CLOCK_TSC);
            next = now + 100000000U + (uint64_t)(at % 5) * 100000000U / 2;
        }
        if (taken < SAMPLES)
            truth[taken++] = sp__clock_anchor(SP__CLOCK_TSC);
        nanosleep(&(struct timespec){.tv_nsec = 400000}, NULL);
    }
    struct sp__clock_map *map = map_of(anchors, ANCHORS);
    int64_t worst = 0;
    for (size_t i = 0; i < taken; i++) {
        int64_t off = llabs(sp__clock_map_ns(map, truth[i].ticks) - truth[i].mono_ns);
        worst = off > worst ? off : worst;
    }
    print_message("%zu samples over %.1f s: worst error %lld ns, stated bound %lld ns\n", taken,
                  (double)(anchors[ANCHORS - 1].mono_ns - anchors[0].mono_ns) / 1e9, (long long)worst,
                  (long long)sp__clock_map_error_ns(map));
    assert_true(worst < 1000);
    assert_int_equal(sp__clock_map_breaks(map), 0);
    sp__clock_map_destroy(map);
}

static void order_or_containment_lost(void **state)
{
    (void)state;
    struct sp__anchor anchors[64];
    srand(7);
    anchors[0] = (struct sp__anchor){.ticks = 1000, .mono_ns = 77};
    for (size_t i = 1; i < 64; i++) {
        uint64_t ns = 25000000U + (uint64_t)(rand() % 1000000000);
        anchors[i].mono_ns = anchors[i - 1].mono_ns + (int64_t)ns;
        /* Every eighth stretch is no steady clock. */
        anchors[i].ticks = anchors[i - 1].ticks + ns * 21 / 10 * (i % 8 ? 1 : 3) + (uint64_t)(rand() % 50);
    }
    struct sp__clock_map *map = map_of(anchors, 64);
    assert_true(sp__clock_map_breaks(map) >= 6);
    int64_t before = INT64_MIN;
    for (uint64_t ticks = 0; ticks < anchors[63].ticks + 1000000000U; ticks += 1 + (uint64_t)(rand() % 3000000)) {
        for (uint64_t step = 0; step < 4; step++) {
            int64_t ns = sp__clock_map_ns(map, ticks + step);
            assert_true(ns >= before);
            before = ns;
        }
    }
    for (size_t i = 0; i < 64; i++) {
        for (uint64_t step = 3; step-- > 0;) {
            int64_t low = sp__clock_map_ns(map, anchors[i].ticks - step - 1);
            assert_true(low <= sp__clock_map_ns(map, anchors[i].ticks - step));
        }
        assert_int_equal(sp__clock_map_ns(map, anchors[i].ticks), anchors[i].mono_ns);
    }
    sp__clock_map_destroy(map);
}

static void later_anchors_change_earlier_times(void **state)
{
    (void)state;
    struct sp__anchor anchors[40];
    steady(anchors, 40, 300000000, 2.1);
    for (size_t i = 0; i < 40; i++)
        anchors[i].mono_ns += (int64_t)(i * i % 17); /* as noisy as real ones */
    struct sp__clock_map *few = map_of(anchors, 20), *many = map_of(anchors, 40);
    for (uint64_t ticks = anchors[0].ticks - 1000; ticks <= anchors[19].ticks; ticks += 1234567)
        assert_int_equal(sp__clock_map_ns(few, ticks), sp__clock_map_ns(many, ticks));
    sp__clock_map_destroy(few);
    sp__clock_map_destroy(many);
}

static void shuffled_anchors_give_another_map(void **state)
{
    (void)state;
    struct sp__anchor anchors[12], shuffled[12];
    steady(anchors, 12, 500000000, 3.0);
    anchors[5].mono_ns = 1; /* stepped back: left out */
    for (size_t i = 0; i < 12; i++)
        shuffled[i * 5 % 12] = anchors[i];
    struct sp__clock_map *a = map_of(anchors, 12), *b = map_of(shuffled, 12);
    for (uint64_t ticks = anchors[0].ticks; ticks < anchors[11].ticks; ticks += 7654321)
        assert_int_equal(sp__clock_map_ns(a, ticks), sp__clock_map_ns(b, ticks));
    assert_int_equal(sp__clock_map_breaks(a), 0);
    sp__clock_map_destroy(a);
    sp__clock_map_destroy(b);
}

static void suspend_spreads_over_its_neighbours(void **state)
{
    (void)state;
    struct sp__anchor anchors[10];
    steady(anchors, 10, 1000000000, 2.0);
    for (size_t i = 5; i < 10; i++)
        anchors[i].ticks += 2000000000U * 600; /* ten minutes that CLOCK_MONOTONIC did not see */
    struct sp__clock_map *map = map_of(anchors, 10);
    assert_int_equal(sp__clock_map_breaks(map), 1);
    /* A call that began 100 ms after the last anchor before it. */
    assert_true(llabs(sp__clock_map_ns(map, anchors[4].ticks + 200000000U) - (anchors[4].mono_ns + 100000000)) < 3);
    assert_int_equal(sp__clock_map_ns(map, anchors[5].ticks - 1), anchors[5].mono_ns);
    assert_true(sp__clock_map_error_ns(map) < 1000);
    sp__clock_map_destroy(map);
}

static void close_anchors_skew_the_rate(void **state)
{
    (void)state;
    /* Two readings 10 us apart, 50 ns off each: their own slope would be wrong by 10,000 ppm. */
    struct sp__anchor anchors[] = {
        {0, 0}, {2000000000, 1000000000}, {2000020000, 1000010100}, {2000040000, 1000019950}};
    struct sp__clock_map *map = map_of(anchors, 4);
    assert_true(llabs(sp__clock_map_ns(map, 4000000000U) - 2000000000) < 1000);
    assert_int_equal(sp__clock_map_breaks(map), 0);
    assert_true(sp__clock_map_error_ns(map) < 1000);
    sp__clock_map_destroy(map);
}

static void short_life_without_a_rate(void **state)
{
    (void)state;
    struct sp__anchor anchors[] = {{1000, 1000000}, {1000 + 2000000, 1000000 + 1000000}}; /* 1 ms at 2 GHz */
    struct sp__clock_map *map = map_of(anchors, 2);
    assert_true(llabs(sp__clock_map_ns(map, 1000 + 1000000) - 1500000) <= 1);
    sp__clock_map_destroy(map);
}

static void birth_alone_is_no_map(void **state)
{
    (void)state;
    struct sp__anchor birth = {.ticks = 1000, .mono_ns = 5000};
    struct sp__clock_map *map = map_of(&birth, 1);
    assert_int_equal(sp__clock_map_ns(map, 1000), 5000);
    assert_int_equal(sp__clock_map_ns(map, 1500), 5500);
    assert_int_equal(sp__clock_map_ns(map, 900), 4900);
    sp__clock_map_destroy(map);
    map = NULL;
    assert_int_equal(sp__clock_map_create(&map, SP__CLOCK_TSC, NULL, 0), -EINVAL);
    assert_null(map);
}

static void extremes_wrap(void **state)
{
    (void)state;
    struct sp__anchor anchors[] = {{UINT64_MAX - 4000, INT64_MAX - 2000}, {UINT64_MAX - 2000, INT64_MAX - 1000}};
    struct sp__clock_map *map = map_of(anchors, 2);
    int64_t before = INT64_MIN;
    for (int shift = 0; shift < 64; shift++) {
        int64_t ns = sp__clock_map_ns(map, UINT64_MAX >> (63 - shift));
        assert_true(ns >= before);
        before = ns;
    }
    sp__clock_map_destroy(map);
    struct sp__anchor steep[] = {{1, 0}, {2, INT64_MAX / 2 + 1}};
    map = map_of(steep, 2);
    for (int shift = 0; shift < 64; shift++)
        assert_int_equal(sp__clock_map_ns(map, 2 + (UINT64_C(1) << shift)), INT64_MAX);
    assert_int_equal(sp__clock_map_ns(map, UINT64_MAX), INT64_MAX);
    sp__clock_map_destroy(map);

    struct sp__clock_map *mono = NULL;
    assert_int_equal(sp__clock_map_create(&mono, SP__CLOCK_MONOTONIC, NULL, 0), 0);
    assert_int_equal(sp__clock_map_ns(mono, 123456789), 123456789);
    assert_int_equal(sp__clock_map_ns(mono, UINT64_MAX), INT64_MAX);
    assert_int_equal(sp__clock_map_error_ns(mono), 0);
    sp__clock_map_destroy(mono);
}

/* As a damaged spool may have them. CLOCK_MONOTONIC is never below 0, and distances between its times never overflow. */
static void impossible_anchors_overflow(void **state)
{
    (void)state;
    struct sp__anchor anchors[] = {{1000, INT64_MIN}, {2000, -5}, {3000, INT64_MAX}, {4000, INT64_MIN + 1}};
    struct sp__clock_map *map = map_of(anchors, 4);
    int64_t before = 0;
    for (uint64_t ticks = 0; ticks < 5000; ticks += 50) {
        int64_t ns = sp__clock_map_ns(map, ticks);
        assert_true(ns >= before);
        before = ns;
    }
    assert_true(sp__clock_map_error_ns(map) >= 0);
    sp__clock_map_destroy(map);
}

static void monotonic_refused(void **state)
{
    (void)state;
    assert_int_equal(sp__clock_choose(SP__CLOCK_MONOTONIC), SP__CLOCK_MONOTONIC);
    struct sp__anchor anchor = sp__clock_anchor(SP__CLOCK_MONOTONIC);
    assert_int_equal(anchor.ticks, anchor.mono_ns);
}

/* The TSC is taken by itself just where it is invariant and the kernel keeps time by it. */
static void tsc_taken_where_time_is_kept_otherwise(void **state)
{
    (void)state;
    char name[32] = "";
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (!f || !fgets(name, sizeof name, f))
        skip();
    fclose(f);
    bool invariant = sp__clock_choose(SP__CLOCK_TSC) == SP__CLOCK_TSC;
    bool taken = sp__clock_choose(-1) == SP__CLOCK_TSC;
    print_message("clocksource %s", name);
    if (strcmp(name, "kvm-clock\n") == 0)
        assert_true(invariant || !taken); /* whether the vDSO reads it is the host's choice */
    else
        assert_int_equal(taken, invariant && strcmp(name, "tsc\n") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_over_a_microsecond),
        cmocka_unit_test(order_or_containment_lost),
        cmocka_unit_test(later_anchors_change_earlier_times),
        cmocka_unit_test(shuffled_anchors_give_another_map),
        cmocka_unit_test(suspend_spreads_over_its_neighbours),
        cmocka_unit_test(close_anchors_skew_the_rate),
        cmocka_unit_test(short_life_without_a_rate),
        cmocka_unit_test(birth_alone_is_no_map),
        cmocka_unit_test(extremes_wrap),
        cmocka_unit_test(impossible_anchors_overflow),
        cmocka_unit_test(monotonic_refused),
        cmocka_unit_test(tsc_taken_where_time_is_kept_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
