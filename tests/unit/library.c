/* library.c: what every function that loads says of sound files, of damaged ones, and of nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hdf5.h>
#include <jansson.h>
#include <math.h>

#include "library.h"

static json_t *expected;

/* ---- the ways to load a file, all of one shape -------------------------------------------------------------------- */

typedef int loader(sp_results **ret, const char *path, sp_error *error);

static int by_load_traces(sp_results **ret, const char *path, sp_error *error)
{
    return sp_load_traces(ret, &path, 1, NULL, error);
}

static int by_load_h5(sp_results **ret, const char *path, sp_error *error)
{
    return sp_load_h5(ret, path, NULL, error);
}

static int by_read_h5(sp_results **ret, const char *path, sp_error *error)
{
    return sp_read_h5(ret, path, NULL, error);
}

static int by_load_h5_summary(sp_results **ret, const char *path, sp_error *error)
{
    return sp_load_h5_summary(ret, path, NULL, error);
}

static int by_read_h5_summary(sp_results **ret, const char *path, sp_error *error)
{
    return sp_read_h5_summary(ret, path, NULL, error);
}

static loader *const of_traces[] = {sp_read_trace, sp_read_native_ranks, by_load_traces};
static loader *const of_profiles[] = {sp_read_native_h5, sp_read_native_ranks, by_load_traces,    by_load_h5,
                                      by_read_h5,        by_load_h5_summary,   by_read_h5_summary};

static size_t loaders(const char *name, loader *const **ret)
{
    bool profile = strstr(name, SP_HDF5_SUFFIX);
    *ret = profile ? of_profiles : of_traces;
    return profile ? sizeof of_profiles / sizeof *of_profiles : sizeof of_traces / sizeof *of_traces;
}

/* ---- sound files -------------------------------------------------------------------------------------------------- */

/* The calls of a row, in slices, add up to what the row says. */
static void calls_are(sp_results *results, const sp_result *row, size_t slice)
{
    int64_t *memory = calloc(slice, 5 * sizeof *memory), total = 0, least = INT64_MAX, most = 0, last = INT64_MIN;
    const sp_call_columns into = {memory, memory + slice, memory + 2 * slice, memory + 3 * slice, memory + 4 * slice};
    uint64_t calls = 0;
    size_t region, count = 1;
    sp_calls *reading;
    sp_error error = {0};
    assert_int_equal(sp_results_find_region(results, row->region, &region, NULL), 0);
    if (sp_calls_open(&reading, results, region, row->rank, &error))
        fail_msg("%s", error.text);
    while (count) {
        if (sp_calls_next(reading, &into, slice, &count, &error))
            fail_msg("%s", error.text);
        assert_true(count <= slice);
        for (size_t i = 0; i < count; i++) {
            int64_t duration = into.end[i] - into.start[i];
            assert_true(into.start[i] >= last);
            last = into.start[i];
            total += duration;
            least = duration < least ? duration : least;
            most = duration > most ? duration : most;
            if (!sp_calls_have_threads(reading))
                assert_int_equal(into.thread[i], -1);
            if (!sp_calls_have_ids(reading))
                assert_int_equal(into.call[i], -1);
            assert_true(into.parent[i] < into.call[i] || into.call[i] == -1);
        }
        calls += count;
    }
    sp_calls_close(reading);
    free(memory);
    assert_int_equal(calls, row->calls);
    assert_int_equal(total, row->total);
    assert_int_equal(least, row->minimum);
    assert_int_equal(most, row->maximum);
}

static bool has_events(sp_results *results, const sp_result *row)
{
    double half = 50, found;
    size_t region;
    assert_int_equal(sp_results_find_region(results, row->region, &region, NULL), 0);
    return sp_results_percentiles(results, region, row->rank, &half, 1, &found, NULL) != SP_ERR_NO_EVENTS;
}

