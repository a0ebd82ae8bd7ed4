/* env: values understood, values refused, folders found. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "env.h"

static int clean(void **state)
{
    (void)state;
    static const char *const names[] = {
        "SP_SESSION",
        "SP_RANK",
        "SP_DISABLE",
        "SP_MODE",
        "SP_RING",
        "SP_FULL_WAIT",
        "SP_FORK",
        "SP_CLOCK",
        "SP_DATA_DIR",
        "SP_RUNTIME_DIR",
        "SP_GROUP",
        "PMIX_RANK",
        "PMI_RANK",
        "SLURM_PROCID",
        "XDG_STATE_HOME",
        "XDG_RUNTIME_DIR",
        "PMIX_NAMESPACE",
        "SLURM_JOB_ID",
        "SLURM_STEP_ID",
        "OMPI_COMM_WORLD_RANK",
        "MV2_COMM_WORLD_RANK",
        "OMPI_MCA_ess_base_jobid",
        "OMPI_MCA_orte_precondition_transports",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    return 0;
}

static void defaults_differ(void **state)
{
    (void)state;
    struct sp__env env;
    sp__env_read(&env);
    assert_string_equal(env.session, "");
    assert_string_equal(env.complaint, "");
    assert_int_equal(env.rank_source, SP__RANK_NONE);
    assert_int_equal(env.ring, SP__RING_DEFAULT);
    assert_int_equal(env.full_wait_us, 100000);
    assert_int_equal(env.mode, SP__MODE_RECORDS);
    assert_int_equal(env.clock, -1);
    assert_false(env.disable);
    assert_false(env.fork_follow);
}

static void good_values_ignored(void **state)
{
    (void)state;
    struct sp__env env;
    setenv("SP_SESSION", "session42", 1);
    setenv("SP_RANK", "12", 1);
    setenv("SP_DISABLE", "1", 1);
    setenv("SP_MODE", "stats", 1);
    setenv("SP_RING", "5000", 1);
    setenv("SP_FULL_WAIT", "0", 1);
    setenv("SP_FORK", "follow", 1);
    setenv("SP_CLOCK", "tsc", 1);
    setenv("SP_GROUP", "hpc", 1);
    sp__env_read(&env);
    assert_string_equal(env.complaint, "");
    assert_string_equal(env.session, "session42");
    assert_int_equal(env.session_error, 0);
    assert_int_equal(env.rank_source, SP__RANK_NUMBER);
    assert_int_equal(env.rank, 12);
    assert_true(env.disable);
    assert_int_equal(env.mode, SP__MODE_STATS);
    assert_int_equal(env.ring, 8192);
    assert_int_equal(env.full_wait_us, 0);
    assert_true(env.fork_follow);
    assert_int_equal(env.clock, SP__CLOCK_TSC);
    assert_string_equal(env.group, "hpc");
    setenv("SP_CLOCK", "monotonic", 1);
    sp__env_read(&env);
    assert_int_equal(env.clock, SP__CLOCK_MONOTONIC);
}

static void bad_values_taken(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"SP_RANK", "-1"},
        {"SP_RANK", "1x"},
        {"SP_RANK", "2147483648"},
        {"SP_RANK", "99999999999999999999999"},
        {"SP_RING", "0"},
        {"SP_RING", "1023"},
        {"SP_RING", "16777217"},
        {"SP_RING", "1e6"},
        {"SP_MODE", "all"},
        {"SP_FORK", "yes"},
        {"SP_CLOCK", "rdtsc"},
        {"SP_DISABLE", "yes"},
        {"SP_FULL_WAIT", "-5"},
        {"SP_FULL_WAIT", "100ms"},
        {"SP_SESSION", "../x"},
        {"SP_SESSION", "a@b"},
        {"SP_SESSION", "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct sp__env env;
        (void)clean(NULL);
        setenv(table[i][0], table[i][1], 1);
        sp__env_read(&env);
        if (!strstr(env.complaint, table[i][0]))
            fail_msg("%s=%s: \"%s\"", table[i][0], table[i][1], env.complaint);
        assert_int_equal(env.rank_source, SP__RANK_NONE);
        assert_int_equal(env.ring, SP__RING_DEFAULT);
        assert_int_equal(env.full_wait_us, 100000);
        assert_int_equal(env.mode, SP__MODE_RECORDS);
        assert_int_equal(env.clock, -1);
        assert_false(env.disable);
        assert_int_equal(env.session_error, strcmp(table[i][0], "SP_SESSION") == 0 ? -EINVAL : 0);
    }
}

static void rank_of_the_wrong_variable(void **state)
{
    (void)state;
    static const char *const order[] = {"SLURM_PROCID", "MV2_COMM_WORLD_RANK", "OMPI_COMM_WORLD_RANK",
                                        "PMI_RANK",     "PMIX_RANK",           "SP_RANK"};
    struct sp__env env;
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", "77", 1);
    for (int i = 0; i < 6; i++) {
        char value[16];
        (void)snprintf(value, sizeof value, "%d", 100 + i);
        setenv(order[i], value, 1);
        sp__env_read(&env);
        assert_int_equal(env.rank_source, SP__RANK_NUMBER);
        assert_int_equal(env.rank, 100 + i);
    }
    setenv("SP_RANK", "auto", 1);
    sp__env_read(&env);
    assert_int_equal(env.rank_source, SP__RANK_NEXT_FREE);
    setenv("SP_RANK", "nonsense", 1); /* named, and the launcher's own word counts */
    sp__env_read(&env);
    assert_int_equal(env.rank, 104);
    assert_non_null(strstr(env.complaint, "nonsense"));
    unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
}

