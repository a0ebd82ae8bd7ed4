/* What a profile can be written as: both schemas, compressed or not, whole or not at all. */
#include <dirent.h>
#include <errno.h>
#include <hdf5.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "write_util.h"

/* An independent reader finds both alike, and what has to follow the rules of schema 2 does. */
static void independently(const char *verb, const char *one, const char *other)
{
    char command[1024];
    const char *checker = getenv("SP_TEST_CHECKER");
    if (!checker || access("/usr/bin/python3", X_OK) < 0)
        return;
    snprintf(command, sizeof command, "/usr/bin/python3 '%s' %s '%s' %s", checker, verb, one, other);
    assert_int_equal(system(command), 0);
}

static void same_calls(const struct sp__source *one, const struct sp__source *other, size_t row)
{
    enum { MOST = 1000 };
    int64_t a[5][MOST], b[5][MOST];
    struct sp__calls left = {a[0], a[1], one->lanes ? a[2] : NULL, one->ids ? a[3] : NULL, one->ids ? a[4] : NULL};
    struct sp__calls right = {b[0], b[1], one->lanes ? b[2] : NULL, one->ids ? b[3] : NULL, one->ids ? b[4] : NULL};
    for (uint64_t first = 0; first < one->rows[row].calls; first += MOST) {
        uint64_t left_over = one->rows[row].calls - first;
        size_t count = left_over < MOST ? (size_t)left_over : MOST;
        struct sp__source *sources[] = {(struct sp__source *)(uintptr_t)one, (struct sp__source *)(uintptr_t)other};
        assert_int_equal(one->read(sources[0], row, first, count, &left, NULL), 0);
        assert_int_equal(other->read(sources[1], row, first, count, &right, NULL), 0);
        for (int c = 0; c < (one->ids ? 5 : one->lanes ? 3 : 2); c++)
            assert_memory_equal(a[c], b[c], count * sizeof(int64_t));
    }
}

/* Our own reader gives the same calls, threads and ids from both. */
static void the_same(const char *one, const char *other)
{
    sp_inputs *left = opened(one), *right = opened(other);
    assert_int_equal(left->count, right->count);
    for (size_t i = 0; i < left->count; i++) {
        const struct sp__source *a = left->sources[i], *b = right->sources[i];
        assert_true(a->ids == b->ids && a->lanes == b->lanes);
        assert_int_equal(a->row_count, b->row_count);
        assert_int_equal(a->thread_count, b->thread_count);
        for (size_t r = 0; r < a->row_count; r++) {
            assert_string_equal(a->rows[r].name, b->rows[r].name);
            assert_int_equal(a->rows[r].calls, b->rows[r].calls);
            assert_memory_equal(&a->rows[r].summary, &b->rows[r].summary, sizeof a->rows[r].summary);
            assert_int_equal(a->rows[r].exclusive, b->rows[r].exclusive);
            same_calls(a, b, r);
        }
    }
    sp_inputs_destroy(left);
    sp_inputs_destroy(right);
}

static void in_every_format(sp_inputs *inputs, unsigned expected_warnings)
{
    const char *plain = at("plain.h5");
    assert_int_equal(write_as(inputs, plain, 0, 0).warnings, expected_warnings);
    independently("check", plain, "");
    for (int schema = 2; schema <= 3; schema++)
        for (int gzip = 0; gzip <= 9; gzip += gzip ? 8 : 1) {
            const char *other = at("other.h5");
            assert_int_equal(write_as(inputs, other, schema, gzip).warnings, expected_warnings);
            the_same(plain, other);
            if (schema == 3 && gzip < 9)
                independently("same", plain, other);
            else if (gzip == 1)
                independently("check", other, "");
        }
    sp_inputs_destroy(inputs);
}

static void threads_and_ids_come_back_from_every_format(void **state)
{
    (void)state;
    struct sp__source *sources[] = {heat(0, 1, 20), heat(2, 3, 300), heat(4, 2, 11000)}; /* more than one chunk */
    in_every_format(of(sources, 3), 0);
    sp_inputs *plain = opened(at("plain.h5"));
    assert_true(plain->sources[0]->ids && plain->sources[2]->lanes);
    sp_inputs_destroy(plain);
}

static void ranks_without_threads_come_back_beside_others(void **state)
{
    (void)state;
    struct sp__source *sources[] = {heat(0, 0, 25000), heat(1, 2, 300)};
    in_every_format(of(sources, 2), 0);
}

