/* inactive.c: every function while nothing records: before sp_init, disabled, after the end. */
#include "recording_util.h"

static void nothing_happens(void)
{
    sp_region_stats s;
    sp_begin(0);
    sp_end(0);
    sp_begin(-1);
    sp_end(-1);
    assert_int_equal(sp_region("a"), -1);
    assert_int_equal(SP_REGION_AT("a"), -1);
    assert_int_equal(sp_num_calls(0), 0);
    assert_int_equal(sp_is_active(), 0);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(sp_set_output_format(SP_OUTPUT_TRACE), SP_ERR_INACTIVE);
    assert_int_equal(sp_current_output_format(), SP_OUTPUT_TRACE);
    assert_int_equal(sp_profiler_flush(sp_default_profiler()), 0);
    assert_int_equal(sp_profiler_reset(sp_default_profiler()), SP_ERR_INACTIVE);
    assert_int_not_equal(sp_profiler_end_last(sp_default_profiler()), 0);
    assert_int_equal(sp_profiler_get_region_stats(sp_default_profiler(), 0, &s), SP_ERR_INACTIVE);
    sp_scope scope = sp_profiler_scope_begin(sp_default_profiler(), 0);
    assert_int_equal(scope.slot, -1);
    assert_int_not_equal(sp_scope_end(&scope), 0);
    assert_true(sp_now_ns() > 0);
    assert_int_equal(segments_left(false), 0);
}

static void before_init(void **state)
{
    (void)state;
    assert_null(sp_default_profiler());
    assert_null(sp_output_path());
    nothing_happens();
    assert_null(sp_default_profiler());
}

static void disabled(void **state)
{
    (void)state;
    assert_int_equal(setenv("SP_DISABLE", "1", 1), 0);
    assert_int_equal(sp_init("off", 0), 0);
    assert_non_null(sp_default_profiler());
    assert_null(sp_create("off", 0));
    nothing_happens();
    unsetenv("SP_DISABLE");
    assert_false(exists("off_rank00000.spt"));
    assert_int_equal(data_files(""), 0);
}

static void after_the_end(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sp_init("over", i), 0);
        int a = sp_region("a");
        sp_begin(a);
        sp_end(a);
        if (i == 0)
            assert_int_equal(sp_finalize(), 0);
        sp_destroy(sp_default_profiler());
        nothing_happens();
        void (*const calls[])(int) = {sp_begin, sp_end};
        for (int c = 0; c < 2; c++) {
            assert_int_equal(sp_finalize(), 0);
            assert_int_equal(last(), SP_OK);
            calls[c](0);
            assert_int_equal(last(), SP_ERR_INACTIVE);
        }
    }
    assert_true(exists("over_rank00000.spt"));
    assert_false(exists("over_rank00001.spt"));
}

/* An exit without finalize publishes as finalize would; calls in later destructors are harmless. */
static int at_exit_region;
static void late(void)
{
    sp_begin(at_exit_region);
    sp_end(at_exit_region);
}

static void exit_publishes(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        if (atexit(late) || sp_init("exit", 0))
            _exit(1);
        at_exit_region = sp_region("a");
        sp_begin(at_exit_region);
        sp_end(at_exit_region);
        sp_profiler *p = sp_create("other", 0);
        int b = sp_profiler_region(p, "b");
        sp_profiler_begin(p, b);
        sp_profiler_end(p, b);
        exit(0);
    }
    check_child(child);
    assert_int_equal(file_calls("exit_rank00000.spt", "a"), 2);
    assert_int_equal(file_calls("other_rank00000.spt", "b"), 1);
    assert_int_equal(segments_left(false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_init),
        cmocka_unit_test(disabled),
        cmocka_unit_test(after_the_end),
        cmocka_unit_test(exit_publishes),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
