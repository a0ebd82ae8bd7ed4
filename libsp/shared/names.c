/* names.c: every name that sessions, segments, spools and profiles have. */
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "env.h"

enum { SESSION_MOST = 64 };

static bool letter_safe(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
}

static bool session_valid_part(const char *name, size_t length)
{
    if (length < 1 || length > SESSION_MOST || name[0] == '.' || name[0] == '-' || name[0] == '@')
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!letter_safe(name[i]) && name[i] != '@')
            return false;
    }
    return true;
}

bool sp__session_valid(const char *name)
{
    return session_valid_part(name, strnlen(name, SESSION_MOST + 1));
}

const char *sp__base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Seconds of CLOCK_REALTIME at which this process started, from the kernel; else now. */
static int64_t process_start(void)
{
    struct timespec now, since_boot;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return now.tv_sec;
    ssize_t got = read(fd, text, sizeof text - 1);
    close(fd);
    if (got <= 0)
        return now.tv_sec;
    text[got] = '\0';
    /* Field 22, counted from the end of the command name, which may hold anything. */
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    long hertz = sysconf(_SC_CLK_TCK);
    if (!at || hertz <= 0)
        return now.tv_sec;
    int64_t start = (int64_t)(strtoull(at + 1, NULL, 10) / (unsigned long long)hertz);
    return start > since_boot.tv_sec ? now.tv_sec : now.tv_sec - (since_boot.tv_sec - start);
}

/* "20250131T120000-4711". The first answer of a process is kept: rounding must not give it two. */
static void start_text(char *ret, size_t size)
{
    static _Atomic uint64_t known; /* pid and seconds in one word: relaxed, it stands for itself */
    const uint64_t seconds_mask = ((uint64_t)1 << 40) - 1;
    uint64_t pid = (uint64_t)getpid();
    uint64_t word = atomic_load_explicit(&known, memory_order_relaxed);
    if (word >> 40 != pid) {
        uint64_t mine = pid << 40 | ((uint64_t)process_start() & seconds_mask);
        if (atomic_compare_exchange_strong_explicit(&known, &word, mine, memory_order_relaxed, memory_order_relaxed) ||
            word >> 40 != pid)
            word = mine;
    }
    time_t seconds = (time_t)(word & seconds_mask);
    struct tm tm;
    char stamp[32] = "0";
    if (gmtime_r(&seconds, &tm))
        (void)strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%S", &tm);
    (void)snprintf(ret, size, "%s-%" PRIu64, stamp, pid);
}

void sp__name_made_safe(const char *name, size_t most, char *ret)
{
    (void)snprintf(ret, most + 1, "%s", name);
    for (char *at = ret; *at; at++) {
        if (!letter_safe(*at))
            *at = '_';
    }
    if (!ret[0])
        (void)snprintf(ret, most + 1, "_");
    if (ret[0] == '.' || ret[0] == '-')
        ret[0] = '_';
}

void sp__session_for_launch(const char *prefix, char ret[SP__SESSION_SIZE])
{
    char launch[48];
    sp__launch_id(launch, sizeof launch);
    if (!launch[0])
        start_text(launch, sizeof launch);

    char base[SESSION_MOST + 1];
    size_t room = SESSION_MOST - 1 - strlen(launch);
    sp__name_made_safe(sp__base_name(prefix), room, base);
    (void)snprintf(ret, SP__SESSION_SIZE, "%s@%s", base, launch);
}

/* Appends one component to an absolute path without "." and ".."; `length` counts what stands there ("" is the root).
 */
static int append_component(char ret[SP__PATH_SIZE], size_t *length, const char *part, size_t part_length)
{
    if (part_length == 0 || (part_length == 1 && part[0] == '.'))
        return 0;
    if (part_length == 2 && part[0] == '.' && part[1] == '.') {
        while (*length > 0 && ret[*length - 1] != '/')
            --*length;
        if (*length > 0)
            --*length;
        return 0;
    }
    if (part_length + 1 >= SP__PATH_SIZE - *length)
        return -ENAMETOOLONG;
    ret[(*length)++] = '/';
    memcpy(ret + *length, part, part_length);
    *length += part_length;
    return 0;
}

static int append_path(char ret[SP__PATH_SIZE], size_t *length, const char *path)
{
    int error = 0;
    while (*path && !error) {
        size_t part = strcspn(path, "/");
        error = append_component(ret, length, path, part);
        path += part;
        path += *path == '/';
    }
    return error;
}

