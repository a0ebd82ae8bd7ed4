/* sources.c: every fixture is read to what it contains, or refused in words that name file and place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/source.h"

static json_t *expected;

static void fixture(const char *name, char ret[1024])
{
    snprintf(ret, 1024, "%s/%s", SP_TEST_FIXTURES, name);
}

struct figures {
    uint64_t calls;
    int64_t total, minimum, maximum;
};

/* Reads a row in slices of `slice` calls. */
static int sum(struct sp__source *source, size_t row, size_t slice, struct figures *ret, sp_error *error)
{
    struct sp__calls c = {calloc(slice, 8), calloc(slice, 8), calloc(slice, 8), calloc(slice, 8), calloc(slice, 8)};
    struct figures f = {.minimum = INT64_MAX, .maximum = INT64_MIN};
    int status = 0;
    int64_t last = INT64_MIN;
    if (source->aggregate) {
        const struct sp__source_row *r = &source->rows[row];
        f = (struct figures){r->calls, r->summary.total, r->summary.minimum, r->summary.maximum};
        assert_int_equal(source->read(source, row, 0, 1, &c, error), SP_ERR_USAGE);
    }
    for (uint64_t at = 0; !status && !source->aggregate && at < source->rows[row].calls; at += slice) {
        uint64_t left = source->rows[row].calls - at;
        size_t n = left < slice ? (size_t)left : slice;
        status = source->read(source, row, at, n, &c, error);
        for (size_t i = 0; !status && i < n; i++) {
            int64_t duration = (int64_t)((uint64_t)c.end[i] - (uint64_t)c.start[i]);
            assert_true(c.start[i] >= last);
            last = c.start[i];
            f.calls++;
            f.total = (int64_t)((uint64_t)f.total + (uint64_t)duration);
            f.minimum = duration < f.minimum ? duration : f.minimum;
            f.maximum = duration > f.maximum ? duration : f.maximum;
            if (source->ids)
                assert_true(c.parent[i] < c.call[i]);
            if (!source->lanes)
                assert_int_equal(c.thread[i], -1);
        }
    }
    free(c.start), free(c.end), free(c.thread), free(c.call), free(c.parent);
    *ret = f;
    return status;
}

/* Opens and reads everything, twice in differing slices. */
static int read_all(const char *path, json_t *wanted, size_t *ret_rows, sp_error *error)
{
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    int status = sp_inputs_add_path(inputs, path, error);
    *ret_rows = 0;
    for (size_t i = 0; !status && i < inputs->count; i++) {
        struct sp__source *source = inputs->sources[i];
        for (size_t row = 0; !status && row < source->row_count; row++) {
            struct figures a, b;
            char key[2048];
            if ((status = sum(source, row, 7, &a, error)))
                break;
            source->rest(source);
            assert_int_equal(sum(source, row, 5000, &b, error), 0);
            assert_memory_equal(&a, &b, sizeof a);
            snprintf(key, sizeof key, "%" PRIu32 "/%s", source->rank, source->rows[row].name);
            json_t *values = json_object_get(wanted, key);
            if (!values)
                fail_msg("%s: %s is not there", path, key);
            assert_int_equal(a.calls, json_integer_value(json_array_get(values, 0)));
            assert_int_equal(a.total, json_integer_value(json_array_get(values, 1)));
            assert_int_equal(a.minimum, json_integer_value(json_array_get(values, 2)));
            assert_int_equal(a.maximum, json_integer_value(json_array_get(values, 3)));
            ++*ret_rows;
        }
    }
    sp_inputs_destroy(inputs);
    return status;
}

static void sound_fixture_misread(void **state)
{
    (void)state;
    const char *name;
    json_t *wanted;
    unsigned read = 0;
    json_object_foreach(expected, name, wanted)
    {
        char path[1024];
        if (json_object_get(wanted, "error"))
            continue;
        fixture(name, path);
        sp_error error = {0};
        size_t rows;
        if (read_all(path, wanted, &rows, &error))
            fail_msg("%s: %s", name, error.text);
        assert_int_equal(rows, json_object_size(wanted));
        read++;
    }
    assert_int_equal(read, 19);
}

static void damaged_fixture_accepted_or_badly_worded(void **state)
{
    (void)state;
    const char *name;
    json_t *wanted;
    json_object_foreach(expected, name, wanted)
    {
        const char *phrase = json_string_value(json_object_get(wanted, "error"));
        char path[1024];
        if (!phrase)
            continue;
        fixture(name, path);
        sp_error error = {0};
        size_t rows;
        if (!read_all(path, wanted, &rows, &error))
            fail_msg("%s was read", name);
        if (!strstr(error.text, phrase))
            fail_msg("%s: \"%s\" does not say \"%s\"", name, error.text, phrase);
        assert_string_equal(error.file, path);
        assert_true(error.status < 0);
        if (strstr(name, ".spt") && strcmp(name, "hdf5-inside.spt") != 0) {
            assert_int_equal(error.status, SP_ERR_TRACE_FORMAT);
            assert_int_equal(strncmp(error.place, "byte ", 5), 0);
        }
    }
}

