/* trace_damage.c: every sound trace among the fixtures, cut at every byte and with every byte changed, is read or refused
 * with file and byte, and never takes the process down. Under a sanitizer that is the whole of the reader's promise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/source.h"

/* Of a trace longer than that only so many bytes at both ends and every STEPth between are changed: each try reads it
 * whole. A prime, so that in a table of many small regions each kind of field is hit. */
enum { WHOLE_MOST = 4096, ENDS = 256, STEP = 1499, SLICE = 4096 };

static char path[64];

static void found(void *context, const char *place, const char *text)
{
    if (strncmp(place, "byte ", 5) != 0 || !*text)
        fail_msg("a finding without words or place: \"%s\" \"%s\"", place, text);
    ++*(unsigned *)context;
}

static int read_calls(sp_inputs *inputs, sp_error *error)
{
    static int64_t starts[SLICE], ends[SLICE];
    const struct sp__calls calls = {.start = starts, .end = ends};
    int status = 0;
    for (size_t i = 0; !status && i < inputs->count; i++) {
        struct sp__source *source = inputs->sources[i];
        for (size_t row = 0; !status && row < source->row_count; row++)
            for (uint64_t at = 0; !status && at < source->rows[row].calls; at += SLICE) {
                uint64_t left = source->rows[row].calls - at;
                status = source->read(source, row, at, left < SLICE ? (size_t)left : SLICE, &calls, error);
            }
        source->rest(source);
    }
    return status;
}

/* Opens, reads and checks the file as it is. True: it is sound. */
static bool judge(const char *name, const char *damage, size_t at)
{
    sp_inputs *inputs;
    sp_error error = {0};
    sp_check_result result;
    unsigned findings = 0;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    int status = sp_inputs_add_path(inputs, path, &error);
    if (!status)
        status = read_calls(inputs, &error);
    sp_inputs_destroy(inputs);
    if (status && (status != SP_ERR_TRACE_FORMAT || error.status != status || strcmp(error.file, path) != 0 ||
                   strncmp(error.place, "byte ", 5) != 0 || !*error.text))
        fail_msg("%s %s byte %zu: status %d, file \"%s\", place \"%s\": %s", name, damage, at, status, error.file,
                 error.place, error.text);
    if (sp_check_file(path, found, &findings, &result, &error))
        fail_msg("%s %s byte %zu cannot be checked: %s", name, damage, at, error.text);
    if (status && !findings)
        fail_msg("%s %s byte %zu is not read, and found sound: %s", name, damage, at, error.text);
    return !findings;
}

static size_t next_of(size_t at, size_t length)
{
    bool all = length <= WHOLE_MOST || at < ENDS || at + 1 >= length - ENDS;
    return all ? at + 1 : at + STEP < length - ENDS ? at + STEP : length - ENDS;
}

static void change(const char *name, int fd, size_t length)
{
    static const unsigned char masks[] = {0xff, 0x80, 0x01};
    assert_true(judge(name, "before", 0));
    for (size_t at = 0; at < length; at = next_of(at, length)) {
        unsigned char byte;
        assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
        /* All of its bits, or the highest or the lowest alone: a sign, or one more. */
        unsigned char changed = byte ^ masks[at % 3];
        assert_int_equal(pwrite(fd, &changed, 1, (off_t)at), 1);
        (void)judge(name, "changed at", at);
        assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    }
    assert_true(judge(name, "after", 0));
}

static void cut(const char *name, int fd, size_t length)
{
    size_t *cuts = calloc(length + 1, sizeof *cuts), count = 0;
    assert_non_null(cuts);
    for (size_t at = 0; at < length; at = next_of(at, length))
        cuts[count++] = at;
    while (count-- > 0) {
        assert_int_equal(ftruncate(fd, (off_t)cuts[count]), 0);
        if (judge(name, "cut at", cuts[count]))
            fail_msg("%s cut at byte %zu is found sound", name, cuts[count]);
    }
    free(cuts);
}

static void damage(const char *name)
{
    static unsigned char data[1 << 20];
    char fixture[1024];
    snprintf(fixture, sizeof fixture, "%s/%s", SP_TEST_FIXTURES, name);
    int from = open(fixture, O_RDONLY | O_CLOEXEC), to = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(from >= 0 && to >= 0);
    ssize_t length = read(from, data, sizeof data);
    assert_true(length > 0 && length < (ssize_t)sizeof data);
    assert_int_equal(write(to, data, (size_t)length), length);
    change(name, to, (size_t)length);
    cut(name, to, (size_t)length);
    close(from);
    close(to);
}

static void damaged_trace_crashes_or_passes_for_sound(void **state)
{
    (void)state;
    json_t *expected = json_load_file(SP_TEST_FIXTURES "/expected.json", 0, NULL), *wanted;
    assert_non_null(expected);
    const char *name;
    unsigned traces = 0;
    json_object_foreach(expected, name, wanted)
    {
        size_t length = strlen(name);
        if (length < 4 || strcmp(name + length - 4, ".spt") != 0 || json_object_get(wanted, "error"))
            continue;
        damage(name);
        traces++;
    }
    json_decref(expected);
    assert_true(traces >= 10);
}

static int set_up(void **state)
{
    (void)state;
    /* In memory: it is written a hundred thousand times. */
    snprintf(path, sizeof path, "/dev/shm/sp-damage-XXXXXX.spt");
    int fd = mkstemps(path, 4);
    return fd < 0 || close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(damaged_trace_crashes_or_passes_for_sound)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
