/* shim.c: to be preloaded: fails chosen calls of one function that a program or its libraries make, or moves its clock.
 *
 *   SHIM_PROGRAM=NAME   in this program alone
 *   SHIM_CALL=FUNCTION  open (openat, ...), write (pwrite, writev, pwritev; to files), fsync (fdatasync), rename,
 * ftruncate, mmap,
 *                       fallocate (posix_fallocate), link (linkat), lock (fcntl with a lock), dup (fcntl
 * F_DUPFD_CLOEXEC)
 *   SHIM_NTH=N          the first call that fails, from 1; SHIM_TIMES=N so many in a row, 0 all from there on (1)
 *   SHIM_ERRNO=N        with that errno; "short": writes write half of what they should, and say so
 *   SHIM_HIT=FILE       a line is added for each call that failed
 *   SHIM_COUNT=FILE     at the end: how often each function was called, one a line
 *   SHIM_CLOCK=HOW      CLOCK_MONOTONIC as read by libraries: still (moves on every 4,096 readings), back (by a
 *                       second at every 512th reading), far (ends at 2^63 ns)
 *
 * What it cannot see: system calls that libc makes for itself (opendir, mkostemp, stdio, malloc, getaddrinfo,
 * dlopen) and
 * raw ones (membarrier, gettid); io_uring, which none of this uses. */
#undef _FILE_OFFSET_BITS /* both names of each function are here; offsets have 64 bits under both */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SHIM __attribute__((visibility("default")))

enum function { OPEN, WRITE, FSYNC, RENAME, FTRUNCATE, MMAP, FALLOCATE, LINK, LOCK, DUP, FUNCTIONS };

static const char *const names[FUNCTIONS] = {"open", "write",     "fsync", "rename", "ftruncate",
                                             "mmap", "fallocate", "link",  "lock",   "dup"};
static _Atomic unsigned long called[FUNCTIONS];
static unsigned chosen = FUNCTIONS;
static unsigned long nth, times = 1;
static int error_number;
static bool by_half, counts;
static char hit_path[PATH_MAX], count_path[PATH_MAX], clock_way;
static _Atomic uint64_t readings;

