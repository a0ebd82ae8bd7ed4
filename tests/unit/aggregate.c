/* Statistics without events: what is written is what is read back, parts add up, and nothing is mixed in silence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include <hdf5.h>
#include <unistd.h>

#include "memory_source.h"

static const char *const names[] = {"solve", "halo", "never called"};
static char folder[] = "/tmp/sp-aggregate-XXXXXX", path[256];

/* solve called `calls` times for `each` ns, halo once; the third row has no calls. */
static struct sp__source *statistics(const char *source_path, uint32_t rank, uint64_t calls, int64_t each)
{
    struct sp__source *source = memory_source(source_path, rank, names, 3, 0);
    source->aggregate = true;
    source->rows[0].calls = calls;
    source->rows[1].calls = 1;
    sp__source_row_aggregate(&source->rows[0], (int64_t)calls * each, each - 1, each + 1, (int64_t)calls * each - 7);
    sp__source_row_aggregate(&source->rows[1], 7, 7, 7, 7);
    snprintf(source->session, sizeof source->session, "s");
    snprintf(source->incarnation, sizeof source->incarnation, "%s", source_path);
    source->birth_mono_ns = 1000 + rank;
    return source;
}

static sp_inputs *of(struct sp__source *a, struct sp__source *b)
{
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    assert_int_equal(sp__inputs_append(inputs, a, NULL), 0);
    assert_int_equal(sp__inputs_append(inputs, b, NULL), 0);
    return inputs;
}

static void write_of(sp_inputs *inputs)
{
    sp_error error = {0};
    sp_write_report report;
    sp_write_settings settings = sp_write_settings_default();
    settings.nesting = true;
    if (sp_inputs_write(inputs, path, &settings, &report, &error))
        fail_msg("%s", error.text);
    assert_int_equal(report.warnings, 0);
    sp_inputs_destroy(inputs);
}

static sp_results *results_of(sp_inputs **ret_inputs)
{
    sp_error error = {0};
    sp_results *results = NULL;
    assert_int_equal(sp_inputs_create(ret_inputs, NULL), 0);
    if (sp_inputs_add_path(*ret_inputs, path, &error) || sp_results_load(&results, *ret_inputs, false, &error))
        fail_msg("%s", error.text);
    return results;
}

static void row_is(const sp_results *results, size_t n, const char *region, uint32_t rank, const int64_t figures[5])
{
    sp_result row;
    assert_int_equal(sp_results_row(results, n, &row), 0);
    assert_string_equal(row.region, region);
    assert_int_equal(row.rank, rank);
    assert_int_equal(row.calls, figures[0]);
    assert_int_equal(row.total, figures[1]);
    assert_int_equal(row.minimum, figures[2]);
    assert_int_equal(row.maximum, figures[3]);
    assert_int_equal(row.exclusive, figures[4]);
    assert_true(row.start_minimum > row.end_maximum);
    assert_string_equal(row.source_file, "solver.c");
}

static void found(void *context, const char *place, const char *text)
{
    (void)place;
    snprintf(context, 1024, "%s", text);
}

static uint64_t findings(char text[1024])
{
    sp_check_result result;
    sp_error error = {0};
    if (sp_check_file(path, found, text, &result, &error))
        fail_msg("%s", error.text);
    return result.findings;
}

static void statistics_differ_when_read_back(void **state)
{
    (void)state;
    sp_inputs *inputs;
    char text[1024];
    write_of(of(statistics("a", 0, 10, 100), statistics("b", 5, 3, 1000)));
    sp_results *results = results_of(&inputs);
    assert_int_equal(sp_results_count(results), 4);
    row_is(results, 0, "solve", 0, (const int64_t[]){10, 1000, 99, 101, 993});
    row_is(results, 1, "halo", 0, (const int64_t[]){1, 7, 7, 7, 7});
    row_is(results, 2, "solve", 5, (const int64_t[]){3, 3000, 999, 1001, 2993});
    assert_string_equal(sp_results_metadata(results, "start_time_ns"), "1000");
    sp_results_destroy(results);
    sp_inputs_destroy(inputs);
    if (findings(text))
        fail_msg("%s", text);
    /* And as the input of another: it has no events that a writer could fall back to. */
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    assert_int_equal(sp_inputs_add_path(inputs, path, NULL), 0);
    snprintf(path, sizeof path, "%s/again.h5", folder);
    write_of(inputs);
    results = results_of(&inputs);
    row_is(results, 2, "solve", 5, (const int64_t[]){3, 3000, 999, 1001, 2993});
    sp_results_destroy(results);
    sp_inputs_destroy(inputs);
}

