/* Parts of one rank: joined where they belong together, refused where they don't, their calls one ordered stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "io/rank.h"
#include "memory_source.h"

static void name_part(struct sp__source *source, const char *session, const char *incarnation)
{
    snprintf(source->session, sizeof source->session, "%s", session);
    snprintf(source->incarnation, sizeof source->incarnation, "%s", incarnation);
}

static void only_parts_of_one_session_join(void **state)
{
    (void)state;
    static const struct {
        const char *session[2], *incarnation[2];
        bool joins;
    } cases[] = {{{"", ""}, {"", ""}, false},
                 {{"s", "s"}, {"a", "b"}, true},
                 {{"s", "t"}, {"a", "b"}, false},
                 {{"s", "s"}, {"a", "a"}, false},
                 {{"s", ""}, {"a", ""}, false}};
    static const char *const names[] = {"step"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sp__source *parts[2] = {memory_source("one.spt", 3, names, 1, 1),
                                       memory_source("two.spt", 3, names, 1, 1)};
        struct sp__rank *rank;
        sp_error error;
        for (int p = 0; p < 2; p++) {
            name_part(parts[p], cases[i].session[p], cases[i].incarnation[p]);
            memory_add(parts[p], 0, 10 * p, 10 * p + 5, 0);
        }
        int result = sp__rank_create(&rank, parts, 2, &error);
        assert_int_equal(result, cases[i].joins ? 0 : SP_ERR_TRACE_FORMAT);
        if (cases[i].joins) {
            assert_int_equal(rank->calls, 2);
            assert_int_equal(rank->row_count, 1);
            sp__rank_destroy(rank);
        } else {
            assert_non_null(strstr(error.text, "one.spt"));
            assert_non_null(strstr(error.text, "two.spt"));
        }
        memory_destroy(parts[0]);
        memory_destroy(parts[1]);
    }
}

static void rows_join_by_name_and_empty_ones_go(void **state)
{
    (void)state;
    static const char *const first[] = {"setup", "never", "step"}, *const second[] = {"step", "late"};
    struct sp__source *parts[2] = {memory_source("a", 0, first, 3, 2), memory_source("b", 0, second, 2, 1)};
    name_part(parts[0], "s", "a");
    name_part(parts[1], "s", "b");
    memory_add(parts[0], 0, 1, 2, 0);
    memory_add(parts[0], 2, 5, 6, 1);
    memory_add(parts[1], 0, 3, 4, 0);
    memory_add(parts[1], 1, 7, 8, 0);
    parts[0]->rows[2].file = "";
    parts[0]->rows[2].line = -1;
    struct sp__rank *rank;
    assert_int_equal(sp__rank_create(&rank, parts, 2, NULL), 0);
    assert_int_equal(rank->row_count, 3);
    assert_string_equal(rank->rows[0].name, "setup");
    assert_string_equal(rank->rows[1].name, "step");
    assert_string_equal(rank->rows[1].file, "solver.c"); /* a missing location is filled in */
    assert_int_equal(rank->rows[1].line, 10);
    assert_string_equal(rank->rows[2].name, "late");
    struct sp__cursor *cursor;
    struct sp__calls calls;
    size_t count;
    assert_int_equal(sp__cursor_open(&cursor, rank, 1, 100, NULL), 0);
    assert_int_equal(sp__cursor_next(cursor, &calls, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(calls.start[0], 3);
    assert_int_equal(calls.thread[0], 2); /* the second part's thread comes after the first's two */
    assert_int_equal(calls.thread[1], 1);
    assert_int_equal(sp__cursor_next(cursor, &calls, &count, NULL), 0);
    assert_int_equal(count, 0);
    sp__cursor_close(cursor);
    sp__rank_destroy(rank);
    memory_destroy(parts[0]);
    memory_destroy(parts[1]);
}

/* Reads a row out and checks that it ascends by start and descends by end where starts are equal. */
static uint64_t read_out(struct sp__rank *rank, size_t room, int64_t *ret_total)
{
    struct sp__cursor *cursor;
    struct sp__calls calls;
    size_t count;
    uint64_t all = 0;
    int64_t start = INT64_MIN, end = INT64_MAX;
    assert_int_equal(sp__cursor_open(&cursor, rank, 0, room, NULL), 0);
    while (assert_int_equal(sp__cursor_next(cursor, &calls, &count, NULL), 0), count) {
        for (size_t i = 0; i < count; i++) {
            assert_true(calls.start[i] > start || (calls.start[i] == start && calls.end[i] <= end));
            start = calls.start[i];
            end = calls.end[i];
            *ret_total += end - start;
        }
        all += count;
    }
    sp__cursor_close(cursor);
    return all;
}

static void ties_stand_holder_first_across_buffers(void **state)
{
    (void)state;
    static const char *const names[] = {"step"};
    struct sp__source *source = memory_source("a", 0, names, 1, 1);
    int64_t total = 0;
    for (int64_t i = 0; i < 1000; i++) /* runs of 1 to 7 equal starts, the inner ones first */
        for (int64_t k = 0; k <= i % 7; k++) {
            memory_add(source, 0, i * 10, i * 10 + k, 0);
            total += k;
        }
    struct sp__rank *rank;
    assert_int_equal(sp__rank_create(&rank, &source, 1, NULL), 0);
    for (size_t room = 16; room < 40; room += 5) {
        int64_t read = 0;
        assert_int_equal(read_out(rank, room, &read), rank->calls);
        assert_int_equal(read, total);
        assert_int_equal(rank->rows[0].summary.total, total);
        assert_int_equal(rank->rows[0].summary.maximum, 6);
    }
    sp__rank_destroy(rank);
    memory_destroy(source);
}

static void many_parts_that_overlap_or_follow_one_another(void **state)
{
    (void)state;
    static const char *const names[] = {"step"};
    for (int64_t apart = 0; apart < 3; apart++) { /* all at once, half over, one after another */
        struct sp__source *parts[40];
        uint64_t calls = 0;
        for (size_t p = 0; p < 40; p++) {
            char incarnation[33];
            parts[p] = memory_source("part", 0, names, 1, 1);
            snprintf(incarnation, sizeof incarnation, "%zu", p);
            name_part(parts[p], "s", incarnation);
            for (int64_t i = 0; i < 50 + (int64_t)p; i++, calls++)
                memory_add(parts[p], 0, (int64_t)(39 - p) * 250 * apart + i * 5,
                           (int64_t)(39 - p) * 250 * apart + i * 5 + 3, 0);
        }
        struct sp__rank *rank;
        int64_t total = 0;
        assert_int_equal(sp__rank_create(&rank, parts, 40, NULL), 0);
        assert_int_equal(read_out(rank, 64, &total), calls);
        assert_int_equal(total, 3 * (int64_t)calls);
        sp__rank_destroy(rank);
        for (size_t p = 0; p < 40; p++)
            memory_destroy(parts[p]);
    }
}

static void threads_of_any_number_are_found(void **state)
{
    (void)state;
    static const char *const names[] = {"step"};
    struct sp__source *source = memory_source("a", 0, names, 1, 3);
    source->threads[0].index = 900000000000;
    source->threads[1].index = 4;
    source->threads[2].index = 17;
    static const int64_t threads[] = {17, 4, 900000000000, 5, 4};
    for (int64_t i = 0; i < 5; i++)
        memory_add(source, 0, i, i, threads[i]);
    struct sp__rank *rank;
    struct sp__cursor *cursor;
    struct sp__calls calls;
    size_t count;
    assert_int_equal(sp__rank_create(&rank, &source, 1, NULL), 0);
    assert_int_equal(sp__cursor_open(&cursor, rank, 0, 100, NULL), 0);
    assert_int_equal(sp__cursor_next(cursor, &calls, &count, NULL), 0);
    static const int64_t positions[] = {2, 1, 0, -1, 1};
    assert_memory_equal(calls.thread, positions, sizeof positions);
    assert_int_equal(rank->threads[2].index, 17);
    sp__cursor_close(cursor);
    sp__rank_destroy(rank);
    memory_destroy(source);
}

static void disorder_and_negative_calls_are_named(void **state)
{
    (void)state;
    static const char *const names[] = {"step"};
    for (int kind = 0; kind < 2; kind++) {
        struct sp__source *source = memory_source("bad.spt", 0, names, 1, 1);
        for (int64_t i = 0; i < 50; i++)
            memory_add(source, 0, kind == 0 && i == 33 ? 0 : i, kind == 1 && i == 33 ? 0 : i + 1, 0);
        struct sp__rank *rank;
        struct sp__cursor *cursor;
        struct sp__calls calls;
        size_t count = 1;
        sp_error error;
        int result;
        assert_int_equal(sp__rank_create(&rank, &source, 1, NULL), 0);
        assert_int_equal(sp__cursor_open(&cursor, rank, 0, 16, NULL), 0);
        while ((result = sp__cursor_next(cursor, &calls, &count, &error)) == 0 && count)
            ;
        assert_int_equal(result, SP_ERR_TRACE_FORMAT);
        assert_non_null(strstr(error.text, "bad.spt"));
        assert_non_null(strstr(error.text, "call 33 of region step"));
        sp__cursor_close(cursor);
        sp__rank_destroy(rank);
        memory_destroy(source);
    }
}

static void statistics_hold_at_any_offset(void **state)
{
    (void)state;
    static const char *const names[] = {"step"};
    struct sp__source *source = memory_source("a", 0, names, 1, 1);
    for (int64_t i = 0; i < 100000; i++) /* durations of an hour and 0 or 2 ns: squares of them hold no ns */
        memory_add(source, 0, i, i + 3600000000000 + 2 * (i & 1), 0);
    struct sp__rank *rank;
    int64_t total = 0;
    assert_int_equal(sp__rank_create(&rank, &source, 1, NULL), 0);
    read_out(rank, 1000, &total);
    assert_true(rank->rows[0].summary.m2 > 99990 && rank->rows[0].summary.m2 < 100010);
    assert_true(rank->rows[0].summary.mean == 3600000000001.0);
    sp__rank_destroy(rank);
    memory_destroy(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_parts_of_one_session_join),
        cmocka_unit_test(rows_join_by_name_and_empty_ones_go),
        cmocka_unit_test(ties_stand_holder_first_across_buffers),
        cmocka_unit_test(many_parts_that_overlap_or_follow_one_another),
        cmocka_unit_test(threads_of_any_number_are_found),
        cmocka_unit_test(disorder_and_negative_calls_are_named),
        cmocka_unit_test(statistics_hold_at_any_offset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
