/* handover.c: waiting for the consumer that is somebody else. */
#include <errno.h>
#include <string.h>

#include "instant.h"
#include "message.h"
#include "own.h"
#include "publish.h"

static const uint64_t WAIT_NS = 10000000000U;
static const uint64_t COMING_NS = 1000000000U; /* an spd that serves this session, but has not taken byte 1 yet */
static const uint64_t LOOK_NS = 50000000U;     /* between looks at byte 1 */
static const uint64_t PAUSE_LEAST_NS = 50000U, PAUSE_MOST_NS = 2000000U;

struct reading {
    uint32_t status;
    int32_t error;
    uint32_t format;
    char path[SP__PATH_SIZE];
};

/* false: the consumer was writing all the time, or wrote nonsense. */
static bool read_answer(const struct sp_profiler *p, struct reading *ret)
{
    const struct sp__answer *a = &p->header->answer;
    for (int tries = 0; tries < 1000; tries++) {
        uint32_t seq = atomic_load_explicit(&a->seq, memory_order_acquire);
        if (seq & 1) {
            sp__sleep_ns(PAUSE_LEAST_NS);
            continue;
        }
        ret->status = __atomic_load_n(&a->status, __ATOMIC_RELAXED);
        ret->error = __atomic_load_n(&a->error, __ATOMIC_RELAXED);
        ret->format = __atomic_load_n(&a->format, __ATOMIC_RELAXED);
        for (size_t i = 0; i < sizeof ret->path; i++)
            ret->path[i] = __atomic_load_n(&a->path[i], __ATOMIC_RELAXED);
        /* The copy before the second look at seq: pairs with the consumer's release store of an even seq. */
        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&a->seq, memory_order_relaxed) == seq) {
            ret->path[sizeof ret->path - 1] = '\0';
            return true;
        }
    }
    return false;
}

static bool take_answer(struct sp_profiler *p, struct reading *r)
{
    if (!read_answer(p, r))
        return false;
    pthread_mutex_lock(&p->table);
    if (r->path[0] == '/' && strcmp(p->answered, r->path) != 0)
        memcpy(p->answered, r->path, sizeof p->answered);
    pthread_mutex_unlock(&p->table);
    return true;
}

void sp__read_answer(struct sp_profiler *p)
{
    struct reading r;
    if (atomic_load_explicit(&p->header->answer.seq, memory_order_acquire) != 0)
        (void)take_answer(p, &r);
}

void sp__take_final_answer(struct sp_profiler *p)
{
    struct reading r;
    if (take_answer(p, &r))
        p->written = r.format;
}

static enum sp__waited conclude(struct sp_profiler *p, const char *what)
{
    struct reading r = {0};
    if (!take_answer(p, &r))
        return SP__WAITED_DONE;
    if (r.status == SP_OK) {
        p->written = r.format;
        return SP__WAITED_DONE;
    }
    sp__say(SP__SAY_PUBLISH,
            "spd could not %s rank %d of session %s%s%s: %s; make room or make the folder writable, then "
            "try again; nothing is lost",
            what, p->settings.rank, p->settings.session, r.path[0] ? " to " : "", r.path,
            r.error > 0 ? strerror(r.error) : "no reason given");
    return SP__WAITED_FAILED;
}

/* Waits until `done` says so. An spd that serves this session is given a moment to take byte 1. */
static enum sp__waited wait_for(struct sp_profiler *p, bool (*done)(const struct sp__header *header, uint32_t number),
                                uint32_t number, const char *what)
{
    uint64_t start = sp__clock_mono(), looked = 0, pause = PAUSE_LEAST_NS;
    bool coming = sp__spd_serves(p->settings.session);
    sp__bell(p);
    for (;;) {
        uint64_t now = sp__clock_mono();
        if (done(p->header, number))
            return conclude(p, what);
        if (now - looked >= LOOK_NS || looked == 0) {
            looked = now;
            int lives = sp__consumer_lives(p);
            if (done(p->header, number)) /* it may have let go because it was done */
                continue;
            if (lives == 1)
                coming = false;
            else if (lives == 0 && (!coming || now - start >= COMING_NS))
                return SP__WAITED_FREE;
        }
        if (now - start >= WAIT_NS)
            return SP__WAITED_LONG;
        sp__sleep_ns(pause);
        pause = pause * 2 > PAUSE_MOST_NS ? PAUSE_MOST_NS : pause * 2;
    }
}

static bool is_published(const struct sp__header *header, uint32_t unused)
{
    (void)unused;
    /* Pairs with the consumer's release store, after its answer. */
    return atomic_load_explicit(&header->published, memory_order_acquire) != 0;
}

static bool is_flushed(const struct sp__header *header, uint32_t number)
{
    /* As above. Signed, since the numbers wrap. */
    return (int32_t)(atomic_load_explicit(&header->flush_done, memory_order_acquire) - number) >= 0;
}

enum sp__waited sp__wait_final(struct sp_profiler *p)
{
    return wait_for(p, is_published, 0, "publish");
}

enum sp__waited sp__wait_flush(struct sp_profiler *p)
{
    uint32_t number = atomic_fetch_add_explicit(&p->header->flush_request, 1, memory_order_release) + 1;
    SP__INSTANT(flush_asked);
    return wait_for(p, is_flushed, number, "flush");
}
