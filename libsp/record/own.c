/* own.c: see own.h. */
#include "own.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "env.h"
#include "instant.h"
#include "message.h"
#include "names.h"

static bool is_file(int fd, dev_t dev, ino_t ino)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

int sp__reopen(struct sp_profiler *p)
{
    char path[sizeof SP__SHM_DIR + sizeof p->born.name + 1] = "/proc/self/fd/";
    if (sp__born_fd_good(&p->born)) {
        /* By hand: snprintf is not async-signal-safe. */
        char digits[16];
        size_t n = 0, at = strlen(path);
        for (int fd = p->born.fd; n == 0 || fd > 0; fd /= 10)
            digits[n++] = (char)('0' + fd % 10);
        while (n > 0)
            path[at++] = digits[--n];
        path[at] = '\0';
        int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd >= 0)
            return fd;
    }
    memcpy(path, SP__SHM_DIR "/", sizeof SP__SHM_DIR "/");
    memcpy(path + sizeof SP__SHM_DIR, p->born.name, strlen(p->born.name) + 1);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    if (is_file(fd, p->born.dev, p->born.ino))
        return fd;
    close(fd);
    return -ESTALE;
}

int sp__consumer_lives(struct sp_profiler *p)
{
    if (sp__born_fd_good(&p->born))
        return sp__lock_held(p->born.fd, SP__BYTE_CONSUMER);
    int fd = sp__reopen(p);
    if (fd < 0)
        return fd;
    int held = sp__lock_held(fd, SP__BYTE_CONSUMER);
    close(fd);
    return held;
}

void sp__bell(struct sp_profiler *p)
{
    /* The byte lies in the header's magic and is written as it is: only that somebody wrote counts. */
    const uint64_t magic = SP__MAGIC;
    int other = sp__born_fd_good(&p->born) ? -1 : sp__reopen(p);
    int fd = other < 0 ? p->born.fd : other;
    atomic_store_explicit(&p->header->bell_cpu, (uint32_t)sched_getcpu() + 1, memory_order_relaxed);
    if (other >= 0 || sp__born_fd_good(&p->born)) {
        ssize_t n = pwrite(fd, (const char *)&magic + SP__BYTE_DOORBELL, 1, SP__BYTE_DOORBELL);
        (void)n; /* a consumer looks at its lanes now and then all the same */
    }
    if (other >= 0)
        close(other);
}

bool sp__own_try(struct sp_profiler *p)
{
    uint32_t free = 0;
    /* Pairs with sp__own_done: the consumer's memory is handed from thread to thread. */
    return atomic_compare_exchange_strong_explicit(&p->own.word, &free, 1, memory_order_acquire, memory_order_relaxed);
}

void sp__own_wait(struct sp_profiler *p)
{
    sp__self.owns = p;
    while (!sp__own_try(p))
        sp__sleep_ns(100000);
}

void sp__own_done(struct sp_profiler *p)
{
    atomic_store_explicit(&p->own.word, 0, memory_order_release);
    if (sp__self.owns == p)
        sp__self.owns = NULL;
}

/* Away from the numbers that programs count on. The description, and its locks, stay the same. */
static int move_up(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 64);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

static bool fds_good(const struct sp__own *own)
{
    return is_file(own->consumer->segment.fd, own->segment_dev, own->segment_ino) &&
           is_file(own->consumer->spool.fd, own->spool_dev, own->spool_ino);
}

/* Numbers that are somebody else's files by now are not ours to close. */
static void check_fds(const struct sp__own *own)
{
    struct sp__consumer *c = own->consumer;
    if (!is_file(c->segment.fd, own->segment_dev, own->segment_ino))
        c->segment.fd = -1;
    if (!is_file(c->spool.fd, own->spool_dev, own->spool_ino))
        c->spool.fd = -1;
}

static void forget(struct sp__own *own)
{
    if (!own->consumer)
        return;
    check_fds(own);
    sp__consumer_destroy(own->consumer);
    own->consumer = NULL;
}

void sp__own_forget(struct sp_profiler *p)
{
    forget(&p->own);
}

void sp__own_leave(struct sp_profiler *p)
{
    if (p->own.consumer) {
        check_fds(&p->own);
        sp__consumer_leave(p->own.consumer);
    }
    p->own = (struct sp__own){0};
}

static void output_folder(const struct sp_profiler *p, char ret[SP__PATH_SIZE])
{
    size_t length = (size_t)(sp__base_name(p->path) - p->path);
    memcpy(ret, p->path, length);
    ret[length > 1 ? length - 1 : length] = '\0';
}

