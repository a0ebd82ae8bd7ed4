/* library_results.c: what results give, narrowed, joined, written and shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hdf5.h>
#include <sys/stat.h>

#include "library.h"

/* ---- what is asked for -------------------------------------------------------------------------------------------- */

static void wrong_rows_for_the_settings(void **state)
{
    (void)state;
    static const char *const regions[] = {"s*", "I/O: write"};
    static const uint32_t ranks[][2] = {{1, 1}, {3, 99}};
    sp_load_settings settings = sp_load_settings_default();
    sp_results *results;
    sp_error error = {0};
    uint32_t rank, of[3] = {0};
    size_t n;
    settings.regions = regions;
    settings.region_count = 2;
    settings.ranks = ranks;
    settings.rank_count = 2;
    settings.label = "narrow";
    assert_int_equal(sp_read_h5(&results, fixture("python-writer.h5"), &settings, &error), 0);
    assert_int_equal(sp_results_rank_count(results), 2);
    assert_int_equal(sp_results_rank(results, 0, &rank), 0);
    assert_int_equal(rank, 1);
    assert_int_equal(sp_results_rank(results, 1, &rank), 0);
    assert_int_equal(rank, 3);
    assert_int_equal(sp_results_rank(results, 2, &rank), SP_ERR_NOT_FOUND);
    assert_int_equal(sp_results_region_count(results), 3);
    assert_int_equal(sp_results_count(results), 6);
    assert_string_equal(sp_results_region(results, 0), "step");
    assert_null(sp_results_region(results, 3));
    assert_int_equal(sp_results_find_region(results, "I/O: write", &n, &error), 0);
    assert_string_equal(sp_results_region(results, n), "I/O: write");
    assert_int_equal(sp_results_region_ranks(results, n, of, 1), 2);
    assert_int_equal(of[0], 1);
    assert_int_equal(of[1], 0);
    assert_int_equal(sp_results_region_ranks(results, n, of, 3), 2);
    assert_int_equal(of[1], 3);
    assert_int_equal(sp_results_region_ranks(results, 3, of, 3), 0);
    n = 42;
    assert_int_equal(sp_results_find_region(results, "main", &n, &error), SP_ERR_NOT_FOUND);
    assert_int_equal(n, 42);
    assert_string_equal(sp_results_label(results), "narrow");
    assert_string_equal(sp_results_metadata(results, "label"), "narrow");
    assert_string_equal(sp_results_metadata(results, "hostname"), "node07");
    assert_string_equal(sp_results_metadata(results, "modules"), "gcc/12\nopenmpi/4.1");
    sp_results_destroy(results);

    static const char *const missing[] = {"step", "stop*"};
    settings.regions = missing;
    results = NULL;
    assert_int_equal(sp_load_h5(&results, fixture("python-writer.h5"), &settings, &error), SP_ERR_NOT_FOUND);
    assert_non_null(strstr(error.text, "stop*"));
    settings.regions = NULL;
    static const uint32_t far[][2] = {{7, 9}};
    settings.ranks = far;
    settings.rank_count = 1;
    assert_int_equal(sp_load_h5_summary(&results, fixture("python-writer.h5"), &settings, &error), SP_ERR_NOT_FOUND);
    assert_non_null(strstr(error.text, "7 to 9"));
    assert_null(results);
}

static void say(void *context, const char *line)
{
    strcat(strcat(context, line), "\n"); /* 4096 bytes for five lines */
}

static void ranks_not_told_of(void **state)
{
    (void)state;
    sp_load_settings settings = sp_load_settings_default();
    sp_results *results;
    char text[4096] = "";
    settings.say = say;
    settings.say_context = text;
    assert_int_equal(sp_read_h5(&results, fixture("gzip.h5"), &settings, NULL), 0);
    sp_results_destroy(results);
    assert_string_equal(text, "");
    settings.verbose = true;
    assert_int_equal(sp_read_h5(&results, fixture("gzip.h5"), &settings, NULL), 0);
    sp_results_destroy(results);
    for (unsigned rank = 0; rank < 5; rank++) {
        char line[64];
        snprintf(line, sizeof line, "gzip.h5: rank %u: 5 regions, ", rank);
        assert_non_null(strstr(text, line));
    }
}

