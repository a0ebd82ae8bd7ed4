/* segment: births, deaths, locks and names, with real processes that are killed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "newborn.h"

/* What burying processes tell the test. */
struct buried {
    _Atomic unsigned count;
    _Atomic uint64_t ino[8];
};
static struct buried *buried;

static int note_and(int fd, const char *name, int (*act)(const struct sp__segment *))
{
    struct sp__segment segment;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    int error = sp__segment_open_fd(&segment, own, name, true, NULL);
    if (error) {
        close(own);
        return error;
    }
    buried->ino[buried->count++ % 8] = segment.ino;
    error = act(&segment);
    sp__segment_close(&segment);
    return error;
}

static int bury(int fd, const char *name)
{
    return note_and(fd, name, sp__segment_unlink);
}

static int bury_aside(int fd, const char *name)
{
    return note_and(fd, name, sp__segment_move_aside);
}

/* A child that makes the segment and is killed. */
static void leave_a_dead_one(int rank)
{
    pid_t child = fork();
    if (child == 0) {
        struct sp__born born;
        if (create(&born, rank, bury_never) == 0)
            raise(SIGKILL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static void newborn_incomplete(void **state)
{
    (void)state;
    struct sp__born born;
    struct sp__birth birth = birth_of(0);
    uint64_t need = 0;
    char why[256];
    mode_t old = umask(0777);
    assert_int_equal(sp__segment_create(&birth, bury_never, &born, &need), 0);
    umask(old);
    assert_true(need > SP__RING_DEFAULT * sizeof(struct sp__record));
    assert_true(born.fd >= 64);
    assert_true(fcntl(born.fd, F_GETFD) & FD_CLOEXEC);
    struct stat stat;
    assert_int_equal(fstat(born.fd, &stat), 0);
    assert_int_equal(stat.st_mode, S_IFREG | 0600);
    assert_true(stat.st_blocks * 512 <= 64 * 1024);

    struct sp__segment segment;
    assert_int_equal(sp__segment_open(&segment, born.name, true, why), 0);
    assert_int_equal(segment.lane_capacity, SP__LANES);
    assert_int_equal(segment.region_capacity, SP__REGIONS);
    assert_int_equal(segment.size, born.size);
    assert_memory_equal(&segment.identity, &birth.identity, sizeof birth.identity);
    assert_int_equal(segment.header->state, SP__RECORDING);
    assert_int_equal(segment.header->format, SP__FORMAT_TRACE);
    assert_int_equal(sp__segment_alive(&segment), 1);

    struct sp__lane_place place;
    assert_int_equal(sp__segment_lane(&segment, 0, &place), -EAGAIN);
    assert_int_equal(sp__segment_lane(&segment, SP__LANES, &place), -EBADMSG);
    sp__segment_close(&segment);
    finish(&born);
}

static void every_lane_does_not_fit(void **state)
{
    (void)state;
    struct sp__born born;
    assert_int_equal(create(&born, 0, bury_never), 0);
    struct sp__header *header = (void *)born.map;
    struct sp__segment segment;
    assert_int_equal(sp__segment_open(&segment, born.name, true, NULL), 0);
    for (uint32_t i = 0; i < SP__LANES; i++) {
        uint64_t at = header->lanes_offset + i * sizeof(struct sp__lane);
        assert_int_equal(sp__born_reserve(&born, at, sizeof(struct sp__lane), true), 0);
        struct sp__lane *lane = (void *)(born.map + at);
        lane->ring_records = SP__RING_DEFAULT;
        lane->ring_offset = sp__heap_take(header, SP__RING_DEFAULT * sizeof(struct sp__record));
        lane->stack_offset = sp__heap_take(header, SP__STACK_MOST * sizeof(struct sp__open));
        lane->stats_offset = sp__heap_take(header, SP__BANKS * SP__STATS_BLOCKS * sizeof(uint64_t));
        assert_true(lane->ring_offset && lane->stack_offset && lane->stats_offset);
        atomic_store_explicit(&lane->ready, 1, memory_order_release);
        struct sp__lane_place place;
        assert_int_equal(sp__segment_lane(&segment, i, &place), 0);
        assert_int_equal(place.ring_offset, lane->ring_offset);
    }
    struct sp__lane *lane = &segment.lanes[3];
    struct sp__lane_place place;
    uint64_t good = lane->ring_offset;
    const uint64_t bad[] = {0, 4096, segment.size, segment.size - 4096, UINT64_MAX - 7, good + 1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lane->ring_offset = bad[i];
        assert_int_equal(sp__segment_lane(&segment, 3, &place), -EBADMSG);
    }
    lane->ring_offset = good;
    const uint64_t lengths[] = {0, 1, 3, 1 << 25, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        lane->ring_records = lengths[i];
        assert_int_equal(sp__segment_lane(&segment, 3, &place), -EBADMSG);
    }
    assert_int_equal(sp__heap_take(header, UINT64_MAX), 0);
    assert_int_equal(sp__heap_take(header, born.size), 0);
    sp__segment_close(&segment);
    finish(&born);
}

static void reserving_needs_the_descriptor(void **state)
{
    (void)state;
    struct sp__born born;
    assert_int_equal(create(&born, 0, bury_never), 0);
    uint64_t at = sp__heap_take((void *)born.map, 1 << 20);
    assert_int_equal(sp__born_reserve(&born, at, 1 << 20, true), 0);
    memset(born.map + at, 7, 1 << 20);
    assert_int_equal(sp__born_reserve(&born, born.size, 1, false), -ENOSPC);
    assert_true(sp__born_fd_good(&born));

    /* As close_range in a daemonizing program does; then its own file gets the number. */
    int number = born.fd, other = open("/dev/null", O_RDWR);
    assert_true(dup2(other, number) == number);
    close(other);
    assert_false(sp__born_fd_good(&born));
    at = sp__heap_take((void *)born.map, 1 << 20);
    assert_int_equal(sp__born_reserve(&born, at, 1 << 20, true), 0);
    memset(born.map + at, 8, 1 << 20);
    finish(&born);
    assert_true(fcntl(number, F_GETFD) >= 0); /* not ours to close */
    close(number);
}

static void living_rank_taken(void **state)
{
    (void)state;
    struct sp__born born, second;
    assert_int_equal(create(&born, 0, bury_never), 0);
    assert_int_equal(create(&second, 0, bury_never), -EEXIST);
    assert_int_equal(create(&second, 1, bury_never), 0);
    finish(&second);

    struct sp__segment segment;
    assert_int_equal(sp__segment_open(&segment, born.name, true, NULL), 0);
    assert_int_equal(sp__segment_unlink(&segment), -EBUSY);
    assert_int_equal(sp__segment_move_aside(&segment), -EBUSY);

    /* Destroyed on purpose, and still mapped: the name may go. */
    buried->count = 0;
    atomic_store(&((struct sp__header *)(void *)born.map)->state, SP__DISCARDED);
    assert_int_equal(create(&second, 0, bury), 0);
    assert_int_equal(buried->count, 1);
    assert_int_equal(sp__segment_unlink(&segment), 0); /* somebody else's name now */
    assert_int_equal(sp__segment_alive(&segment), 1);
    sp__segment_close(&segment);
    sp__born_finish(&born);
    assert_int_equal(sp__segment_open(&segment, second.name, false, NULL), 0);
    sp__segment_close(&segment);
    finish(&second);
}

static void death_not_seen(void **state)
{
    (void)state;
    struct sp__segment segment;
    struct sp__born born;
    leave_a_dead_one(0);
    struct sp__birth birth = birth_of(0);
    char name[256];
    assert_int_equal(sp__segment_name(&birth.identity, name, sizeof name), 0);
    assert_int_equal(sp__segment_open(&segment, name, true, NULL), 0);
    assert_int_equal(sp__segment_alive(&segment), 0);

    /* A newcomer over it; the one moved aside is still found. */
    buried->count = 0;
    assert_int_equal(create(&born, 0, bury_aside), 0);
    assert_int_equal(buried->count, 1);
    assert_int_equal(buried->ino[0], segment.ino);
    char aside[300];
    (void)snprintf(aside, sizeof aside, "%s.d%02x%02x%02x%02x", name, segment.identity.incarnation[0],
                   segment.identity.incarnation[1], segment.identity.incarnation[2], segment.identity.incarnation[3]);
    assert_true(sp__segment_name_valid(aside, geteuid()));
    sp__segment_close(&segment);
    assert_int_equal(sp__segment_open(&segment, aside, true, NULL), 0);
    assert_int_equal(sp__segment_move_aside(&segment), 0);
    assert_int_equal(sp__segment_unlink(&segment), 0);
    sp__segment_close(&segment);
    assert_int_equal(sp__segment_open(&segment, aside, true, NULL), -ENOENT);
    finish(&born);
}

static void forked_child_hides_its_parents_death(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        struct sp__born born;
        if (create(&born, 0, bury_never) != 0)
            _exit(1);
        pid_t child = fork();
        if (child == 0) {
            close(ends[1]);
            sleep(30);
            _exit(0);
        }
        if (write(ends[1], &child, sizeof child) != (ssize_t)sizeof child)
            _exit(1);
        pause();
    }
    pid_t child = 0;
    assert_int_equal(read(ends[0], &child, sizeof child), sizeof child);
    close(ends[0]);
    close(ends[1]);

    struct sp__birth birth = birth_of(0);
    char name[256];
    struct sp__segment segment;
    assert_int_equal(sp__segment_name(&birth.identity, name, sizeof name), 0);
    assert_int_equal(sp__segment_open(&segment, name, true, NULL), 0);
    assert_int_equal(sp__segment_alive(&segment), 1);
    kill(parent, SIGKILL);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    assert_int_equal(kill(child, 0), 0);
    assert_int_equal(sp__segment_alive(&segment), 0);
    kill(child, SIGKILL);
    assert_int_equal(sp__segment_unlink(&segment), 0);
    sp__segment_close(&segment);
}

/* Two processes over one dead segment at once. */
static void two_restarts_both_win(void **state)
{
    (void)state;
    const int rounds = 200;
    for (int round = 0; round < rounds; round++) {
        leave_a_dead_one(0);
        struct sp__birth birth = birth_of(0);
        char name[256], path[320];
        struct stat dead, now;
        assert_int_equal(sp__segment_name(&birth.identity, name, sizeof name), 0);
        path_of(name, path);
        assert_int_equal(stat(path, &dead), 0);
        buried->count = 0;

        int go[2], done[2], wins = 0, refusals = 0;
        assert_int_equal(pipe(go), 0);
        assert_int_equal(pipe(done), 0);
        pid_t racers[2];
        for (int i = 0; i < 2; i++) {
            racers[i] = fork();
            if (racers[i] == 0) {
                char byte;
                struct sp__born born;
                close(go[1]);
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                (void)!read(go[0], &byte, 1); /* until the parent closes its end: both at once */
                int result = create(&born, 0, round % 2 ? bury : bury_aside);
                if (write(done[1], &result, sizeof result) != (ssize_t)sizeof result)
                    _exit(1);
                pause();
            }
        }
        close(go[0]);
        close(go[1]);
        for (int i = 0; i < 2; i++) {
            int result = 1;
            assert_int_equal(read(done[0], &result, sizeof result), sizeof result);
            wins += result == 0;
            refusals += result == -EEXIST;
        }
        assert_int_equal(wins, 1);
        assert_int_equal(refusals, 1);
        assert_int_equal(buried->count, 1);
        assert_int_equal(buried->ino[0], dead.st_ino);
        assert_int_equal(stat(path, &now), 0);
        for (int i = 0; i < 2; i++) {
            kill(racers[i], SIGKILL);
            assert_int_equal(waitpid(racers[i], NULL, 0), racers[i]);
        }
        close(done[0]);
        close(done[1]);
        assert_int_equal(unlink(path), 0);
    }
}

static int remove_one(const char *name, void *context)
{
    struct sp__birth birth = birth_of(0);
    char path[320];
    path_of(name, path);
    if (strstr(name, birth.identity.session)) {
        ++*(int *)context;
        unlink(path);
    }
    return 0;
}

static void moved_aside_not_found_by_a_scan(void **state)
{
    (void)state;
    int found = 0;
    assert_int_equal(sp__segment_each(geteuid(), remove_one, &found), 0);
    assert_int_equal(found, 100); /* every second round of the race before moved its dead aside */
}

static bool event_named(int watch, uint32_t mask, const char *name)
{
    _Alignas(struct inotify_event) char buffer[8192];
    ssize_t got = read(watch, buffer, sizeof buffer);
    for (char *at = buffer; got > 0 && at < buffer + got;) {
        struct inotify_event event;
        memcpy(&event, at, sizeof event);
        if ((event.mask & mask) && event.len && strcmp(at + sizeof event, name) == 0)
            return true;
        at += sizeof event + event.len;
    }
    return false;
}

static void birth_or_doorbell_without_its_name(void **state)
{
    (void)state;
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(watch >= 0);
    assert_true(inotify_add_watch(watch, SP__SHM_DIR, IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE) >= 0);
    struct sp__born born;
    assert_int_equal(create(&born, 0, bury_never), 0);
    char name[256];
    memcpy(name, born.name, sizeof name);
    assert_true(event_named(watch, IN_CREATE, name));
    assert_int_equal(pwrite(born.fd, "", 1, SP__BYTE_DOORBELL), 1);
    assert_true(event_named(watch, IN_MODIFY, name));
    sp__born_finish(&born);
    assert_true(event_named(watch, IN_CLOSE_WRITE, name));
    char path[320];
    path_of(name, path);
    unlink(path);
    close(watch);
}

static int setup(void **state)
{
    (void)state;
    test_pid = (int)getpid();
    buried = mmap(NULL, sizeof *buried, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return buried == MAP_FAILED ? -1 : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newborn_incomplete),
        cmocka_unit_test(every_lane_does_not_fit),
        cmocka_unit_test(reserving_needs_the_descriptor),
        cmocka_unit_test(living_rank_taken),
        cmocka_unit_test(death_not_seen),
        cmocka_unit_test(forked_child_hides_its_parents_death),
        cmocka_unit_test(two_restarts_both_win),
        cmocka_unit_test(moved_aside_not_found_by_a_scan),
        cmocka_unit_test(birth_or_doorbell_without_its_name),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
