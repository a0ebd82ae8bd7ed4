/* Writing: what was written is what is read back, whole or not at all, and never over an input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory_source.h"

static const char *const names[] = {"main", "step", "halo exchange", "solve"};
static char folder[] = "/tmp/sp-write-XXXXXX";

static const char *at(const char *name)
{
    static char paths[4][256];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* main > step > {halo, solve} on each thread; `crossed`: one more call that crosses main's end. */
static struct sp__source *heat(uint32_t rank, size_t threads, int64_t steps, bool crossed)
{
    struct sp__source *source = memory_source("memory", rank, names, 4, threads);
    int64_t all = (int64_t)(threads ? threads : 1), begin = 1000000 + rank;
    for (int64_t t = 0; t < all; t++)
        memory_add(source, 0, begin + t, begin + 100 + steps * 100, threads ? t : -1);
    for (int64_t s = 0; s < steps; s++)
        for (int64_t t = 0; t < all; t++) {
            int64_t start = begin + 100 + s * 100 + t;
            memory_add(source, 1, start, start + 50, threads ? t : -1);
            memory_add(source, 2, start, start + 10 + rank % 5, threads ? t : -1);
            memory_add(source, 3, start + 15, start + 40, threads ? t : -1);
        }
    if (crossed)
        memory_add(source, 1, begin + 90 + steps * 100, begin + 500 + steps * 100, threads ? 0 : -1);
    snprintf(source->hostname, sizeof source->hostname, "node1");
    source->recorded = threads > 0;
    return source;
}

static sp_inputs *of(struct sp__source *const *sources, size_t count)
{
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(sp__inputs_append(inputs, sources[i], NULL), 0);
    return inputs;
}

static unsigned warned;
static void count_warnings(void *context, const char *text)
{
    (void)context;
    (void)text;
    warned++;
}

static sp_write_report write_as(sp_inputs *inputs, const char *path, enum sp_file_format format)
{
    sp_write_settings settings = sp_write_settings_default();
    sp_write_report report;
    sp_error error = {0};
    settings.format = format;
    settings.warn = count_warnings;
    warned = 0;
    int result = sp_inputs_write(inputs, path, &settings, &report, &error);
    if (result < 0)
        fail_msg("%s", error.text);
    assert_int_equal(report.warnings, warned);
    return report;
}

static sp_inputs *opened(const char *path)
{
    sp_inputs *inputs;
    sp_error error = {0};
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    if (sp_inputs_add_path(inputs, path, &error) < 0)
        fail_msg("%s", error.text);
    return inputs;
}

/* Both say the same of every row. */
static void same_results(sp_inputs *left, sp_inputs *right)
{
    sp_results *a, *b;
    sp_result one, two;
    assert_int_equal(sp_results_load(&a, left, true, NULL), 0);
    assert_int_equal(sp_results_load(&b, right, true, NULL), 0);
    assert_int_equal(sp_results_count(a), sp_results_count(b));
    for (size_t n = 0; n < sp_results_count(a); n++) {
        sp_results_row(a, n, &one);
        sp_results_row(b, n, &two);
        assert_string_equal(one.region, two.region);
        assert_string_equal(one.source_file, two.source_file);
        assert_int_equal(one.source_line, two.source_line);
        assert_int_equal(one.rank, two.rank);
        assert_int_equal(one.calls, two.calls);
        assert_int_equal(one.total, two.total);
        assert_int_equal(one.minimum, two.minimum);
        assert_int_equal(one.maximum, two.maximum);
        assert_int_equal(one.exclusive, two.exclusive);
        assert_int_equal(one.start_minimum, two.start_minimum);
        assert_int_equal(one.end_maximum, two.end_maximum);
        assert_true(one.mean == two.mean && one.m2 == two.m2);
    }
    sp_results_destroy(a);
    sp_results_destroy(b);
}

