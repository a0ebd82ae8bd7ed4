/* h5_storage.c: profiles stored in other ways than this project writes them: narrow integers, fixed-length strings,
 * gzip, LZF, nothing optional, and what must not be followed or believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "h5_put.h"

enum { LZF = 32000 };

static char folder[64], path[128];

static hid_t begin(void)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    put_number(file, "scope_profiler_schema", H5T_STD_I16BE, 2);
    return file;
}

/* Two rows of rank 7 and one of rank 2; names of four bytes, padded with spaces. */
static void put_tables(hid_t file)
{
    const int64_t ids[] = {1, 0, 0}, ranks[] = {7, 7, 2}, offsets[] = {0, 3, 4}, counts[] = {3, 1, 2};
    put(file, "/rank_region_index/region_ids", H5T_STD_U8LE, ids, 3);
    put(file, "/rank_region_index/ranks", H5T_STD_U16BE, ranks, 3);
    put(file, "/rank_region_index/event_offsets", H5T_STD_I16LE, offsets, 3);
    put(file, "/rank_region_index/event_counts", H5T_STD_U32LE, counts, 3);
    put_texts(file, "/region_table/names", "main  step  ", 6, 2);
}

static const int64_t starts[] = {10, 20, 30, 5, 1, 2}, ends[] = {11, 22, 33, 50, 2, 9};

static int open_all(sp_inputs **ret, sp_error *error)
{
    assert_int_equal(sp_inputs_create(ret, NULL), 0);
    return sp_inputs_add_path(*ret, path, error);
}

static void expect_good(void)
{
    sp_inputs *inputs;
    sp_error error = {0};
    int64_t start[3], end[3];
    const struct sp__calls calls = {.start = start, .end = end};
    if (open_all(&inputs, &error))
        fail_msg("%s", error.text);
    assert_int_equal(inputs->count, 2);
    assert_int_equal(inputs->sources[0]->rank, 2);
    struct sp__source *source = inputs->sources[1];
    assert_int_equal(source->rank, 7);
    assert_string_equal(source->rows[0].name, "step");
    assert_string_equal(source->rows[1].name, "main");
    assert_string_equal(source->rows[0].tags, "[]");
    assert_int_equal(source->rows[0].line, -1);
    assert_false(source->rows[0].summarized);
    if (source->read(source, 0, 0, 3, &calls, &error))
        fail_msg("%s", error.text);
    assert_memory_equal(start, starts, sizeof start);
    assert_memory_equal(end, ends, sizeof end);
    sp_inputs_destroy(inputs);
}

static void narrow_or_packed_values_misread(void **state)
{
    (void)state;
    const hid_t types[] = {H5T_STD_I8LE, H5T_STD_U64BE, H5T_STD_I64LE, H5T_STD_I32BE};
    for (size_t i = 0; i < 4; i++) {
        hid_t file = begin(), plist = packed_in(4);
        put_tables(file);
        put(file, "/events/start_times", types[i], starts, 6);
        put_packed(file, "/events/end_times", types[3 - i], ends, 6, plist);
        put(file, "/events/gpu_durations", types[i], ends, 6);
        H5Pclose(plist);
        H5Fclose(file);
        expect_good();
    }
}

static size_t pack_nothing(unsigned flags, size_t count, const unsigned values[], size_t length, size_t *room,
                           void **buffer)
{
    (void)flags, (void)count, (void)values, (void)length, (void)room, (void)buffer;
    return 0;
}

/* A file can be made with a filter only where something can pack, which the library has no need of. */
static void lzf_can_pack(bool yes)
{
    static const H5Z_class2_t packer = {H5Z_CLASS_T_VERS, LZF, 1, 1, "lzf", NULL, NULL, pack_nothing};
    if (yes)
        assert_true(H5Zregister(&packer) >= 0);
    else
        assert_true(H5Zunregister(LZF) >= 0);
}

