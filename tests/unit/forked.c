/* forked.c: children record nothing into their parent's lanes, by whatever way they were made, or follow it. */
#include "recording_util.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

/* What a child does; the exit status says which step went wrong. */
static int child_calls(int a)
{
    for (int i = 0; i < 5000; i++) {
        sp_begin(a);
        sp_end(a);
    }
    if (last() != SP_ERR_INACTIVE || sp_is_active())
        return 1;
    if (sp_region("child") != -1 || sp_num_calls(a) != 0)
        return 2;
    if (sp_finalize() != 0 || sp_profiler_flush(sp_default_profiler()) != 0)
        return 3;
    if (sp_profiler_region_name(sp_default_profiler(), a) || sp_output_path())
        return 4;
    return 0;
}

static void start_half_open(int *a)
{
    assert_int_equal(sp_init("fork", 0), 0);
    *a = sp_region("a");
    sp_begin(*a);
    sp_begin(*a);
    sp_end(*a);
}

static void end_half_open(int a)
{
    sp_end(a);
    assert_int_equal(last(), SP_OK);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls(sp_output_path(), "a"), 2);
    assert_int_equal(segments_left(false), 0);
}

static void a_child_records_nothing(void **state)
{
    (void)state;
    int a;
    start_half_open(&a);
    pid_t child = fork();
    if (child == 0)
        exit(child_calls(a)); /* destructors run too */
    check_child(child);
    end_half_open(a);
}

/* No fork handler runs: the wiped writers send begin and end away before they touch the segment. */
static void a_raw_clone_records_nothing(void **state)
{
    (void)state;
    int a;
    start_half_open(&a);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0)
        _exit(child_calls(a));
    check_child(child);
    end_half_open(a);
}

static void a_child_of_a_child_can_start_anew(void **state)
{
    (void)state;
    int a;
    start_half_open(&a);
    pid_t child = fork();
    if (child == 0) {
        if (sp_init("grown", 0) != 0)
            _exit(1);
        int b = sp_region("b");
        sp_begin(b);
        sp_end(b);
        pid_t grandchild = fork();
        if (grandchild == 0)
            exit(child_calls(b));
        int status = -1;
        waitpid(grandchild, &status, 0);
        exit(status != 0 || last() != SP_OK);
    }
    check_child(child);
    assert_int_equal(file_calls("grown_rank00000.spt", "b"), 1);
    end_half_open(a);
}

/* The lock on byte 0 belongs to the parent's mapping: a child that outlives it does not hide its death. */
static void a_child_does_not_hide_its_parents_death(void **state)
{
    (void)state;
    int go[2];
    assert_int_equal(pipe(go), 0);
    pid_t parent = fork();
    if (parent == 0) {
        if (sp_init("orphan", 0) != 0)
            _exit(1);
        int a = sp_region("a");
        sp_begin(a);
        sp_end(a);
        if (fork() == 0) {
            char c;
            close(go[1]);
            _exit(read(go[0], &c, 1) != 0);
        }
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(segments_left(false), 1);
    assert_int_equal(sp_init("orphan", 0), 0); /* not in use; the dead one's call is drained */
    assert_int_equal(segments_left(false), 1);
    assert_int_equal(data_files(".spool") > 0, 1);
    close(go[0]);
    close(go[1]);
    assert_non_null(strstr(sp_output_path(), "orphan_rank00000.i1.spt"));
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(segments_left(false), 0);
}

static void a_child_follows(void **state)
{
    (void)state;
    char path[512];
    assert_int_equal(setenv("SP_FORK", "follow", 1), 0);
    assert_int_equal(sp_init("follow", 0), 0);
    unsetenv("SP_FORK");
    int a = sp_region("a"), b = sp_region_at("b", "b.c", 7);
    sp_begin(a);
    pid_t child = fork();
    if (child == 0) {
        sp_begin(b);
        sp_end(b);
        sp_end(a);
        bool good = last() == SP_ERR_UNMATCHED_END && sp_is_active() && sp_region("b") == b && sp_num_calls(b) == 1 &&
                    sp_num_calls(a) == 0 && sp_region("c") == 2;
        exit(!good);
    }
    check_child(child);
    sp_end(a);
    assert_int_equal(last(), SP_OK);
    assert_int_equal(sp_finalize(), 0);
    assert_int_equal(file_calls("follow_rank00000.spt", "a"), 1);
    assert_int_equal(file_calls("follow_rank00000.spt", "b"), 0);
    (void)snprintf(path, sizeof path, "follow_rank00000.i%d.spt", (int)child);
    assert_int_equal(file_calls(path, "b"), 1);
    assert_int_equal(segments_left(false), 0);
}

static atomic_int stop;

static void *record(void *region)
{
    int64_t pairs = 0;
    while (!atomic_load(&stop)) {
        sp_begin(*(int *)region);
        sp_end(*(int *)region);
        pairs++;
    }
    return (void *)(intptr_t)pairs;
}

static void forks_while_threads_record(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    enum { FORKS = 50 }; /* each of which copies the sanitizer's tables */
#else
    enum { FORKS = 200 };
#endif
    pthread_t threads[2];
    assert_int_equal(sp_init("busy", 0), 0);
    int a = sp_region("a");
    atomic_store(&stop, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record, &a), 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            sp_begin(a);
            sp_end(a);
            exit(last() != SP_ERR_INACTIVE);
        }
        check_child(child);
    }
    atomic_store(&stop, 1);
    int64_t pairs = 0;
    for (int i = 0; i < 2; i++) {
        void *made;
        assert_int_equal(pthread_join(threads[i], &made), 0);
        pairs += (intptr_t)made;
    }
    assert_int_equal(sp_num_calls(a), pairs);
    assert_int_equal(sp_finalize(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_child_records_nothing, fresh),
        cmocka_unit_test_teardown(a_raw_clone_records_nothing, fresh),
        cmocka_unit_test_teardown(a_child_of_a_child_can_start_anew, fresh),
        cmocka_unit_test_teardown(a_child_does_not_hide_its_parents_death, fresh),
        cmocka_unit_test_teardown(a_child_follows, fresh),
        cmocka_unit_test_teardown(forks_while_threads_record, fresh),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
