/* api.c: the C API promise by promise: handles, ends, scopes, statistics, reset, flush, finalize. */
#include "recording_util.h"

static void start(const char *prefix)
{
    assert_int_equal(sp_init(prefix, 0), 0);
    assert_true(sp_is_active());
}

static int fresh(void **state)
{
    (void)state;
    sp_destroy(sp_default_profiler());
    return 0;
}

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
        cmocka_unit_test_teardown(names_give_dense_handles, fresh),
        cmocka_unit_test_teardown(a_hundred_thousand_names, fresh),
        cmocka_unit_test_teardown(bad_handles_do_nothing, fresh),
        cmocka_unit_test_teardown(crossed_ends_close_their_own, fresh),
        cmocka_unit_test_teardown(end_last_closes_the_last_opened, fresh),
        cmocka_unit_test_teardown(scopes_end_exactly_their_call, fresh),
        cmocka_unit_test_teardown(reset_forgets_and_keeps_handles, fresh),
        cmocka_unit_test_teardown(flush_publishes_inside_open_calls, fresh),
        cmocka_unit_test_teardown(finalize_leaves_open_calls_open, fresh),
        cmocka_unit_test_teardown(a_failed_finalize_can_be_tried_again, fresh),
        cmocka_unit_test_teardown(the_path_counts_from_where_init_was, fresh),
        cmocka_unit_test_teardown(a_later_life_keeps_the_earlier_file, fresh),
        cmocka_unit_test_teardown(a_second_init_discards_the_first, fresh),
        cmocka_unit_test_teardown(explicit_profilers_stand_side_by_side, fresh),
        cmocka_unit_test_teardown(a_null_profiler_is_harmless, fresh),
        cmocka_unit_test_teardown(formats_need_an_spd, fresh),
        cmocka_unit_test_teardown(errno_is_the_programs, fresh),
        cmocka_unit_test_teardown(a_rank_in_use_is_refused, fresh),
        cmocka_unit_test_teardown(ranks_come_from_the_environment, fresh),
        cmocka_unit_test_teardown(closed_descriptors_cost_nothing, fresh),
        cmocka_unit_test_teardown(a_removed_name_costs_nothing, fresh),
        cmocka_unit_test_teardown(statistics_are_kept_without_records, fresh),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
