/* lib.c: every public entry point; scope_profiler.h says what each does. */
#include <errno.h>
#include <stddef.h>

#include "lane.h"

#undef sp_init
#undef sp_create

/* The way of each clock is a function of its own: the cheaper one then needs no stack frame, the other one a small one.
 * The slot knows the profiler. */
__attribute__((noinline)) static void begin_mono(struct sp__slot *slot, struct sp__writer *w, int region)
{
    if (SP__LIKELY(sp__begin_on(w, (uint32_t)region, false, SP__CLOCK_MONOTONIC)))
        slot->error = SP_OK;
    else
        sp__begin_slow(slot->profiler, region, false);
}

__attribute__((noinline)) static void end_mono(struct sp__slot *slot, struct sp__writer *w, int region)
{
    bool anchor;
    uint64_t now = sp__clock_now(SP__CLOCK_MONOTONIC);
    if (SP__LIKELY(sp__end_on(w, (uint32_t)region, 0, now, SP__CLOCK_MONOTONIC, &anchor)))
        slot->error = SP_OK;
    else
        sp__end_slow(slot->profiler, region, 0, SP__END_REGION);
}

SP__HOT void begin(struct sp__slot *slot, struct sp__writer *w, int region)
{
    if (w->clock != SP__CLOCK_TSC)
        begin_mono(slot, w, region);
    else if (SP__LIKELY(sp__begin_on(w, (uint32_t)region, false, SP__CLOCK_TSC)))
        slot->error = SP_OK;
    else
        sp__begin_slow(slot->profiler, region, false);
}

SP__HOT void end(struct sp__slot *slot, struct sp__writer *w, int region)
{
    bool anchor;
    if (w->clock != SP__CLOCK_TSC) {
        end_mono(slot, w, region);
    } else if (SP__LIKELY(sp__end_on(w, (uint32_t)region, 0, sp__clock_now(SP__CLOCK_TSC), SP__CLOCK_TSC, &anchor))) {
        slot->error = SP_OK;
        if (SP__UNLIKELY(anchor))
            sp__anchor_slow(w);
    } else {
        sp__end_slow(slot->profiler, region, 0, SP__END_REGION);
    }
}

SP_API void sp_begin(int region)
{
    struct sp__slot *slot = &sp__self.slots[0];
    struct sp__writer *w = slot->writer;
    if (SP__LIKELY(w == NULL)) { /* said to be likely since this way is short and the other one is not hurt by a jump */
        if (SP__UNLIKELY(sp__active(&sp__default)))
            sp__begin_slow(&sp__default, region, false);
        else
            slot->error = SP_ERR_INACTIVE;
        return;
    }
    begin(slot, w, region);
}

SP_API void sp_end(int region)
{
    struct sp__slot *slot = &sp__self.slots[0];
    struct sp__writer *w = slot->writer;
    if (SP__LIKELY(w == NULL)) { /* said to be likely since this way is short and the other one is not hurt by a jump */
        if (SP__UNLIKELY(sp__active(&sp__default)))
            sp__end_slow(&sp__default, region, 0, SP__END_REGION);
        else
            slot->error = SP_ERR_INACTIVE;
        return;
    }
    end(slot, w, region);
}

/* After the two that they repeat, so that those stay as they are. */
SP_API sp_status sp_begin_status(int region)
{
    struct sp__slot *slot = &sp__self.slots[0];
    struct sp__writer *w = slot->writer;
    if (SP__LIKELY(w != NULL))
        begin(slot, w, region);
    else
        sp_begin(region);
    return (sp_status)slot->error;
}

SP_API sp_status sp_end_status(int region)
{
    struct sp__slot *slot = &sp__self.slots[0];
    struct sp__writer *w = slot->writer;
    if (SP__LIKELY(w != NULL))
        end(slot, w, region);
    else
        sp_end(region);
    return (sp_status)slot->error;
}

/* This thread's writer for p, if its slot remembers it: a slot may be another profiler's too. */
SP__HOT struct sp__writer *writer_for(struct sp_profiler *p, struct sp__slot **ret_slot)
{
    struct sp__slot *slot = &sp__self.slots[p->slot];
    struct sp__writer *w = slot->writer;
    *ret_slot = slot;
    return w && atomic_load_explicit(&w->profiler, memory_order_relaxed) == p ? w : NULL;
}

