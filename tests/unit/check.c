/* check.c: sound files give no finding, damaged ones at least one, whatever their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scope_profiler_io.h"

static json_t *expected;
static char folder[64];

struct findings {
    unsigned count;
    char place[256], text[1024];
};

static void found(void *context, const char *place, const char *text)
{
    struct findings *f = context;
    f->count++;
    snprintf(f->place, sizeof f->place, "%s", place);
    snprintf(f->text, sizeof f->text, "%s", text);
}

static void fixture_judged_wrongly(void **state)
{
    (void)state;
    const char *name;
    json_t *wanted;
    json_object_foreach(expected, name, wanted)
    {
        char path[1024];
        struct findings f = {0};
        sp_check_result result;
        sp_error error = {0};
        snprintf(path, sizeof path, "%s/%s", SP_TEST_FIXTURES, name);
        int status = sp_check_file(path, found, &f, &result, &error);
        const char *phrase = json_string_value(json_object_get(wanted, "error"));
        if (status)
            fail_msg("%s: %s", name, error.text);
        assert_int_equal(result.findings, f.count);
        if (!phrase && f.count)
            fail_msg("%s is sound, but: %s: %s", name, f.place, f.text);
        if (phrase && (!f.count || !strstr(f.text, phrase)))
            fail_msg("%s: %u findings, \"%s\" does not say \"%s\"", name, f.count, f.text, phrase);
        if (!phrase) {
            uint64_t calls = 0;
            const char *key;
            json_t *values;
            json_object_foreach(wanted, key, values) calls += (uint64_t)json_integer_value(json_array_get(values, 0));
            assert_int_equal(result.calls, calls);
            assert_true(*result.format);
        }
    }
}

static size_t load(const char *name, unsigned char *data, size_t room)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", SP_TEST_FIXTURES, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t n = read(fd, data, room);
    close(fd);
    assert_true(n > 0);
    return (size_t)n;
}

static const char *save(const unsigned char *data, size_t length)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/file", folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, length), length);
    close(fd);
    return path;
}

static void every_fault_of_a_trace_not_found(void **state)
{
    (void)state;
    unsigned char data[4096];
    size_t length = load("recursive_rank00004.spt", data, sizeof data);
    /* 24 of the head, 4 + 3 of the name, then source path, line and number of calls: find the starts from the end. */
    size_t starts = length - 109 * 16;
    struct findings f = {0};
    sp_check_result result;
    memset(data + starts + 8 * 50, 0xff, 8);  /* the start of call 50 becomes -1 */
    memset(data + starts + 8 * 109, 0x00, 8); /* the end of call 0 becomes 0 */
    assert_int_equal(sp_check_file(save(data, length), found, &f, &result, NULL), 0);
    assert_int_equal(f.count, 2);
    char place[32];
    snprintf(place, sizeof place, "byte %zu", starts + 8 * 109);
    assert_true(!strcmp(f.place, place) || strstr(f.text, "ascend"));
}

/* Bytes of profiles flipped all over: findings or none, but an answer. */
static void hostile_profile_crashes(void **state)
{
    (void)state;
    static unsigned char good[131072], bad[131072];
    static const char *const names[] = {"threads.h5", "c-writer_rank00003.h5", "gzip.h5"};
    uint64_t random = 88172645463325252ULL;
    for (size_t file = 0; file < 3; file++) {
        size_t length = load(names[file], good, sizeof good);
        for (unsigned round = 0; round < 12; round++) {
            memcpy(bad, good, length);
            size_t cut = length;
            for (unsigned i = 0; i < 8; i++) {
                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                bad[random % length] ^= (unsigned char)(random >> 40);
            }
            if (round % 4 == 0)
                cut = (size_t)(random % length);
            struct findings f = {0};
            sp_check_result result;
            (void)sp_check_file(save(bad, cut), found, &f, &result, NULL);
        }
    }
}

static int set_up(void **state)
{
    (void)state;
    expected = json_load_file(SP_TEST_FIXTURES "/expected.json", 0, NULL);
    snprintf(folder, sizeof folder, "/tmp/sp-check-XXXXXX");
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
        cmocka_unit_test(fixture_judged_wrongly),
        cmocka_unit_test(every_fault_of_a_trace_not_found),
        cmocka_unit_test(hostile_profile_crashes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