/* One chunk of six little-endian int64 as LZF packs them: literals, and zeros as a repetition of themselves. */
static void lzf_not_unpacked(void **state)
{
    (void)state;
    unsigned char packed[64];
    size_t length = 0;
    for (size_t i = 0; i < 6; i++) {
        packed[length++] = 1; /* two literals */
        packed[length++] = (unsigned char)starts[i];
        packed[length++] = 0;
        packed[length++] = 4 << 5; /* six more, one back */
        packed[length++] = 0;
    }
    hid_t file = begin(), plist = H5Pcreate(H5P_DATASET_CREATE), set;
    hsize_t chunk = 6, none = 0;
    sp__h5_lock(); /* registers the filter, the first time */
    sp__h5_unlock();
    lzf_can_pack(true);
    put_tables(file);
    H5Pset_chunk(plist, 1, &chunk);
    assert_true(H5Pset_filter(plist, LZF, H5Z_FLAG_OPTIONAL, 0, NULL) >= 0);
    put_packed(file, "/events/start_times", H5T_STD_I64LE, NULL, 6, plist);
    set = H5Dopen2(file, "/events/start_times", H5P_DEFAULT);
    assert_true(H5Dwrite_chunk(set, H5P_DEFAULT, 0, &none, length, packed) >= 0);
    H5Dclose(set);
    put(file, "/events/end_times", H5T_STD_I64LE, ends, 6);
    H5Fclose(file);
    lzf_can_pack(false);
    sp__h5_lzf_register();
    expect_good();
    /* A distance that reaches before the beginning. */
    file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    set = H5Dopen2(file, "/events/start_times", H5P_DEFAULT);
    packed[0] = 0xff;
    assert_true(H5Dwrite_chunk(set, H5P_DEFAULT, 0, &none, length, packed) >= 0);
    H5Dclose(set);
    H5Fclose(file);
    H5Pclose(plist);
    sp_inputs *inputs;
    sp_error error = {0};
    int64_t start[3], end[3];
    const struct sp__calls calls = {.start = start, .end = end};
    assert_int_equal(open_all(&inputs, &error), 0);
    assert_int_equal(inputs->sources[1]->read(inputs->sources[1], 0, 0, 3, &calls, &error), SP_ERR_CORRUPT_PROFILE);
    assert_non_null(strstr(error.place, "/events/start_times"));
    sp_inputs_destroy(inputs);
}

static void time_too_large_clipped(void **state)
{
    (void)state;
    int64_t huge[6] = {10, 20, -1, 5, 1, 2}; /* as uint64: 2^64 - 1 */
    hid_t file = begin(), set;
    put_tables(file);
    put(file, "/events/start_times", H5T_STD_U64LE, NULL, 6);
    set = H5Dopen2(file, "/events/start_times", H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, huge) >= 0);
    H5Dclose(set);
    put(file, "/events/end_times", H5T_STD_I64LE, ends, 6);
    H5Fclose(file);
    sp_inputs *inputs;
    sp_error error = {0};
    int64_t start[3], end[3];
    const struct sp__calls calls = {.start = start, .end = end};
    assert_int_equal(open_all(&inputs, &error), 0);
    assert_int_equal(inputs->sources[1]->read(inputs->sources[1], 0, 0, 3, &calls, &error), SP_ERR_CORRUPT_PROFILE);
    assert_non_null(strstr(error.text, "fit"));
    sp_inputs_destroy(inputs);
}

static void expect_refusal(const char *words)
{
    sp_inputs *inputs;
    sp_error error = {0};
    assert_int_equal(open_all(&inputs, &error), SP_ERR_CORRUPT_PROFILE);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" does not say \"%s\"", error.text, words);
    sp_inputs_destroy(inputs);
}

static void length_believed_and_allocated(void **state)
{
    (void)state;
    hid_t file = begin(), plist = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk = 1024;
    H5Pset_chunk(plist, 1, &chunk);
    put_tables(file);
    put_packed(file, "/events/start_times", H5T_STD_I64LE, NULL, (hsize_t)1 << 50, plist);
    put_packed(file, "/events/end_times", H5T_STD_I64LE, NULL, (hsize_t)1 << 50, plist);
    H5Pclose(plist);
    H5Fclose(file);
    expect_refusal("cannot hold");
}

static void other_file_followed(void **state)
{
    (void)state;
    hid_t file = begin(), plist = H5Pcreate(H5P_DATASET_CREATE);
    put_tables(file);
    H5Pset_external(plist, "/etc/passwd", 0, 48);
    put_packed(file, "/events/start_times", H5T_STD_I64LE, NULL, 6, plist);
    put(file, "/events/end_times", H5T_STD_I64LE, ends, 6);
    H5Pclose(plist);
    H5Fclose(file);
    expect_refusal("outside this file");
}

static void file_being_written_read_in_half(void **state)
{
    (void)state;
    hid_t file = begin();
    put_tables(file);
    put(file, "/events/start_times", H5T_STD_I64LE, starts, 6);
    put(file, "/events/end_times", H5T_STD_I64LE, ends, 6);
    H5Fclose(file);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    sp_inputs *inputs;
    sp_error error = {0};
    assert_int_equal(open_all(&inputs, &error), SP_ERR_BUSY);
    sp_inputs_destroy(inputs);
    close(fd);
    expect_good();
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/sp-h5-storage-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/profile.h5", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrow_or_packed_values_misread),
        cmocka_unit_test(lzf_not_unpacked),
        cmocka_unit_test(time_too_large_clipped),
        cmocka_unit_test(length_believed_and_allocated),
        cmocka_unit_test(other_file_followed),
        cmocka_unit_test(file_being_written_read_in_half),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