/* Independent readers find nothing wrong. */
static void sound(const char *path)
{
    char command[1024];
    const char *checker = getenv("SP_TEST_CHECKER");
    if (!checker || access("/usr/bin/python3", X_OK) < 0)
        return;
    snprintf(command, sizeof command, "/usr/bin/python3 '%s' check '%s'", checker, path);
    assert_int_equal(system(command), 0);
}

static void threads_and_crossed_calls_come_back_from_hdf5(void **state)
{
    (void)state;
    struct sp__source *sources[] = {heat(4, 3, 50, true), heat(0, 1, 20, false), heat(2, 2, 23000, true)};
    sp_inputs *inputs = of(sources, 3);
    const char *path = at("threads.h5");
    sp_write_report report = write_as(inputs, path, SP_FILE_HDF5);
    assert_int_equal(report.warnings, 0);
    assert_int_equal(report.ranks, 3);
    assert_int_equal(report.rows, 12);
    assert_int_equal(report.regions, 4);
    assert_int_equal(report.calls, 3 + 3 * 150 + 1 + 1 + 3 * 20 + 2 + 3 * 46000 + 1);
    assert_int_equal(report.threads, 3 + 1 + 1 + 2 + 1); /* two lanes for crossed calls */
    sound(path);
    sp_inputs *back = opened(path);
    assert_int_equal(back->count, 3);
    assert_true(back->sources[1]->ids && back->sources[1]->lanes);
    same_results(inputs, back);
    const char *again = at("again.h5"); /* a merge of one profile is that profile */
    write_as(back, again, SP_FILE_HDF5);
    sound(again);
    sp_inputs *twice = opened(again);
    same_results(back, twice);
    sp_inputs_destroy(twice);
    sp_inputs_destroy(back);
    sp_inputs_destroy(inputs);
}

static void a_trace_comes_back_and_joined_threads_are_said(void **state)
{
    (void)state;
    struct sp__source *one[] = {heat(7, 1, 300, false)}, *two[] = {heat(7, 2, 300, false)};
    sp_inputs *inputs = of(one, 1), *threads = of(two, 1);
    const char *path = at("one_rank00007.spt");
    assert_int_equal(write_as(inputs, path, SP_FILE_TRACE).warnings, 0);
    sp_inputs *back = opened(path);
    same_results(inputs, back);
    assert_int_equal(write_as(threads, at("two_rank00007.spt"), SP_FILE_TRACE).warnings, 1);
    sp_inputs_destroy(back);
    sp_inputs_destroy(inputs);
    sp_inputs_destroy(threads);
}

static void a_trace_of_two_ranks_is_refused(void **state)
{
    (void)state;
    struct sp__source *sources[] = {heat(0, 1, 3, false), heat(1, 1, 3, false)};
    sp_inputs *inputs = of(sources, 2);
    sp_write_settings settings = sp_write_settings_default();
    settings.format = SP_FILE_TRACE;
    assert_int_equal(sp_inputs_write(inputs, at("x.spt"), &settings, NULL, NULL), SP_ERR_USAGE);
    assert_int_equal(access(at("x.spt"), F_OK), -1);
    sp_inputs_destroy(inputs);
}

static void overlap_of_unknown_threads_leaves_ids_out(void **state)
{
    (void)state;
    struct sp__source *sources[] = {heat(0, 0, 300, true), heat(1, 1, 300, false)};
    sp_inputs *inputs = of(sources, 2);
    sp_write_settings settings = sp_write_settings_default();
    sp_write_report report;
    const char *path = at("overlap.h5");
    settings.nesting = true; /* asked for, begun and given up */
    assert_int_equal(sp_inputs_write(inputs, path, &settings, &report, NULL), 0);
    assert_int_equal(report.warnings, 2);
    sound(path);
    sp_inputs *back = opened(path);
    assert_false(back->sources[0]->ids);
    sp_results *results;
    sp_result row;
    assert_int_equal(sp_results_load(&results, back, false, NULL), 0);
    sp_results_row(results, 0, &row);
    assert_int_equal(row.exclusive, -1);
    sp_results_row(results, 4, &row);
    assert_true(row.exclusive >= 0);
    sp_results_destroy(results);
    sp_inputs_destroy(back);
    sp_inputs_destroy(inputs);
}

