/* newborn.h: segments of a session that no other test uses. */
#ifndef NEWBORN_H
#define NEWBORN_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "names.h"
#include "segment.h"

static int test_pid; /* names the session, also in children */

static inline void path_of(const char *name, char ret[320])
{
    (void)snprintf(ret, 320, "%s/%s", SP__SHM_DIR, name);
}

static inline struct sp__birth birth_of(int rank)
{
    struct sp__birth birth = {.lanes = SP__LANES, .ring = SP__RING_DEFAULT, .format = SP__FORMAT_TRACE};
    struct sp__identity *id = &birth.identity;
    (void)snprintf(id->session, sizeof id->session, "unit-segment-%d", test_pid);
    (void)snprintf(id->prefix, sizeof id->prefix, "/tmp/prefix");
    id->name_hash = sp__name_hash(id->session, id->prefix);
    id->rank = rank;
    id->uid = geteuid();
    id->pid = (uint32_t)getpid();
    id->birth = sp__clock_anchor(SP__CLOCK_MONOTONIC);
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, id->incarnation, sizeof id->incarnation) != (ssize_t)sizeof id->incarnation)
        abort();
    close(fd);
    return birth;
}

static inline int bury_never(int fd, const char *name)
{
    (void)fd;
    (void)name;
    abort();
}

static inline int create(struct sp__born *born, int rank, int (*how)(int, const char *))
{
    struct sp__birth birth = birth_of(rank);
    uint64_t need = 0;
    return sp__segment_create(&birth, how, born, &need);
}

static inline void finish(struct sp__born *born)
{
    char path[320];
    path_of(born->name, path);
    unlink(path);
    sp__born_finish(born);
}

#endif