static void rows_are(sp_results *results, const char *name, json_t *wanted, bool calls)
{
    const char *key;
    json_t *values;
    size_t rows = 0;
    sp_error error = {0};
    if (sp_results_sum_up(results, &error))
        fail_msg("%s: %s", name, error.text);
    json_object_foreach(wanted, key, values) rows += json_integer_value(json_array_get(values, 0)) > 0;
    assert_int_equal(sp_results_count(results), rows);
    for (size_t n = 0; n < rows; n++) {
        sp_result row;
        char at[2048];
        assert_int_equal(sp_results_row(results, n, &row), 0);
        snprintf(at, sizeof at, "%" PRIu32 "/%s", row.rank, row.region);
        if (!(values = json_object_get(wanted, at)))
            fail_msg("%s: %s is not there", name, at);
        assert_true(row.summed);
        assert_int_equal(row.calls, json_integer_value(json_array_get(values, 0)));
        assert_int_equal(row.total, json_integer_value(json_array_get(values, 1)));
        assert_int_equal(row.minimum, json_integer_value(json_array_get(values, 2)));
        assert_int_equal(row.maximum, json_integer_value(json_array_get(values, 3)));
        if (calls && (n < 30 || n + 1 == rows) && has_events(results, &row)) {
            calls_are(results, &row, 7);
            calls_are(results, &row, 5000);
        }
    }
}

static void sound_file_misread(void **state)
{
    (void)state;
    const char *name;
    json_t *wanted;
    unsigned loaded = 0;
    json_object_foreach(expected, name, wanted)
    {
        loader *const *with;
        size_t count = loaders(name, &with);
        for (size_t i = 0; i < count && !json_object_get(wanted, "error"); i++) {
            sp_results *results;
            sp_error error = {0};
            int status = with[i](&results, fixture(name), &error);
            if (status == SP_ERR_SUMMARY_UNAVAILABLE && with[i] == by_load_h5_summary)
                continue;
            if (status)
                fail_msg("%s: %s", name, error.text);
            rows_are(results, name, wanted, i < 2);
            sp_results_destroy(results);
            loaded++;
        }
    }
    assert_true(loaded > 80);
}

static void damaged_file_accepted_or_badly_named(void **state)
{
    (void)state;
    const char *name;
    json_t *wanted;
    unsigned refused = 0;
    json_object_foreach(expected, name, wanted)
    {
        const char *phrase = json_string_value(json_object_get(wanted, "error")), *path = fixture(name);
        loader *const *with;
        size_t count = loaders(name, &with);
        for (size_t i = 0; phrase && i < count; i++) {
            sp_results *results = (sp_results *)&refused;
            sp_error error = {0};
            int status = with[i](&results, path, &error);
            assert_true(status == SP_ERR_TRACE_FORMAT || status == SP_ERR_CORRUPT_PROFILE || status == SP_ERR_SCHEMA);
            assert_int_equal(error.status, status);
            assert_ptr_equal(results, &refused);
            assert_string_equal(error.file, path);
            if (!strstr(error.text, phrase))
                fail_msg("%s: \"%s\" does not say \"%s\"", name, error.text, phrase);
            if (with[i] == sp_read_trace)
                assert_int_equal(strncmp(error.place, "byte ", 5), 0);
            assert_true(error.place[0] || strstr(error.text, "HDF5"));
            refused++;
        }
        if (phrase) {
            sp_write_report report = {.calls = 77};
            sp_error error = {0};
            assert_true(sp_convert_traces(&path, 1, in_folder("never.h5"), NULL, NULL, &report, &error) < 0);
            assert_non_null(strstr(error.text, name));
            assert_int_equal(report.calls, 77);
            assert_int_not_equal(access(in_folder("never.h5"), F_OK), 0);
        }
    }
    assert_true(refused > 80);
}