static void overlapping_calls_come_back_without_ids(void **state)
{
    (void)state;
    struct sp__source *sources[] = {heat(0, 0, 30), heat(1, 1, 300)};
    memory_add(sources[0], 1, 1700000000000 + 3050, 1700000000000 + 9000, -1);
    sp_inputs *inputs = of(sources, 2);
    in_every_format(inputs, 1);
    struct sp__source *more[] = {heat(0, 0, 30), heat(1, 1, 300)};
    memory_add(more[0], 1, 1700000000000 + 3050, 1700000000000 + 9000, -1);
    inputs = of(more, 2);
    for (int gzip = 0; gzip < 2; gzip++) { /* ids begun and given up */
        sp_write_settings settings = sp_write_settings_default();
        settings.nesting = true;
        settings.gzip = gzip;
        assert_int_equal(sp_inputs_write(inputs, at("given-up.h5"), &settings, NULL, NULL), 0);
        sp_inputs *back = opened(at("given-up.h5"));
        assert_false(back->sources[0]->ids);
        sp_inputs_destroy(back);
        independently("check", at("given-up.h5"), "");
    }
    sp_inputs_destroy(inputs);
}

static void few_calls_or_none_come_back(void **state)
{
    (void)state;
    struct sp__source *one[] = {memory_source("memory", 3, names, 1, 1)};
    memory_add(one[0], 0, 5, 5, 0);
    in_every_format(of(one, 1), 0);
    struct sp__source *none[] = {memory_source("memory", 2, names, 2, 0)};
    in_every_format(of(none, 1), 0);
}

/* Bytes that deflate cannot make fewer are stored as they are. */
static void calls_that_cannot_be_packed_come_back(void **state)
{
    (void)state;
    struct sp__source *source = memory_source("memory", 0, names, 1, 0);
    uint64_t random = 88172645463325252u;
    int64_t start = 0;
    for (int i = 0; i < 60; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        start += (int64_t)(random >> 8);
        memory_add(source, 0, start, start + 1, -1);
        start++;
    }
    in_every_format(of(&source, 1), 0);
}

static void times_that_no_delta_can_say_are_refused(void **state)
{
    (void)state;
    struct sp__source *source = memory_source("memory", 0, names, 1, 0);
    memory_add(source, 0, INT64_MIN + 1, INT64_MIN + 2, -1);
    memory_add(source, 0, INT64_MAX - 2, INT64_MAX - 1, -1);
    sp_inputs *inputs = of(&source, 1);
    sp_write_settings settings = sp_write_settings_default();
    sp_error error;
    settings.schema = 3;
    assert_int_equal(sp_inputs_write(inputs, at("apart.h5"), &settings, NULL, &error), SP_ERR_USAGE);
    assert_non_null(strstr(error.text, "main"));
    assert_int_equal(access(at("apart.h5"), F_OK), -1);
    sp_inputs_destroy(inputs);
}

static void settings_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    struct sp__source *source = heat(0, 1, 3);
    sp_inputs *inputs = of(&source, 1);
    const sp_write_settings bad[] = {{.schema = 1},
                                     {.schema = 4},
                                     {.schema = -3},
                                     {.gzip = -1},
                                     {.gzip = 10},
                                     {.format = SP_FILE_TRACE, .gzip = 1},
                                     {.format = SP_FILE_TRACE, .schema = 3}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(sp_inputs_write(inputs, at("refused"), &bad[i], NULL, NULL), SP_ERR_USAGE);
        assert_int_equal(access(at("refused"), F_OK), -1);
    }
    sp_inputs_destroy(inputs);
}

/* ---- as HDF5's own filters would store it -------------------------------------------------------------------------
 */

enum { CALLS = 150001 };

static void read_column(const char *path, const char *name, int64_t *to, hsize_t *ret_chunk, hsize_t *ret_stored)
{
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t plan = H5Dget_create_plist(set);
    unsigned flags, values[4];
    size_t count = 4;
    assert_int_equal(H5Pget_nfilters(plan), 2);
    assert_int_equal(H5Pget_filter2(plan, 0, &flags, &count, values, 0, NULL, NULL), H5Z_FILTER_SHUFFLE);
    count = 4;
    assert_int_equal(H5Pget_filter2(plan, 1, &flags, &count, values, 0, NULL, NULL), H5Z_FILTER_DEFLATE);
    assert_int_equal(H5Pget_chunk(plan, 1, ret_chunk), 1);
    assert_true(H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, to) >= 0);
    *ret_stored = H5Dget_storage_size(set);
    H5Pclose(plan);
    H5Dclose(set);
    H5Fclose(file);
}

static void write_column(const char *path, const int64_t *values, hsize_t count, hsize_t chunk)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), plan = H5Pcreate(H5P_DATASET_CREATE);
    hid_t space = H5Screate_simple(1, &count, NULL);
    H5Pset_chunk(plan, 1, &chunk);
    H5Pset_shuffle(plan);
    H5Pset_deflate(plan, 4);
    hid_t set = H5Dcreate2(file, "column", H5T_NATIVE_INT64, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(plan);
    H5Fclose(file);
}

