/* api_life.c: the C API promise by promise: where a profiler begins, publishes and ends, and what it lives through. */
#include "recording_util.h"

static void finalize_leaves_open_calls_open(void **state)
{
    (void)state;
    start("open");
    int a = sp_region("a"), b = sp_region("b");
    sp_begin(a);
    sp_begin(b);
    sp_end(b);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(last(), SP_ERR_OPEN_SCOPES);
    assert_false(sp_is_active());
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(sp_profiler_flush(sp_default_profiler()), 0);
    assert_int_equal(sp_region("c"), -1);
    sp_end(a);
    assert_int_equal(last(), SP_ERR_INACTIVE);
    assert_string_equal(sp_profiler_region_name(sp_default_profiler(), b), "b");
    assert_int_equal(sp_num_calls(a), 1);
    sp_region_stats s;
    assert_int_equal(sp_profiler_get_region_stats(sp_default_profiler(), b, &s), 0);
    assert_int_equal(s.calls, 1);
    assert_int_equal(file_calls("open_rank00000.spt", "b"), 1);
    assert_int_equal(file_calls("open_rank00000.spt", "a"), 0);
    assert_int_equal(segments_left(false), 0);
    assert_int_equal(data_files(".spool"), 0);
}

static void a_failed_finalize_can_be_tried_again(void **state)
{
    (void)state;
    char path[512];
    start("missing/folder/out");
    int a = sp_region("a");
    for (int i = 0; i < 40000; i++) {
        sp_begin(a);
        sp_end(a);
    }
    sp_begin(a);
    assert_int_equal(sp_finalize(), SP_ERR_IO);
    assert_int_equal(last(), SP_ERR_IO);
    assert_true(sp_is_active());
    assert_int_equal(sp_profiler_flush(sp_default_profiler()), SP_ERR_IO);
    assert_int_equal(last(), SP_ERR_IO);
    sp_end(a);
    assert_int_equal(last(), SP_OK);
    sp_begin(a);
    sp_end(a);
    assert_int_equal(mkdir("missing", 0700), 0);
    assert_int_equal(mkdir("missing/folder", 0700), 0);
    assert_int_equal(sp_finalize(), 0);
    (void)snprintf(path, sizeof path, "%s/missing/folder/out_rank00000.spt", place);
    assert_string_equal(sp_output_path(), path);
    assert_int_equal(file_calls(path, "a"), 40002);
}

static void the_path_counts_from_where_init_was(void **state)
{
    (void)state;
    char path[512];
    assert_int_equal(mkdir("elsewhere", 0700), 0);
    start("here");
    int a = sp_region("a");
    sp_begin(a);
    sp_end(a);
    assert_int_equal(chdir("elsewhere"), 0);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(chdir(".."), 0);
    (void)snprintf(path, sizeof path, "%s/here_rank00000.spt", place);
    assert_string_equal(sp_output_path(), path);
    assert_int_equal(file_calls("here_rank00000.spt", "a"), 1);
}

static void a_later_life_keeps_the_earlier_file(void **state)
{
    (void)state;
    for (int life = 0; life < 3; life++) {
        start("lives");
        int a = sp_region("a");
        for (int i = 0; i <= life; i++) {
            sp_begin(a);
            sp_end(a);
        }
        assert_int_equal(sp_finalize(), 0);
    }
    assert_int_equal(file_calls("lives_rank00000.spt", "a"), 1);
    assert_int_equal(file_calls("lives_rank00000.i1.spt", "a"), 2);
    assert_int_equal(file_calls("lives_rank00000.i2.spt", "a"), 3);
}

static void a_second_init_discards_the_first(void **state)
{
    (void)state;
    start("first");
    int a = sp_region("a");
    sp_begin(a);
    sp_end(a);
    sp_profiler *p = sp_default_profiler();
    start("second");
    assert_ptr_equal(sp_default_profiler(), p);
    assert_int_equal(sp_profiler_num_regions(p), 0);
    sp_begin(a);
    assert_int_equal(last(), SP_ERR_INACTIVE);
    assert_int_equal(sp_region("b"), 0);
    sp_begin(0);
    sp_end(0);
    assert_int_equal(last(), SP_OK);
    assert_int_equal(segments_left(false), 1);
    assert_int_equal(sp_init("x", -2), SP_ERR_INVALID_ARGUMENT);
    assert_int_equal(sp_num_calls(0), 1);                  /* still the second */
    assert_int_equal(sp_init_language("second", 0, 1), 0); /* joins */
    assert_int_equal(sp_num_calls(0), 1);
    assert_int_equal(sp_finalize(), 0);
    assert_false(exists("first_rank00000.spt"));
    assert_int_equal(file_calls("second_rank00000.spt", "b"), 1);
}

