/* hooks.c: what the program's functions call. The way of a known function takes no lock: an epoch, a look-up, an entry
 * on the thread's own stack of open calls, and libsp's begin or end. That stack is why a tree stays one where functions
 * are left without a word, as by longjmp: an exit closes what is still open inside.
 *
 * All else is done once for each function and thread, with signals held and under one lock. In a signal handler, which
 * may have interrupted malloc, a function that has no name yet is not recorded: the next call of another one outside of
 * handlers names it, and it is recorded from then on. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>

#include "instrument.h"
#include "message.h"

enum { CALLS_MOST = 1 << 17 };

SP_API void __cyg_profile_func_enter(void *function, void *site);
SP_API void __cyg_profile_func_exit(void *function, void *site);

_Thread_local struct sp__function_thread sp__function_self;
_Atomic uint32_t sp__function_epoch = 1;

static _Atomic uint32_t unloading; /* dlcloses under way */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static bool has_key;        /* guarded by lock until started */
static bool started;        /* guarded by lock */
static unsigned generation; /* of the profiler that the table's regions belong to; guarded by lock */

SP__PLAIN void sp__function_close(struct sp__function_thread *t, uint32_t depth)
{
    if (t->depth <= depth)
        return;
    for (; t->beyond > 0; t->beyond--) {
        if (t->beyond > t->beyond_old && t->generation == sp_generation())
            (void)sp_profiler_end_last(sp_default_profiler());
    }
    t->beyond_old = 0;
    while (t->depth > depth) {
        struct sp__function_call *call = &t->calls[t->depth - 1];
        if (call->region >= 0 && t->generation == sp_generation())
            sp_end(call->region);
        call->region = SP__NOT_RECORDED;
        t->depth--;
    }
}

SP__PLAIN void sp__function_close_all(void)
{
    sp__function_close(&sp__function_self, 0);
}

/* libsp has given the lane back by now. Runs again where a later destructor of the thread calls an instrumented
 * function. */
SP__PLAIN static void free_calls(void *thread)
{
    struct sp__function_thread *t = thread;
    munmap(t->calls, CALLS_MOST * sizeof *t->calls);
    *t = (struct sp__function_thread){0};
}

/* What the slow ways are framed by. Signals that a fault of the program itself raises stay open. */
struct slow {
    sigset_t mask;
    uint32_t depth;
    uint32_t epoch;
    int saved_errno;
};

/* false: a hook of a function that the slow way itself called, as the program's own malloc. The open calls are hidden
 * from such, and so is that there is nothing to catch up with: they end here. */
SP__PLAIN static bool slow_begin(struct sp__function_thread *t, struct slow *ret)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t all;
    if (t->busy)
        return false;
    ret->saved_errno = errno;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_BLOCK, &all, &ret->mask);
    t->busy = true;
    ret->depth = t->depth;
    ret->epoch = t->epoch;
    t->depth = 0;
    t->epoch = 0;
    return true;
}

SP__PLAIN static void slow_end(struct sp__function_thread *t, const struct slow *slow)
{
    t->depth = slow->depth;
    t->epoch = slow->epoch;
    t->busy = false;
    pthread_sigmask(SIG_SETMASK, &slow->mask, NULL);
    errno = slow->saved_errno;
}

SP__PLAIN static bool make_calls(struct sp__function_thread *t)
{
    if (t->calls)
        return true;
    void *map = mmap(NULL, CALLS_MOST * sizeof *t->calls, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED || !has_key || pthread_setspecific(key, t) != 0) {
        if (map != MAP_FAILED)
            munmap(map, CALLS_MOST * sizeof *t->calls);
        sp__say(SP__SAY_FUNCTIONS, "no memory for the functions of a further thread: its calls are not recorded");
        return false;
    }
    t->calls = map;
    pthread_attr_t attributes;
    void *stack = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        (void)pthread_attr_getstack(&attributes, &stack, &size);
        pthread_attr_destroy(&attributes);
    }
    t->stack = (uintptr_t)stack;
    t->stack_size = size;
    return true;
}

/* Names a function and makes its region. The lock is held. */
SP__PLAIN static int resolve(const void *function)
{
    char name[SP_MAX_NAME + 1];
    int region = sp__table_get(function);
    if (region != SP__UNKNOWN)
        return region;
    sp__function_name(function, name);
    region = sp__filter_takes(name) ? sp_region(name) : SP__EXCLUDED;
    if (region != SP__UNKNOWN && !sp__table_set(function, region))
        region = SP__UNKNOWN;
    return region;
}

