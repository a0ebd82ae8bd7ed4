/* segment_damage: segments that are not what they say, names that are taken, and limits that leave no room. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "newborn.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

static void damaged_segment_accepted(void **state)
{
    (void)state;
    struct sp__born born;
    struct sp__segment segment;
    char why[256];
    assert_int_equal(create(&born, 0, bury_never), 0);
    struct sp__header *header = (void *)born.map, good = *header;
#define REFUSED(field, value, error)                                                                                   \
    do {                                                                                                               \
        header->field = (value);                                                                                       \
        assert_int_equal(sp__segment_open(&segment, born.name, false, why), (error));                                  \
        assert_non_null(strstr(why, born.name));                                                                       \
        header->field = good.field;                                                                                    \
    } while (0)
    REFUSED(magic, 0, -EBADMSG);
    REFUSED(abi_major, 2, -EPROTONOSUPPORT);
    assert_non_null(strstr(why, "2.0"));
    assert_non_null(strstr(why, "1.0"));
    REFUSED(byte_order, 0x04030201U, -EBADMSG);
    REFUSED(header_size, 8, -EBADMSG);
    REFUSED(header_size, UINT32_MAX, -EBADMSG);
    REFUSED(segment_size, good.segment_size + 4096, -EBADMSG);
    REFUSED(segment_size, 4096, -EBADMSG);
    REFUSED(segment_size, UINT64_MAX & ~4095ULL, -EBADMSG);
    REFUSED(lanes_offset, 0, -EBADMSG);
    REFUSED(lanes_offset, good.lanes_offset + 1, -EBADMSG);
    REFUSED(lanes_offset, UINT64_MAX & ~4095ULL, -EBADMSG);
    REFUSED(regions_offset, good.lanes_offset, -EBADMSG);
    REFUSED(regions_offset, UINT64_MAX & ~4095ULL, -EBADMSG);
    REFUSED(heap_offset, good.regions_offset, -EBADMSG);
    REFUSED(heap_offset, good.segment_size, -EBADMSG);
    REFUSED(lane_capacity, 0, -EBADMSG);
    REFUSED(lane_capacity, UINT32_MAX, -EBADMSG);
    REFUSED(lane_stride, 0, -EBADMSG);
    REFUSED(region_capacity, SP__REGIONS + 1, -EBADMSG);
    REFUSED(region_stride, 1, -EBADMSG);
    REFUSED(record_size, 32, -EBADMSG);
    REFUSED(stack_entry_size, 0, -EBADMSG);
    REFUSED(stats_entry_size, 0, -EBADMSG);
    REFUSED(stats_block_regions, 0, -EBADMSG);
    REFUSED(identity.rank, 1, -EBADMSG); /* not what its name says */
    REFUSED(identity.uid, good.identity.uid + 1, -EBADMSG);
    REFUSED(identity.name_hash, 1, -EBADMSG);
    REFUSED(identity.session[0], 'U', -EBADMSG);
    REFUSED(identity.session[0], '/', -EBADMSG);

    header->abi_minor = 9;
    memset(header->identity.hostname, 'x', sizeof header->identity.hostname);
    memset(header->identity.prefix, 'x', sizeof header->identity.prefix);
    assert_int_equal(sp__segment_open(&segment, born.name, false, why), 0);
    assert_int_equal(strlen(segment.identity.hostname), SP__HOST_SIZE - 1);
    assert_int_equal(strlen(segment.identity.prefix), SP__PATH_SIZE - 1);
    unsigned char byte;
    assert_int_equal(sp__segment_read(&segment, segment.size - 1, &byte, 1), 0);
    assert_int_equal(sp__segment_read(&segment, segment.size, &byte, 1), -EBADMSG);
    assert_int_equal(sp__segment_read(&segment, UINT64_MAX, &byte, 1), -EBADMSG);
    assert_int_equal(ftruncate(born.fd, 1 << 20), 0);
    assert_int_equal(sp__segment_read(&segment, 2 << 20, &byte, 1), -EBADMSG);
    sp__segment_close(&segment);
    assert_int_equal(sp__segment_open(&segment, born.name, false, why), -EBADMSG);
    assert_int_equal(fchmod(born.fd, 0644), 0);
    assert_int_equal(sp__segment_open(&segment, born.name, false, why), -EACCES);
    finish(&born);
    assert_int_equal(sp__segment_open(&segment, born.name, false, why), -ENOENT);
    assert_int_equal(sp__segment_open(&segment, "../../etc/passwd", false, why), -EINVAL);
}

