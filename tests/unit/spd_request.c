/* What arrives on the control socket: any cutting into pieces gives the same lines, and no message confuses the parser.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "request.h"

static int feed(struct lines *lines, const char *bytes, size_t count)
{
    while (count) {
        char *at;
        size_t room;
        int status = lines_room(lines, &at, &room);
        if (status)
            return status;
        assert_true(room > 0);
        size_t now = room < count ? room : count;
        memcpy(at, bytes, now);
        lines_added(lines, now);
        bytes += now;
        count -= now;
    }
    return 0;
}

static void lines_survive_any_cutting(void **state)
{
    static const char text[] = "one\n\ntwo and more\nthree";
    (void)state;
    for (size_t piece = 1; piece < sizeof text; ++piece) {
        static const char *const expected[] = {"one", "", "two and more"};
        struct lines lines = {0};
        size_t seen = 0, length;
        char *line;
        for (size_t at = 0; at < sizeof text - 1; at += piece) {
            size_t left = sizeof text - 1 - at;
            assert_int_equal(feed(&lines, text + at, left < piece ? left : piece), 0);
            while (lines_next(&lines, &line, &length)) {
                assert_true(seen < 3);
                assert_int_equal(length, strlen(expected[seen]));
                assert_string_equal(line, expected[seen++]);
            }
        }
        assert_int_equal(seen, 3);
        lines_finish(&lines);
    }
}

static void many_lines_pass_through_one_buffer(void **state)
{
    struct lines lines = {0};
    char *line;
    size_t length;
    (void)state;
    for (int n = 0; n < 100000; ++n) {
        assert_int_equal(feed(&lines, "a line of some bytes\nhal", 24), 0);
        assert_true(lines_next(&lines, &line, &length));
        assert_int_equal(feed(&lines, "f\n", 2), 0);
        assert_true(lines_next(&lines, &line, &length));
        assert_string_equal(line, "half");
        assert_false(lines_next(&lines, &line, &length));
    }
    assert_true(lines.room <= 4096);
    lines_finish(&lines);
}

static void an_endless_line_is_cut_off(void **state)
{
    struct lines lines = {0};
    char bytes[1000];
    int status = 0, times = 0;
    (void)state;
    memset(bytes, 'x', sizeof bytes);
    while (!status && ++times < 1000)
        status = feed(&lines, bytes, sizeof bytes);
    assert_int_equal(status, -EMSGSIZE);
    assert_int_equal(lines.room, REQUEST_LINE_MOST);
    lines_finish(&lines);
}

static int parse(const char *text, struct request *request)
{
    char why[256] = "";
    int status = request_parse(text, strlen(text), request, why, sizeof why);
    if (status)
        assert_true(strlen(why) > 0);
    return status;
}

static void sound_requests_are_understood(void **state)
{
    struct request r;
    (void)state;
    assert_int_equal(parse("{\"v\":1,\"op\":\"ping\"}", &r), 0);
    assert_int_equal(r.op, REQUEST_PING);
    assert_false(r.has_id);
    assert_int_equal(parse(" {\"op\":\"flush\",\"id\":-7,\"session\":\"a.b@c\",\"v\":1,\"more\":[]} ", &r), 0);
    assert_int_equal(r.op, REQUEST_FLUSH);
    assert_true(r.has_id);
    assert_int_equal(r.id, -7);
    assert_string_equal(r.session, "a.b@c");
    assert_int_equal(parse("{\"v\":1,\"op\":\"list\",\"session\":null}", &r), 0);
}

static void what_cannot_be_done_keeps_its_id(void **state)
{
    struct request r;
    (void)state;
    assert_int_equal(parse("{\"v\":1,\"id\":3,\"op\":\"dance\"}", &r), -EINVAL);
    assert_true(r.has_id);
    assert_int_equal(r.id, 3);
    assert_int_equal(parse("{\"v\":1,\"op\":\"flush\"}", &r), -EINVAL);
    assert_int_equal(parse("{\"v\":1,\"op\":7}", &r), -EINVAL);
    assert_int_equal(parse("{\"v\":1,\"op\":\"flush\",\"session\":\"../up\"}", &r), -EINVAL);
    assert_int_equal(parse("{\"v\":1,\"op\":\"flush\",\"session\":[\"a\"]}", &r), -EINVAL);
}

static void garbage_ends_the_connection(void **state)
{
    static const char *const garbage[] = {"",
                                          "null",
                                          "[]",
                                          "{",
                                          "{\"v\":1",
                                          "{\"v\":2,\"op\":\"ping\"}",
                                          "{\"op\":\"ping\"}",
                                          "{\"v\":\"1\",\"op\":\"ping\"}",
                                          "{\"v\":1.0,\"op\":\"ping\"}",
                                          "{\"v\":1,\"v\":1,\"op\":\"ping\"}",
                                          "GET / HTTP/1.1",
                                          "{\"v\":1,\"op\":\"ping\"}x",
                                          "{\"v\":1,\"op\":\"\xff\"}"};
    struct request r;
    (void)state;
    for (size_t n = 0; n < sizeof garbage / sizeof *garbage; ++n)
        assert_int_equal(parse(garbage[n], &r), -EBADMSG);
    char why[64], deep[REQUEST_LINE_MOST];
    memset(deep, '[', sizeof deep);
    assert_int_equal(request_parse(deep, sizeof deep, &r, why, sizeof why), -EBADMSG);
    assert_int_equal(request_parse("{\"v\":1,\0\"op\":\"ping\"}", 20, &r, why, sizeof why), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_survive_any_cutting),        cmocka_unit_test(many_lines_pass_through_one_buffer),
        cmocka_unit_test(an_endless_line_is_cut_off),       cmocka_unit_test(sound_requests_are_understood),
        cmocka_unit_test(what_cannot_be_done_keeps_its_id), cmocka_unit_test(garbage_ends_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