static void nothing_at_all_is_a_profile_too(void **state)
{
    (void)state;
    struct sp__source *sources[] = {memory_source("memory", 2, names, 2, 0)};
    sp_inputs *inputs = of(sources, 1);
    sp_write_report report = write_as(inputs, at("none.h5"), SP_FILE_HDF5);
    assert_int_equal(report.calls, 0);
    sound(at("none.h5"));
    write_as(inputs, at("none.spt"), SP_FILE_TRACE);
    sp_inputs_destroy(opened(at("none.spt")));
    sp_inputs_destroy(inputs);
}

static void metadata_join_over_ranks(void **state)
{
    (void)state;
    struct sp__source *sources[] = {heat(1, 1, 3, false), heat(0, 1, 3, false)};
    char death[] = "rank 1 died", call[] = "rank 0 thread 0: main, 1.0 s";
    char *deaths[] = {death}, *open[] = {call};
    sources[0]->deaths = deaths;
    sources[0]->death_count = 1;
    sources[0]->dropped = 5;
    sources[1]->open_calls = open;
    sources[1]->open_call_count = 1;
    sources[1]->dropped = 2;
    sources[1]->dropped_deep = 1; /* the other one's reason is not known */
    snprintf(sources[1]->hostname, sizeof sources[1]->hostname, "node0");
    sp_inputs *inputs = of(sources, 2);
    const char *path = at("joined.h5");
    sp_write_report report = write_as(inputs, path, SP_FILE_HDF5);
    assert_int_equal(report.dropped, 7);
    assert_int_equal(report.warnings, 4); /* three kinds of drops, two clocks */
    sp_inputs *back = opened(path);
    sp_results *results;
    assert_int_equal(sp_results_load(&results, back, false, NULL), 0);
    assert_string_equal(sp_results_metadata(results, "hostname"), "node0");
    assert_string_equal(sp_results_metadata(results, "sp_dropped_records"), "7");
    assert_string_equal(sp_results_metadata(results, "sp_deaths"), "rank 1 died");
    assert_string_equal(sp_results_metadata(results, "sp_open_calls"), "rank 0 thread 0: main, 1.0 s");
    assert_string_equal(sp_results_metadata(results, "mpi_size"), "2");
    assert_string_equal(sp_results_metadata(results, "label"), "joined");
    assert_null(sp_results_metadata(results, "nothing"));
    sp_results_destroy(results);
    sp_inputs_destroy(back);
    sp_inputs_destroy(inputs);
}

static void an_input_is_never_the_output(void **state)
{
    (void)state;
    struct sp__source *sources[] = {heat(0, 1, 30, false)};
    sp_inputs *inputs = of(sources, 1);
    const char *path = at("self_rank00000.spt"), *link_path = at("other.h5");
    write_as(inputs, path, SP_FILE_TRACE);
    sp_inputs *back = opened(path);
    assert_int_equal(sp_inputs_write(back, path, NULL, NULL, NULL), SP_ERR_USAGE);
    assert_int_equal(link(path, link_path), 0);
    assert_int_equal(sp_inputs_write(back, link_path, NULL, NULL, NULL), SP_ERR_USAGE);
    assert_int_equal(unlink(link_path), 0);
    sp_inputs_destroy(back);
    sp_inputs_destroy(inputs);
}

