/* api.c: the C API promise by promise: handles, ends, scopes, statistics, reset, flush, profilers side by side. */
#include "recording_util.h"

static void names_give_dense_handles(void **state)
{
    (void)state;
    start("names");
    assert_int_equal(sp_region("a"), 0);
    assert_int_equal(sp_region(""), 1);
    assert_int_equal(sp_region("a"), 0);
    assert_int_equal(last(), SP_OK);
    assert_int_equal(sp_region(NULL), -1);
    assert_int_equal(last(), SP_ERR_INVALID_ARGUMENT);
    char name[SP_MAX_NAME + 2];
    memset(name, 'x', sizeof name);
    name[SP_MAX_NAME + 1] = '\0';
    assert_int_equal(sp_region(name), -1);
    assert_int_equal(last(), SP_ERR_INVALID_ARGUMENT);
    name[SP_MAX_NAME] = '\0';
    assert_int_equal(sp_region(name), 2);
    assert_int_equal(sp_region("bad \xff\xc3(utf8"), 3);
    assert_string_equal(sp_profiler_region_name(sp_default_profiler(), 3), "bad \xef\xbf\xbd\xef\xbf\xbd(utf8");
    assert_int_equal(sp_profiler_num_regions(sp_default_profiler()), 4);
    assert_null(sp_profiler_region_name(sp_default_profiler(), 4));
    assert_null(sp_profiler_region_name(sp_default_profiler(), -1));
    assert_string_equal(sp_profiler_region_name(sp_default_profiler(), 2), name);
}

static void a_hundred_thousand_names(void **state)
{
    (void)state;
    start("many");
    char name[32];
    for (int i = 0; i < 100000; i++) {
        (void)snprintf(name, sizeof name, "region %d", i);
        assert_int_equal(sp_region(name), i);
    }
    for (int i = 0; i < 100000; i += 7) {
        (void)snprintf(name, sizeof name, "region %d", i);
        assert_int_equal(sp_region(name), i);
        sp_begin(i);
        sp_end(i);
        assert_int_equal(last(), SP_OK);
    }
    assert_int_equal(sp_num_calls(99995), 1);
    assert_int_equal(sp_num_calls(99996), 0);
    assert_int_equal(sp_finalize(), 0);
    struct trace t = trace_read("many_rank00000.spt");
    assert_int_equal(t.count, 14286);
    assert_int_equal(trace_calls(&t, "region 99995"), 1);
    trace_free(&t);
}

static void bad_handles_do_nothing(void **state)
{
    (void)state;
    start("handles");
    static const int bad[] = {-1, 0, 5, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sp_begin(bad[i]);
        assert_int_equal(last(), SP_ERR_INACTIVE);
        sp_end(bad[i]);
        assert_int_not_equal(last(), SP_OK);
        assert_int_equal(sp_num_calls(bad[i]), 0);
    }
    int a = sp_region("a");
    sp_begin(a);
    assert_int_equal(last(), SP_OK);
    sp_end(a);
    assert_int_equal(last(), SP_OK);
    sp_end(a);
    assert_int_equal(last(), SP_ERR_UNMATCHED_END);
    assert_int_equal(sp_num_calls(a), 1);
}

static void bindings_are_told_statuses(void **state)
{
    (void)state;
    assert_int_equal(sp_begin_status(0), SP_ERR_INACTIVE);
    assert_int_equal(sp_end_status(0), SP_ERR_INACTIVE);
    start("statuses");
    int a = sp_region("a");
    assert_int_equal(sp_end_status(a), SP_ERR_UNMATCHED_END);
    assert_int_equal(sp_begin_status(a + 1), SP_ERR_INACTIVE);
    assert_int_equal(last(), SP_ERR_INACTIVE);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(sp_begin_status(a), SP_OK);
        assert_int_equal(sp_end_status(a), SP_OK);
    }
    assert_int_equal(last(), SP_OK);
    assert_int_equal(sp_num_calls(a), 100);
}

static void lives_have_generations_of_their_own(void **state)
{
    (void)state;
    unsigned seen[100];
    for (size_t i = 0; i < 100; i += 2) {
        start("generation");
        seen[i] = sp_generation();
        sp_profiler *p = sp_create("generation-other", 0);
        assert_non_null(p);
        seen[i + 1] = sp_profiler_generation(p);
        sp_destroy(p);
        for (size_t j = 0; j < i + 2; j++)
            assert_true(seen[j] != 0 && (j == i || seen[j] != seen[i]) && (j == i + 1 || seen[j] != seen[i + 1]));
    }
    unsigned live = sp_generation();
    assert_int_equal(sp_profiler_reset(sp_default_profiler()), 0);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(sp_generation(), live);
}

