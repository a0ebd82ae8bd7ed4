/* results.c: statistics and percentiles against the same figures found by sorting every duration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "memory_source.h"

static const char *const names[] = {"solve", "halo"};

struct durations {
    int64_t *values;
    size_t count, room;
};

static void keep(struct durations *to, int64_t value)
{
    if (to->count == to->room) {
        to->room = to->room ? to->room * 2 : 64;
        to->values = realloc(to->values, to->room * sizeof *to->values);
    }
    to->values[to->count++] = value;
}

static uint64_t state = 88172645463325252U;

static uint64_t any(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* numpy's "linear", in more digits. */
static double percentile_of(const struct durations *of, double percent)
{
    double at = percent / 100 * (double)(of->count - 1);
    size_t low = (size_t)at, high = low + 1 < of->count ? low + 1 : low;
    long double a = (long double)of->values[low], b = (long double)of->values[high];
    return (double)((a + (b - a) * (long double)(at - (double)low)) * 1e-9L);
}

static void close_to(double value, double wanted)
{
    if (fabs(value - wanted) > 1e-12 * fabs(wanted))
        fail_msg("%.17g, not %.17g", value, wanted);
}

static void statistics_are(sp_results *results, int64_t rank, struct durations *of, double deviation_error)
{
    sp_statistics s;
    sp_error error = {0};
    long double total = 0, squares = 0;
    if (sp_results_statistics(results, 0, rank, &s, &error))
        fail_msg("%s", error.text);
    qsort(of->values, of->count, sizeof *of->values, by_value);
    for (size_t i = 0; i < of->count; i++)
        total += (long double)of->values[i];
    long double mean = total / (long double)of->count;
    for (size_t i = 0; i < of->count; i++)
        squares += ((long double)of->values[i] - mean) * ((long double)of->values[i] - mean);
    assert_int_equal(s.count, of->count);
    close_to(s.total, (double)(total * 1e-9L));
    close_to(s.mean, (double)(mean * 1e-9L));
    close_to(s.minimum, (double)of->values[0] * 1e-9);
    close_to(s.maximum, (double)of->values[of->count - 1] * 1e-9);
    double deviation = (double)(sqrtl(squares / (long double)of->count) * 1e-9L);
    assert_true(fabs(s.deviation - deviation) <= deviation_error * deviation);
}

static void percentiles_are(sp_results *results, int64_t rank, struct durations *of)
{
    static const double percents[] = {0, 0.001, 1, 5, 25, 33.3, 50, 75, 90, 95, 99, 99.9, 99.999, 100, 50, 12.5};
    enum { COUNT = sizeof percents / sizeof *percents };
    double found[COUNT];
    sp_error error = {0};
    if (sp_results_percentiles(results, 0, rank, percents, COUNT, found, &error))
        fail_msg("%s", error.text);
    qsort(of->values, of->count, sizeof *of->values, by_value);
    for (size_t i = 0; i < COUNT; i++)
        close_to(found[i], percentile_of(of, percents[i]));
}

static sp_results *results_of(sp_inputs *inputs, struct sp__source *const *sources, size_t count)
{
    sp_results *results;
    sp_error error = {0};
    for (size_t i = 0; i < count; i++)
        assert_int_equal(sp__inputs_append(inputs, sources[i], NULL), 0);
    if (sp_results_load(&results, inputs, true, &error))
        fail_msg("%s", error.text);
    return results;
}

/* Durations of every size: each as likely to have any number of bits up to `bits`. */
static void figures_of(unsigned bits, size_t calls, int64_t least)
{
    struct durations all = {0}, one = {0};
    struct sp__source *sources[3];
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    for (uint32_t r = 0; r < 3; r++) {
        sources[r] = memory_source("memory.spt", 2 * r, names, 2, 0);
        int64_t start = 1000;
        for (size_t i = 0; i < calls; i++) {
            int64_t duration = least + (int64_t)(any() >> (63 - any() % bits) >> 1);
            start += (int64_t)(any() % 50);
            memory_add(sources[r], 0, start, start + duration, 0);
            keep(&all, duration);
            if (r == 1)
                keep(&one, duration);
        }
        memory_add(sources[r], 1, 5, 6, 0);
    }
    sp_results *results = results_of(inputs, sources, 3);
    if (bits < 56) { /* else the total does not fit into an int64, and nobody knows it */
        statistics_are(results, SP_ALL_RANKS, &all, least > 1 ? 1e-5 : 1e-9);
        statistics_are(results, 2, &one, least > 1 ? 1e-5 : 1e-9);
    }
    percentiles_are(results, SP_ALL_RANKS, &all);
    percentiles_are(results, 2, &one);
    sp_results_destroy(results);
    sp_inputs_destroy(inputs);
    free(all.values);
    free(one.values);
}

static void short_durations_misplaced(void **state_)
{
    (void)state_;
    figures_of(10, 5000, 0);
    figures_of(3, 20000, 0); /* mostly ties */
}

static void long_durations_misplaced(void **state_)
{
    (void)state_;
    figures_of(40, 20000, 0);
    figures_of(60, 3000, 0);
    figures_of(16, 3000, INT64_C(1) << 48); /* alike in all but their last bits */
}

static void few_calls_misplaced(void **state_)
{
    (void)state_;
    for (size_t calls = 1; calls < 8; calls++)
        figures_of(30, calls, 1);
}