static void parts_of_a_rank_are_not_added_up(void **state)
{
    (void)state;
    sp_inputs *inputs;
    struct sp__source *unknown = statistics("b", 4, 3, 1000);
    unknown->rows[1].exclusive = -1;
    write_of(of(statistics("a", 4, 10, 100), unknown));
    sp_results *results = results_of(&inputs);
    assert_int_equal(sp_results_count(results), 2);
    row_is(results, 0, "solve", 4, (const int64_t[]){13, 4000, 99, 1001, 3986});
    row_is(results, 1, "halo", 4, (const int64_t[]){2, 14, 7, 7, -1});
    sp_results_destroy(results);
    sp_inputs_destroy(inputs);
}

static void mixed_with_events_in_silence(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 2; rank++) { /* the same rank, and another */
        sp_error error = {0};
        struct sp__source *events = memory_source("events.spt", rank, names, 3, 0);
        memory_add(events, 0, 1, 2, -1);
        snprintf(events->session, sizeof events->session, "s");
        sp_inputs *inputs = of(events, statistics("statistics.h5", 0, 10, 100));
        assert_int_equal(sp_inputs_write(inputs, path, NULL, NULL, &error), SP_ERR_USAGE);
        assert_non_null(strstr(error.text, "events.spt"));
        assert_non_null(strstr(error.text, "statistics.h5"));
        assert_int_not_equal(access(path, F_OK), 0);
        sp_inputs_destroy(inputs);
    }
}

static void written_as_a_trace(void **state)
{
    (void)state;
    sp_error error = {0};
    sp_inputs *inputs;
    sp_write_settings settings = sp_write_settings_default();
    settings.format = SP_FILE_TRACE;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    assert_int_equal(sp__inputs_append(inputs, statistics("a", 0, 10, 100), NULL), 0);
    assert_int_equal(sp_inputs_write(inputs, path, &settings, NULL, &error), SP_ERR_USAGE);
    assert_non_null(strstr(error.text, "statistics"));
    assert_int_not_equal(access(path, F_OK), 0);
    sp_inputs_destroy(inputs);
}

/* Puts `value` into the first row of a column of what was written. */
static void spoil(const char *column, int64_t value)
{
    write_of(of(statistics("a", 0, 10, 100), statistics("b", 1, 3, 1000)));
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(file, column, H5P_DEFAULT);
    int64_t values[4];
    assert_true(set >= 0);
    assert_true(H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    values[0] = value;
    assert_true(H5Dwrite(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Fclose(file);
}

static void contradictions_pass_the_check(void **state)
{
    (void)state;
    static const struct {
        const char *column;
        int64_t value;
    } cases[] = {{"/rank_region_index/aggregate_minimums", 102},
                 {"/rank_region_index/aggregate_minimums", -1},
                 {"/rank_region_index/aggregate_totals", -5},
                 {"/rank_region_index/aggregate_totals", 100},
                 {"/rank_region_index/aggregate_exclusives", -2},
                 {"/rank_region_index/aggregate_exclusives", 1001},
                 {"/rank_region_index/region_ids", 2},
                 {"/rank_region_index/region_ids", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024] = "";
        spoil(cases[i].column, cases[i].value);
        if (!findings(text))
            fail_msg("%s: %lld is not found", cases[i].column, (long long)cases[i].value);
    }
    spoil("/rank_region_index/aggregate_totals", 5);
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    assert_true(H5Ldelete(file, "/rank_region_index/aggregate_exclusives", H5P_DEFAULT) >= 0);
    H5Fclose(file);
    char text[1024] = "";
    assert_int_equal(findings(text), 1);
    assert_non_null(strstr(text, "missing"));
}

static int fresh_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/out.h5", folder);
    unlink(path);
    return 0;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char again[256];
    snprintf(again, sizeof again, "%s/again.h5", folder);
    unlink(again);
    fresh_path(state);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(statistics_differ_when_read_back, fresh_path),
        cmocka_unit_test_setup(parts_of_a_rank_are_not_added_up, fresh_path),
        cmocka_unit_test_setup(mixed_with_events_in_silence, fresh_path),
        cmocka_unit_test_setup(written_as_a_trace, fresh_path),
        cmocka_unit_test_setup(contradictions_pass_the_check, fresh_path),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
