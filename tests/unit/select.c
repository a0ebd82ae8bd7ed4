/* select.c: what is narrowed keeps what was asked for, call for call, and forgets what no longer holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "memory_source.h"

enum { CALLS = 10000 };
static const char *const names[] = {"main", "solve/a", "solve/b"};

/* Ranks 0, 1, 5; call i of a row begins at 1000 + 10 i, i even twice. */
static sp_inputs *make(bool sequential)
{
    static const uint32_t ranks[] = {0, 1, 5};
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    for (size_t r = 0; r < 3; r++) {
        struct sp__source *source = memory_source("file.h5", ranks[r], names, 3, 2);
        source->ids = true;
        source->sequential = sequential;
        for (size_t row = 0; row < 3; row++) {
            for (int64_t i = 0; i < CALLS; i++)
                memory_add(source, row, 1000 + 10 * (i - i % 2), 1005 + 10 * i, i % 2);
            source->rows[row].summarized = true;
            source->rows[row].exclusive = 7;
        }
        assert_int_equal(sp__inputs_append(inputs, source, NULL), 0);
    }
    return inputs;
}

static void select_times(sp_inputs *inputs, int64_t from, int64_t to)
{
    sp_selection s = sp_selection_default();
    s.from_ns = from;
    s.to_ns = to;
    sp_error error = {0};
    if (sp_inputs_select(inputs, &s, &error))
        fail_msg("%s", error.text);
}

static void windows_share_or_lose_calls(void **state)
{
    (void)state;
    static const int64_t marks[] = {0, 1, 20, 40, 41, 50000, 99980, 99981, INT64_MAX};
    for (int sequential = 0; sequential < 2; sequential++) {
        uint64_t next = 0;
        for (size_t m = 1; m < sizeof marks / sizeof *marks; m++) {
            sp_inputs *inputs = make(sequential);
            select_times(inputs, m == 1 ? INT64_MIN : marks[m - 1], marks[m]);
            assert_int_equal(inputs->count, 3);
            struct sp__source *source = inputs->sources[2];
            int64_t start, end, thread;
            const struct sp__calls one = {.start = &start, .end = &end, .thread = &thread};
            assert_int_equal(source->row_count, 3);
            for (uint64_t i = 0; i < source->rows[1].calls; i++) {
                assert_int_equal(source->read(source, 1, i, 1, &one, NULL), 0);
                assert_int_equal(end, 1005 + 10 * (int64_t)(next + i));
                assert_int_equal(thread, (next + i) % 2);
                assert_true(start - 1000 < marks[m] && (m == 1 || start - 1000 >= marks[m - 1]));
            }
            assert_int_equal(source->read(source, 1, source->rows[1].calls, 1, &one, NULL), SP_ERR_USAGE);
            next += source->rows[1].calls;
            sp_inputs_destroy(inputs);
        }
        assert_int_equal(next, CALLS);
    }
}

static void stored_facts_outlive_their_calls(void **state)
{
    (void)state;
    sp_inputs *inputs = make(false);
    const char *const patterns[] = {"solve*"};
    static const uint32_t ranks[][2] = {{1, 3}, {5, 5}};
    sp_selection s = sp_selection_default();
    s.ranks = ranks;
    s.rank_count = 2;
    assert_int_equal(sp_inputs_select(inputs, &s, NULL), 0);
    assert_int_equal(inputs->count, 2);
    assert_int_equal(inputs->sources[0]->rank, 1);
    assert_true(inputs->sources[0]->ids); /* nothing of these ranks was left out */
    assert_true(inputs->sources[0]->rows[0].summarized);
    assert_int_equal(sp_inputs_select(inputs, &s, NULL), SP_ERR_USAGE);
    sp_inputs_destroy(inputs);

    inputs = make(false);
    s = sp_selection_default();
    s.regions = patterns;
    s.region_count = 1;
    assert_int_equal(sp_inputs_select(inputs, &s, NULL), 0);
    assert_int_equal(inputs->count, 3);
    assert_int_equal(inputs->sources[0]->row_count, 2);
    assert_string_equal(inputs->sources[0]->rows[0].name, "solve/a");
    assert_false(inputs->sources[0]->ids);
    assert_false(inputs->sources[0]->rows[0].summarized);
    assert_int_equal(inputs->sources[0]->rows[0].exclusive, -1);
    assert_int_equal(inputs->sources[0]->thread_count, 2);
    sp_inputs_destroy(inputs);
}

