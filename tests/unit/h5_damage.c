/* h5_damage.c: profiles with bytes flipped, overwritten, or cut off. HDF5 does not survive all of them: whatever becomes of
 * it, the caller of sp_check_file lives, gets an answer, and does not wait long for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "scope_profiler_io.h"

enum { SIZE_MOST = 1 << 17, FIXTURES_MOST = 64, SECONDS = 8 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const double cpu_most = 5;
#else
static const double cpu_most = 1;
#endif

static char path[64];
static uint64_t seed = 88172645463325252ULL;

static uint64_t next(void)
{
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed >> 8;
}

static void found(void *context, const char *place, const char *text)
{
    (void)place;
    assert_true(*text != '\0');
    ++*(unsigned *)context;
}

static double seconds_of_children(void)
{
    struct rusage used;
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &used), 0);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* A few bytes flipped or overwritten with what lengths and addresses are made of; one in six is cut short. */
static size_t damage(unsigned char *data, size_t length)
{
    static const unsigned char bytes[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
    for (uint64_t i = 1 + next() % 8; i-- > 0;) {
        size_t at = (size_t)(next() % length), run = next() % 4 ? 1 : (size_t)(next() % 8);
        bool flip = next() % 2;
        for (size_t n = 0; n < run && at + n < length; n++)
            data[at + n] = flip ? data[at + n] ^ (unsigned char)(1U << next() % 8) : bytes[next() % sizeof bytes];
    }
    return next() % 6 ? length : (size_t)(next() % length);
}

static void judge(const char *name, const unsigned char *data, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, data, length) == (ssize_t)length && close(fd) == 0);
    unsigned findings = 0;
    sp_check_result result = {0};
    sp_error error = {0};
    double before = seconds_of_children();
    int status = sp_check_file(path, found, &findings, &result, &error);
    double took = seconds_of_children() - before;
    if (status && (status != SP_ERR_SCHEMA || !*error.text))
        fail_msg("%s damaged: status %d: %s", name, status, error.text);
    if (!status && result.findings < 1000 && findings != result.findings)
        fail_msg("%s damaged: %u findings were told, %llu counted", name, findings,
                 (unsigned long long)result.findings);
    if (took > cpu_most)
        fail_msg("%s damaged takes %.1f s to check", name, took);
}

static size_t load(const char *name, unsigned char *data)
{
    char from[1024];
    snprintf(from, sizeof from, "%s/%s", SP_TEST_FIXTURES, name);
    int fd = open(from, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t length = read(fd, data, SIZE_MOST);
    close(fd);
    assert_true(length > 0 && length < SIZE_MOST);
    return (size_t)length;
}

static int is_profile(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 3 && !strcmp(entry->d_name + length - 3, ".h5") && strcmp(entry->d_name, "zero-bytes.h5") != 0;
}

static void damaged_profile_takes_its_caller_down(void **state)
{
    (void)state;
    static unsigned char good[SIZE_MOST], bad[SIZE_MOST];
    struct dirent **names;
    int count = scandir(SP_TEST_FIXTURES, &names, is_profile, alphasort);
    assert_true(count > 10 && count < FIXTURES_MOST);
    struct timespec start, now;
    unsigned judged = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (int i = 0; i < count; i++) {
            size_t length = load(names[i]->d_name, good);
            memcpy(bad, good, length);
            judge(names[i]->d_name, bad, damage(bad, length));
            judged++;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < SECONDS);
    print_message("%u damaged profiles were judged\n", judged);
    for (int i = 0; i < count; i++)
        free(names[i]);
    free(names);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/dev/shm/sp-damage-XXXXXX.h5");
    int fd = mkstemps(path, 3);
    return fd < 0 || close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(damaged_profile_takes_its_caller_down)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
