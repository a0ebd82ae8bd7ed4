/* The command line: options anywhere, values attached or not, wrong usage is told from help and from operands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "options.h"
#include "say.h"

static const char *output;
static bool json, yes;
static struct values globs;
static struct arguments arguments;

static const struct option options[] = {{'o', "output", "FILE", "where", &output},
                                        {'j', "json", NULL, "JSON", &json},
                                        {'y', "yes", NULL, "do it", &yes},
                                        {'g', "glob", "GLOB...", "which", &globs},
                                        {0, NULL, NULL, NULL, NULL}};
static const struct verb verb = {
    .name = "test", .operands = "FILE...", .summary = "s", .about = "a", .options = options, .least = 1, .most = 2};
static const struct verb launcher = {.name = "launch",
                                     .operands = "COMMAND...",
                                     .summary = "s",
                                     .about = "a",
                                     .options = options,
                                     .least = 1,
                                     .most = SIZE_MAX,
                                     .stops = true};

static int parse(const struct verb *which, const char *line)
{
    static char buffer[256];
    static char *argv[16];
    int argc = 0;
    output = NULL;
    json = yes = false;
    strncpy(buffer, line, sizeof buffer - 1);
    argv[argc++] = buffer;
    for (char *c = buffer; *c; ++c)
        if (*c == ' ') {
            *c = 0;
            argv[argc++] = c + 1;
        }
    argv[argc] = NULL;
    return options_parse(which, argc, argv, &arguments);
}

static void options_stand_anywhere(void **state)
{
    (void)state;
    assert_int_equal(parse(&verb, "test a -o out b --json"), -1);
    assert_string_equal(output, "out");
    assert_true(json);
    assert_int_equal(arguments.count, 2);
    assert_string_equal(arguments.operands[0], "a");
    assert_string_equal(arguments.operands[1], "b");
    assert_null(arguments.data_dir);
}

static void values_attached_or_not(void **state)
{
    (void)state;
    assert_int_equal(parse(&verb, "test --output=x=y a"), -1);
    assert_string_equal(output, "x=y");
    assert_int_equal(parse(&verb, "test -oout a"), -1);
    assert_string_equal(output, "out");
    assert_int_equal(parse(&verb, "test -jyo out a"), -1);
    assert_true(json && yes);
    assert_string_equal(output, "out");
    assert_int_equal(parse(&verb, "test -o first -o second a --data-dir d --runtime-dir=r"), -1);
    assert_string_equal(output, "second");
    assert_string_equal(arguments.data_dir, "d");
    assert_string_equal(arguments.runtime_dir, "r");
    assert_int_equal(parse(&verb, "test -o -x a"), -1);
    assert_string_equal(output, "-x");
}

static void values_given_again_replace_the_first(void **state)
{
    (void)state;
    globs = (struct values){0};
    assert_int_equal(parse(&verb, "test -g a,b x --glob=* -gc"), -1);
    assert_int_equal(globs.count, 3);
    assert_string_equal(globs.given[0], "a,b");
    assert_string_equal(globs.given[1], "*");
    assert_string_equal(globs.given[2], "c");
    assert_int_equal(arguments.count, 1);
    assert_int_equal(parse(&verb, "test x --glob"), END_USAGE);
    free(globs.given);
}

static void two_dashes_end_options(void **state)
{
    (void)state;
    assert_int_equal(parse(&verb, "test -- --json -"), -1);
    assert_false(json);
    assert_string_equal(arguments.operands[0], "--json");
    assert_string_equal(arguments.operands[1], "-");
}

static void a_command_keeps_its_own_options(void **state)
{
    (void)state;
    assert_int_equal(parse(&launcher, "launch -o out mpirun -n 4 --json -- prog"), -1);
    assert_false(json);
    assert_int_equal(arguments.count, 6);
    assert_string_equal(arguments.operands[1], "-n");
    assert_string_equal(arguments.operands[4], "--");
    assert_int_equal(parse(&launcher, "launch --json -- -x"), -1);
    assert_int_equal(arguments.count, 1);
    assert_string_equal(arguments.operands[0], "-x");
}

static void wrong_usage_is_2(void **state)
{
    (void)state;
    assert_int_equal(parse(&verb, "test --nonsense a"), END_USAGE);
    assert_int_equal(parse(&verb, "test -x a"), END_USAGE);
    assert_int_equal(parse(&verb, "test --outp out a"), END_USAGE);
    assert_int_equal(parse(&verb, "test a -o"), END_USAGE);
    assert_int_equal(parse(&verb, "test a --output="), END_USAGE);
    assert_int_equal(parse(&verb, "test --json=yes a"), END_USAGE);
    assert_int_equal(parse(&verb, "test"), END_USAGE);
    assert_int_equal(parse(&verb, "test a b c"), END_USAGE);
}

static void help_wins_over_missing_operands(void **state)
{
    (void)state;
    assert_int_equal(parse(&verb, "test --help"), END_DONE);
    assert_int_equal(parse(&verb, "test -h"), END_DONE);
    assert_int_equal(parse(&launcher, "launch prog --help"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(options_stand_anywhere),
                                       cmocka_unit_test(values_attached_or_not),
                                       cmocka_unit_test(values_given_again_replace_the_first),
                                       cmocka_unit_test(two_dashes_end_options),
                                       cmocka_unit_test(a_command_keeps_its_own_options),
                                       cmocka_unit_test(wrong_usage_is_2),
                                       cmocka_unit_test(help_wins_over_missing_operands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