static void crossed_ends_close_their_own(void **state)
{
    (void)state;
    start("crossed");
    int a = sp_region("a"), b = sp_region("b");
    sp_begin(a);
    sp_begin(b);
    sp_end(a);
    assert_int_equal(last(), SP_OK);
    sp_begin(a);
    sp_end(b);
    assert_int_equal(last(), SP_OK);
    sp_end(a);
    assert_int_equal(last(), SP_OK);
    sp_end(b);
    assert_int_equal(last(), SP_ERR_UNMATCHED_END);
    sp_region_stats s;
    assert_int_equal(sp_profiler_get_region_stats(sp_default_profiler(), a, &s), 0);
    assert_int_equal(s.calls, 2);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(noted("crossed_rank00000.spt", "unmatched"), 1);
    struct trace t = trace_read("crossed_rank00000.spt");
    const struct trace_region *ra = trace_find(&t, "a"), *rb = trace_find(&t, "b");
    assert_true(ra && rb && ra->calls == 2 && rb->calls == 1);
    /* begin A, begin B, end A, begin A, end B, end A */
    assert_true(ra->starts[0] <= rb->starts[0] && rb->starts[0] <= ra->ends[0] && ra->ends[0] <= ra->starts[1]);
    assert_true(ra->starts[1] <= rb->ends[0] && rb->ends[0] <= ra->ends[1]);
    trace_free(&t);
}

static void end_last_closes_the_last_opened(void **state)
{
    (void)state;
    start("last");
    sp_profiler *p = sp_default_profiler();
    int a = sp_region("a"), b = sp_region("b");
    assert_int_equal(sp_profiler_end_last(p), SP_ERR_UNMATCHED_END);
    sp_begin(a);
    sp_begin(b);
    sp_begin(a);
    sp_end(b);
    assert_int_equal(sp_profiler_end_last(p), 0);
    assert_int_equal(sp_num_calls(b), 1);
    assert_int_equal(sp_profiler_end_last(p), 0);
    assert_int_equal(sp_profiler_end_last(p), SP_ERR_UNMATCHED_END);
    sp_region_stats s;
    assert_int_equal(sp_profiler_get_region_stats(p, a, &s), 0);
    assert_int_equal(s.calls, 2);
    assert_int_not_equal(sp_profiler_end_last(NULL), 0);
}

static void scopes_end_exactly_their_call(void **state)
{
    (void)state;
    start("scopes");
    sp_profiler *p = sp_default_profiler();
    int a = sp_region("a"), b = sp_region("b");
    sp_scope outer = sp_profiler_scope_begin(p, a), other = sp_profiler_scope_begin(p, b);
    sp_scope inner = sp_profiler_scope_begin(p, a), copy = inner;
    assert_true(outer.slot >= 0 && other.slot >= 0 && inner.slot >= 0);
    assert_int_equal(sp_scope_end(&outer), SP_ERR_UNMATCHED_END); /* a later call of the region is open */
    assert_int_equal(sp_scope_end(&other), 0);                    /* crossed */
    assert_int_equal(sp_scope_end(&inner), 0);
    assert_int_equal(inner.slot, -1);
    assert_int_equal(sp_scope_end(&inner), SP_ERR_UNMATCHED_END);
    assert_int_equal(sp_scope_end(&copy), SP_ERR_UNMATCHED_END);
    assert_int_equal(sp_scope_end(&outer), 0);
    sp_scope old = sp_profiler_scope_begin(p, a), kept = old;
    assert_int_equal(sp_scope_end(&old), 0);
    assert_int_equal(sp_profiler_reset(p), 0);
    sp_begin(a);
    assert_int_equal(sp_scope_end(&kept), SP_ERR_UNMATCHED_END);
    sp_end(a);
    assert_int_equal(last(), SP_OK);
    sp_scope none = sp_profiler_scope_begin(p, 77);
    assert_int_equal(none.slot, -1);
    assert_int_not_equal(sp_scope_end(&none), 0);
    assert_int_not_equal(sp_scope_end(NULL), 0);
    assert_int_equal(sp_num_calls(a), 1);
}

