/* publish.c: finalize and flush, under spd and without one. */
#include "publish.h"

#include <errno.h>
#include <unistd.h>

#include "arena.h"
#include "instant.h"
#include "message.h"
#include "own.h"
#include "stats.h"

/* By the consumer, or where byte 1 is or falls free, by the program. 0, 1: later, by the consumer; -errno. */
static int publish_final(struct sp_profiler *p)
{
    for (;;) {
        switch (sp__wait_final(p)) {
        case SP__WAITED_DONE:
            return 0;
        case SP__WAITED_FAILED:
            /* Its answer is read: the next try is a new question. */
            atomic_store_explicit(&p->header->published, 0, memory_order_release);
            atomic_store_explicit(&p->header->spooled, 0, memory_order_release);
            return -EIO;
        case SP__WAITED_LONG:
            return 1;
        case SP__WAITED_FREE:
            break;
        }
        int error = sp__publish_own(p, true);
        if (error != -EBUSY)
            return error;
    }
}

/* After somebody has published: the name may go, whoever removes it first. */
static void drop_name(struct sp_profiler *p)
{
    struct sp__segment segment;
    uint32_t finalizing = SP__FINALIZING;
    atomic_compare_exchange_strong_explicit(&p->header->state, &finalizing, SP__FINALIZED, memory_order_release,
                                            memory_order_relaxed);
    SP__INSTANT(finalize_over);
    int fd = sp__reopen(p);
    if (fd < 0)
        return;
    if (sp__segment_open_fd(&segment, fd, p->born.name, true, NULL) != 0) {
        close(fd);
        return;
    }
    (void)sp__segment_unlink(&segment);
    sp__segment_close(&segment);
}

/* With control held and the state FINALIZING. */
static int finish(struct sp_profiler *p)
{
    sp__own_wait(p);
    int error = publish_final(p);
    if (error > 0)
        sp__say(SP__SAY_LATE, "spd has not published rank %d of session %s within 10 s; %s stays until it has",
                p->settings.rank, p->settings.session, p->born.name);
    sp__own_done(p);
    if (error < 0)
        return error;
    SP__INSTANT(finalize_waited);
    p->tick_ns = sp__tick_ns(p);
    if (error == 0) /* also where it is FINALIZED: a consumer may have been killed over the name */
        drop_name(p);
    sp__own_forget(p);
    return 0;
}

sp_status sp__finalize_held(struct sp_profiler *p)
{
    sp_status status = SP_OK;
    if (atomic_load_explicit(&p->phase, memory_order_relaxed) != SP__LIVE)
        return SP_OK;
    sp__self.holds_off = 1;
    uint32_t before = atomic_exchange_explicit(&p->header->state, SP__FINALIZING, memory_order_acq_rel);
    SP__INSTANT(finalize_state);
    (void)sp__quiesce(p, false);
    SP__INSTANT(finalize_quiet);
    uint64_t open = sp__open_calls(p);
    if (finish(p) != 0) {
        atomic_store_explicit(&p->header->state, before, memory_order_release);
        status = SP_ERR_IO;
    } else {
        atomic_store(&p->phase, SP__ENDED);
        status = open > 0 ? SP_ERR_OPEN_SCOPES : SP_OK;
    }
    sp__self.holds_off = 0;
    return status;
}

sp_status sp__finalize(struct sp_profiler *p)
{
    pthread_mutex_lock(&p->control);
    sp_status status = sp__finalize_held(p);
    pthread_mutex_unlock(&p->control);
    return status;
}

sp_status sp__flush(struct sp_profiler *p)
{
    int error = 0;
    pthread_mutex_lock(&p->control);
    if (atomic_load_explicit(&p->phase, memory_order_relaxed) == SP__LIVE) {
        sp__own_wait(p);
        do {
            enum sp__waited waited = sp__wait_flush(p);
            error = waited == SP__WAITED_DONE ? 0 : -EIO;
            if (waited == SP__WAITED_FREE)
                error = sp__publish_own(p, false);
            if (waited == SP__WAITED_LONG)
                sp__say(SP__SAY_LATE, "spd has not flushed rank %d of session %s within 10 s; try again",
                        p->settings.rank, p->settings.session);
        } while (error == -EBUSY);
        sp__own_done(p);
    }
    pthread_mutex_unlock(&p->control);
    return error ? SP_ERR_IO : SP_OK;
}

/* A program that ends without finalize. */
__attribute__((destructor)) static void at_exit(void)
{
    for (struct sp_profiler *p = sp__first_profiler(); p; p = p->next)
        if (atomic_load_explicit(&p->phase, memory_order_relaxed) == SP__LIVE && !sp__arena_wiped())
            (void)sp__finalize(p);
}