static int make_in(struct sp_profiler *p, const char *folder, char why[256])
{
    struct sp__own *own = &p->own;
    struct sp__consumer *c;
    int fd = sp__reopen(p);
    if (fd < 0)
        return fd;
    int error = sp__consumer_create(&c, fd, p->born.name, folder, why);
    if (error)
        return error;
    c->segment.fd = move_up(c->segment.fd);
    c->spool.fd = move_up(c->spool.fd);
    struct stat segment, spool;
    if (fstat(c->segment.fd, &segment) != 0 || fstat(c->spool.fd, &spool) != 0) {
        error = -errno;
        sp__consumer_destroy(c);
        return error;
    }
    /* In no child: a mapping keeps its description, and with it byte 1. */
    (void)madvise(c->segment.header, c->segment.mapped, MADV_DONTFORK);
    own->consumer = c;
    own->segment_dev = segment.st_dev;
    own->segment_ino = segment.st_ino;
    own->spool_dev = spool.st_dev;
    own->spool_ino = spool.st_ino;
    memmove(own->folder, folder, strlen(folder) + 1);
    return 0;
}

/* In the data folder; where that cannot be had, beside the output. */
static int make(struct sp_profiler *p, char why[256])
{
    struct sp__own *own = &p->own;
    const char *folder = p->settings.data_dir;
    int error = -ENOENT;
    if (!own->beside_output && folder[0])
        error = make_in(p, folder, why);
    if (!error || error == -EBUSY || error == -EBADMSG || error == -EPROTONOSUPPORT || error == -ENOMEM ||
        error == -EMFILE || error == -ENFILE)
        return error;
    char beside[SP__PATH_SIZE];
    output_folder(p, beside);
    int second = make_in(p, beside, why);
    if (second)
        return second == -EBUSY ? second : error;
    own->beside_output = true;
    return 0;
}

/* What was kept is as it was left: nobody else drained, or wrote to the spool, since. With byte 1. */
static bool unchanged(const struct sp__consumer *c)
{
    struct stat st;
    if (fstat(c->spool.fd, &st) != 0 || (uint64_t)st.st_size != c->spool.size)
        return false;
    uint32_t used = atomic_load_explicit(&c->segment.header->lanes_used, memory_order_acquire);
    for (uint32_t i = 0; i < used && i < c->segment.lane_capacity; i++)
        if (atomic_load_explicit(&c->segment.lanes[i].tail, memory_order_acquire) != c->next[i])
            return false;
    return true;
}

/* A spool that nobody but us wrote to has its name, or gets it back: its folder may have been removed meanwhile. */
static bool has_name(struct sp__own *own)
{
    struct sp__spool *spool = &own->consumer->spool;
    struct stat st;
    if (fstat(spool->fd, &st) != 0)
        return false;
    if (st.st_nlink > 0)
        return true;
    if (sp__spool_restore(spool) != 0)
        return false;
    spool->fd = move_up(spool->fd);
    if (fstat(spool->fd, &st) != 0)
        return false;
    own->spool_dev = st.st_dev;
    own->spool_ino = st.st_ino;
    return true;
}

/* Without a word it would be known only by what sp_finalize gives, or by a ring that stays full. */
static int say_no_spool(const struct sp_profiler *p, int error, const char *why)
{
    if (error && error != -EBUSY)
        sp__say(
            SP__SAY_SPOOL,
            "cannot write the spool of rank %d below %s: %s%s%s; make the folder writable or set SP_DATA_DIR; calls "
            "are dropped and counted when a ring is full",
            p->settings.rank, p->settings.data_dir[0] ? p->settings.data_dir : "the data folder",
            sp__error_text(-error), why[0] ? ", " : "", why);
    return error;
}

int sp__own_take(struct sp_profiler *p)
{
    struct sp__own *own = &p->own;
    char why[256] = "";
    int error = 0;
    if (own->consumer) {
        if (fds_good(own))
            error = sp__lock_take(own->consumer->segment.fd, SP__BYTE_CONSUMER);
        if (error)
            return say_no_spool(p, error == -EAGAIN ? -EBUSY : error, "its segment cannot be locked");
        if (fds_good(own) && unchanged(own->consumer) && has_name(own))
            return 0;
        forget(own);
    }
    return say_no_spool(p, make(p, why), why);
}

void sp__own_rest(struct sp_profiler *p)
{
    if (p->own.consumer)
        sp__lock_release(p->own.consumer->segment.fd, SP__BYTE_CONSUMER);
}

int sp__own_drain(struct sp_profiler *p)
{
    int error = sp__own_take(p);
    if (error)
        return error;
    SP__INSTANT(own_take);
    error = sp__consumer_drain(p->own.consumer, 0, NULL);
    SP__INSTANT(own_drained);
    if (error)
        sp__say(SP__SAY_SPOOL,
                "cannot append to the spool %s: %s; make room there; calls are dropped and counted when a "
                "ring is full",
                p->own.consumer->spool.path, sp__error_text(-error));
    sp__own_rest(p);
    SP__INSTANT(own_rest);
    return error;
}

void sp__own_prepare(struct sp_profiler *p)
{
    char why[256];
    if (p->own.consumer || !sp__own_try(p))
        return;
    if (sp__consumer_lives(p) == 0 && make(p, why) == 0)
        sp__own_rest(p);
    sp__own_done(p);
}

void sp__own_tidy(struct sp_profiler *p)
{
    char folder[SP__PATH_SIZE];
    if (p->own.beside_output &&
        snprintf(folder, sizeof folder, "%s/%s", p->own.folder, p->settings.session) < (int)sizeof folder)
        (void)rmdir(folder);
}