static void packed_columns_are_what_hdf5_itself_would_store(void **state)
{
    (void)state;
    struct sp__source *source = memory_source("memory", 0, names, 1, 0);
    int64_t *ours = calloc(CALLS, sizeof *ours), *theirs = calloc(CALLS, sizeof *theirs);
    hsize_t chunk, stored, same_chunk, same_stored;
    for (int64_t i = 0; i < CALLS; i++)
        memory_add(source, 0, 1000 * i + i * i % 997, 1000 * i + i * i % 997 + i % 3, -1);
    sp_inputs *inputs = of(&source, 1);
    for (int level = 1; level <= 4; level += 3) { /* noise and runs are packed in other ways where speed is asked for */
        write_as(inputs, at("ours.h5"), 2, level);
        read_column(at("ours.h5"), "/events/start_times", ours, &chunk, &stored);
        for (int64_t i = 0; i < CALLS; i++)
            assert_int_equal(ours[i], 1000 * i + i * i % 997);
    }
    write_column(at("theirs.h5"), ours, CALLS, chunk);
    read_column(at("theirs.h5"), "/column", theirs, &same_chunk, &same_stored);
    assert_memory_equal(ours, theirs, CALLS * sizeof *ours);
    assert_true(stored > same_stored / 10 * 9 && stored < same_stored / 10 * 11); /* zlibs differ, levels more so */
    free(ours);
    free(theirs);
    sp_inputs_destroy(inputs);
}

/* ---- whole or not at all ------------------------------------------------------------------------------------------
 */

static unsigned files_in_folder(const char *but_suffix)
{
    DIR *dir = opendir(folder);
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        const char *dot = strrchr(entry->d_name, '.');
        count += !but_suffix || !dot || strcmp(dot, but_suffix) != 0;
    }
    closedir(dir);
    return count;
}

static void no_space_for_the_scratch_file_leaves_the_old_output(void **state)
{
    (void)state;
    struct sp__source *source = heat(0, 2, 12000);
    sp_inputs *inputs = of(&source, 1);
    const char *path = at("full.h5");
    struct rlimit before, limit;
    struct stat old, now;
    write_as(inputs, path, 3, 1);
    assert_int_equal(stat(path, &old), 0);
    unsigned files = files_in_folder(NULL);
    getrlimit(RLIMIT_FSIZE, &before);
    rlim_t scratch = source->rows[1].calls * 3 * 5 * 8; /* the largest file there is */
    for (rlim_t size = 0; size < scratch; size += scratch / 20) {
        sp_write_settings settings = sp_write_settings_default();
        sp_error error = {0};
        settings.schema = 3;
        settings.gzip = 1;
        limit = before;
        limit.rlim_cur = size; /* a file that may not grow stands for a disk that is full */
        setrlimit(RLIMIT_FSIZE, &limit);
        int result = sp_inputs_write(inputs, path, &settings, NULL, &error);
        setrlimit(RLIMIT_FSIZE, &before);
        assert_int_equal(result, SP_ERR_SYSTEM);
        assert_int_equal(error.system, EFBIG);
        assert_int_equal(files_in_folder(NULL), files);
        assert_int_equal(stat(path, &now), 0);
        assert_int_equal(now.st_ino, old.st_ino);
    }
    sp_inputs_destroy(inputs);
}

static void die_at(void *context, double done)
{
    if (done >= *(double *)context)
        raise(SIGKILL);
}

static void a_killed_writer_leaves_the_old_output_and_no_scratch_file(void **state)
{
    (void)state;
    struct sp__source *source = heat(0, 1, 60000);
    sp_inputs *inputs = of(&source, 1);
    const char *path = at("killed.h5");
    struct stat old, now;
    double when[] = {0, 0.3, 0.7, 0.999999};
    write_as(inputs, path, 2, 1);
    assert_int_equal(stat(path, &old), 0);
    unsigned files = files_in_folder(".tmp");
    for (size_t i = 0; i < 4; i++) {
        pid_t child = fork();
        if (child == 0) {
            sp_write_settings settings = sp_write_settings_default();
            settings.gzip = 1;
            settings.progress = die_at;
            settings.progress_context = &when[i];
            sp_inputs_write(inputs, path, &settings, NULL, NULL);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(files_in_folder(".tmp"), files);
        assert_int_equal(stat(path, &now), 0);
        assert_int_equal(now.st_ino, old.st_ino);
    }
    sp_inputs_destroy(inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_ids_come_back_from_every_format),
        cmocka_unit_test(ranks_without_threads_come_back_beside_others),
        cmocka_unit_test(overlapping_calls_come_back_without_ids),
        cmocka_unit_test(few_calls_or_none_come_back),
        cmocka_unit_test(calls_that_cannot_be_packed_come_back),
        cmocka_unit_test(times_that_no_delta_can_say_are_refused),
        cmocka_unit_test(settings_that_make_no_sense_are_refused),
        cmocka_unit_test(packed_columns_are_what_hdf5_itself_would_store),
        cmocka_unit_test(no_space_for_the_scratch_file_leaves_the_old_output),
        cmocka_unit_test(a_killed_writer_leaves_the_old_output_and_no_scratch_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