static void thread_table_or_metadata_lost(void **state)
{
    (void)state;
    char path[1024];
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    fixture("threads.h5", path);
    assert_int_equal(sp_inputs_add_path(inputs, path, NULL), 0);
    assert_int_equal(inputs->count, 1);
    struct sp__source *source = inputs->sources[0];
    assert_true(source->lanes);
    assert_int_equal(source->thread_count, 3);
    assert_true(*source->hostname);
    assert_true(source->attribute_count >= 4);
    assert_int_equal(source->unsupported_count, 0);
    fixture("python-writer.h5", path);
    assert_int_equal(sp_inputs_add_path(inputs, path, NULL), 0);
    assert_int_equal(inputs->count, 5);
    assert_true(inputs->sources[1]->ids);
    assert_true(inputs->sources[1]->rows[0].summarized);
    assert_true(inputs->sources[1]->attribute_count > 0);
    assert_int_equal(inputs->sources[2]->attribute_count, 0);
    sp_inputs_destroy(inputs);
}

/* ---- traces made here
 * ------------------------------------------------------------------------------------------------ */

static char folder[64];

struct bytes {
    unsigned char data[4096];
    size_t length;
};

static void put(struct bytes *b, const void *data, size_t length)
{
    assert_true(b->length + length <= sizeof b->data);
    memcpy(b->data + b->length, data, length);
    b->length += length;
}

static void put_32(struct bytes *b, int32_t value)
{
    put(b, &value, sizeof value);
}

static void put_64(struct bytes *b, int64_t value)
{
    put(b, &value, sizeof value);
}

static void put_region(struct bytes *b, const char *name, size_t length, const int64_t *times, size_t calls)
{
    put_32(b, (int32_t)length);
    put(b, name, length);
    put_32(b, 0);
    put_32(b, -1);
    put_64(b, (int64_t)calls);
    if (calls)
        put(b, times, calls * 16);
}

static void head(struct bytes *b, int64_t regions)
{
    b->length = 0;
    put(b, "SCOPEPRF", 8);
    put_32(b, 2);
    put_32(b, 3);
    put_64(b, regions);
}

static const char *save(const struct bytes *b, const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, b->data, b->length), b->length);
    close(fd);
    return path;
}

static void repeated_name_not_joined_in_order(void **state)
{
    (void)state;
    const int64_t one[] = {10, 30, 50, 11, 31, 51}, two[] = {20, 30, 60, 25, 39, 61}, other[] = {5, 6};
    struct bytes b;
    head(&b, 4);
    put_region(&b, "a", 1, one, 3);
    put_region(&b, "b", 1, other, 1);
    put_region(&b, "a", 1, two, 3);
    put_region(&b, "a", 1, NULL, 0);
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    assert_int_equal(sp_inputs_add_path(inputs, save(&b, "joined.spt"), NULL), 0);
    struct sp__source *source = inputs->sources[0];
    assert_int_equal(source->row_count, 2);
    assert_string_equal(source->rows[0].name, "a");
    assert_int_equal(source->rows[0].calls, 6);
    int64_t start[6], end[6];
    const struct sp__calls calls = {.start = start, .end = end};
    const int64_t starts[] = {10, 20, 30, 30, 50, 60}, ends[] = {11, 25, 39, 31, 51, 61};
    for (size_t first = 0; first <= 6; first++)
        for (size_t count = 0; first + count <= 6; count++) {
            assert_int_equal(source->read(source, 0, first, count, &calls, NULL), 0);
            assert_memory_equal(start, starts + first, count * 8);
            assert_memory_equal(end, ends + first, count * 8);
        }
    assert_int_equal(source->read(source, 0, 4, 3, &calls, NULL), SP_ERR_USAGE);
    sp_inputs_destroy(inputs);
}

static void bad_utf8_kept_silently(void **state)
{
    (void)state;
    const int64_t times[] = {1, 2};
    struct bytes b;
    head(&b, 1);
    put_region(&b, "a\xff\xe2\x82z", 5, times, 1);
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    assert_int_equal(sp_inputs_add_path(inputs, save(&b, "utf8.spt"), NULL), 0);
    assert_string_equal(inputs->sources[0]->rows[0].name, "a\xef\xbf\xbd\xef\xbf\xbdz");
    assert_int_equal(inputs->sources[0]->warning_count, 1);
    sp_inputs_destroy(inputs);
}