static unsigned files_in_folder(void)
{
    DIR *dir = opendir(folder);
    unsigned count = 0;
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void no_space_leaves_the_old_file_and_no_litter(void **state)
{
    (void)state;
    struct sp__source *sources[] = {heat(0, 2, 30000, false)};
    sp_inputs *inputs = of(sources, 1);
    struct rlimit before, limit;
    struct stat old, now;
    for (int format = SP_FILE_HDF5; format <= SP_FILE_TRACE; format++) {
        const char *path = at(format == SP_FILE_HDF5 ? "full.h5" : "full.spt");
        write_as(inputs, path, (enum sp_file_format)format);
        assert_int_equal(stat(path, &old), 0);
        unsigned files = files_in_folder();
        signal(SIGXFSZ, SIG_IGN); /* a file that may not grow stands for a disk that is full */
        getrlimit(RLIMIT_FSIZE, &before);
        for (rlim_t size = 0; size + 1 < (rlim_t)old.st_size; size += 333333) {
            sp_error error = {0};
            sp_write_settings settings = sp_write_settings_default();
            settings.format = (enum sp_file_format)format;
            limit = before;
            limit.rlim_cur = size;
            setrlimit(RLIMIT_FSIZE, &limit);
            int result = sp_inputs_write(inputs, path, &settings, NULL, &error);
            setrlimit(RLIMIT_FSIZE, &before);
            assert_int_equal(result, SP_ERR_SYSTEM);
            assert_int_equal(error.system, EFBIG);
            assert_int_equal(files_in_folder(), files);
            assert_int_equal(stat(path, &now), 0);
            assert_int_equal(now.st_ino, old.st_ino);
        }
        signal(SIGXFSZ, SIG_DFL);
    }
    sp_inputs_destroy(inputs);
}

static void no_memory_of_calls_is_needed_for_many(void **state)
{
    (void)state;
    struct sp__source *sources[] = {heat(0, 1, 700000, false)}; /* more than the buffers hold */
    sp_inputs *inputs = of(sources, 1);
    const char *path = at("many.h5");
    write_as(inputs, path, SP_FILE_HDF5);
    sp_inputs *back = opened(path);
    same_results(inputs, back);
    assert_int_equal(unlink(path), 0);
    sp_inputs_destroy(back);
    sp_inputs_destroy(inputs);
}

/* ---- many threads -------------------------------------------------------------------------------------------------
 */

enum { RANKS = 40, STEPS = 3000 };

/* What a write said, line by line. */
static char said[RANKS * 256];
static void note(void *context, const char *text)
{
    size_t length = strlen(said);
    (void)context;
    snprintf(said + length, sizeof said - length, "%s\n", text);
}

static sp_inputs *many_ranks(void)
{
    static char paths[RANKS][32];
    struct sp__source *sources[RANKS];
    for (uint32_t r = 0; r < RANKS; r++) { /* some with threads, some without, some of which overlap */
        sources[r] = heat(r, r % 3, r % 4 ? STEPS : 1, r % 5 == 0);
        snprintf(paths[r], sizeof paths[r], "rank %u", (unsigned)r);
        sources[r]->path = paths[r];
    }
    return of(sources, RANKS);
}

/* By the calling thread alone, or by as many as there are processors. */
static int write_by(sp_inputs *inputs, const char *path, bool alone, sp_error *error)
{
    sp_write_settings settings = sp_write_settings_default();
    cpu_set_t all, one;
    CPU_ZERO(&one);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (int cpu = 0; !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    settings.nesting = true;
    settings.warn = note;
    said[0] = 0;
    if (alone)
        sched_setaffinity(0, sizeof one, &one);
    int result = sp_inputs_write(inputs, path, &settings, NULL, error);
    sched_setaffinity(0, sizeof all, &all);
    return result;
}

static int64_t *columns_of(struct sp__source *source, size_t row, size_t *ret_bytes)
{
    size_t count = (size_t)source->rows[row].calls;
    int64_t *memory = calloc(count + 1, 5 * sizeof *memory);
    struct sp__calls calls = {.start = memory, .end = memory + count, .thread = memory + 2 * count};
    calls.call = source->ids ? memory + 3 * count : NULL;
    calls.parent = source->ids ? memory + 4 * count : NULL;
    assert_int_equal(source->read(source, row, 0, count, &calls, NULL), 0);
    *ret_bytes = 5 * count * sizeof *memory;
    return memory;
}

static void same_calls(sp_inputs *left, sp_inputs *right)
{
    assert_int_equal(left->count, right->count);
    for (size_t i = 0; i < left->count; i++) {
        struct sp__source *a = left->sources[i], *b = right->sources[i];
        assert_int_equal(a->row_count, b->row_count);
        for (size_t r = 0; r < a->row_count; r++) {
            size_t bytes, other_bytes;
            int64_t *one = columns_of(a, r, &bytes), *other = columns_of(b, r, &other_bytes);
            assert_int_equal(bytes, other_bytes);
            assert_memory_equal(one, other, bytes);
            free(one);
            free(other);
        }
    }
}

static void the_number_of_threads_cannot_be_told_from_the_profile(void **state)
{
    (void)state;
    sp_inputs *inputs = many_ranks();
    char first[sizeof said];
    assert_int_equal(write_by(inputs, at("alone.h5"), true, NULL), 0);
    memcpy(first, said, sizeof first);
    assert_non_null(strstr(first, "overlap"));
    sound(at("alone.h5"));
    sp_inputs *alone = opened(at("alone.h5"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(write_by(inputs, at("together.h5"), false, NULL), 0);
        char *name = strstr(said, at("together.h5")); /* the last line names the output */
        if (name)
            *name = 0;
        assert_memory_equal(said, first, strlen(said));
        sp_inputs *together = opened(at("together.h5"));
        same_results(alone, together);
        same_calls(alone, together);
        sp_inputs_destroy(together);
    }
    sp_inputs_destroy(alone);
    sp_inputs_destroy(inputs);
}

static int damaged_read(struct sp__source *source, size_t row, uint64_t first, size_t count,
                        const struct sp__calls *ret, sp_error *error)
{
    if (first + count < source->rows[row].calls / 2)
        return memory_read(source, row, first, count, ret, error);
    return sp__fail(error, SP_ERR_TRACE_FORMAT, 0, source->path, "byte 0", "is damaged");
}

static void tell_of_bad(void *context, const sp_error *error)
{
    note(context, error->file);
}

static void of_several_bad_ranks_the_first_is_named_or_all_of_them_in_order(void **state)
{
    (void)state;
    for (int turn = 0; turn < 20; turn++) {
        sp_inputs *inputs = many_ranks();
        static const size_t bad[] = {13, 17, 18, 39};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            inputs->sources[bad[i]]->read = damaged_read;
        sp_error error = {0};
        assert_int_equal(write_by(inputs, at("bad.h5"), turn & 1, &error), SP_ERR_TRACE_FORMAT);
        assert_string_equal(error.file, "rank 13");
        sp_inputs_on_bad(inputs, tell_of_bad, NULL);
        assert_true(write_by(inputs, at("bad.h5"), turn & 1, &error) < 0);
        assert_string_equal(said, "rank 13\nrank 17\nrank 18\nrank 39\n");
        assert_int_equal(access(at("bad.h5"), F_OK), -1);
        sp_inputs_destroy(inputs);
    }
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[256];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_crossed_calls_come_back_from_hdf5),
        cmocka_unit_test(a_trace_comes_back_and_joined_threads_are_said),
        cmocka_unit_test(a_trace_of_two_ranks_is_refused),
        cmocka_unit_test(overlap_of_unknown_threads_leaves_ids_out),
        cmocka_unit_test(nothing_at_all_is_a_profile_too),
        cmocka_unit_test(metadata_join_over_ranks),
        cmocka_unit_test(an_input_is_never_the_output),
        cmocka_unit_test(no_space_leaves_the_old_file_and_no_litter),
        cmocka_unit_test(no_memory_of_calls_is_needed_for_many),
        cmocka_unit_test(the_number_of_threads_cannot_be_told_from_the_profile),
        cmocka_unit_test(of_several_bad_ranks_the_first_is_named_or_all_of_them_in_order),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
