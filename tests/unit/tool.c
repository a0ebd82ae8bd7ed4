/* tool.c: a library that records for a program which may or may not record for itself, and the pause it may ask for. */
#include "recording_util.h"

static const char SELF[] = "unit-tool_rank00000.spt"; /* what a tool without a prefix writes here */

static int tool(void)
{
    return sp_init_language(NULL, 0, SP_LANGUAGE_TOOL);
}

static void call(const char *name)
{
    int region = sp_region(name);
    sp_begin(region);
    sp_end(region);
}

static void a_tool_joins_the_program(void **state)
{
    (void)state;
    start("program");
    unsigned generation = sp_generation();
    call("a");
    assert_int_equal(sp_init_language("other", 7, SP_LANGUAGE_TOOL), 0);
    assert_int_equal(sp_generation(), generation);
    call("b");
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("program_rank00000.spt", "a"), 1);
    assert_int_equal(file_calls("program_rank00000.spt", "b"), 1);
    assert_false(exists("other_rank00007.spt"));
}

static void a_tool_starts_alone_and_another_joins(void **state)
{
    (void)state;
    unsigned before = sp_generation();
    assert_int_equal(tool(), 0);
    assert_true(sp_is_active());
    unsigned generation = sp_generation();
    assert_int_not_equal(generation, before);
    call("a");
    assert_int_equal(sp_init_language("second", 3, SP_LANGUAGE_TOOL), 0);
    assert_int_equal(sp_generation(), generation);
    call("b");
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls(SELF, "a"), 1);
    assert_int_equal(file_calls(SELF, "b"), 1);
}

/* The recording that a tool began is published when the program begins its own, also under the same name. */
static void the_program_takes_over(const char *tools, const char *prefix, int language)
{
    char published[512];
    assert_int_equal(sp_init_language(tools, 0, SP_LANGUAGE_TOOL), 0);
    int a = sp_region("a");
    (void)snprintf(published, sizeof published, "%s", sp_output_path());
    sp_begin(a);
    sp_end(a);
    sp_begin(a); /* stays open */
    unsigned generation = sp_generation();
    assert_int_equal(sp_init_language(prefix, 0, language), 0);
    assert_int_not_equal(sp_generation(), generation);
    assert_int_equal(sp_profiler_num_regions(sp_default_profiler()), 0);
    sp_end(a);
    call("b");
    assert_int_equal(tool(), 0); /* joins */
    call("c");
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls(published, "a"), 1);
    assert_int_equal(file_calls(published, "b"), 0);
    assert_int_equal(file_calls(sp_output_path(), "a"), 0);
    assert_int_equal(file_calls(sp_output_path(), "b"), 1);
    assert_int_equal(file_calls(sp_output_path(), "c"), 1);
    sp_destroy(sp_default_profiler());
}

static void a_tools_recording_is_published_by_sp_init(void **state)
{
    (void)state;
    the_program_takes_over("taken1", "mine", SP_LANGUAGE_C);
    the_program_takes_over("taken2", "mine", SP_LANGUAGE_FORTRAN);
    the_program_takes_over("same", "same", SP_LANGUAGE_C);
    the_program_takes_over("same", "same", SP_LANGUAGE_FORTRAN);
}

static void what_cannot_be_published_stays(void **state)
{
    (void)state;
    int files = data_files(".spool");
    assert_int_equal(sp_init_language("missing/tool", 0, SP_LANGUAGE_TOOL), 0);
    call("a");
    start("program2");
    assert_int_equal(segments_left(false), 2); /* the tool's, for a merge, and the program's */
    call("b");
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("program2_rank00000.spt", "b"), 1);
    assert_true(segments_left(true) + data_files(".spool") > files);
}

