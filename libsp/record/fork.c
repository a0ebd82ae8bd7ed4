/* fork.c: see fork.h. The segment is not mapped in a child, and its lock belongs to the mapping: nothing here touches,
 * unlocks or removes anything of the parent's. */
#include "fork.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "instant.h"
#include "message.h"
#include "own.h"
#include "region.h"

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
        bool follow = p->settings.follow && atomic_load_explicit(&p->phase, memory_order_relaxed) == SP__LIVE &&
                      sp__born_fd_good(&p->born);
        if (!follow && sp__born_fd_good(&p->born))
            close(p->born.fd);
        if (!follow)
            p->born.fd = -1;
        p->born.map = NULL;
        p->header = NULL;
        atomic_store_explicit(&p->users, 0, memory_order_relaxed);
        atomic_fetch_add_explicit(&p->generation, 1, memory_order_relaxed);
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
        if (sp__profiler_start(p, &p->settings) == SP_OK && sp__regions_inherit(p, parent.fd) != 0)
            sp__profiler_discard(p); /* handles of the parent would mean other regions */
        SP__INSTANT(fork_follow);
        if (sp__born_fd_good(&parent))
            close(parent.fd);
    }
    pthread_mutex_unlock(&p->control);
}