static void folders_in_the_wrong_place(void **state)
{
    (void)state;
    char path[SP__PATH_SIZE], expected[SP__PATH_SIZE];
    setenv("HOME", "/home/x", 1);
    assert_int_equal(sp__data_dir(NULL, path, sizeof path), 0);
    assert_string_equal(path, "/home/x/.local/state/spd");
    setenv("XDG_STATE_HOME", "relative", 1);
    assert_int_equal(sp__data_dir(NULL, path, sizeof path), 0);
    assert_string_equal(path, "/home/x/.local/state/spd");
    setenv("XDG_STATE_HOME", "/xdg", 1);
    assert_int_equal(sp__data_dir(NULL, path, sizeof path), 0);
    assert_string_equal(path, "/xdg/spd");
    setenv("SP_DATA_DIR", "/data//x/../y/", 1);
    assert_int_equal(sp__data_dir(NULL, path, sizeof path), 0);
    assert_string_equal(path, "/data/y");
    assert_int_equal(sp__data_dir("/option", path, sizeof path), 0);
    assert_string_equal(path, "/option");
    assert_int_equal(sp__data_dir("/option", path, 4), -ENAMETOOLONG);
    (void)clean(NULL);
    unsetenv("HOME"); /* the password file knows */
    assert_int_equal(sp__data_dir(NULL, path, sizeof path), 0);
    assert_non_null(strstr(path, "/.local/state/spd"));

    assert_int_equal(sp__runtime_dir(NULL, path, sizeof path), 0);
    (void)snprintf(expected, sizeof expected, "/tmp/spd-%u", (unsigned)geteuid());
    if (!getenv("TMPDIR"))
        assert_string_equal(path, geteuid() == 0 ? "/run/spd" : expected);
    setenv("XDG_RUNTIME_DIR", "/run/user/1", 1);
    assert_int_equal(sp__runtime_dir(NULL, path, sizeof path), 0);
    assert_string_equal(path, "/run/user/1/spd");
    setenv("SP_RUNTIME_DIR", "/rt", 1);
    assert_int_equal(sp__runtime_dir(NULL, path, sizeof path), 0);
    assert_string_equal(path, "/rt");
}

static void two_launches_alike(void **state)
{
    (void)state;
    char one[64], two[64];
    sp__launch_id(one, sizeof one);
    assert_string_equal(one, "");
    setenv("SLURM_JOB_ID", "12", 1); /* a batch script: not a launch */
    sp__launch_id(one, sizeof one);
    assert_string_equal(one, "");
    setenv("SLURM_STEP_ID", "3", 1);
    sp__launch_id(one, sizeof one);
    assert_string_equal(one, "12.3");
    setenv("PMIX_NAMESPACE", "1320615937", 1);
    setenv("OMPI_MCA_orte_precondition_transports", "d594e56d84ca813b-aa0ad0b82640b347", 1);
    sp__launch_id(one, sizeof one);
    setenv("OMPI_MCA_orte_precondition_transports", "d594e56d84ca813b-aa0ad0b82640b348", 1);
    sp__launch_id(two, sizeof two);
    assert_string_not_equal(one, two);
    setenv("PMIX_NAMESPACE", "prterun-host.of.a.very.long.name.in.a.cluster@77 /x", 1);
    sp__launch_id(one, sizeof one);
    assert_true(strlen(one) <= 40);
    assert_null(strpbrk(one, "@ /"));
}

static void folders_not_made_private(void **state)
{
    (void)state;
    char top[] = "/tmp/sp-env-XXXXXX", path[128];
    assert_non_null(mkdtemp(top));
    (void)snprintf(path, sizeof path, "%s/a/b//c/", top);
    mode_t old = umask(0377);
    assert_int_equal(sp__make_dirs(path), 0);
    umask(old);
    assert_int_equal(sp__make_dirs(path), 0);
    struct stat made;
    (void)snprintf(path, sizeof path, "%s/a/b", top);
    assert_int_equal(stat(path, &made), 0);
    assert_int_equal(made.st_mode & 07777, 0700);
    (void)snprintf(path, sizeof path, "%s/a/b/c/f", top);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(sp__make_dirs(path), -ENOTDIR);
    strncat(path, "/x", sizeof path - strlen(path) - 1);
    assert_int_equal(sp__make_dirs(path), -ENOTDIR);
    (void)snprintf(path, sizeof path, "rm -rf %s", top);
    assert_int_equal(system(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults_differ, clean),
        cmocka_unit_test_setup(good_values_ignored, clean),
        cmocka_unit_test_setup(bad_values_taken, clean),
        cmocka_unit_test_setup(rank_of_the_wrong_variable, clean),
        cmocka_unit_test_setup(folders_in_the_wrong_place, clean),
        cmocka_unit_test_setup(two_launches_alike, clean),
        cmocka_unit_test_setup(folders_not_made_private, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