static void after_finalize_a_tool_is_quiet(void **state)
{
    (void)state;
    start("ended");
    call("a");
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(tool(), SP_ERR_INACTIVE);
    assert_false(sp_is_active());
    call("b");
    assert_non_null(strstr(sp_output_path(), "/ended_rank00000.spt"));
    assert_int_equal(sp_num_calls(0), 1);
    sp_destroy(sp_default_profiler());
    assert_int_equal(tool(), 0);
    call("a");
    assert_int_equal(sp_finalize(), 0);
    call("b");
    assert_int_equal(tool(), SP_ERR_INACTIVE);
    assert_int_equal(file_calls(sp_output_path(), "a"), 1);
    assert_int_equal(file_calls(sp_output_path(), "b"), 0);
}

static void disabled_is_disabled(void **state)
{
    (void)state;
    assert_int_equal(setenv("SP_DISABLE", "1", 1), 0);
    assert_int_equal(tool(), 0);
    assert_false(sp_is_active());
    assert_int_equal(sp_region("a"), -1);
    assert_int_equal(segments_left(false), 0);
    unsetenv("SP_DISABLE");
    assert_int_equal(sp_init_language("x", -2, SP_LANGUAGE_TOOL), SP_ERR_INVALID_ARGUMENT);
    assert_int_equal(sp_init_language("x", 0, 3), SP_ERR_INVALID_ARGUMENT);
    assert_false(sp_is_active());
}

static void a_generation_tells_whose_handles_these_are(void **state)
{
    (void)state;
    assert_int_equal(sp_profiler_generation(NULL), 0);
    start("g1");
    unsigned first = sp_generation();
    assert_int_not_equal(first, 0);
    assert_int_equal(sp_profiler_generation(sp_default_profiler()), first);
    call("a");
    assert_int_equal(sp_profiler_reset(sp_default_profiler()), 0);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(sp_generation(), first);
    pid_t child = fork();
    if (child == 0)
        _exit(sp_generation() == first);
    check_child(child);
    start("g2");
    assert_int_not_equal(sp_generation(), first);
    sp_profiler *p = sp_create("own", 0);
    unsigned own = sp_profiler_generation(p);
    assert_int_not_equal(own, 0);
    sp_destroy(p);
    assert_int_not_equal(sp_profiler_generation(p), own);
}

static void a_pause_swallows_begins_with_their_ends(void **state)
{
    (void)state;
    assert_int_equal(sp_pause(1), SP_ERR_INACTIVE);
    start("paused");
    int around = sp_region("around"), inside = sp_region("inside");
    assert_int_equal(sp_pause(0), 0);
    sp_begin(around);
    assert_int_equal(sp_pause(1), 0);
    assert_int_equal(sp_pause(1), 0);
    assert_true(sp_is_active());
    sp_begin(inside);
    sp_end(inside);
    sp_begin(around); /* its end must not close the outer one */
    assert_int_equal(sp_pause(0), 0);
    sp_begin(inside);
    sp_end(inside);
    sp_end(around);
    sp_end(around);
    assert_int_equal(last(), SP_OK);
    assert_int_equal(sp_pause(1), 0);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(sp_pause(0), SP_ERR_INACTIVE);
    assert_int_equal(file_calls("paused_rank00000.spt", "around"), 1);
    assert_int_equal(file_calls("paused_rank00000.spt", "inside"), 1);
    start("resumed"); /* records */
    call("a");
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("resumed_rank00000.spt", "a"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_tool_joins_the_program, fresh),
        cmocka_unit_test_teardown(a_tool_starts_alone_and_another_joins, fresh),
        cmocka_unit_test_teardown(a_tools_recording_is_published_by_sp_init, fresh),
        cmocka_unit_test_teardown(what_cannot_be_published_stays, fresh),
        cmocka_unit_test_teardown(after_finalize_a_tool_is_quiet, fresh),
        cmocka_unit_test_teardown(disabled_is_disabled, fresh),
        cmocka_unit_test_teardown(a_generation_tells_whose_handles_these_are, fresh),
        cmocka_unit_test_teardown(a_pause_swallows_begins_with_their_ends, fresh),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
