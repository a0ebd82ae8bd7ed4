/* The command line of spd: both spellings of values, bad ones refused with their name, session globs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "options.h"

static enum options_result parse(struct options *options, char *why, size_t size, const char *const *words)
{
    static char store[16][128];
    char *argv[17];
    int count = 0;
    for (; words[count]; ++count) {
        assert_true(count < 16 && strlen(words[count]) < sizeof store[0]);
        memcpy(store[count], words[count], strlen(words[count]) + 1);
        argv[count] = store[count];
    }
    argv[count] = NULL;
    return options_parse(count, argv, options, why, size);
}

#define PARSE(options, why, ...) parse(options, why, sizeof why, (const char *const[]){"spd", __VA_ARGS__, NULL})

static void values_are_taken_in_either_spelling(void **state)
{
    struct options o;
    char why[256] = "";
    (void)state;
    assert_int_equal(PARSE(&o, why, "--data-dir", "/d", "--runtime-dir=/r", "--format=merged", "--publish", "prefix",
                           "--session", "a*", "--session=b", "--log-level=debug"),
                     OPTIONS_RUN);
    assert_string_equal(o.data_dir, "/d");
    assert_string_equal(o.runtime_dir, "/r");
    assert_int_equal(o.format, OPTIONS_MERGED);
    assert_true(o.publish_prefix);
    assert_int_equal(o.log_level, LOG_DEBUG);
    assert_false(o.niced);
    assert_true(options_take(&o, "abc"));
    assert_true(options_take(&o, "b"));
    assert_false(options_take(&o, "c"));
    options_finish(&o);
}

static void no_glob_takes_every_session(void **state)
{
    struct options o;
    char why[256] = "";
    (void)state;
    assert_int_equal(PARSE(&o, why, "--format", "auto"), OPTIONS_RUN);
    assert_true(options_take(&o, "anything"));
    options_finish(&o);
}

static void limits_read_units_and_refuse_overflow(void **state)
{
    struct options o;
    char why[256] = "";
    (void)state;
    assert_int_equal(PARSE(&o, why, "--max-bytes", "3G", "--max-session-bytes=4096", "--on-limit", "stop"),
                     OPTIONS_RUN);
    assert_int_equal(o.max_bytes, UINT64_C(3) << 30);
    assert_int_equal(o.max_session_bytes, 4096);
    options_finish(&o);
    static const char *const bad[] = {"0", "-1", "1X", "99999999T", "18446744073709551616", "", "1KK"};
    for (size_t n = 0; n < sizeof bad / sizeof *bad; ++n) {
        assert_int_equal(PARSE(&o, why, "--max-bytes", bad[n]), OPTIONS_BAD);
        assert_non_null(strstr(why, "--max-bytes"));
    }
}

static void a_nice_value_is_one_from_0_to_19(void **state)
{
    static const char *const bad[] = {"20", "-1", "", "5x", "99999999999999999999"};
    struct options o;
    char why[256] = "";
    (void)state;
    assert_int_equal(PARSE(&o, why, "--nice", "0"), OPTIONS_RUN);
    assert_true(o.niced && o.nice == 0);
    options_finish(&o);
    assert_int_equal(PARSE(&o, why, "--nice=19"), OPTIONS_RUN);
    assert_true(o.niced && o.nice == 19);
    options_finish(&o);
    for (size_t n = 0; n < sizeof bad / sizeof *bad; ++n) {
        assert_int_equal(PARSE(&o, why, "--nice", bad[n]), OPTIONS_BAD);
        assert_non_null(strstr(why, "--nice"));
    }
}

static void what_cannot_be_served_is_refused_by_name(void **state)
{
    struct options o;
    char why[256] = "";
    (void)state;
    assert_int_equal(PARSE(&o, why, "--on-limit", "rotate"), OPTIONS_BAD);
    assert_non_null(strstr(why, "rotate"));
    assert_int_equal(PARSE(&o, why, "--on-limit=drop-oldest"), OPTIONS_BAD);
    assert_non_null(strstr(why, "drop-oldest"));
    assert_int_equal(PARSE(&o, why, "--shm-group", "users"), OPTIONS_BAD);
    assert_non_null(strstr(why, "--shm-group"));
}

static void wrong_usage_is_told_apart(void **state)
{
    struct options o;
    char why[256] = "";
    (void)state;
    assert_int_equal(PARSE(&o, why, "--help"), OPTIONS_HELP);
    assert_int_equal(PARSE(&o, why, "--version"), OPTIONS_VERSION);
    assert_int_equal(PARSE(&o, why, "--nonsense"), OPTIONS_BAD);
    assert_non_null(strstr(why, "--nonsense"));
    assert_int_equal(PARSE(&o, why, "--session"), OPTIONS_BAD);
    assert_int_equal(PARSE(&o, why, "word"), OPTIONS_BAD);
    assert_int_equal(PARSE(&o, why, "--format", "xml"), OPTIONS_BAD);
    assert_int_equal(PARSE(&o, why, "--session", "two\nlines"), OPTIONS_BAD);
    assert_int_equal(PARSE(&o, why, "--data-dir="), OPTIONS_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_taken_in_either_spelling),      cmocka_unit_test(no_glob_takes_every_session),
        cmocka_unit_test(limits_read_units_and_refuse_overflow),    cmocka_unit_test(a_nice_value_is_one_from_0_to_19),
        cmocka_unit_test(what_cannot_be_served_is_refused_by_name), cmocka_unit_test(wrong_usage_is_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
