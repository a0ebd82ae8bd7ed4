/* names: valid and invalid names, and each made name recognised again. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "names.h"

#define A16 "aaaaaaaaaaaaaaaa"
#define A64 A16 A16 A16 A16

static void session_names_accepted_or_refused_wrongly(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool valid;
    } table[] = {
        {"session42", true}, {"a", true},         {"A.b_c-9", true}, {"_x", true},       {"9", true},
        {"p@123.0", true},   {A64, true},         {"", false},       {".", false},       {"..", false},
        {".x", false},       {"-x", false},       {"@x", false},     {"a/b", false},     {"a b", false},
        {"a\nb", false},     {"\xc3\xa4", false}, {A64 "a", false},  {"a\x01", false},   {"a%s", false},
        {"a..b", true},      {"a:b", false},      {"a\\b", false},   {"../../x", false}, {"x*", false},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (sp__session_valid(table[i].name) != table[i].valid)
            fail_msg("%s", table[i].name);
    }
}

static struct sp__identity identity(const char *session, int rank, uint32_t part)
{
    struct sp__identity id = {.rank = rank, .uid = 1000, .part = part, .name_hash = 0x0123456789abcdefULL};
    (void)snprintf(id.session, sizeof id.session, "%s", session);
    return id;
}

static void segment_name_not_recognised(void **state)
{
    (void)state;
    char name[256];
    struct sp__identity id = identity("demo", 7, 0);
    assert_int_equal(sp__segment_name(&id, name, sizeof name), 0);
    assert_string_equal(name, "sp.1000.demo.0123456789abcdef.r7");
    assert_true(sp__segment_name_valid(name, 1000));
    assert_false(sp__segment_name_valid(name, 100));

    id = identity(A64, 2147483647, 4294967295U);
    assert_int_equal(sp__segment_name(&id, name, sizeof name), 0);
    assert_true(sp__segment_name_valid(name, 1000));
    strncat(name, ".d01234567", sizeof name - strlen(name) - 1);
    assert_true(sp__segment_name_valid(name, 1000));
    assert_true(strlen(name) < 255);

    char small[20];
    assert_int_equal(sp__segment_name(&id, small, sizeof small), -ENAMETOOLONG);
    id = identity("a/b", 0, 0);
    assert_int_equal(sp__segment_name(&id, name, sizeof name), -EINVAL);
    id = identity("demo", -1, 0);
    assert_int_equal(sp__segment_name(&id, name, sizeof name), -EINVAL);
}

static void foreign_name_taken_for_a_segment(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "sp.1000.",
        "sp.1000.demo",
        "sp.1000.demo.r0",
        "sp.1000.demo.0123456789abcde.r0",
        "sp.1000.demo.0123456789abcdef.r",
        "sp.1000.demo.0123456789ABCDEF.r0",
        "sp.1000..0123456789abcdef.r0",
        "sp.1000.-x.0123456789abcdef.r0",
        "sp.1000.demo.0123456789abcdef.r0.d1234567",
        "sem.demo",
        "sp.1000.demo.0123456789abcdef.r0.f",
        "sp.1000.a b.0123456789abcdef.r0",
        "sp.1000.0123456789abcdef.r0",
        "sp.1000.demo.0123456789abcdef.r0 ",
        "xsp.1000.demo.0123456789abcdef.r0",
        "sp.1000.demo.0123456789abcdef.r01234567890",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (sp__segment_name_valid(bad[i], 1000))
            fail_msg("%s", bad[i]);
    }
    assert_true(sp__segment_name_valid("sp.1000.a.0123456789abcdef.r0.0123456789abcdef.r1", 1000));
    assert_true(sp__segment_name_valid("sp.1000.demo.0123456789abcdef.r0.f3.d0011aaff", 1000));
}

static void absolute_prefix_wrong(void **state)
{
    (void)state;
    char path[SP__PATH_SIZE], folder[SP__PATH_SIZE], expected[SP__PATH_SIZE + 16];
    static const char *const table[][2] = {
        {"/a/b", "/a/b"}, {"/a/./b", "/a/b"}, {"/a/../b", "/b"}, {"//a///b/", "/a/b"},       {"/", "/"},
        {"/..", "/"},     {"/../a", "/a"},    {"/a/b/..", "/a"}, {"/a/.b/..c", "/a/.b/..c"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_int_equal(sp__prefix_absolute(table[i][0], path), 0);
        assert_string_equal(path, table[i][1]);
    }
    assert_non_null(getcwd(folder, sizeof folder));
    (void)snprintf(expected, sizeof expected, "%s/out/p", folder);
    assert_int_equal(sp__prefix_absolute("./out/x/../p", path), 0);
    assert_string_equal(path, expected);

    char *longest = malloc(SP__PATH_SIZE + 1);
    assert_non_null(longest);
    memset(longest, 'x', SP__PATH_SIZE);
    longest[0] = '/';
    longest[SP__PATH_SIZE] = '\0';
    assert_int_equal(sp__prefix_absolute(longest, path), -ENAMETOOLONG);
    longest[SP__PATH_SIZE - 1] = '\0';
    assert_int_equal(sp__prefix_absolute(longest, path), 0);
    assert_string_equal(path, longest);
    free(longest);
}

static void two_prefixes_share_a_hash(void **state)
{
    (void)state;
    assert_int_not_equal(sp__name_hash("a", "/b"), sp__name_hash("a/", "b"));
    assert_int_not_equal(sp__name_hash("ab", "c"), sp__name_hash("a", "bc"));
    assert_int_equal(sp__name_hash("s", "/p"), sp__name_hash("s", "/p"));
}

static void launch_session_invalid_or_unsteady(void **state)
{
    (void)state;
    static const char *const prefixes[] = {"prof", "/a/b c/my prof",   "",           "/", ".hidden",
                                           "-x",   "\xc3\xa4\xc3\xb6", "/x/" A64 A64};
    unsetenv("PMIX_NAMESPACE");
    unsetenv("OMPI_MCA_ess_base_jobid");
    unsetenv("SLURM_JOB_ID");
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
            char first[SP__SESSION_SIZE], second[SP__SESSION_SIZE];
            sp__session_for_launch(prefixes[i], first);
            sp__session_for_launch(prefixes[i], second);
            assert_string_equal(first, second);
            if (!sp__session_valid(first) || !strchr(first, '@'))
                fail_msg("%s gives %s", prefixes[i], first);
        }
        setenv("PMIX_NAMESPACE", "prterun-a.very.long.host.name.of.a.cluster.example.org-1234567@1", 1);
    }
    unsetenv("PMIX_NAMESPACE");
}

static void file_names_wrong(void **state)
{
    (void)state;
    char name[64], stem[96], text[33];
    assert_int_equal(sp__profile_name("scope_profile", 3, 0, false, name, sizeof name), 0);
    assert_string_equal(name, "scope_profile_rank00003.spt");
    assert_int_equal(sp__profile_name("/x/p", 123456, 2, true, name, sizeof name), 0);
    assert_string_equal(name, "/x/p_rank123456.i2.h5");
    assert_int_equal(sp__profile_name("scope_profile", 3, 0, false, name, 10), -ENAMETOOLONG);

    struct sp__identity id = identity("demo", 3, 0);
    for (int i = 0; i < SP__INCARNATION_SIZE; i++)
        id.incarnation[i] = (uint8_t)(i * 17);
    sp__incarnation_text(id.incarnation, text);
    assert_string_equal(text, "00112233445566778899aabbccddeeff");
    sp__incarnation_stem(&id, stem);
    assert_string_equal(stem, "0123456789abcdef.r00003.00112233445566778899aabbccddeeff");
    id.rank = 2147483647;
    sp__incarnation_stem(&id, stem);
    assert_true(strlen(stem) < sizeof stem - 1);
    assert_string_equal(sp__base_name("/a/b/c"), "c");
    assert_string_equal(sp__base_name("c"), "c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session_names_accepted_or_refused_wrongly),
        cmocka_unit_test(segment_name_not_recognised),
        cmocka_unit_test(foreign_name_taken_for_a_segment),
        cmocka_unit_test(absolute_prefix_wrong),
        cmocka_unit_test(two_prefixes_share_a_hash),
        cmocka_unit_test(launch_session_invalid_or_unsteady),
        cmocka_unit_test(file_names_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