static void metadata_out_of_step(void **state)
{
    (void)state;
    sp_results *results;
    const char *key = NULL, *value = NULL;
    assert_int_equal(sp_load_h5(&results, fixture("python-writer.h5"), NULL, NULL), 0);
    size_t count = sp_results_metadata_count(results);
    assert_true(count >= 5);
    for (size_t n = 0; n < count; n++) {
        assert_int_equal(sp_results_metadata_at(results, n, &key, &value), 0);
        assert_ptr_equal(sp_results_metadata(results, key), value);
    }
    assert_int_equal(sp_results_metadata_at(results, count, &key, &value), SP_ERR_NOT_FOUND);
    assert_null(sp_results_metadata(results, "nothing"));
    assert_null(sp_results_metadata(results, "source")); /* is not in the file */
    assert_string_equal(sp_results_label(results), "fixture");
    sp_results_destroy(results);
    /* Times of a trace are known once its calls were read, and not before. */
    assert_int_equal(sp_read_trace(&results, fixture("v1-big_rank00003.spt"), NULL), 0);
    assert_null(sp_results_metadata(results, "start_time_ns"));
    assert_null(sp_results_metadata(results, "hostname"));
    assert_string_equal(sp_results_label(results), "v1-big_rank00003");
    sp_result row;
    assert_int_equal(sp_results_row(results, 0, &row), 0);
    assert_false(row.summed);
    assert_int_equal(row.source_line, -1);
    assert_string_equal(row.source_file, "");
    assert_int_equal(row.rank, 3);
    assert_int_equal(sp_results_sum_up(results, NULL), 0);
    assert_non_null(sp_results_metadata(results, "start_time_ns"));
    assert_int_equal(sp_results_row(results, 0, &row), 0);
    assert_true(row.summed);
    sp_results_destroy(results);
    assert_int_equal(sp_read_trace(&results, fixture("v2-big_rank00001.spt"), NULL), 0);
    assert_int_equal(sp_results_row(results, 0, &row), 0);
    assert_true(row.source_line > 0);
    assert_true(row.source_file[0]);
    sp_results_destroy(results);
}

/* ---- finding and joining ------------------------------------------------------------------------------------------ */

static void found_is_not_the_folder(void **state)
{
    (void)state;
    char **found = NULL, real[1024];
    size_t count = 99;
    sp_error error = {0};
    const char *just_folder[] = {folder}, *again[3] = {folder, real, folder};
    clear();
    assert_int_equal(sp_find_traces(&found, &count, just_folder, 1, &error), SP_ERR_NOT_FOUND);
    assert_string_equal(error.file, folder);
    copy(fixture("v2-big_rank00001.spt"), in_folder("b_rank00001.spt"));
    copy(fixture("v1-big_rank00003.spt"), in_folder("a.spt"));
    copy(fixture("c-writer_rank00003.h5"), in_folder("c_rank00003.h5"));
    copy(fixture("gzip.h5"), in_folder("merged.h5"));
    copy(fixture("gzip.h5"), in_folder(".hidden_rank00001.h5"));
    assert_int_equal(mkdir(in_folder("below"), 0700), 0);
    assert_int_equal(mkdir(in_folder("folder.spt"), 0700), 0);
    copy(fixture("gzip.h5"), in_folder("below/d_rank00004.h5"));
    assert_int_equal(link(in_folder("b_rank00001.spt"), in_folder("d_rank00001.spt")), 0);
    assert_int_equal(symlink("a.spt", in_folder("e.spt")), 0);
    snprintf(real, sizeof real, "%s", in_folder("merged.h5"));
    static const char *const wanted[] = {"a.spt", "b_rank00001.spt", "c_rank00003.h5", "merged.h5"};
    for (size_t with = 0; with < 2; with++) {
        assert_int_equal(with ? sp_find_traces(&found, &count, again, 3, &error)
                              : sp_find_traces(&found, &count, just_folder, 1, &error),
                         0);
        assert_int_equal(count, 3 + with);
        for (size_t i = 0; i < count; i++)
            assert_string_equal(found[i], in_folder(wanted[i]));
        sp_traces_free(found, count);
    }
    assert_int_equal(symlink("nowhere", in_folder("f.spt")), 0); /* whoever opens it says so */
    again[1] = folder;
    assert_int_equal(sp_find_traces(&found, &count, again, 3, &error), 0);
    assert_int_equal(count, 4);
    assert_string_equal(found[3], in_folder("f.spt"));
    sp_traces_free(found, count);
    found = NULL;
    count = 99;
    again[1] = "/nowhere";
    assert_int_equal(sp_find_traces(&found, &count, again, 3, &error), SP_ERR_NOT_FOUND);
    assert_string_equal(error.file, "/nowhere");
    assert_int_equal(sp_find_traces(&found, &count, again, 0, &error), SP_ERR_USAGE);
    assert_int_equal(sp_find_traces(&found, &count, NULL, 1, &error), SP_ERR_USAGE);
    assert_int_equal(sp_find_traces(NULL, &count, just_folder, 1, &error), SP_ERR_USAGE);
    assert_null(found);
    assert_int_equal(count, 99);
    sp_traces_free(NULL, 0);
    clear();
}

