/* recursion.c: 10,000 calls of one region inside each other, and more than a lane holds. */
#include "recording_util.h"

enum { DEEP = 10000, LANE = 16384, BEYOND = 20000 };

static void ten_thousand_deep(void **state)
{
    (void)state;
    assert_int_equal(sp_init("deep", 0), 0);
    int a = sp_region("a");
    for (int i = 0; i < DEEP; i++) {
        sp_begin(a);
        assert_int_equal(last(), SP_OK);
    }
    assert_int_equal(sp_num_calls(a), DEEP);
    for (int i = 0; i < DEEP; i++) {
        sp_end(a);
        assert_int_equal(last(), SP_OK);
    }
    sp_end(a);
    assert_int_equal(last(), SP_ERR_UNMATCHED_END);
    assert_int_equal(sp_finalize(), 0);
    struct trace t = trace_read("deep_rank00000.spt");
    const struct trace_region *r = trace_find(&t, "a");
    assert_int_equal(r->calls, DEEP);
    for (int i = 1; i < DEEP; i++)
        assert_true(r->ends[i] <= r->ends[i - 1]); /* each inside the one before */
    trace_free(&t);
}

static void calls_too_deep_are_counted_and_close_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(sp_init("beyond", 0), 0);
    sp_profiler *p = sp_default_profiler();
    int a = sp_region("a"), b = sp_region("b");
    for (int i = 0; i < LANE; i++)
        sp_begin(a);
    assert_int_equal(last(), SP_OK);
    for (int i = LANE; i < BEYOND; i++) {
        sp_begin(i % 2 ? a : b);
        assert_int_equal(last(), SP_ERR_TOO_DEEP);
    }
    assert_int_equal(sp_pause(1), 0);
    sp_begin(b); /* nobody wants it recorded: not counted */
    sp_end(b);
    assert_int_equal(last(), SP_OK);
    assert_int_equal(sp_pause(0), 0);
    sp_scope scope = sp_profiler_scope_begin(p, b), copy = scope;
    assert_true(scope.slot >= 0);
    assert_int_equal(sp_scope_end(&scope), 0);
    assert_int_not_equal(sp_scope_end(&copy), 0);
    assert_int_equal(sp_profiler_reset(p), SP_ERR_OPEN_SCOPES);
    for (int i = LANE; i < BEYOND; i += 2)
        sp_end(b); /* crossed with the others of their kind */
    assert_int_equal(last(), SP_OK);
    sp_end(b);
    assert_int_equal(last(), SP_ERR_UNMATCHED_END);
    for (int i = LANE; i < BEYOND; i += 2)
        assert_int_equal(sp_profiler_end_last(p), 0);
    for (int i = 0; i < LANE; i++) {
        sp_end(a);
        assert_int_equal(last(), SP_OK);
    }
    sp_end(a);
    assert_int_equal(last(), SP_ERR_UNMATCHED_END);
    sp_begin(b);
    sp_end(b);
    assert_int_equal(last(), SP_OK);
    sp_region_stats s;
    assert_int_equal(sp_profiler_get_region_stats(p, a, &s), 0);
    assert_int_equal(s.calls, LANE);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("beyond_rank00000.spt", "a"), LANE);
    assert_int_equal(file_calls("beyond_rank00000.spt", "b"), 1);
    assert_int_equal(noted("beyond_rank00000.spt", "too_deep"), BEYOND - LANE + 1);
    assert_int_equal(noted("beyond_rank00000.spt", "unmatched"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(ten_thousand_deep, fresh),
        cmocka_unit_test_teardown(calls_too_deep_are_counted_and_close_nothing_else, fresh),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