/* Brings table and thread up to date. The lock is held. */
SP__PLAIN static void look_around(struct sp__function_thread *t, struct slow *slow)
{
    uint32_t epoch = atomic_load_explicit(&sp__function_epoch, memory_order_acquire);
    if (!started) {
        started = true;
        has_key = pthread_key_create(&key, free_calls) == 0; /* another library's constructor may come before set_up */
        sp__filter_read();
        (void)sp_init_language(NULL, SP_RANK_AUTO, SP_LANGUAGE_TOOL); /* says itself what is wrong */
    }
    unsigned now = sp_generation();
    if (now != generation) {
        sp__table_forget(0, UINTPTR_MAX);
        generation = now;
    }
    sp__function_unloaded(sp__table_forget);
    for (const void *function; sp_is_active() && (function = sp__table_deferred());)
        (void)resolve(function);
    for (uint32_t i = 0; t->generation != now && i < slow->depth; i++)
        t->calls[i].region = SP__NOT_RECORDED; /* those calls belong to another profiler, or to a fork's parent */
    if (t->generation != now)
        t->beyond_old = t->beyond;
    t->generation = now;
    /* Seen, unless an object is about to go. */
    if (atomic_load_explicit(&unloading, memory_order_acquire) == 0)
        slow->epoch = epoch;
}

/* This thread has something to look at. false: its calls cannot be kept. */
SP__COLD SP__PLAIN static bool catch_up(struct sp__function_thread *t)
{
    struct slow slow;
    if (!slow_begin(t, &slow))
        return false;
    if (!sp__in_handler()) {
        pthread_mutex_lock(&lock);
        look_around(t, &slow);
        pthread_mutex_unlock(&lock);
        (void)make_calls(t);
    }
    bool calls = t->calls != NULL;
    if (!calls)
        slow.epoch = 0; /* the next call tries again */
    slow_end(t, &slow);
    return calls;
}

SP__COLD SP__PLAIN static int resolve_first(struct sp__function_thread *t, const void *function)
{
    struct slow slow;
    int region = SP__NOT_RECORDED;
    if (!sp_is_active() || !slow_begin(t, &slow))
        return SP__NOT_RECORDED;
    if (sp__in_handler()) {
        sp__table_defer(function);
    } else {
        pthread_mutex_lock(&lock);
        look_around(t, &slow);
        region = resolve(function);
        if (sp_generation() != generation) { /* a forked child that follows started with its first region */
            look_around(t, &slow);
            region = resolve(function);
        }
        pthread_mutex_unlock(&lock);
    }
    slow_end(t, &slow);
    return region;
}

/* A caller's frame lies above: what is open below was left, by an exception through functions of clang, which calls no
 * exit hook then, or by a jump whose target was not known. Not so between two stacks: handlers' and coroutines'.
 *
 * At the very frame lies what the function is inlined into: it returns to the same site, and its hook was called from
 * another place. Any other was left. (What is left and not told from that is so once for each place: it does not grow.)
 */
SP__COLD SP__PLAIN static void close_left(struct sp__function_thread *t, const struct sp__function_call *next)
{
    const struct sp__function_call *calls = t->calls;
    uint32_t depth = t->depth;
    if (calls[depth - 1].frame < next->frame) {
        stack_t other;
        if (next->frame - t->stack >= t->stack_size ||
            (sigaltstack(NULL, &other) == 0 && (other.ss_flags & SS_ONSTACK)))
            return;
        while (depth > 0 && calls[depth - 1].frame < next->frame && calls[depth - 1].frame - t->stack < t->stack_size)
            depth--;
    }
    for (uint32_t i = depth; i > 0 && calls[i - 1].frame == next->frame; i--) {
        const struct sp__function_call *call = &calls[i - 1];
        if (call->site != next->site || (call->place == next->place && call->function == next->function))
            depth = i - 1;
    }
    sp__function_close(t, depth);
}

/* libsp counts what is deeper than it keeps, and each end finds its own. What has no region is not waited for. */
SP__COLD SP__PLAIN static void enter_beyond(struct sp__function_thread *t, int region)
{
    if (region < 0)
        return;
    t->beyond++;
    sp_begin(region);
}