static void disorder_passed_on(void **state)
{
    (void)state;
    const int64_t backwards[] = {20, 10, 21, 11}, ends_first[] = {10, 5};
    struct bytes b;
    sp_error error;
    size_t rows;
    head(&b, 1);
    put_region(&b, "a", 1, backwards, 2);
    assert_int_equal(read_all(save(&b, "backwards.spt"), NULL, &rows, &error), SP_ERR_TRACE_FORMAT);
    assert_non_null(strstr(error.text, "ascend"));
    assert_string_equal(error.place, "byte 53");
    head(&b, 1);
    put_region(&b, "a", 1, ends_first, 1);
    assert_int_equal(read_all(save(&b, "ends.spt"), NULL, &rows, &error), SP_ERR_TRACE_FORMAT);
    assert_non_null(strstr(error.text, "before its start"));
}

static void replaced_file_read_as_the_old_one(void **state)
{
    (void)state;
    const int64_t times[] = {1, 2};
    struct bytes b;
    head(&b, 1);
    put_region(&b, "a", 1, times, 1);
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    assert_int_equal(sp_inputs_add_path(inputs, save(&b, "replaced.spt"), NULL), 0);
    char from[128], to[128];
    snprintf(to, sizeof to, "%s/replaced.spt", folder);
    snprintf(from, sizeof from, "%s", save(&b, "new.spt"));
    assert_int_equal(rename(from, to), 0);
    int64_t start, end;
    sp_error error;
    const struct sp__calls calls = {.start = &start, .end = &end};
    assert_int_equal(inputs->sources[0]->read(inputs->sources[0], 0, 0, 1, &calls, &error), SP_ERR_BUSY);
    sp_inputs_destroy(inputs);
}

static void folder_rule_broken(void **state)
{
    (void)state;
    char path[256], below[256], command[512];
    const int64_t times[] = {1, 2};
    struct bytes b;
    sp_inputs *inputs;
    sp_error error;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    snprintf(path, sizeof path, "%s/some", folder);
    snprintf(below, sizeof below, "%s/some/below", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(mkdir(below, 0700), 0);
    head(&b, 1);
    put_region(&b, "a", 1, times, 1);
    (void)save(&b, "some/below/deep_rank00009.spt");
    (void)save(&b, "some/merged.h5"); /* an earlier merge is left alone, whatever it holds */
    assert_int_equal(sp_inputs_add_path(inputs, path, &error), SP_ERR_NOT_FOUND);
    assert_non_null(strstr(error.text, path));
    (void)save(&b, "some/any.spt");
    (void)save(&b, "some/x_rank1.h5"); /* a trace by content */
    assert_int_equal(sp_inputs_add_path(inputs, path, &error), 0);
    assert_int_equal(inputs->count, 2);
    snprintf(command, sizeof command, "%s/none", folder);
    assert_int_equal(sp_inputs_add_path(inputs, command, &error), SP_ERR_NOT_FOUND);
    /* One bad file: nothing of the folder stays. */
    b.length -= 1;
    (void)save(&b, "some/bad.spt");
    assert_int_equal(sp_inputs_add_path(inputs, path, &error), SP_ERR_TRACE_FORMAT);
    assert_int_equal(inputs->count, 2);
    sp_inputs_destroy(inputs);
}

/* Every byte of a small trace cut off or flipped: an error or a sound reading, never more. */
static void hostile_trace_crashes(void **state)
{
    (void)state;
    const int64_t times[] = {1, 5, 2, 9};
    struct bytes b;
    head(&b, 2);
    put_region(&b, "main", 4, times, 2);
    put_region(&b, "step", 4, times, 2);
    const struct bytes good = b;
    struct figures figures;
    for (size_t i = 0; i < good.length * 9; i++) {
        b = good;
        if (i < good.length)
            b.length = i;
        else
            b.data[i / 9] ^= (unsigned char)(i % 9 ? 1U << (i % 9 - 1) : 0xff);
        sp_inputs *inputs;
        assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
        if (!sp_inputs_add_path(inputs, save(&b, "hostile.spt"), NULL))
            for (size_t row = 0; row < inputs->sources[0]->row_count; row++)
                (void)sum(inputs->sources[0], row, 3, &figures, NULL);
        else if (i < good.length)
            assert_int_equal(inputs->count, 0);
        sp_inputs_destroy(inputs);
    }
}

static int set_up(void **state)
{
    (void)state;
    char path[1024];
    fixture("expected.json", path);
    expected = json_load_file(path, 0, NULL);
    snprintf(folder, sizeof folder, "/tmp/sp-sources-XXXXXX");
    return !expected || !mkdtemp(folder);
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(expected);
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_fixture_misread),
        cmocka_unit_test(damaged_fixture_accepted_or_badly_worded),
        cmocka_unit_test(thread_table_or_metadata_lost),
        cmocka_unit_test(repeated_name_not_joined_in_order),
        cmocka_unit_test(bad_utf8_kept_silently),
        cmocka_unit_test(disorder_passed_on),
        cmocka_unit_test(replaced_file_read_as_the_old_one),
        cmocka_unit_test(folder_rule_broken),
        cmocka_unit_test(hostile_trace_crashes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