static void reset_forgets_and_keeps_handles(void **state)
{
    (void)state;
    start("reset");
    sp_profiler *p = sp_default_profiler();
    int a = sp_region("a");
    for (int i = 0; i < 1000; i++) {
        sp_begin(a);
        sp_end(a);
    }
    assert_int_equal(sp_profiler_flush(p), 0);
    assert_int_equal(file_calls("reset_rank00000.spt", "a"), 1000);
    sp_begin(a);
    assert_int_equal(sp_profiler_reset(p), SP_ERR_OPEN_SCOPES);
    assert_int_equal(sp_num_calls(a), 1001);
    sp_end(a);
    assert_int_equal(sp_profiler_reset(p), 0);
    assert_int_equal(sp_num_calls(a), 0);
    sp_region_stats s = {1, 1, 1, 1};
    assert_int_equal(sp_profiler_get_region_stats(p, a, &s), 0);
    assert_true(s.calls == 0 && s.total_ns == 0 && s.min_ns == 0 && s.max_ns == 0);
    assert_int_equal(sp_region("a"), a);
    for (int i = 0; i < 10; i++) {
        sp_begin(a);
        sp_end(a);
    }
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("reset_rank00000.spt", "a"), 10);
    assert_int_equal(sp_profiler_reset(p), SP_ERR_INACTIVE);
    assert_int_equal(sp_num_calls(a), 10);
}

static void flush_publishes_inside_open_calls(void **state)
{
    (void)state;
    start("flush");
    int a = sp_region("a"), b = sp_region("b");
    sp_begin(a);
    sp_begin(a);
    sp_end(a);
    sp_begin(b);
    sp_end(b);
    assert_int_equal(sp_profiler_flush(sp_default_profiler()), 0);
    assert_int_equal(file_calls("flush_rank00000.spt", "a"), 1);
    assert_int_equal(file_calls("flush_rank00000.spt", "b"), 1);
    sp_end(a);
    assert_int_equal(last(), SP_OK);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("flush_rank00000.spt", "a"), 2);
}

static void explicit_profilers_stand_side_by_side(void **state)
{
    (void)state;
    start("side");
    sp_profiler *p[9];
    char prefix[32];
    int a = sp_region("a");
    for (int i = 0; i < 9; i++) {
        (void)snprintf(prefix, sizeof prefix, "side-%d", i);
        p[i] = sp_create(prefix, 0);
        assert_non_null(p[i]);
        assert_int_equal(sp_profiler_region(p[i], "x"), 0);
    }
    for (int n = 0; n < 100; n++) {
        sp_begin(a);
        for (int i = 0; i < 9; i++)
            sp_profiler_begin(p[i], 0);
        for (int i = 0; i < 9; i++) {
            sp_profiler_end(p[i], 0);
            assert_int_equal(sp_profiler_last_error(p[i]), SP_OK);
        }
        sp_end(a);
    }
    assert_int_equal(segments_left(false), 10);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(sp_profiler_finalize(p[i]), 0);
        assert_false(sp_profiler_is_active(p[i]));
        assert_int_equal(file_calls(sp_profiler_output_path(p[i]), "x"), 100);
    }
    for (int i = 0; i < 9; i++)
        sp_destroy(p[i]);
    assert_false(exists("side-8_rank00000.spt"));
    sp_profiler_begin(p[0], 0);
    sp_profiler_end(p[0], 0);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("side_rank00000.spt", "a"), 100);
    assert_int_equal(segments_left(false), 0);
}

static void a_null_profiler_is_harmless(void **state)
{
    (void)state;
    sp_region_stats s;
    assert_int_equal(sp_profiler_reset(NULL), SP_ERR_INACTIVE);
    assert_int_equal(sp_profiler_get_region_stats(NULL, 0, &s), SP_ERR_INACTIVE);
    assert_int_equal(sp_profiler_set_output_format(NULL, SP_OUTPUT_TRACE), SP_ERR_INACTIVE);
    assert_int_equal(sp_profiler_flush(NULL), 0);
    assert_int_equal(sp_profiler_finalize(NULL), 0);
    assert_int_not_equal(sp_profiler_end_last(NULL), 0);
    assert_int_equal(sp_profiler_region(NULL, "a"), -1);
    assert_int_equal(sp_profiler_last_error(NULL), SP_OK);
    assert_int_equal(sp_profiler_output_format(NULL), sp_default_output_format());
    assert_int_equal(sp_default_output_format(), SP_OUTPUT_TRACE);
    assert_null(sp_profiler_output_path(NULL));
    assert_int_equal(sp_profiler_is_active(NULL), 0);
    assert_int_equal(sp_profiler_scope_begin(NULL, 0).slot, -1);
    sp_profiler_begin(NULL, 0);
    sp_profiler_end(NULL, 0);
    sp_destroy(NULL);
    for (int status = -5; status < 30; status++)
        assert_non_null(sp_error_string((sp_status)status));
}