/* No getenv: a program may have replaced that one as well. */
static const char *setting(const char *name)
{
    size_t length = strlen(name);
    for (char **at = environ; at && *at; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return *at + length + 1;
    return NULL;
}

static void copy_setting(const char *name, char ret[PATH_MAX])
{
    const char *value = setting(name);
    if (value)
        (void)snprintf(ret, PATH_MAX, "%s", value);
}

static unsigned long number(const char *name, unsigned long otherwise)
{
    const char *value = setting(name);
    return value ? strtoul(value, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void begin(void)
{
    const char *program = setting("SHIM_PROGRAM"), *call = setting("SHIM_CALL"), *clock = setting("SHIM_CLOCK");
    if (program && strcmp(program, program_invocation_short_name) != 0)
        return;
    copy_setting("SHIM_HIT", hit_path);
    copy_setting("SHIM_COUNT", count_path);
    nth = number("SHIM_NTH", 1);
    times = number("SHIM_TIMES", 1);
    error_number = (int)number("SHIM_ERRNO", EIO);
    by_half = setting("SHIM_ERRNO") && strcmp(setting("SHIM_ERRNO"), "short") == 0;
    clock_way = clock ? clock[0] : '\0';
    counts = true;
    for (unsigned n = 0; call && n < FUNCTIONS; n++)
        if (strcmp(call, names[n]) == 0)
            chosen = n;
}

static void add_line(const char *path, const char *name, unsigned long n)
{
    char line[96];
    int length = snprintf(line, sizeof line, "%s %lu\n", name, n);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    (void)!syscall(SYS_write, fd, line, length);
    close(fd);
}

__attribute__((destructor)) static void end(void)
{
    for (unsigned n = 0; count_path[0] && n < FUNCTIONS; n++)
        add_line(count_path, names[n], atomic_load(&called[n]));
}

/* Whether this call is one that fails; errno is set then. */
static bool fails(unsigned function)
{
    if (!counts)
        return false;
    unsigned long n = atomic_fetch_add(&called[function], 1) + 1;
    if (function != chosen || n < nth || (times && n >= nth + times))
        return false;
    if (hit_path[0])
        add_line(hit_path, names[function], n);
    errno = error_number;
    return true;
}

static int open_or_fail(int folder, const char *path, int flags, mode_t mode)
{
    return fails(OPEN) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

static mode_t mode_of(int flags, va_list list)
{
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(list, mode_t) : 0;
}

#define OPENS(name)                                                                                                    \
    SHIM int name(const char *path, int flags, ...);                                                                   \
    SHIM int name(const char *path, int flags, ...)                                                                    \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t mode = mode_of(flags, list);                                                                            \
        va_end(list);                                                                                                  \
        return open_or_fail(AT_FDCWD, path, flags, mode);                                                              \
    }
OPENS(open)
OPENS(open64)
OPENS(__open_2)
OPENS(__open64_2)

#define OPENS_AT(name)                                                                                                 \
    SHIM int name(int folder, const char *path, int flags, ...);                                                       \
    SHIM int name(int folder, const char *path, int flags, ...)                                                        \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, flags);                                                                                         \
        mode_t mode = mode_of(flags, list);                                                                            \
        va_end(list);                                                                                                  \
        return open_or_fail(folder, path, flags, mode);                                                                \
    }
OPENS_AT(openat)
OPENS_AT(openat64)
OPENS_AT(__openat_2)
OPENS_AT(__openat64_2)

/* How much is written: half where that is what fails. 0: it fails. Files alone: what an eventfd cannot refuse is not
 * refused, and messages are to be read. */
static size_t share(int fd, size_t length)
{
    struct stat file;
    if (fd == STDERR_FILENO || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || !fails(WRITE))
        return length;
    return !by_half ? 0 : length > 1 ? length / 2 : length;
}

SHIM ssize_t write(int fd, const void *data, size_t length)
{
    size_t part = share(fd, length);
    return part || !length ? syscall(SYS_write, fd, data, part) : -1;
}

#define PWRITES(name)                                                                                                  \
    SHIM ssize_t name(int fd, const void *data, size_t length, off_t at);                                              \
    SHIM ssize_t name(int fd, const void *data, size_t length, off_t at)                                               \
    {                                                                                                                  \
        size_t part = share(fd, length);                                                                               \
        return part || !length ? syscall(SYS_pwrite64, fd, data, part, at) : -1;                                       \
    }
PWRITES(pwrite)
PWRITES(pwrite64)

SHIM ssize_t writev(int fd, const struct iovec *parts, int count)
{
    size_t part = count > 0 ? share(fd, parts[0].iov_len) : 0;
    if (count > 0 && part == 0 && parts[0].iov_len)
        return -1;
    return count > 0 && part < parts[0].iov_len ? syscall(SYS_write, fd, parts[0].iov_base, part)
                                                : syscall(SYS_writev, fd, parts, count);
}

#define PWRITEVS(name)                                                                                                 \
    SHIM ssize_t name(int fd, const struct iovec *parts, int count, off_t at);                                         \
    SHIM ssize_t name(int fd, const struct iovec *parts, int count, off_t at)                                          \
    {                                                                                                                  \
        size_t part = count > 0 ? share(fd, parts[0].iov_len) : 0;                                                     \
        if (count > 0 && part == 0 && parts[0].iov_len)                                                                \
            return -1;                                                                                                 \
        return count > 0 && part < parts[0].iov_len ? syscall(SYS_pwrite64, fd, parts[0].iov_base, part, at)           \
                                                    : syscall(SYS_pwritev, fd, parts, count, at, 0L);                  \
    }
PWRITEVS(pwritev)
PWRITEVS(pwritev64)

SHIM int fsync(int fd)
{
    return fails(FSYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

SHIM int fdatasync(int fd)
{
    return fails(FSYNC) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

SHIM int rename(const char *from, const char *to)
{
    return fails(RENAME) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

SHIM int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    return fails(RENAME) ? -1 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
}

SHIM int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    return fails(RENAME) ? -1 : (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
}

#define FTRUNCATES(name)                                                                                               \
    SHIM int name(int fd, off_t length) __attribute__((nothrow));                                                      \
    SHIM int name(int fd, off_t length)                                                                                \
    {                                                                                                                  \
        return fails(FTRUNCATE) ? -1 : (int)syscall(SYS_ftruncate, fd, length);                                        \
    }
FTRUNCATES(ftruncate)
FTRUNCATES(ftruncate64)

#define MMAPS(name)                                                                                                    \
    SHIM void *name(void *address, size_t length, int protection, int flags, int fd, off_t at)                         \
        __attribute__((nothrow));                                                                                      \
    SHIM void *name(void *address, size_t length, int protection, int flags, int fd, off_t at)                         \
    {                                                                                                                  \
        if (fails(MMAP))                                                                                               \
            return MAP_FAILED;                                                                                         \
        return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, at);                                  \
    }
MMAPS(mmap)
MMAPS(mmap64)

#define FALLOCATES(name)                                                                                               \
    SHIM int name(int fd, int mode, off_t at, off_t length);                                                           \
    SHIM int name(int fd, int mode, off_t at, off_t length)                                                            \
    {                                                                                                                  \
        return fails(FALLOCATE) ? -1 : (int)syscall(SYS_fallocate, fd, mode, at, length);                              \
    }
FALLOCATES(fallocate)
FALLOCATES(fallocate64)

SHIM int posix_fallocate(int fd, off_t at, off_t length)
{
    if (fails(FALLOCATE))
        return error_number;
    return syscall(SYS_fallocate, fd, 0, at, length) == 0 ? 0 : errno;
}

SHIM int link(const char *from, const char *to)
{
    return fails(LINK) ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

SHIM int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    return fails(LINK) ? -1 : (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
}

static bool is_lock(int command)
{
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW ||
           command == F_OFD_GETLK || command == F_GETLK;
}

#define FCNTLS(name)                                                                                                   \
    SHIM int name(int fd, int command, ...);                                                                           \
    SHIM int name(int fd, int command, ...)                                                                            \
    {                                                                                                                  \
        va_list list;                                                                                                  \
        va_start(list, command);                                                                                       \
        long argument = va_arg(list, long);                                                                            \
        va_end(list);                                                                                                  \
        bool failed = is_lock(command) ? fails(LOCK) : command == F_DUPFD_CLOEXEC && fails(DUP);                       \
        return failed ? -1 : (int)syscall(SYS_fcntl, fd, command, argument);                                           \
    }
FCNTLS(fcntl)
FCNTLS(fcntl64)

SHIM int flock(int fd, int operation);
SHIM int flock(int fd, int operation)
{
    return fails(LOCK) ? -1 : (int)syscall(SYS_flock, fd, operation);
}

static uint64_t moved(uint64_t now)
{
    static _Atomic uint64_t first, held;
    uint64_t n = atomic_fetch_add(&readings, 1), none = 0;
    atomic_compare_exchange_strong(&first, &none, now);
    switch (clock_way) {
    case 's':
        if (n % 4096 == 0)
            atomic_store(&held, now);
        return atomic_load(&held);
    case 'b':
        return n % 511 == 510 ? now - 1000000000U : now;
    case 'f': /* 2^63 comes 100 ms after the first reading, and then time goes on */
        return (UINT64_C(1) << 63) - 100000000U + (now - atomic_load(&first));
    default:
        return now;
    }
}

SHIM int clock_gettime(clockid_t clock, struct timespec *ret) __attribute__((nothrow));
SHIM int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int status = (int)syscall(SYS_clock_gettime, clock, ret);
    if (status == 0 && clock == CLOCK_MONOTONIC && clock_way) {
        uint64_t now = moved((uint64_t)ret->tv_sec * 1000000000U + (uint64_t)ret->tv_nsec);
        ret->tv_sec = (time_t)(now / 1000000000U);
        ret->tv_nsec = (long)(now % 1000000000U);
    }
    return status;
}