/* Everything that reads calls says where they are damaged, and leaves its outputs alone. */
static void refuses_calls(const char *path, int wanted, const char *place)
{
    sp_results *results, *summary = NULL;
    sp_statistics s = {.count = 99};
    sp_calls *calls;
    sp_error error = {0};
    double half = 50, found = 1;
    int64_t start[8], end[8];
    const sp_call_columns into = {.start = start, .end = end};
    size_t count = 99;
    assert_int_equal(sp_load_traces(&results, &path, 1, NULL, NULL), 0);
    assert_int_equal(sp_results_statistics(results, 0, SP_ALL_RANKS, &s, &error), wanted);
    assert_int_equal(s.count, 99);
    assert_string_equal(error.file, path);
    assert_string_equal(error.place, place);
    assert_int_equal(sp_results_sum_up(results, &error), wanted);
    assert_int_equal(sp_results_print_summary(results, stderr, &error), wanted);
    assert_int_equal(sp_results_percentiles(results, 0, SP_ALL_RANKS, &half, 1, &found, &error), wanted);
    assert_true(found == 1);
    assert_int_equal(sp_calls_open(&calls, results, 0, 0, &error), 0);
    assert_int_equal(sp_calls_next(calls, &into, 8, &count, &error), wanted);
    assert_int_equal(count, 99);
    sp_calls_close(calls);
    assert_true(sp_write_results(results, in_folder("never.h5"), NULL, NULL, &error) < 0);
    assert_int_not_equal(access(in_folder("never.h5"), F_OK), 0);
    sp_results_destroy(results);
    if (strstr(path, SP_HDF5_SUFFIX)) {
        assert_int_equal(sp_read_h5_summary(&summary, path, NULL, &error), wanted);
        assert_null(summary);
    }
}

static void damage_among_calls_hidden(void **state)
{
    (void)state;
    static const unsigned char trace[] = {"SCOPEPRF\2\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0" /* version 2, rank 0, 1 region */
                                          "\1\0\0\0a\0\0\0\0\xff\xff\xff\xff"        /* "a", no file, no line */
                                          "\2\0\0\0\0\0\0\0"                         /* 2 calls */
                                          "\7\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0"         /* start at 7 and at 5 */
                                          "\x8\0\0\0\0\0\0\0\x9\0\0\0\0\0\0\0"};     /* end at 8 and at 9 */
    FILE *to = fopen(in_folder("order.spt"), "w");
    assert_int_equal(fwrite(trace, 1, sizeof trace - 1, to), sizeof trace - 1);
    fclose(to);
    refuses_calls(in_folder("order.spt"), SP_ERR_TRACE_FORMAT, "byte 53");
    copy(fixture("no-summary.h5"), in_folder("order.h5"));
    hid_t file = H5Fopen(in_folder("order.h5"), H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, "/events/end_times", H5P_DEFAULT), space = H5Dget_space(set);
    const hsize_t first = 0, one = 1;
    const int64_t early = 1;
    hid_t memory = H5Screate_simple(1, &one, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &one, NULL);
    assert_true(H5Dwrite(set, H5T_NATIVE_INT64, memory, space, H5P_DEFAULT, &early) >= 0);
    H5Sclose(memory);
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
    refuses_calls(in_folder("order.h5"), SP_ERR_CORRUPT_PROFILE, "/events/end_times row 0");
    clear();
}

static void wrong_kind_accepted(void **state)
{
    (void)state;
    sp_results *results = NULL;
    sp_error error = {0};
    assert_int_equal(sp_read_trace(&results, fixture("gzip.h5"), &error), SP_ERR_TRACE_FORMAT);
    assert_string_equal(error.place, "byte 0");
    assert_int_equal(sp_read_native_h5(&results, fixture("v2-big_rank00001.spt"), &error), SP_ERR_CORRUPT_PROFILE);
    assert_non_null(strstr(error.text, "HDF5"));
    loader *const all[] = {sp_read_trace, sp_read_native_h5, sp_read_native_ranks, by_load_traces,
                           by_load_h5,    by_read_h5,        by_load_h5_summary,   by_read_h5_summary};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_int_equal(all[i](&results, "/nowhere/at-all.h5", &error), SP_ERR_NOT_FOUND);
        assert_string_equal(error.file, "/nowhere/at-all.h5");
        assert_int_equal(all[i](&results, NULL, &error), SP_ERR_USAGE);
        assert_int_equal(all[i](NULL, fixture("gzip.h5"), &error), SP_ERR_USAGE);
        if (all[i] != by_load_traces)
            assert_int_equal(all[i](&results, folder, &error), SP_ERR_USAGE);
        assert_null(results);
    }
}

/* ---- summaries ---------------------------------------------------------------------------------------------------- */

