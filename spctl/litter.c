#include "litter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "layout.h"
#include "names.h"

/* Takes ".<base>.<pid>-<n>.tmp" apart: the pid and the length of base; 0 where it is no such name. */
static pid_t pid_of(const char *name, size_t *ret_base)
{
    size_t length = strlen(name);
    if (name[0] != '.' || length < 8 || strcmp(name + length - 4, ".tmp") != 0)
        return 0;
    size_t at = length - 4;
    while (at > 1 && name[at - 1] >= '0' && name[at - 1] <= '9')
        --at;
    if (at == length - 4 || at < 2 || name[at - 1] != '-')
        return 0;
    size_t dash = --at;
    while (at > 1 && name[at - 1] >= '0' && name[at - 1] <= '9')
        --at;
    if (at == dash || at < 3 || name[at - 1] != '.')
        return 0;
    long pid = strtol(name + at, NULL, 10);
    *ret_base = at - 2;
    return pid > 0 && pid < 1 << 30 ? (pid_t)pid : 0;
}

/* By the magic numbers of statfs(2). */
static bool shared_with_others(int folder)
{
    static const unsigned long network[] = {0x6969,     0x0bd00bd0, 0x47504653, 0x65735546,
                                            0xff534d42, 0xfe534d42, 0x19830326, 0x00c36400};
    struct statfs info;
    if (fstatfs(folder, &info) != 0)
        return true;
    for (size_t i = 0; i < sizeof network / sizeof *network; ++i)
        if (((unsigned long)info.f_type & 0xffffffff) == network[i])
            return true;
    return false;
}

/* How long the process has been running, in seconds; -1 unknown. */
static double age_of(pid_t pid)
{
    char path[64], text[1024];
    struct timespec now;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    const char *at = strrchr(text, ')'); /* a process may call itself anything */
    for (int field = 2; at && field < 22; ++field)
        at = strchr(at + 1, ' ');
    if (!at || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
        return -1;
    return (double)now.tv_sec - (double)strtoull(at, NULL, 10) / (double)sysconf(_SC_CLK_TCK);
}

/* Whoever writes the file has been running since before it was last written to: else it only has the number now. */
static bool may_be_writing(pid_t pid, const struct stat *info)
{
    if (kill(pid, 0) != 0 && errno == ESRCH)
        return false;
    double age = age_of(pid);
    return age < 0 || age + 2 > (double)(time(NULL) - info->st_mtime);
}

bool litter_is(int folder, const char *name)
{
    struct stat info;
    size_t base;
    pid_t pid = pid_of(name, &base);
    if (pid == 0 || fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
        return false;
    if (may_be_writing(pid, &info))
        return false;
    return !shared_with_others(folder) || time(NULL) - info.st_mtime > 3600;
}

void litter_beside(const char *path)
{
    const char *target = sp__base_name(path);
    char parent[SP__PATH_SIZE];
    size_t base;
    int length = target == path ? 0 : (int)(target - path);
    snprintf(parent, sizeof parent, "%.*s", length ? length : 1, length ? path : ".");
    DIR *folder = opendir(parent);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *name = entry->d_name;
        if (pid_of(name, &base) && strlen(target) == base && memcmp(name + 1, target, base) == 0 &&
            litter_is(dirfd(folder), name))
            unlinkat(dirfd(folder), name, 0);
    }
    closedir(folder);
}