SP__COLD SP__PLAIN static void leave_beyond(struct sp__function_thread *t, int region)
{
    if (region < 0)
        return;
    if (t->beyond <= t->beyond_old)
        t->beyond_old--;
    else if (t->generation == sp_generation())
        sp_end(region);
    t->beyond--;
}

SP__PLAIN void __cyg_profile_func_enter(void *function, void *site)
{
    struct sp__function_thread *t = &sp__function_self;
    bool usable = true;
    if (SP__UNLIKELY(t->epoch != atomic_load_explicit(&sp__function_epoch, memory_order_relaxed) ||
                     t->generation != sp_generation())) {
        if (!catch_up(t))
            return;
        usable = t->generation == sp_generation();
    }
    int region = usable ? sp__table_get(function) : SP__NOT_RECORDED;
    if (SP__UNLIKELY(region < 0)) {
        if (region == SP__EXCLUDED)
            return;
        if (usable)
            region = resolve_first(t, function);
        if (region == SP__EXCLUDED)
            return;
    }
    struct sp__function_call next = {function, site, __builtin_return_address(0), (uintptr_t)__builtin_frame_address(0),
                                     SP__NOT_RECORDED};
    if (SP__UNLIKELY(t->depth > 0 && t->calls[t->depth - 1].frame <= next.frame))
        close_left(t, &next);
    uint32_t depth = t->depth;
    if (SP__UNLIKELY(depth == CALLS_MOST)) {
        enter_beyond(t, region);
        return;
    }
    /* A handler that comes before depth has moved uses the same entry and leaves it again; one that comes later may
     * jump away and close it. */
    struct sp__function_call *call = &t->calls[depth];
    *call = next;
    atomic_signal_fence(memory_order_seq_cst);
    t->depth = depth + 1;
    atomic_signal_fence(memory_order_seq_cst);
    *call = next;
    call->region = region;
    if (SP__LIKELY(region >= 0))
        sp_begin(region);
}

/* An exit of what is not the innermost open call. */
SP__COLD SP__PLAIN static void leave_outer(struct sp__function_thread *t, const void *function)
{
    int region = sp__table_get(function);
    if (t->busy || region == SP__EXCLUDED)
        return;
    if (t->beyond > 0) {
        leave_beyond(t, region);
        return;
    }
    for (uint32_t i = t->depth; i-- > 0;) {
        if (t->calls[i].function != function)
            continue;
        sp__function_close(t, i);
        return;
    }
}

SP__PLAIN void __cyg_profile_func_exit(void *function, void *site)
{
    struct sp__function_thread *t = &sp__function_self;
    (void)site;
    uint32_t depth = t->depth;
    if (SP__UNLIKELY(depth == 0 || t->beyond > 0 || t->calls[depth - 1].function != function)) {
        leave_outer(t, function);
        return;
    }
    struct sp__function_call *call = &t->calls[depth - 1];
    if (SP__LIKELY(call->region >= 0)) {
        if (SP__LIKELY(t->generation == sp_generation()))
            sp_end(call->region);
        call->region = SP__NOT_RECORDED;
    }
    atomic_signal_fence(memory_order_seq_cst);
    t->depth = depth - 1;
}

SP__PLAIN static void unload(int more)
{
    struct sp__function_thread *t = &sp__function_self;
    struct slow slow;
    if (!slow_begin(t, &slow))
        return;
    if (more > 0) {
        atomic_fetch_add_explicit(&unloading, 1, memory_order_release);
    } else {
        pthread_mutex_lock(&lock);
        sp__function_unloaded(sp__table_forget);
        pthread_mutex_unlock(&lock);
        atomic_fetch_sub_explicit(&unloading, 1, memory_order_release);
    }
    atomic_fetch_add_explicit(&sp__function_epoch, 1, memory_order_release);
    slow_end(t, &slow);
}

SP__PLAIN void sp__unload_begin(void)
{
    unload(1);
}

SP__PLAIN void sp__unload_end(void)
{
    unload(-1);
}

SP__PLAIN static void hold(void)
{
    pthread_mutex_lock(&lock);
}

SP__PLAIN static void go_on(void)
{
    pthread_mutex_unlock(&lock);
}

SP__PLAIN __attribute__((constructor)) static void set_up(void)
{
    (void)pthread_atfork(hold, go_on, go_on);
}

/* exit ends the calls that it is made in: main's, as a rule. libsp, which ends after this, publishes. */
SP__PLAIN __attribute__((destructor)) static void end(void)
{
    sp__function_close_all();
}