static void two_claims_joined(void **state)
{
    (void)state;
    sp_results *results = NULL;
    sp_error error = {0};
    const char *both[] = {fixture("v1-big_rank00003.spt"), fixture("c-writer_rank00003.h5")};
    assert_int_equal(sp_load_traces(&results, both, 2, NULL, &error), SP_ERR_TRACE_FORMAT);
    assert_non_null(strstr(error.text, "v1-big_rank00003.spt"));
    assert_non_null(strstr(error.text, "c-writer_rank00003.h5"));
    assert_null(results);
    const char *mixed[] = {fixture("aggregate.h5"), fixture("c-writer_rank00003.h5")};
    assert_int_equal(sp_load_traces(&results, mixed, 2, NULL, &error), 0); /* different ranks may be looked at */
    sp_results_destroy(results);
    sp_load_settings settings = sp_load_settings_default();
    settings.label = "set";
    const char *set[] = {fixture("v1-big_rank00003.spt"), fixture("v2-big_rank00001.spt"),
                         fixture("v2-little_rank00000.spt"), fixture("v2-big_rank00001.spt")};
    assert_int_equal(sp_load_traces(&results, set, 4, &settings, &error), 0);
    assert_int_equal(sp_results_rank_count(results), 3);
    assert_string_equal(sp_results_label(results), "set");
    assert_string_equal(sp_results_metadata(results, "mpi_size"), "4");
    sp_results_destroy(results);
}

/* ---- writing ------------------------------------------------------------------------------------------------------ */

static void same_rows(sp_results *left, sp_results *right)
{
    assert_int_equal(sp_results_sum_up(left, NULL), 0);
    assert_int_equal(sp_results_sum_up(right, NULL), 0);
    assert_int_equal(sp_results_count(left), sp_results_count(right));
    for (size_t n = 0; n < sp_results_count(left); n++) {
        sp_result a, b;
        sp_results_row(left, n, &a);
        sp_results_row(right, n, &b);
        assert_string_equal(a.region, b.region);
        assert_string_equal(a.source_file, b.source_file);
        assert_int_equal(a.source_line, b.source_line);
        assert_int_equal(a.rank, b.rank);
        assert_int_equal(a.calls, b.calls);
        assert_int_equal(a.total, b.total);
        assert_int_equal(a.start_minimum, b.start_minimum);
        assert_int_equal(a.end_maximum, b.end_maximum);
    }
}

