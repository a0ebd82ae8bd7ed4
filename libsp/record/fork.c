/* fork.c: see fork.h. The segment is not mapped in a child, and its lock belongs to the mapping: nothing here touches,
 * unlocks or removes anything of the parent's. */
#include "fork.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena.h"
#include "instant.h"
#include "message.h"
#include "names.h"
#include "own.h"
#include "region.h"

/* A child that is to follow needs its parent's names at its first call, and has nothing but a descriptor to find them
 * by, which a daemon closes before that: so it keeps them mapped, to be read only. That is the description without a
 * lock, and hides nobody's death. A child of a child that has made no call yet has the mapping already. */
static bool keep_parent(struct sp_profiler *p)
{
    uint32_t phase = atomic_load_explicit(&p->phase, memory_order_relaxed);
    if (phase == SP__FOLLOWING)
        return true;
    p->born.map = NULL; /* it was not inherited */
    if (phase == SP__LIVE && p->settings.follow && sp__born_fd_good(&p->born)) {
        void *map = mmap(NULL, p->born.size, PROT_READ, MAP_SHARED, p->born.fd, 0);
        if (map != MAP_FAILED)
            p->born.map = map;
    }
    return p->born.map != NULL;
}

static void in_child(void)
{
    int saved = errno;
    sp__births_renew();
    sp__arena_renew();
    sp__self = (struct sp__this_thread){0};
    sp__say_reset();
    for (struct sp_profiler *p = sp__first_profiler(); p; p = p->next) {
        pthread_mutex_init(&p->control, NULL);
        pthread_mutex_init(&p->table, NULL);
        bool follow = keep_parent(p);
        if (sp__born_fd_good(&p->born))
            close(p->born.fd);
        p->born.fd = -1;
        p->header = NULL;
        atomic_store_explicit(&p->users, 0, memory_order_relaxed);
        sp__renew_generation(p);
        sp__own_leave(p);
        sp__names_free(&p->names);
        atomic_store_explicit(&p->phase, follow ? SP__FOLLOWING : SP__IDLE, memory_order_release);
    }
    SP__INSTANT(fork_child);
    errno = saved;
}

int sp__fork_init(void)
{
    static _Atomic uint32_t done;
    if (atomic_exchange_explicit(&done, 1, memory_order_relaxed))
        return 0;
    return -pthread_atfork(sp__births_hold, sp__births_go_on, in_child);
}

bool sp__fork_seen(void)
{
    if (SP__LIKELY(!sp__arena_wiped()))
        return false;
    in_child();
    return true;
}

void sp__fork_follow(struct sp_profiler *p)
{
    pthread_mutex_lock(&p->control);
    if (atomic_load_explicit(&p->phase, memory_order_relaxed) == SP__FOLLOWING) {
        struct sp__born parent = p->born;
        p->born = (struct sp__born){.fd = -1};
        atomic_store_explicit(&p->phase, SP__IDLE, memory_order_relaxed);
        p->settings.part = (uint32_t)getpid();
        if (sp__profiler_start(p, &p->settings) == SP_OK) {
            int error = sp__regions_inherit(p, parent.map, parent.size);
            if (error) { /* handles of the parent would mean other regions */
                sp__profiler_discard(p);
                sp__say(SP__SAY_SHM,
                        "cannot take over the regions of rank %d in its child %u: %s; make room in %s; the child does "
                        "not record",
                        p->settings.rank, (unsigned)p->settings.part, strerror(-error), SP__SHM_DIR);
            }
        }
        SP__INSTANT(fork_follow);
        munmap(parent.map, parent.size);
    }
    pthread_mutex_unlock(&p->control);
}