static void percent_out_of_range_accepted(void **state_)
{
    (void)state_;
    struct sp__source *source = memory_source("memory.spt", 0, names, 2, 0);
    sp_inputs *inputs;
    sp_error error = {0};
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    memory_add(source, 0, 10, 20, 0);
    sp_results *results = results_of(inputs, &source, 1);
    const double bad[] = {-0.1, 100.1, (double)NAN, (double)INFINITY};
    double found = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(sp_results_percentiles(results, 0, 0, &bad[i], 1, &found, &error), SP_ERR_USAGE);
        assert_true(found == 7);
    }
    const double good = 50;
    assert_int_equal(sp_results_percentiles(results, 0, 1, &good, 1, &found, &error), SP_ERR_NOT_FOUND);
    assert_int_equal(sp_results_percentiles(results, 1, 0, &good, 1, &found, &error), SP_ERR_NOT_FOUND);
    assert_int_equal(sp_results_percentiles(results, 0, -2, &good, 1, &found, &error), SP_ERR_NOT_FOUND);
    assert_true(found == 7);
    assert_int_equal(sp_results_percentiles(results, 0, 0, &good, 1, &found, &error), 0);
    assert_true(found == 10e-9);
    assert_int_equal(sp_results_percentiles(results, 0, 0, &good, 0, &found, &error), 0);
    sp_results_destroy(results);
    sp_inputs_destroy(inputs);
}

/* Parts of one rank count as one, and a thread's number is the one that the rank's table gives. */
static void parts_or_threads_mixed_up(void **state_)
{
    (void)state_;
    struct sp__source *sources[2];
    sp_inputs *inputs;
    sp_calls *calls;
    struct durations all = {0};
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    for (int p = 0; p < 2; p++) {
        sources[p] = memory_source("memory.spool", 3, names, 1, 2);
        snprintf(sources[p]->session, sizeof sources[p]->session, "session");
        snprintf(sources[p]->incarnation, sizeof sources[p]->incarnation, "%d", p);
        for (int64_t i = 0; i < 100; i++) {
            memory_add(sources[p], 0, 10 * i + p, 10 * i + p + 2 + p, i & 1);
            keep(&all, 2 + p);
        }
    }
    sp_results *results = results_of(inputs, sources, 2);
    statistics_are(results, 3, &all, 1e-9);
    percentiles_are(results, 3, &all);
    assert_int_equal(sp_calls_open(&calls, results, 0, 3, NULL), 0);
    assert_true(sp_calls_have_threads(calls));
    assert_false(sp_calls_have_ids(calls));
    int64_t start[7], end[7], thread[7], call[7], parent[7], next = 0;
    const sp_call_columns into = {start, end, thread, call, parent};
    for (size_t count = 1; count;) {
        assert_int_equal(sp_calls_next(calls, &into, 7, &count, NULL), 0);
        for (size_t i = 0; i < count; i++, next++) {
            assert_int_equal(start[i], 10 * (next / 2) + next % 2);
            assert_int_equal(end[i] - start[i], 2 + next % 2);
            assert_int_equal(thread[i], 2 * (next % 2) + next / 2 % 2);
            assert_int_equal(call[i], -1);
            assert_int_equal(parent[i], -1);
        }
    }
    assert_int_equal(next, 200);
    sp_calls_close(calls);
    sp_results_destroy(results);
    sp_inputs_destroy(inputs);
    free(all.values);
}

static void exclusive_time_made_up(void **state_)
{
    (void)state_;
    struct sp__source *sources[2] = {memory_source("a.spt", 0, names, 2, 0), memory_source("b.spt", 1, names, 2, 0)};
    sp_inputs *inputs;
    sp_statistics s;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    memory_add(sources[0], 0, 0, 100, 0);
    memory_add(sources[0], 1, 10, 40, 0);
    memory_add(sources[1], 0, 0, 100, 0);
    memory_add(sources[1], 1, 50, 140, 0); /* overlaps: nobody knows who held whom */
    sp_results *results = results_of(inputs, sources, 2);
    assert_int_equal(sp_results_statistics(results, 0, 0, &s, NULL), 0);
    close_to(s.exclusive, 70e-9);
    assert_int_equal(sp_results_statistics(results, 0, 1, &s, NULL), 0);
    assert_true(isnan(s.exclusive));
    assert_int_equal(sp_results_statistics(results, 0, SP_ALL_RANKS, &s, NULL), 0);
    assert_true(isnan(s.exclusive));
    close_to(s.total, 200e-9);
    sp_results_destroy(results);
    sp_inputs_destroy(inputs);
}

static void table_lacks_a_region(void **state_)
{
    (void)state_;
    const char *odd[] = {"a\nb", "Gr\xc3\xb6\xc3\x9f"
                                 "e"};
    struct sp__source *source = memory_source("memory.spt", 0, odd, 2, 0);
    sp_inputs *inputs;
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    memory_add(source, 0, 0, 1500000000, 0);
    memory_add(source, 1, 0, 250000000, 0);
    sp_results *results = results_of(inputs, &source, 1);
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    assert_int_equal(sp_results_print_summary(results, to, NULL), 0);
    fclose(to);
    assert_non_null(strstr(text, "1 rank, 2 regions"));
    assert_non_null(strstr(text, "\na?b "));
    assert_non_null(strstr(text, "\nGr\xc3\xb6\xc3\x9f"
                                 "e "));
    assert_non_null(strstr(text, " 1.5 "));
    assert_non_null(strstr(text, " 0.25 "));
    free(text);
    to = fopen("/dev/full", "w");
    assert_non_null(to);
    sp_error error = {0};
    assert_int_equal(sp_results_print_summary(results, to, &error), SP_ERR_SYSTEM);
    fclose(to);
    sp_results_destroy(results);
    sp_inputs_destroy(inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_durations_misplaced), cmocka_unit_test(long_durations_misplaced),
        cmocka_unit_test(few_calls_misplaced),       cmocka_unit_test(percent_out_of_range_accepted),
        cmocka_unit_test(parts_or_threads_mixed_up), cmocka_unit_test(exclusive_time_made_up),
        cmocka_unit_test(table_lacks_a_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