static void words_of_the_file_go_with_its_first_rank(void **state)
{
    (void)state;
    static const uint32_t ranks[][2] = {{5, 5}};
    sp_inputs *inputs = make(false);
    char name[] = "label", place[] = "/events/gpu_durations", *unsupported = place;
    struct sp__attribute label = {.name = name};
    inputs->sources[0]->attributes = &label;
    inputs->sources[0]->attribute_count = 1;
    inputs->sources[0]->unsupported = &unsupported;
    inputs->sources[0]->unsupported_count = 1;
    inputs->sources[0]->dropped = 4;
    sp_selection s = sp_selection_default();
    s.ranks = ranks;
    s.rank_count = 1;
    assert_int_equal(sp_inputs_select(inputs, &s, NULL), 0);
    assert_int_equal(inputs->count, 1);
    assert_ptr_equal(inputs->sources[0]->attributes, &label);
    assert_int_equal(inputs->sources[0]->unsupported_count, 1);
    assert_int_equal(inputs->sources[0]->dropped, 4);
    sp_inputs_destroy(inputs);
}

static void nothing_fits_in_silence(void **state)
{
    (void)state;
    static const uint32_t absent[][2] = {{0, 1}, {2, 4}}, backwards[][2] = {{5, 1}};
    const char *const patterns[] = {"main", "solve"};
    sp_inputs *inputs = make(false);
    sp_error error = {0};
    sp_selection s = sp_selection_default();
    s.ranks = absent;
    s.rank_count = 2;
    assert_int_equal(sp_inputs_select(inputs, &s, &error), SP_ERR_NOT_FOUND);
    assert_non_null(strstr(error.text, "there are 0-1, 5"));
    s.ranks = backwards;
    s.rank_count = 1;
    assert_int_equal(sp_inputs_select(inputs, &s, &error), SP_ERR_USAGE);
    s = sp_selection_default();
    s.regions = patterns;
    s.region_count = 2;
    assert_int_equal(sp_inputs_select(inputs, &s, &error), SP_ERR_NOT_FOUND);
    assert_non_null(strstr(error.text, "\"solve\"; there are main, solve/a, solve/b"));
    s = sp_selection_default();
    s.from_ns = s.to_ns = 5;
    assert_int_equal(sp_inputs_select(inputs, &s, &error), SP_ERR_USAGE);
    assert_int_equal(inputs->count, 3); /* and nothing was taken away */
    assert_int_equal(inputs->sources[0]->row_count, 3);
    inputs->sources[1]->aggregate = true;
    s.to_ns = 6;
    assert_int_equal(sp_inputs_select(inputs, &s, &error), SP_ERR_USAGE);
    assert_non_null(strstr(error.text, "statistics"));
    sp_inputs_destroy(inputs);
}

/* A source whose calls cannot be read. */
static int bad_read(struct sp__source *source, size_t row, uint64_t first, size_t count, const struct sp__calls *ret,
                    sp_error *error)
{
    (void)row, (void)first, (void)count, (void)ret;
    return sp__fail(error, SP_ERR_TRACE_FORMAT, 0, source->path, "byte 7", "it is damaged");
}

static void hear(void *context, const sp_error *error)
{
    assert_string_equal(error->file, "file.h5");
    ++*(unsigned *)context;
}

static void bad_source_hides_the_others(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        sp_inputs *inputs = make(false);
        unsigned heard = 0;
        sp_error error = {0};
        sp_selection s = sp_selection_default();
        s.to_ns = 500;
        inputs->sources[1]->read = bad_read;
        sp_inputs_on_bad(inputs, told ? hear : NULL, &heard);
        assert_int_equal(sp_inputs_select(inputs, &s, &error), told ? 0 : SP_ERR_TRACE_FORMAT);
        assert_int_equal(heard, told);
        assert_int_equal(sp_inputs_bad(inputs), told);
        if (told) {
            assert_int_equal(inputs->count, 2);
            assert_int_equal(inputs->sources[1]->rank, 5);
            assert_int_equal(inputs->sources[1]->rows[0].calls, 50);
        }
        sp_inputs_destroy(inputs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_share_or_lose_calls),
        cmocka_unit_test(stored_facts_outlive_their_calls),
        cmocka_unit_test(words_of_the_file_go_with_its_first_rank),
        cmocka_unit_test(nothing_fits_in_silence),
        cmocka_unit_test(bad_source_hides_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
