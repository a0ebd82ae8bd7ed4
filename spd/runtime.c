#include "runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "env.h"
#include "log.h"
#include "segment.h"

static int folder_open(struct runtime *runtime)
{
    int status = sp__make_dirs(runtime->folder);
    if (status) {
        log_say(LOG_ERROR, "%s: make the runtime folder: %s; name another with --runtime-dir", runtime->folder,
                strerror(-status));
        return status;
    }
    int fd = open(runtime->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat stat;
    if (fd < 0 || fstat(fd, &stat)) {
        status = -errno;
        log_say(LOG_ERROR, "%s: open the runtime folder: %s; it must be a folder, not a link", runtime->folder,
                strerror(-status));
        if (fd >= 0)
            close(fd);
        return status;
    }
    if (stat.st_uid != geteuid() || (stat.st_mode & 022)) {
        log_say(LOG_ERROR, "%s: use the runtime folder: %s; give it to uid %u alone (chmod 700)", runtime->folder,
                stat.st_uid != geteuid() ? "it is another user's" : "others may write into it", (unsigned)geteuid());
        close(fd);
        return -EPERM;
    }
    if (stat.st_mode & 077)
        (void)fchmod(fd, 0700); /* the socket is private by itself */
    return fd;
}

/* What a program reads to learn whether its session is taken: the globs, one a line; an empty file takes all. */
static int write_globs(int fd, const struct options *options)
{
    off_t at = 0;
    for (size_t n = 0; n < options->session_count; ++n) {
        size_t length = strlen(options->sessions[n]);
        if (pwrite(fd, options->sessions[n], length, at) != (ssize_t)length ||
            pwrite(fd, "\n", 1, at + (off_t)length) != 1)
            return errno ? -errno : -EIO;
        at += (off_t)length + 1;
    }
    return ftruncate(fd, at) ? -errno : 0;
}

static int take_lock(struct runtime *runtime, int folder, const struct options *options)
{
    int fd = openat(folder, "spd.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
    struct stat stat;
    int status = fd < 0 || fstat(fd, &stat) ? -errno : 0;
    if (!status && (!S_ISREG(stat.st_mode) || stat.st_uid != geteuid()))
        status = -EPERM;
    if (!status)
        status = sp__lock_take(fd, 0);
    if (status == -EAGAIN)
        log_say(LOG_ERROR, "%s: start: another spd serves %s; stop it, or give this one its own --runtime-dir",
                runtime->folder, runtime->folder);
    else if (status)
        log_say(LOG_ERROR, "%s/spd.lock: lock: %s; it must be a plain file of this user on a file system with locks",
                runtime->folder, strerror(-status));
    if (!status) {
        status = write_globs(fd, options);
        if (status)
            log_say(LOG_ERROR, "%s/spd.lock: write: %s; programs read there which sessions are taken", runtime->folder,
                    strerror(-status));
    }
    if (status) {
        if (fd >= 0)
            close(fd);
        return status;
    }
    runtime->lock = fd;
    return 0;
}

/* An address holds no more than 107 bytes, a folder's path may: then through its descriptor, as spctl does. */
static void make_address(const struct runtime *runtime, int folder, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(runtime->socket_path) < sizeof ret->sun_path)
        snprintf(ret->sun_path, sizeof ret->sun_path, "%s", runtime->socket_path);
    else
        snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d/control", folder);
}

/* Whether somebody listens at the socket that stands there: another program of this user, or an spd whose lock file was
 * removed under it, so that the lock says nothing. */
static bool is_served(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool served = fd >= 0 && (!connect(fd, (const struct sockaddr *)address, sizeof *address) || errno == EAGAIN);
    if (fd >= 0)
        close(fd);
    return served;
}

static int remove_stale(const struct runtime *runtime, int folder, const struct sockaddr_un *address)
{
    struct stat stat;
    if (fstatat(folder, "control", &stat, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(stat.st_mode) || stat.st_uid != geteuid()) {
        log_say(LOG_ERROR,
                "%s: listen: something stands there that is no socket of ours; move it away, it is not removed",
                runtime->socket_path);
        return -EEXIST;
    }
    if (is_served(address)) {
        log_say(LOG_ERROR,
                "%s: listen: something answers there already; stop it, or give this spd its own --runtime-dir",
                runtime->socket_path);
        return -EADDRINUSE;
    }
    return unlinkat(folder, "control", 0) ? -errno : 0;
}

static int bind_socket(struct runtime *runtime, int folder)
{
    struct sockaddr_un address;
    make_address(runtime, folder, &address);
    int status = remove_stale(runtime, folder, &address);
    if (status)
        return status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask = umask(0177);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address)) {
        status = -errno;
    } else {
        struct stat stat = {0};
        runtime->bound = !fstatat(folder, "control", &stat, AT_SYMLINK_NOFOLLOW);
        runtime->dev = stat.st_dev;
        runtime->ino = stat.st_ino;
        if (!runtime->bound || listen(fd, 1024))
            status = -errno;
    }
    umask(mask);
    if (status) {
        log_say(LOG_ERROR, "%s: listen: %s", runtime->socket_path, strerror(-status));
        if (fd >= 0)
            close(fd);
        return status;
    }
    runtime->listener = fd;
    return 0;
}

/* 1: systemd gave the socket; 0: it did not. */
static int activated_socket(struct runtime *runtime)
{
    for (int n = 0, count = sd_listen_fds(1); n < count; ++n) {
        int fd = SD_LISTEN_FDS_START + n;
        if (runtime->listener < 0 && sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) > 0) {
            (void)fcntl(fd, F_SETFL, O_NONBLOCK);
            runtime->listener = fd;
        } else {
            close(fd);
        }
    }
    return runtime->listener >= 0;
}

int runtime_init(struct runtime *runtime, const struct options *options)
{
    *runtime = (struct runtime){.lock = -1, .listener = -1};
    int status = sp__runtime_dir(options->runtime_dir, runtime->folder, sizeof runtime->folder);
    if (!status && (size_t)snprintf(runtime->socket_path, sizeof runtime->socket_path, "%s/control", runtime->folder) >=
                       sizeof runtime->socket_path)
        status = -ENAMETOOLONG;
    if (status) {
        log_say(LOG_ERROR, "runtime folder: find: %s; name one with --runtime-dir", strerror(-status));
        return status;
    }
    int folder = folder_open(runtime);
    if (folder < 0)
        return folder;
    status = take_lock(runtime, folder, options);
    if (!status && !activated_socket(runtime))
        status = bind_socket(runtime, folder);
    close(folder);
    if (status)
        runtime_finish(runtime);
    return status;
}

void runtime_unlink(struct runtime *runtime)
{
    struct stat stat;
    /* What somebody put in its place meanwhile is not ours to remove. */
    if (runtime->bound && !lstat(runtime->socket_path, &stat) && stat.st_dev == runtime->dev &&
        stat.st_ino == runtime->ino)
        unlink(runtime->socket_path);
    runtime->bound = false;
}

void runtime_finish(struct runtime *runtime)
{
    runtime_unlink(runtime);
    if (runtime->listener >= 0)
        close(runtime->listener);
    if (runtime->lock >= 0)
        close(runtime->lock); /* the lock goes with its description */
    runtime->lock = runtime->listener = -1;
}
