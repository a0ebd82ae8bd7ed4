/* ring.c: room in a lane's ring, and the markers that are no calls. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "instant.h"
#include "lane.h"
#include "own.h"

static const uint64_t RETRY_NS = 100000000U;
static const uint64_t ANCHOR_FIRST_TICKS = 10000000U;
static const uint64_t ANCHOR_NS = 1000000000U;

static uint64_t tail_of(const struct sp__writer *w)
{
    /* Pairs with the consumer's release store: it has copied what lies below. */
    return atomic_load_explicit(&w->lane->tail, memory_order_acquire);
}

bool sp__has_room(struct sp__writer *w, uint64_t n)
{
    /* Signed: a tail that somebody scribbled on does not let a ring overrun. */
    int64_t used = (int64_t)(w->head - tail_of(w));
    return used >= 0 && (uint64_t)used + n <= w->mask + 1;
}

bool sp__set_limit(struct sp__writer *w)
{
    if (!w->records) {
        w->limit = w->head - 1; /* never met: head stands but for markers */
        return false;
    }
    uint64_t half = (w->mask + 1) / 2, tail = tail_of(w);
    bool over = w->head - tail >= half;
    bool passed = w->head == w->limit && over;
    uint64_t full = tail + w->mask + 1;
    uint64_t bell = over ? w->head + half : tail + half;
    /* Differences, since sequence numbers wrap. */
    w->limit = full - w->head < bell - w->head ? full : bell;
    if (w->markers_due)
        w->limit = w->head;
    return passed;
}

/* A wait that ran out stands for all later ones until the tail moves, or, since its consumer may have died, for a
 * while. */
static bool still_stalled(struct sp__writer *w)
{
    if (!w->stalled)
        return false;
    if (tail_of(w) != w->stalled_tail) {
        w->stalled = 0;
        return false;
    }
    return sp__clock_mono() < w->retry_ns;
}

static void stall(struct sp__writer *w, uint64_t start)
{
    uint64_t now = sp__clock_mono();
    sp__count(&w->lane->waited_ns, now - start);
    w->stalled = 1;
    w->stalled_tail = tail_of(w);
    w->retry_ns = now + RETRY_NS;
}

/* Nobody holds byte 1: this thread drains for all, unless another one does already. 1: it did; 0: somebody else is at
 * it; -errno. */
static int drain_here(struct sp_profiler *p)
{
    if (!sp__own_try(p))
        return 0;
    int error = sp__own_drain(p);
    sp__own_done(p);
    return error == -EBUSY ? 0 : error ? error : 1;
}

/* A handler's own stack may be of 8 KiB; a drain wants three times as much. */
static bool on_small_stack(void)
{
    stack_t stack;
    return sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

bool sp__make_room(struct sp_profiler *p, struct sp__writer *w, uint64_t n)
{
    if (sp__has_room(w, n)) {
        w->stalled = 0;
        return true;
    }
    if (w->is_signal || sp__self.owns == p || still_stalled(w) || on_small_stack())
        return false;
    uint64_t start = sp__clock_mono(), limit = w->stalled ? 0 : p->settings.full_wait_ns, pause = 20000;
    bool rung = false;
    SP__INSTANT(full_found);
    while (!sp__has_room(w, n)) {
        int lives = sp__consumer_lives(p);
        int drained = lives == 0 ? drain_here(p) : 0;
        if (drained < 0 || sp__clock_mono() - start >= limit)
            break;
        if (drained > 0)
            continue;
        if (!rung)
            sp__bell(p);
        rung = true;
        SP__INSTANT(full_wait);
        sp__sleep_ns(pause);
        pause = pause < 200000 ? pause * 2 : 200000;
    }
    if (!sp__has_room(w, n)) {
        stall(w, start);
        return false;
    }
    sp__count(&w->lane->waited_ns, sp__clock_mono() - start);
    w->stalled = 0;
    return true;
}

static void put_name(struct sp__writer *w)
{
    uint64_t words[2] = {0, 0};
    char name[sizeof words] = "";
    (void)prctl(PR_GET_NAME, name, 0, 0, 0);
    memcpy(words, name, sizeof words);
    sp__put(w, words[0], words[1], w->thread_number, 0, SP__THREAD_NAME);
}

void sp__put_begin_markers(struct sp_profiler *p, struct sp__writer *w)
{
    if (!w->markers_due || !sp__has_room(w, SP__BEGIN_MARKERS))
        return;
    uint64_t kind = w->is_signal ? 2 : (pid_t)w->native_id == getpid();
    sp__put(w, sp__clock_now(w->clock), w->native_id, w->thread_number, 0, SP__THREAD_BEGIN);
    sp__put(w, (uint64_t)(uintptr_t)pthread_self(), kind, w->thread_number, 0, SP__THREAD_IDENT);
    put_name(w);
    w->markers_due = 0;
    sp__put_anchor(p, w);
    sp__set_limit(w);
}

void sp__put_end_markers(struct sp_profiler *p, struct sp__writer *w)
{
    (void)p;
    struct timespec cpu = {0};
    if (w->markers_due || !sp__has_room(w, SP__END_MARKERS))
        return;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    put_name(w);
    sp__put(w, sp__clock_now(w->clock), (uint64_t)cpu.tv_sec * 1000000000U + (uint64_t)cpu.tv_nsec, w->thread_number, 0,
            SP__THREAD_END);
}

/* At first soon, then at twice the age of the profiler, and once a second in the end. */
void sp__put_anchor(struct sp_profiler *p, struct sp__writer *w)
{
    if (w->clock != SP__CLOCK_TSC) {
        w->anchor_due = UINT64_MAX;
        return;
    }
    struct sp__anchor birth = p->identity.birth, now = sp__clock_anchor(w->clock);
    uint64_t ticks = now.ticks - birth.ticks, due = ticks;
    int64_t ns = now.mono_ns - birth.mono_ns;
    if (ns > (int64_t)ANCHOR_NS)
        due = (uint64_t)((double)ticks / (double)ns * (double)ANCHOR_NS);
    w->anchor_due = now.ticks + (due > ANCHOR_FIRST_TICKS ? due : ANCHOR_FIRST_TICKS);
    if (sp__has_room(w, 1))
        sp__put(w, now.ticks, (uint64_t)now.mono_ns, 0, 0, SP__ANCHOR);
}