static void written_is_not_what_was_read(void **state)
{
    (void)state;
    const char *set[] = {fixture("v1-big_rank00003.spt"), fixture("v2-big_rank00001.spt"),
                         fixture("v2-little_rank00000.spt")};
    sp_results *results, *back;
    sp_write_report report = {0};
    sp_write_settings settings = sp_write_settings_default();
    sp_error error = {0};
    if (sp_convert_traces(set, 3, in_folder("whole.h5"), NULL, NULL, &report, &error))
        fail_msg("%s", error.text);
    assert_int_equal(report.ranks, 3);
    assert_int_equal(sp_load_traces(&results, set, 3, NULL, NULL), 0);
    assert_int_equal(sp_load_h5(&back, in_folder("whole.h5"), NULL, NULL), 0);
    assert_string_equal(sp_results_label(back), "whole");
    same_rows(results, back);
    sp_results_destroy(back);
    if (sp_write_results(results, in_folder("again.h5"), NULL, &report, &error))
        fail_msg("%s", error.text);
    assert_int_equal(sp_load_h5_summary(&back, in_folder("again.h5"), NULL, NULL), 0);
    assert_string_equal(sp_results_label(back), "again");
    same_rows(results, back);
    sp_results_destroy(back);
    settings.label = "given";
    assert_int_equal(sp_convert_traces(set, 3, in_folder("whole.h5"), NULL, &settings, NULL, NULL), 0);
    assert_int_equal(sp_load_h5(&back, in_folder("whole.h5"), NULL, NULL), 0);
    assert_string_equal(sp_results_label(back), "given");
    sp_results_destroy(back);
    assert_int_equal(sp_convert_traces(set, 3, in_folder("whole.h5"), "other", &settings, NULL, NULL), 0);
    assert_int_equal(sp_load_h5(&back, in_folder("whole.h5"), NULL, NULL), 0);
    assert_string_equal(sp_results_label(back), "other");
    sp_results_destroy(back);
    assert_int_equal(sp_write_results(results, "/nowhere/out.h5", NULL, NULL, &error), SP_ERR_SYSTEM);
    assert_int_equal(sp_write_results(results, NULL, NULL, NULL, &error), SP_ERR_USAGE);
    assert_int_equal(sp_write_results(NULL, in_folder("no.h5"), NULL, NULL, &error), SP_ERR_USAGE);
    assert_int_equal(sp_convert_traces(set, 3, NULL, NULL, NULL, NULL, &error), SP_ERR_USAGE);
    assert_int_equal(sp_convert_traces(NULL, 3, in_folder("no.h5"), NULL, NULL, NULL, &error), SP_ERR_USAGE);
    sp_results_destroy(results);
    clear();
}

static void narrowed_results_written_whole(void **state)
{
    (void)state;
    static const char *const regions[] = {"main", "I/O: write"};
    static const uint32_t ranks[][2] = {{2, 3}};
    sp_load_settings settings = sp_load_settings_default();
    sp_results *results, *back;
    sp_error error = {0};
    settings.regions = regions;
    settings.region_count = 2;
    settings.ranks = ranks;
    settings.rank_count = 1;
    settings.label = "narrow";
    assert_int_equal(sp_load_h5(&results, fixture("gzip.h5"), &settings, NULL), 0);
    if (sp_write_results(results, in_folder("narrow.h5"), NULL, NULL, &error))
        fail_msg("%s", error.text);
    assert_int_equal(sp_load_h5(&back, in_folder("narrow.h5"), NULL, NULL), 0);
    assert_int_equal(sp_results_count(back), 4);
    assert_string_equal(sp_results_label(back), "narrow");
    same_rows(results, back);
    sp_results_destroy(back);
    sp_results_destroy(results);
    clear();
}

/* ---- groups whose layout is their writer's ------------------------------------------------------------------------ */

static void attribute(hid_t of, const char *name, hid_t type, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR), set = H5Acreate2(of, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(set >= 0 && H5Awrite(set, type, value) >= 0);
    H5Aclose(set);
    H5Sclose(space);
}