static void summary_read_or_refused_wrongly(void **state)
{
    (void)state;
    sp_load_settings settings = sp_load_settings_default();
    sp_results *results = NULL;
    sp_error error = {0};
    sp_calls *calls = NULL;
    double half = 50, found = 1;
    assert_int_equal(settings.fallback, -1);
    assert_int_equal(sp_load_h5_summary(&results, fixture("no-summary.h5"), NULL, &error), SP_ERR_SUMMARY_UNAVAILABLE);
    assert_non_null(strstr(error.file, "no-summary.h5"));
    settings.fallback = 0;
    assert_int_equal(sp_read_h5_summary(&results, fixture("no-summary.h5"), &settings, &error),
                     SP_ERR_SUMMARY_UNAVAILABLE);
    assert_null(results);
    assert_int_equal(sp_read_h5_summary(&results, fixture("no-summary.h5"), NULL, &error), 0);
    assert_int_equal(sp_results_percentiles(results, 0, SP_ALL_RANKS, &half, 1, &found, &error), 0);
    sp_results_destroy(results);
    settings.fallback = 1;
    assert_int_equal(sp_load_h5_summary(&results, fixture("no-summary.h5"), &settings, &error), 0);
    sp_results_destroy(results);

    found = 1;
    assert_int_equal(sp_load_h5_summary(&results, fixture("python-writer.h5"), NULL, &error), 0);
    assert_int_equal(sp_results_percentiles(results, 0, 0, &half, 1, &found, &error), SP_ERR_NO_EVENTS);
    assert_true(found == 1);
    assert_int_equal(sp_calls_open(&calls, results, 0, 0, &error), SP_ERR_NO_EVENTS);
    assert_null(calls);
    assert_non_null(strstr(error.text, "sp_load_h5"));
    sp_results_destroy(results);

    /* What the inputs of spctl are read from. */
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    assert_int_equal(sp_inputs_add_path(inputs, fixture("no-summary.h5"), NULL), 0);
    results = NULL;
    assert_int_equal(sp_results_load(&results, inputs, false, &error), SP_ERR_SUMMARY_UNAVAILABLE);
    assert_null(results);
    assert_int_equal(sp_results_load(&results, inputs, true, &error), 0);
    sp_results_destroy(results);
    sp_inputs_destroy(inputs);
}

static void statistics_without_events_misused(void **state)
{
    (void)state;
    sp_results *results;
    sp_statistics s;
    sp_calls *calls;
    sp_error error = {0};
    double half = 50, found;
    assert_int_equal(sp_load_h5(&results, fixture("aggregate.h5"), NULL, &error), 0);
    assert_int_equal(sp_results_statistics(results, 0, SP_ALL_RANKS, &s, &error), 0);
    assert_int_equal(s.count, 1000);
    assert_true(isnan(s.deviation));
    assert_int_equal(sp_calls_open(&calls, results, 0, 0, &error), SP_ERR_NO_EVENTS);
    assert_non_null(strstr(error.file, "aggregate.h5"));
    assert_int_equal(sp_results_percentiles(results, 0, 0, &half, 1, &found, &error), SP_ERR_NO_EVENTS);
    sp_results_destroy(results);
}

/* ---- nothing ------------------------------------------------------------------------------------------------------ */

static int show_none(void *context, const sp_value *value)
{
    (void)context, (void)value;
    return 0;
}

