/* trace: a published .spt is what FORMATS says, byte by byte, and is replaced whole or not at all; notes are JSON. */
#include <glob.h>
#include <jansson.h>
#include <sys/resource.h>

#include "note.h"
#include "producer.h"
#include "trace.h"

static struct producer p;

static struct sp__recording *make(int end)
{
    producer_start(&p, SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
    producer_region(&p, "a");
    producer_region(&p, "never called");
    producer_region(&p, "\xc3\xa4 \"b\"\n");
    producer_locate(&p, 2, "b.c", 12);
    producer_lane(&p, 0, 32768, 0);
    producer_put(&p, 0, SP__THREAD_BEGIN, 1, 1001, 0, 0);
    for (uint64_t i = 0; i < 20000; i++)
        producer_call(&p, 0, i * 10, i * 10 + 5, i % 2 ? 0 : 2);
    producer_open(&p, 0, 1000000, 0, 0);
    producer_open(&p, 0, 2000000, 2, 0);
    struct sp__consumer *c = attach(&p, "data");
    assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
    assert_int_equal(sp__consumer_mark(c, (enum sp__end)end), 0);
    struct sp__recording *r = open_recording((const char *[]){c->spool.path}, 1, NULL);
    sp__consumer_destroy(c);
    producer_finish(&p);
    return r;
}

static const unsigned char *expect(const unsigned char *at, const void *bytes, size_t length)
{
    assert_memory_equal(at, bytes, length);
    return at + length;
}

static const unsigned char *expect_row(const unsigned char *at, const char *name, const char *file, int32_t line,
                                       uint64_t first)
{
    int32_t length = (int32_t)strlen(name), file_length = (int32_t)strlen(file);
    int64_t calls = 10000;
    at = expect(at, &length, 4);
    at = expect(at, name, strlen(name));
    at = expect(at, &file_length, 4);
    at = expect(at, file, strlen(file));
    at = expect(at, &line, 4);
    at = expect(at, &calls, 8);
    for (int ends = 0; ends < 2; ends++)
        for (uint64_t i = 0; i < 10000; i++) {
            int64_t time = (int64_t)((2 * i + first) * 10 + (ends ? 5 : 0));
            at = expect(at, &time, 8);
        }
    return at;
}

static void bytes_are_those_of_the_format(void **state)
{
    char path[128];
    (void)state;
    struct sp__recording *r = make(SP__END_FINALIZED);
    snprintf(path, sizeof path, "%s/x_rank00003.spt", test_folder);
    umask(0);
    assert_int_equal(sp__trace_write(r, path, true), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    unsigned char *bytes = malloc((size_t)st.st_size);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
    close(fd);
    int32_t head[2] = {2, 3};
    int64_t regions = 2;
    const unsigned char *at = expect(bytes, "SCOPEPRF", 8);
    at = expect(at, head, 8);
    at = expect(at, &regions, 8);
    at = expect_row(at, "a", "", -1, 1);
    at = expect_row(at, "\xc3\xa4 \"b\"\n", "b.c", 12, 0);
    assert_int_equal(at - bytes, st.st_size);
    free(bytes);
    sp__recording_destroy(r);
}

static size_t temporaries(void)
{
    char pattern[128];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/.straight.spt.*", test_folder);
    int rc = glob(pattern, 0, NULL, &found);
    size_t count = rc ? 0 : found.gl_pathc;
    globfree(&found);
    return count;
}

static unsigned char *content(const struct sp__recording *r, const char *name, size_t *ret_size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    assert_int_equal(sp__trace_write(r, path, false), 0);
    int fd = open(path, O_RDONLY);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    unsigned char *bytes = malloc((size_t)st.st_size);
    assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
    close(fd);
    *ret_size = (size_t)st.st_size;
    return bytes;
}

/* More calls than a batch holds; where the first one ends last, its row does not come in order. */
static void calls_put_straight_into_the_trace_are_others(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/straight.spt", test_folder);
    for (uint64_t recursive = 0; recursive < 2; recursive++) {
        producer_start(&p, SP__CLOCK_MONOTONIC, SP__MODE_RECORDS);
        producer_region(&p, "a");
        producer_region(&p, "b");
        producer_lane(&p, 0, 65536, 0);
        producer_put(&p, 0, SP__THREAD_BEGIN, 1, 1001, 0, 0);
        for (uint64_t i = 0; i < 40000; i++)
            producer_call(&p, 0, i * 10 + 1, i * 10 + 5, i % 2);
        if (recursive)
            producer_call(&p, 0, 0, 400000, 0);
        struct sp__consumer *c = attach(&p, "data");
        assert_int_equal(sp__consumer_drain(c, 0, NULL), 0);
        struct sp__recording *copied = open_recording((const char *[]){c->spool.path}, 1, NULL), *straight;
        struct sp__recording_source source = {
            .spools = (const char *[]){c->spool.path}, .spool_count = 1, .scratch_dir = test_folder, .trace = path};
        assert_int_equal(sp__recording_create(&straight, &source, NULL), 0);
        assert_int_equal(temporaries(), recursive ? 0 : 1);
        size_t size, same;
        unsigned char *bytes = content(straight, "straight.spt", &size), *others = content(copied, "copied.spt", &same);
        assert_int_equal(size, same);
        assert_true(size > (40000 + recursive) * 16);
        assert_memory_equal(bytes, others, size);
        free(bytes);
        free(others);
        sp__recording_destroy(straight);
        assert_int_equal(sp__recording_create(&straight, &source, NULL), 0);
        sp__recording_destroy(straight); /* and nothing written */
        assert_int_equal(temporaries(), 0);
        sp__recording_destroy(copied);
        sp__consumer_destroy(c);
        producer_finish(&p);
    }
}

static void failed_write_leaves_the_old_file(void **state)
{
    char path[128], kept[16] = "";
    struct rlimit old, small;
    (void)state;
    struct sp__recording *r = make(0);
    snprintf(path, sizeof path, "%s/old.spt", test_folder);
    int fd = open(path, O_RDWR | O_CREAT, 0640);
    assert_int_equal(write(fd, "old", 3), 3);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 100000;
    setrlimit(RLIMIT_FSIZE, &small);
    int rc = sp__trace_write(r, path, true);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(rc, -EFBIG);
    assert_int_equal(pread(fd, kept, sizeof kept, 0), 3);
    close(fd);
    fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, kept, sizeof kept), 3);
    close(fd);
    assert_int_equal(sp__trace_write(r, path, true), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640); /* as it was given */
    assert_true(st.st_size > 320000);
    snprintf(path, sizeof path, "%s/missing/x.spt", test_folder);
    assert_int_equal(sp__trace_write(r, path, true), -ENOENT);
    sp__recording_destroy(r);
}