SP_API void sp_profiler_begin(sp_profiler *p, int region)
{
    if (!p)
        return;
    struct sp__slot *slot;
    struct sp__writer *w = writer_for(p, &slot);
    if (SP__LIKELY(w != NULL))
        begin(slot, w, region);
    else if (sp__active(p))
        sp__begin_slow(p, region, false);
    else
        sp__set_error(p, SP_ERR_INACTIVE);
}

SP_API void sp_profiler_end(sp_profiler *p, int region)
{
    if (!p)
        return;
    struct sp__slot *slot;
    struct sp__writer *w = writer_for(p, &slot);
    if (SP__LIKELY(w != NULL))
        end(slot, w, region);
    else if (sp__active(p))
        sp__end_slow(p, region, 0, SP__END_REGION);
    else
        sp__set_error(p, SP_ERR_INACTIVE);
}

SP_API sp_scope sp_profiler_scope_begin(sp_profiler *p, int region)
{
    sp_scope scope = {p, region, -1};
    struct sp__slot *slot;
    if (!p)
        return scope;
    struct sp__writer *w = writer_for(p, &slot);
    if (SP__LIKELY(w && sp__begin_on(w, (uint32_t)region, true, w->clock))) {
        slot->error = SP_OK;
        scope.slot = (int64_t)w->token;
    } else if (w || sp__active(p)) {
        scope.slot = sp__begin_slow(p, region, true);
    } else {
        sp__set_error(p, SP_ERR_INACTIVE);
    }
    return scope;
}

SP_API int sp_scope_end(sp_scope *scope)
{
    struct sp__slot *slot;
    bool anchor;
    sp_status status = SP_ERR_UNMATCHED_END;
    if (!scope || !scope->profiler)
        return SP_ERR_UNMATCHED_END;
    struct sp_profiler *p = scope->profiler;
    if (scope->slot <= 0) {
        status = sp__active(p) ? SP_ERR_UNMATCHED_END : SP_ERR_INACTIVE;
        sp__set_error(p, status);
        return (int)status;
    }
    struct sp__writer *w = writer_for(p, &slot);
    if (SP__LIKELY(w && sp__end_on(w, (uint32_t)scope->region, (uint64_t)scope->slot, sp__clock_now(w->clock), w->clock,
                                   &anchor))) {
        slot->error = status = SP_OK;
        if (SP__UNLIKELY(anchor))
            sp__anchor_slow(w);
    } else {
        status = sp__end_slow(p, scope->region, (uint64_t)scope->slot, SP__END_SCOPE);
    }
    if (status == SP_OK)
        scope->slot = -1;
    return (int)status;
}

SP_API int sp_profiler_end_last(sp_profiler *p)
{
    return p ? (int)sp__end_slow(p, 0, 0, SP__END_LAST) : SP_ERR_INACTIVE;
}

SP_API int64_t sp_now_ns(void)
{
    int saved = errno;
    uint64_t now = sp__clock_mono();
    errno = saved;
    return (int64_t)now;
}

SP_API int sp_is_active(void)
{
    return sp_profiler_is_active(&sp__default);
}

SP_API int sp_profiler_is_active(const sp_profiler *p)
{
    return p && sp__active(p);
}

SP_API sp_status sp_profiler_last_error(const sp_profiler *p)
{
    if (!p)
        return SP_OK;
    const struct sp__slot *slot = &sp__self.slots[p->slot];
    return slot->profiler == p || p == &sp__default ? (sp_status)slot->error : SP_OK;
}

SP_API const char *sp_error_string(sp_status status)
{
    switch (status) {
    case SP_OK:
        return "done";
    case SP_ERR_INACTIVE:
        return "the profiler is not active, or has no such region";
    case SP_ERR_NO_CLOCK:
        return "the clock cannot be read";
    case SP_ERR_NO_MEMORY:
        return "out of memory";
    case SP_ERR_IO:
        return "a file could not be written; nothing is lost";
    case SP_ERR_UNMATCHED_END:
        return "no such call is open in this thread";
    case SP_ERR_OPEN_SCOPES:
        return "calls are still open";
    case SP_ERR_UNSUPPORTED:
        return "HDF5 needs a running spd that takes this session";
    case SP_ERR_INVALID_ARGUMENT:
        return "an argument is not valid";
    case SP_ERR_RANK_IN_USE:
        return "another process records this session, prefix and rank, or another user has taken its name";
    case SP_ERR_NO_SPACE:
        return "/dev/shm has no room, or is missing";
    case SP_ERR_TOO_DEEP:
        return "too many calls are open in this thread; they are counted, not recorded";
    case SP_ERR_TOO_MANY:
        return "no room for a further region or thread";
    }
    return "unknown status";
}