static void somebody_elses_file_touched(void **state)
{
    (void)state;
    struct sp__birth birth = birth_of(0);
    struct sp__born born;
    char name[256], path[320];
    assert_int_equal(sp__segment_name(&birth.identity, name, sizeof name), 0);
    path_of(name, path);
    assert_int_equal(symlink("/tmp/does-not-exist", path), 0);
    assert_int_equal(create(&born, 0, bury_never), -EACCES);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(create(&born, 0, bury_never), -EACCES);
    rmdir(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(create(&born, 0, bury_never), -EACCES);
    unlink(path);
    if (geteuid() == 0) {
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        assert_int_equal(fchown(fd, 12345, 12345), 0);
        assert_int_equal(create(&born, 0, bury_never), -EACCES);
        close(fd);
        unlink(path);
    }
}

static void limits_stop_or_kill_the_program(void **state)
{
    (void)state;
    static const struct {
        int what;
        rlim_t limit;
        int result;
    } table[] = {
        {RLIMIT_AS, 1024U << 20, 0},  {RLIMIT_AS, 256U << 20, 0},       {RLIMIT_AS, 24U << 20, -ENOMEM},
        {RLIMIT_FSIZE, 64U << 20, 0}, {RLIMIT_FSIZE, 1 << 20, -ENOMEM}, {RLIMIT_NOFILE, 16, 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (table[i].what == RLIMIT_AS && SANITIZED) /* whose shadow memory is larger */
            continue;
        pid_t child = fork();
        if (child == 0) {
            struct sp__born born;
            struct rlimit r = {table[i].limit, table[i].limit};
            setrlimit((__rlimit_resource_t)table[i].what, &r);
            int result = create(&born, 0, bury_never);
            if (result == 0)
                finish(&born);
            _exit(result == table[i].result ? 0 : 1);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("limit %zu: status %x", i, (unsigned)status);
    }
}

/* In a mount namespace of its own, with a /dev/shm of this size. Exit status 77: not allowed here. */
static int with_small_shm(const char *options)
{
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 77;
    if (mount("tmpfs", SP__SHM_DIR, "tmpfs", 0, options) < 0)
        return 77;
    struct sp__birth birth = birth_of(0);
    struct sp__born born;
    uint64_t need = 0;
    int result = sp__segment_create(&birth, bury_never, &born, &need);
    if (strcmp(options, "size=16k") == 0)
        return result == -ENOSPC && need > 16384 ? 0 : 1;
    if (result != 0)
        return 2;
    /* Room for the birth, none for a ring: an error, and never a SIGBUS, with the descriptor and without. */
    uint64_t at = sp__heap_take((void *)born.map, 1 << 20);
    if (sp__born_reserve(&born, at, 1 << 20, true) != -ENOSPC)
        return 3;
    close(born.fd);
    if (sp__born_reserve(&born, at, 1 << 20, true) != -ENOSPC)
        return 4;
    return 0;
}

static void small_shm_kills_the_program(void **state)
{
    (void)state;
    static const char *const sizes[] = {"size=16k", "size=64k"};
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(with_small_shm(sizes[i]));
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            skip();
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("%s: status %x", sizes[i], (unsigned)status);
    }
}

static int setup(void **state)
{
    (void)state;
    test_pid = (int)getpid();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_segment_accepted),
        cmocka_unit_test(somebody_elses_file_touched),
        cmocka_unit_test(limits_stop_or_kill_the_program),
        cmocka_unit_test(small_shm_kills_the_program),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