static void note_is_json_whatever_the_names_hold(void **state)
{
    char path[128], text[256];
    (void)state;
    struct sp__recording *r = make(SP__END_DIED);
    r->open_calls[0].start_ns = 1000000000;
    r->open_calls[1].start_ns = 2000000000;
    r->open_calls[1].seen_ns = 14300000000;
    snprintf(r->identity.hostname, sizeof r->identity.hostname, "h\x01\xff\"\\");
    snprintf(path, sizeof path, "%s/x.note", test_folder);
    assert_int_equal(sp__note_write(path, r, "/tmp/f \"q\".spt", "spt", true), 0);
    json_error_t error;
    json_t *note = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!note)
        print_error("%s\n", error.text);
    assert_non_null(note);
    assert_string_equal(json_string_value(json_object_get(note, "hostname")), "h\x01\xef\xbf\xbd\"\\");
    assert_string_equal(json_string_value(json_object_get(note, "file")), "/tmp/f \"q\".spt");
    assert_string_equal(json_string_value(json_object_get(note, "clock")), "monotonic");
    assert_int_equal(json_integer_value(json_object_get(note, "calls")), 20000);
    assert_int_equal(json_integer_value(json_object_get(note, "rank")), 3);
    assert_true(json_is_true(json_object_get(note, "final")) && json_is_true(json_object_get(note, "died")));
    assert_int_equal(json_array_size(json_object_get(note, "deaths")), 1);
    json_t *open = json_object_get(note, "open_calls");
    assert_int_equal(json_array_size(open), 1);
    assert_string_equal(json_string_value(json_array_get(open, 0)), "rank 3 thread 0: a > \xc3\xa4 \"b\"\n, 12.3 s");
    json_t *last = json_array_get(json_object_get(note, "last"), 0);
    assert_int_equal(json_integer_value(json_array_get(last, 0)), 0);
    assert_int_equal(json_integer_value(json_array_get(last, 1)), 20001);
    json_decref(note);
    assert_int_equal(sp__open_call_text(r, 1, text, sizeof text), 0);
    for (size_t size = 1; size < 60; size++) { /* cut, but terminated, and within no character */
        memset(text, 'x', sizeof text);
        assert_int_equal(sp__open_call_text(r, 0, text, size), 1);
        assert_true(strlen(text) < size);
    }
    sp__recording_destroy(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_format),
        cmocka_unit_test(calls_put_straight_into_the_trace_are_others),
        cmocka_unit_test(failed_write_leaves_the_old_file),
        cmocka_unit_test(note_is_json_whatever_the_names_hold),
    };
    return cmocka_run_group_tests_name("trace", tests, test_setup, test_teardown);
}