static void null_crashes(void **state)
{
    (void)state;
    sp_error error = {0};
    sp_results *results;
    sp_calls *calls;
    sp_statistics s;
    sp_result row;
    int64_t times[4];
    size_t n;
    uint32_t rank;
    double half = 50;
    const char *text;
    const sp_call_columns no_ends = {.start = times};
    sp_results_destroy(NULL);
    sp_calls_close(NULL);
    assert_int_equal(sp_results_region_count(NULL), 0);
    assert_null(sp_results_region(NULL, 0));
    assert_int_equal(sp_results_find_region(NULL, "a", &n, &error), SP_ERR_USAGE);
    assert_int_equal(sp_results_region_ranks(NULL, 0, &rank, 1), 0);
    assert_int_equal(sp_results_rank_count(NULL), 0);
    assert_int_equal(sp_results_rank(NULL, 0, &rank), SP_ERR_NOT_FOUND);
    assert_int_equal(sp_results_count(NULL), 0);
    assert_int_equal(sp_results_row(NULL, 0, &row), SP_ERR_NOT_FOUND);
    assert_int_equal(sp_results_sum_up(NULL, &error), SP_ERR_USAGE);
    assert_int_equal(sp_results_statistics(NULL, 0, 0, &s, &error), SP_ERR_USAGE);
    assert_int_equal(sp_results_percentiles(NULL, 0, 0, &half, 1, &half, &error), SP_ERR_USAGE);
    assert_int_equal(sp_calls_open(&calls, NULL, 0, 0, &error), SP_ERR_USAGE);
    assert_int_equal(sp_calls_next(NULL, &no_ends, 4, &n, &error), SP_ERR_USAGE);
    assert_false(sp_calls_have_ids(NULL) || sp_calls_have_threads(NULL));
    assert_string_equal(sp_results_label(NULL), "");
    assert_null(sp_results_metadata(NULL, "label"));
    assert_int_equal(sp_results_metadata_count(NULL), 0);
    assert_int_equal(sp_results_metadata_at(NULL, 0, &text, &text), SP_ERR_NOT_FOUND);
    assert_int_equal(sp_results_values(NULL, "likwid", show_none, NULL, &error), SP_ERR_USAGE);
    assert_int_equal(sp_results_print_summary(NULL, stdout, &error), SP_ERR_USAGE);
    assert_int_equal(sp_results_load(&results, NULL, true, &error), SP_ERR_USAGE);

    assert_int_equal(sp_load_h5(&results, fixture("gzip.h5"), NULL, NULL), 0);
    assert_int_equal(sp_calls_open(NULL, results, 0, 0, &error), SP_ERR_USAGE);
    assert_int_equal(sp_calls_open(&calls, results, 99, 0, &error), SP_ERR_NOT_FOUND);
    assert_int_equal(sp_calls_open(&calls, results, 0, 99, &error), SP_ERR_NOT_FOUND);
    assert_int_equal(sp_results_statistics(results, 0, 0, NULL, &error), SP_ERR_USAGE);
    assert_int_equal(sp_results_row(results, 0, NULL), SP_ERR_NOT_FOUND);
    assert_null(sp_results_metadata(results, NULL));
    assert_int_equal(sp_calls_open(&calls, results, 0, 0, NULL), 0);
    assert_int_equal(sp_calls_next(calls, &no_ends, 4, &n, &error), SP_ERR_USAGE);
    assert_int_equal(sp_calls_next(calls, NULL, 4, &n, &error), SP_ERR_USAGE);
    const sp_call_columns both = {.start = times, .end = times + 2};
    assert_int_equal(sp_calls_next(calls, &both, 0, &n, &error), SP_ERR_USAGE);
    assert_int_equal(sp_calls_next(calls, &both, 2, &n, &error), 0);
    assert_true(n > 0);
    sp_calls_close(calls);
    sp_results_destroy(results);
}

static void constants_changed(void **state)
{
    (void)state;
    static const int known[] = SP_KNOWN_FORMAT_VERSIONS;
    assert_int_equal(sizeof known / sizeof *known, SP_KNOWN_FORMAT_VERSION_COUNT);
    assert_int_equal(known[0], 1);
    assert_int_equal(known[1], 2);
    assert_string_equal(SP_MAGIC SP_TRACE_SUFFIX SP_HDF5_SUFFIX SP_RANK_HDF5_GLOB, "SCOPEPRF.spt.h5*_rank[0-9]*.h5");
}

static int prepare(void **state)
{
    (void)state;
    expected = json_load_file(fixture("expected.json"), 0, NULL);
    return expected && mkdtemp(folder) ? 0 : -1;
}

static int tidy(void **state)
{
    (void)state;
    json_decref(expected);
    clear();
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_file_misread),
        cmocka_unit_test(damaged_file_accepted_or_badly_named),
        cmocka_unit_test(damage_among_calls_hidden),
        cmocka_unit_test(wrong_kind_accepted),
        cmocka_unit_test(summary_read_or_refused_wrongly),
        cmocka_unit_test(statistics_without_events_misused),
        cmocka_unit_test(null_crashes),
        cmocka_unit_test(constants_changed),
    };
    return cmocka_run_group_tests(tests, prepare, tidy);
}
