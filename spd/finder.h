/* finder.h: births, doorbells and deaths in SP__SHM_DIR: one inotify watch, and a scan every other second behind it. */
#ifndef SPD_FINDER_H
#define SPD_FINDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <uv.h>

struct daemon;
struct rank;

/* A name that is not served, and why. It is looked at again when its inode changes or `retry_ms` comes. */
struct aside {
    struct aside *next;
    char name[256];
    ino_t ino;
    uint64_t retry_ms; /* loop time; UINT64_MAX never */
    bool foreign;      /* not ours to take: another session, another user */
    unsigned scan;     /* the last scan that saw it */
    char why[256];
};

enum { FINDER_BUCKETS = 1024 };

struct finder {
    struct daemon *daemon;
    int fd; /* inotify; -1: scans only */
    int watch;
    uv_poll_t poll;
    uv_timer_t scan_timer;
    uv_timer_t death_timer;
    uint64_t death_looked_ms;
    bool death_event;                       /* something closed since the last look */
    bool short_of_files, blind, unreadable; /* said */
    unsigned scan;
    struct aside *asides;
    struct rank *buckets[FINDER_BUCKETS]; /* served ranks by name; the newest of a name first */
};

int finder_init(struct finder *finder, struct daemon *daemon);
void finder_close(struct finder *finder); /* closes its handles; call finder_finish after the loop has ended */
void finder_finish(struct finder *finder);

void finder_add(struct finder *finder, struct rank *rank);
void finder_remove(struct finder *finder, struct rank *rank);

/* From now on this name and inode is left alone; retry after `seconds`, 0 never. */
void finder_set_aside(struct finder *finder, const char *name, ino_t ino, unsigned seconds, bool foreign,
                      const char *why);

#endif