static void formats_need_an_spd(void **state)
{
    (void)state;
    start("format");
    assert_int_equal(sp_hdf5_available(), 0);
    assert_int_equal(sp_set_output_format(SP_OUTPUT_HDF5), SP_ERR_UNSUPPORTED);
    assert_int_equal(sp_current_output_format(), SP_OUTPUT_TRACE);
    assert_int_equal(sp_set_output_format((sp_output_format)7), SP_ERR_INVALID_ARGUMENT);
    assert_int_equal(sp_set_output_format(SP_OUTPUT_TRACE), 0);
    /* The lock of a running spd, and the sessions it takes. */
    char path[512], globs[128];
    (void)snprintf(path, sizeof path, "%s/run", place);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/run/spd.lock", place);
    pid_t child;
    int ready[2], done[2];
    assert_int_equal(pipe(ready) | pipe(done), 0);
    child = fork();
    if (child == 0) {
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
        (void)snprintf(globs, sizeof globs, "other*\nunit-*\n");
        bool good =
            fcntl(fd, F_OFD_SETLK, &lock) == 0 && write(fd, globs, strlen(globs)) > 0 && write(ready[1], "", 1) == 1;
        char c;
        close(done[1]);
        (void)!read(done[0], &c, 1);
        _exit(!good);
    }
    char c;
    close(done[0]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_int_equal(sp_hdf5_available(), 1);
    assert_int_equal(sp_set_output_format(SP_OUTPUT_HDF5), 0);
    assert_int_equal(sp_current_output_format(), SP_OUTPUT_HDF5);
    close(done[1]);
    check_child(child);
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(sp_hdf5_available(), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(sp_current_output_format(), SP_OUTPUT_TRACE);
}

static void errno_is_the_programs(void **state)
{
    (void)state;
    errno = 4242;
    assert_int_equal(sp_init("errno", 0), 0);
    int a = sp_region("a");
    for (int i = 0; i < 70000; i++) {
        sp_begin(a);
        sp_end(a);
    }
    sp_end(a);
    (void)sp_region(NULL);
    (void)sp_hdf5_available();
    (void)sp_output_path();
    (void)sp_profiler_reset(sp_default_profiler());
    (void)sp_profiler_flush(sp_default_profiler());
    (void)sp_now_ns();
    (void)sp_finalize();
    sp_profiler *p = sp_create("nowhere/at/all", 0);
    (void)sp_profiler_finalize(p);
    sp_destroy(p);
    assert_int_equal(errno, 4242);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(names_give_dense_handles, fresh),
        cmocka_unit_test_teardown(a_hundred_thousand_names, fresh),
        cmocka_unit_test_teardown(bad_handles_do_nothing, fresh),
        cmocka_unit_test_teardown(bindings_are_told_statuses, fresh),
        cmocka_unit_test_teardown(lives_have_generations_of_their_own, fresh),
        cmocka_unit_test_teardown(crossed_ends_close_their_own, fresh),
        cmocka_unit_test_teardown(end_last_closes_the_last_opened, fresh),
        cmocka_unit_test_teardown(scopes_end_exactly_their_call, fresh),
        cmocka_unit_test_teardown(reset_forgets_and_keeps_handles, fresh),
        cmocka_unit_test_teardown(flush_publishes_inside_open_calls, fresh),
        cmocka_unit_test_teardown(explicit_profilers_stand_side_by_side, fresh),
        cmocka_unit_test_teardown(a_null_profiler_is_harmless, fresh),
        cmocka_unit_test_teardown(formats_need_an_spd, fresh),
        cmocka_unit_test_teardown(errno_is_the_programs, fresh),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
