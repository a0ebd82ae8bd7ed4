/* processes.c: the folders of a run, its children, and what they leave behind. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "names.h"
#include "walk.h"

static const char *const log_names[ROLES] = {"program", "spd", "merge"};

bool place_make(struct place *place, unsigned number, const struct family *family)
{
    const char *base = getenv("TMPDIR");
    *place = (struct place){.family = family};
    snprintf(place->session, sizeof place->session, "walk-%d-%u", (int)getppid(), number);
    snprintf(place->folder, sizeof place->folder, "%s/%s", base && *base ? base : "/tmp", place->session);
    static const char *const inner[] = {"", "/data", "/run", "/cwd", "/kept"};
    for (size_t n = 0; n < sizeof inner / sizeof *inner; n++) {
        char path[300];
        snprintf(path, sizeof path, "%s%s", place->folder, inner[n]);
        if (mkdir(path, 0700))
            return false;
    }
    return true;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

static bool is_ours(const struct place *place, const char *segment)
{
    size_t length = strlen(place->session);
    const char *at = strstr(segment, place->session);
    return at && at[length] == '.';
}

/* Calls `each` for every segment of the session. */
static unsigned segments(const struct place *place, char *ret, size_t size, bool remove_them)
{
    DIR *dir = opendir(SP__SHM_DIR);
    unsigned count = 0;
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (!is_ours(place, entry->d_name))
            continue;
        count++;
        if (ret)
            snprintf(ret, size, "%s/%s is left over", SP__SHM_DIR, entry->d_name);
        if (remove_them)
            unlinkat(dirfd(dir), entry->d_name, 0);
    }
    if (dir)
        closedir(dir);
    return count;
}

bool place_segments(const struct place *place, char *ret, size_t size)
{
    return segments(place, ret, size, false) > 0;
}

void place_remove(const struct place *place)
{
    segments(place, NULL, 0, true);
    if (!getenv("SP_WALK_KEEP"))
        nftw(place->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void set_environment(const struct place *place, enum role role, const char *kill_at)
{
    char path[300];
    for (char **at = environ; *at;) { /* nothing of the caller's */
        size_t length = strcspn(*at, "=");
        char name[64];
        bool ours = (!strncmp(*at, "SP_", 3) || !strncmp(*at, "XDG_", 4)) && length < sizeof name;
        if (ours) {
            memcpy(name, *at, length);
            name[length] = '\0';
            unsetenv(name);
        } else {
            at++;
        }
    }
    snprintf(path, sizeof path, "%s/data", place->folder);
    setenv("SP_DATA_DIR", path, 1);
    snprintf(path, sizeof path, "%s/run", place->folder);
    setenv("SP_RUNTIME_DIR", path, 1);
    setenv("SP_SESSION", place->session, 1);
    setenv("SP_RING", "1024", 1);
    setenv("SP_FULL_WAIT", place->family->drops ? "0" : "25000000", 1);
    setenv("SP_FORK", "follow", 1);
    if (place->family->strict)
        setenv("SP_CLOCK", "monotonic", 1);
    if (kill_at && *kill_at)
        setenv("SP_KILL_AT", kill_at, 1);
    if (place->look) {
        snprintf(path, sizeof path, "%s/seen-%s", place->folder, log_names[role]);
        setenv("SP_KILL_SEEN", path, 1);
    }
}

pid_t place_start(const struct place *place, enum role role, const char *kill_at, const char *const *argv)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    char path[300];
    snprintf(path, sizeof path, "%s/%s.log", place->folder, log_names[role]);
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    set_environment(place, role, kill_at);
    snprintf(path, sizeof path, "%s/cwd", place->folder);
    if (log >= 0 && none >= 0 && dup2(none, 0) == 0 && dup2(log, 1) == 1 && dup2(log, 2) == 2 && !chdir(path))
        execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

void place_last_words(const struct place *place, enum role role, char *ret, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s.log", place->folder, log_names[role]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    ssize_t n = -1;
    if (fd >= 0 && fstat(fd, &info) == 0)
        n = pread(fd, ret, size - 1, info.st_size >= (off_t)size ? info.st_size - (off_t)size + 1 : 0);
    ret[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

off_t place_log_size(const struct place *place, enum role role)
{
    char path[300];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s.log", place->folder, log_names[role]);
    return stat(path, &info) ? 0 : info.st_size;
}

bool place_says(const struct place *place, enum role role, off_t from, const char *words)
{
    char path[300], line[1024];
    bool said = false;
    snprintf(path, sizeof path, "%s/%s.log", place->folder, log_names[role]);
    FILE *file = fopen(path, "r");
    if (file && fseeko(file, from, SEEK_SET) == 0)
        while (!said && fgets(line, sizeof line, file))
            said = strstr(line, words) != NULL;
    if (file)
        fclose(file);
    return said;
}

void place_keep_spools(const struct place *place)
{
    char from[600], to[600];
    snprintf(from, sizeof from, "%s/data/%s", place->folder, place->session);
    DIR *dir = opendir(from);
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name), suffix = strlen(SP__SPOOL_SUFFIX);
        if (length <= suffix || strcmp(entry->d_name + length - suffix, SP__SPOOL_SUFFIX) != 0)
            continue;
        snprintf(to, sizeof to, "%s/kept/%s", place->folder, entry->d_name);
        (void)linkat(dirfd(dir), entry->d_name, AT_FDCWD, to, 0); /* done before, or gone meanwhile */
    }
    if (dir)
        closedir(dir);
}

bool place_litter(const struct place *place, char *ret, size_t size)
{
    DIR *dir = opendir(place->folder);
    bool any = false;
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".tmp") != 0)
            continue;
        snprintf(ret, size, "%s/%s is left over", place->folder, entry->d_name);
        any = true;
    }
    if (dir)
        closedir(dir);
    return any;
}

void place_seen(const struct place *place, enum role role, uint32_t seen[SP__INSTANT_COUNT])
{
    char path[300], label[64];
    unsigned times;
    snprintf(path, sizeof path, "%s/seen-%s", place->folder, log_names[role]);
    FILE *file = fopen(path, "r");
    while (file && fscanf(file, "%63s %u", label, &times) == 2)
        for (size_t n = 0; n < SP__INSTANT_COUNT; n++)
            if (!strcmp(instant_labels[n], label) && times > seen[n])
                seen[n] = times;
    if (file)
        fclose(file);
}

/* Those of children that died became this process's: it is a subreaper. */
void kill_children(void)
{
    for (int tries = 0; tries < 100; tries++) {
        FILE *file = fopen("/proc/thread-self/children", "r");
        int pid;
        bool any = false;
        while (file && fscanf(file, "%d", &pid) == 1) {
            kill(pid, SIGKILL);
            any = true;
        }
        if (file)
            fclose(file);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        if (!any)
            return;
        usleep(1000);
    }
}