static void dataset(hid_t in, const char *name, hid_t type, int dimensions, const hsize_t *sizes, const void *values)
{
    hid_t space = H5Screate_simple(dimensions, sizes, NULL);
    hid_t set = H5Dcreate2(in, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(set >= 0 && H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Sclose(space);
}

static void add_groups(const char *path)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), text = H5Tcopy(H5T_C_S1), pair, fixed = H5Tcopy(H5T_C_S1);
    hid_t rank = H5Gcreate2(file, "/rank1", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(rank, "likwid", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t below = H5Gcreate2(group, "MEM", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t lines = H5Gcreate2(rank, "line_profile", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0 && below >= 0 && lines >= 0);
    H5Tset_size(text, H5T_VARIABLE);
    H5Tset_size(fixed, 4);
    const char *cpu = "Zen 3", *many[100];
    const int cores = 8, odd[4] = {1, 2, 3, 4};
    const double rates[2][3] = {{1, 2, 3}, {4, 5, 6.5}};
    for (size_t i = 0; i < 100; i++)
        many[i] = i % 2 ? "odd" : "even";
    attribute(group, "cpu", text, &cpu);
    attribute(group, "cores", H5T_NATIVE_INT, &cores);
    dataset(below, "rates", H5T_NATIVE_DOUBLE, 2, (const hsize_t[]){2, 3}, rates);
    dataset(below, "names", text, 1, (const hsize_t[]){100}, many);
    dataset(below, "fixed", fixed, 1, (const hsize_t[]){2}, "abc\0defg");
    pair = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(pair, "a", 0, H5T_NATIVE_INT);
    dataset(below, "pairs", pair, 1, (const hsize_t[]){2}, odd);
    dataset(lines, "hits", H5T_NATIVE_INT, 1, (const hsize_t[]){4}, odd);
    H5Lcreate_hard(group, ".", below, "cycle", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("/etc/passwd", "/", below, "outside", H5P_DEFAULT, H5P_DEFAULT);
    const hid_t types[] = {text, fixed, pair};
    for (size_t i = 0; i < 3; i++)
        H5Tclose(types[i]);
    H5Gclose(lines);
    H5Gclose(below);
    H5Gclose(group);
    H5Gclose(rank);
    H5Fclose(file);
}

static int show(void *context, const sp_value *value)
{
    char *to = context, what[256] = "";
    if (value->kind == SP_VALUE_INTEGERS)
        snprintf(what, sizeof what, "%" PRId64, value->integers[value->count - 1]);
    else if (value->kind == SP_VALUE_REALS)
        snprintf(what, sizeof what, "%g", value->reals[value->count - 1]);
    else if (value->kind == SP_VALUE_TEXTS)
        snprintf(what, sizeof what, "%s", value->texts[value->count - 1]);
    size_t used = strlen(to);
    snprintf(to + used, 4096 - used, "%" PRIu32 " %s %s %zu %s\n", value->rank, value->path,
             value->attribute ? value->attribute : "-", value->count, what);
    return 0;
}

static int stop(void *context, const sp_value *value)
{
    (void)value;
    ++*(int *)context;
    return 7;
}

static void group_misread(void **state)
{
    (void)state;
    char text[4096] = "";
    int shown = 0;
    sp_load_settings settings = sp_load_settings_default();
    sp_results *results;
    sp_error error = {0};
    copy(fixture("python-writer.h5"), in_folder("groups.h5"));
    add_groups(in_folder("groups.h5"));
    assert_int_equal(sp_load_h5_summary(&results, in_folder("groups.h5"), NULL, NULL), 0);
    if (sp_results_values(results, "likwid", show, text, &error))
        fail_msg("%s", error.text);
    static const char *const wanted[] = {
        "1 /rank1/likwid cores 1 8\n",          "1 /rank1/likwid cpu 1 Zen 3\n",
        "1 /rank1/likwid/MEM/rates - 6 6.5\n",  "1 /rank1/likwid/MEM/names - 100 odd\n",
        "1 /rank1/likwid/MEM/fixed - 2 defg\n", "1 /rank1/likwid/MEM/pairs - 2 \n"};
    size_t length = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (!strstr(text, wanted[i]))
            fail_msg("\"%s\" lacks \"%s\"", text, wanted[i]);
        length += strlen(wanted[i]);
    }
    assert_int_equal(strlen(text), length);
    *text = 0;
    assert_int_equal(sp_results_values(results, "line_profile", show, text, &error), 0);
    assert_string_equal(text, "1 /rank1/line_profile/hits - 4 4\n");
    assert_int_equal(sp_results_values(results, "likwid", stop, &shown, &error), 7);
    assert_int_equal(shown, 1);
    assert_int_equal(sp_results_values(results, "perf_events", show, text, &error), SP_ERR_NOT_FOUND);
    assert_int_equal(sp_results_values(results, NULL, show, text, &error), SP_ERR_USAGE);
    assert_int_equal(sp_results_values(results, "likwid", NULL, text, &error), SP_ERR_USAGE);
    sp_results_destroy(results);
    static const uint32_t other[][2] = {{0, 0}};
    settings.line_profile = false;
    settings.ranks = other;
    settings.rank_count = 1;
    assert_int_equal(sp_load_h5(&results, in_folder("groups.h5"), &settings, NULL), 0);
    assert_int_equal(sp_results_values(results, "likwid", show, text, &error), SP_ERR_NOT_FOUND);
    assert_int_equal(sp_results_values(results, "line_profile", show, text, &error), SP_ERR_USAGE);
    sp_results_destroy(results);
    clear();
}

/* Few bytes that stand for many: one long text that a thousand values refer to, groups in groups. */
static void hostile_group_taken_whole(void **state)
{
    (void)state;
    char text[4096] = "";
    sp_results *results;
    sp_error error = {0};
    const char *path = in_folder("hostile.h5");
    copy(fixture("python-writer.h5"), path);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1);
    hid_t rank = H5Gcreate2(file, "/rank0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t group = H5Gcreate2(rank, "likwid", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t deep = H5Gcreate2(rank, "perf_events", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Tset_size(type, H5T_VARIABLE);
    enum { LONG = 40000, MANY = 1000 };
    char *words = malloc(LONG + 1);
    const char *many[MANY];
    memset(words, 'x', LONG);
    words[LONG] = 0;
    for (size_t i = 0; i < MANY; i++)
        many[i] = words;
    dataset(group, "texts", type, 1, (const hsize_t[]){MANY}, many);
    dataset(group, "some", type, 1, (const hsize_t[]){100}, many);
    for (int i = 0; i < 50; i++) {
        hid_t below = H5Gcreate2(deep, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Gclose(deep);
        deep = below;
    }
    free(words);
    H5Gclose(deep);
    H5Gclose(group);
    H5Gclose(rank);
    H5Tclose(type);
    H5Fclose(file);
    assert_int_equal(sp_load_h5(&results, path, NULL, NULL), 0);
    if (sp_results_values(results, "likwid", show, text, &error))
        fail_msg("%s", error.text);
    assert_non_null(strstr(text, "likwid/texts - 1000 \n"));
    assert_non_null(strstr(text, "likwid/some - 100 xxx"));
    assert_int_equal(sp_results_values(results, "perf_events", show, text, &error), SP_ERR_CORRUPT_PROFILE);
    assert_string_equal(error.file, path);
    assert_string_equal(error.place, "/rank0/perf_events");
    sp_results_destroy(results);
    clear();
}

static int prepare(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int tidy(void **state)
{
    (void)state;
    clear();
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_rows_for_the_settings),
        cmocka_unit_test(ranks_not_told_of),
        cmocka_unit_test(metadata_out_of_step),
        cmocka_unit_test(found_is_not_the_folder),
        cmocka_unit_test(two_claims_joined),
        cmocka_unit_test(written_is_not_what_was_read),
        cmocka_unit_test(narrowed_results_written_whole),
        cmocka_unit_test(group_misread),
        cmocka_unit_test(hostile_group_taken_whole),
    };
    return cmocka_run_group_tests(tests, prepare, tidy);
}