int sp__prefix_absolute(const char *prefix, char ret[SP__PATH_SIZE])
{
    char path[SP__PATH_SIZE];
    size_t length = 0;
    int error = 0;
    if (prefix[0] != '/') {
        char *folder = getcwd(NULL, 0);
        if (!folder)
            return -errno;
        error = folder[0] == '/' ? append_path(path, &length, folder) : -ENOENT; /* else it cannot be reached */
        free(folder);
    }
    if (!error)
        error = append_path(path, &length, prefix);
    if (error)
        return error;
    if (length == 0)
        path[length++] = '/';
    memcpy(ret, path, length);
    ret[length] = '\0';
    return 0;
}

uint64_t sp__name_hash(const char *session, const char *prefix)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, session, strlen(session) + 1); /* the NUL keeps the two apart */
    XXH3_64bits_update(&state, prefix, strlen(prefix));
    return XXH3_64bits_digest(&state);
}

int sp__segment_name(const struct sp__identity *id, char *ret, size_t size)
{
    if (!sp__session_valid(id->session) || id->rank < 0)
        return -EINVAL;
    char name[256];
    int length =
        snprintf(name, sizeof name, "sp.%u.%s.%016" PRIx64 ".r%d", id->uid, id->session, id->name_hash, id->rank);
    if (id->part)
        length += snprintf(name + length, sizeof name - (size_t)length, ".f%u", id->part);
    if ((size_t)length >= size)
        return -ENAMETOOLONG;
    memcpy(ret, name, (size_t)length + 1);
    return 0;
}

/* Cuts "<mark><digits>" off the end of name[0 .. *length), if it is there with `least` to `most` digits. */
static bool cut(const char *name, size_t *length, const char *mark, const char *set, size_t least, size_t most)
{
    size_t digits = 0;
    size_t marked = strlen(mark);
    while (digits < most && digits < *length && strchr(set, name[*length - 1 - digits]))
        digits++;
    if (digits < least || *length < digits + marked || strncmp(name + *length - digits - marked, mark, marked) != 0)
        return false;
    *length -= digits + marked;
    return true;
}

bool sp__segment_name_valid(const char *name, uint32_t uid)
{
    static const char decimal[] = "0123456789", hex[] = "0123456789abcdef";
    char start[32];
    size_t head = (size_t)snprintf(start, sizeof start, "sp.%u.", uid);
    size_t length = strnlen(name, 256);
    if (length > 255 || strncmp(name, start, head) != 0)
        return false;
    (void)cut(name, &length, ".d", hex, 8, 8);
    (void)cut(name, &length, ".f", decimal, 1, 10);
    return cut(name, &length, ".r", decimal, 1, 10) && cut(name, &length, ".", hex, 16, 16) && length > head &&
           session_valid_part(name + head, length - head);
}

/* "sp.<uid>.<session>.<16 hex>.r<rank>...": the session, from the name alone. */
void sp__segment_session(const char *name, char ret[SP__SESSION_SIZE])
{
    const char *begin = strchr(name + 3, '.'), *end = name + strlen(name);
    begin = begin ? begin + 1 : name;
    /* Backwards past ".d...", ".f..." and ".r<rank>" to the hash. */
    while (end > begin && !(end[0] == '.' && end[1] == 'r'))
        end--;
    const char *hash = end - 17;
    snprintf(ret, SP__SESSION_SIZE, "%.*s", hash > begin ? (int)(hash - begin) : 0, begin);
}

void sp__incarnation_text(const uint8_t incarnation[SP__INCARNATION_SIZE], char ret[33])
{
    static const char hex[] = "0123456789abcdef";
    for (size_t i = 0; i < SP__INCARNATION_SIZE; i++) {
        ret[2 * i] = hex[incarnation[i] >> 4];
        ret[2 * i + 1] = hex[incarnation[i] & 15];
    }
    ret[32] = '\0';
}

void sp__incarnation_stem(const struct sp__identity *id, char ret[96])
{
    char incarnation[33];
    sp__incarnation_text(id->incarnation, incarnation);
    (void)snprintf(ret, 96, "%016" PRIx64 ".r%05d.%s", id->name_hash, id->rank, incarnation);
}

int sp__profile_name(const char *prefix, int rank, unsigned life, bool hdf5, char *ret, size_t size)
{
    char number[16] = "";
    if (life)
        (void)snprintf(number, sizeof number, ".i%u", life);
    const char *suffix = hdf5 ? ".h5" : ".spt";
    int length = snprintf(NULL, 0, "%s_rank%05d%s%s", prefix, rank, number, suffix);
    if (length < 0 || (size_t)length >= size)
        return -ENAMETOOLONG;
    (void)snprintf(ret, size, "%s_rank%05d%s%s", prefix, rank, number, suffix);
    return 0;
}

uint32_t sp__pid_space(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? (uint32_t)st.st_ino : 0;
}