static void a_rank_in_use_is_refused(void **state)
{
    (void)state;
    start("used");
    int a = sp_region("a");
    pid_t child = fork();
    if (child == 0) {
        bool good = sp_init("used", 0) == SP_ERR_RANK_IN_USE && last() == SP_ERR_RANK_IN_USE && !sp_is_active();
        sp_begin(0);
        sp_end(0);
        good = good && sp_init("used", 1) == 0 && sp_region("b") == 0;
        sp_begin(0);
        sp_end(0);
        good = good && sp_finalize() == 0;
        _exit(!good);
    }
    check_child(child);
    assert_null(sp_create("used", 0));
    sp_begin(a);
    sp_end(a);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("used_rank00000.spt", "a"), 1);
    assert_int_equal(file_calls("used_rank00001.spt", "b"), 1);
}

static void ranks_come_from_the_environment(void **state)
{
    (void)state;
    assert_int_equal(setenv("SP_RANK", "41", 1), 0);
    assert_int_equal(sp_init("ranked", SP_RANK_AUTO), 0);
    assert_non_null(strstr(sp_output_path(), "/ranked_rank00041.spt"));
    assert_int_equal(setenv("SP_RANK", "auto", 1), 0);
    sp_profiler *p = sp_create("free", SP_RANK_AUTO), *q = sp_create("free", SP_RANK_AUTO);
    assert_true(p && q);
    assert_non_null(strstr(sp_profiler_output_path(p), "/free_rank00000.spt"));
    assert_non_null(strstr(sp_profiler_output_path(q), "/free_rank00001.spt"));
    sp_destroy(p);
    sp_destroy(q);
    unsetenv("SP_RANK");
    assert_int_equal(setenv("SP_SESSION", "no good", 1), 0);
    assert_int_equal(sp_init("x", 0), SP_ERR_INVALID_ARGUMENT);
    assert_int_equal(setenv("SP_SESSION", session, 1), 0);
}

static void record_much(int region)
{
    for (int i = 0; i < 100000; i++) {
        sp_begin(region);
        sp_end(region);
    }
}

/* A daemonizing program closes everything and takes the numbers for files of its own. */
static void closed_descriptors_cost_nothing(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        int own[90];
        bool good = sp_init("daemon", 0) == 0;
        int a = sp_region("a");
        record_much(a);
        if (close_range(3, ~0U, 0) != 0)
            _exit(1);
        for (int i = 0; i < 90; i++)
            own[i] = open("own", O_RDWR | O_CREAT | O_APPEND, 0600);
        record_much(a);
        good = good && sp_profiler_flush(sp_default_profiler()) == 0;
        record_much(a);
        good = good && sp_finalize() == 0;
        for (int i = 0; i < 90; i++)
            good = good && write(own[i], "x", 1) == 1;
        struct stat st;
        good = good && stat("own", &st) == 0 && st.st_size == 90;
        _exit(!good);
    }
    check_child(child);
    assert_int_equal(file_calls("daemon_rank00000.spt", "a"), 300000);
    assert_int_equal(segments_left(false), 0);
}

static void a_removed_name_costs_nothing(void **state)
{
    (void)state;
    start("removed");
    int a = sp_region("a");
    record_much(a);
    assert_int_equal(segments_left(true), 1);
    record_much(a);
    assert_int_equal(sp_region("b"), 1);
    record_much(1);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("removed_rank00000.spt", "a"), 200000);
    assert_int_equal(file_calls("removed_rank00000.spt", "b"), 100000);
}

static void statistics_are_kept_without_records(void **state)
{
    (void)state;
    assert_int_equal(setenv("SP_MODE", "stats", 1), 0);
    start("stats");
    unsetenv("SP_MODE");
    int a = sp_region("a"), b = sp_region("b");
    for (int i = 0; i < 100000; i++) {
        sp_begin(a);
        sp_begin(b);
        sp_end(b);
        sp_end(a);
    }
    sp_region_stats sa, sb;
    assert_int_equal(sp_profiler_get_region_stats(sp_default_profiler(), a, &sa), 0);
    assert_int_equal(sp_profiler_get_region_stats(sp_default_profiler(), b, &sb), 0);
    assert_true(sa.calls == 100000 && sb.calls == 100000 && sa.total_ns >= sb.total_ns && sa.min_ns >= 0 &&
                sa.max_ns >= sa.min_ns && sa.total_ns >= sa.max_ns);
    assert_int_equal(sp_finalize(), 0);
    assert_false(exists("stats_rank00000.spt"));
    assert_true(exists(sp_output_path()));
    assert_int_equal(data_files(".spool"), 1);
    assert_int_equal(segments_left(false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(finalize_leaves_open_calls_open, fresh),
        cmocka_unit_test_teardown(a_failed_finalize_can_be_tried_again, fresh),
        cmocka_unit_test_teardown(the_path_counts_from_where_init_was, fresh),
        cmocka_unit_test_teardown(a_later_life_keeps_the_earlier_file, fresh),
        cmocka_unit_test_teardown(a_second_init_discards_the_first, fresh),
        cmocka_unit_test_teardown(a_rank_in_use_is_refused, fresh),
        cmocka_unit_test_teardown(ranks_come_from_the_environment, fresh),
        cmocka_unit_test_teardown(closed_descriptors_cost_nothing, fresh),
        cmocka_unit_test_teardown(a_removed_name_costs_nothing, fresh),
        cmocka_unit_test_teardown(statistics_are_kept_without_records, fresh),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
