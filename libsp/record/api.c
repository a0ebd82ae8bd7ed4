/* api.c: the public entry points that are not on the hot path; scope_profiler.h says what each does. */
#include <errno.h>
#include <string.h>

#include "env.h"
#include "fork.h"
#include "lane.h"
#include "message.h"
#include "names.h"
#include "own.h"
#include "publish.h"
#include "region.h"
#include "stats.h"

#undef sp_init
#undef sp_create

/* What every function here begins with: errno as it was at its end, and a child that no fork handler ran in is seen. */
struct call {
    int saved_errno;
};

static struct call call_begin(void)
{
    struct call call = {errno};
    (void)sp__fork_seen();
    return call;
}

static int call_end(struct call call, struct sp_profiler *p, sp_status status)
{
    sp__set_error(p, status);
    errno = call.saved_errno;
    return (int)status;
}

/* The same profiler of the other language: both record into one. */
static bool joins(const struct sp_profiler *p, const struct sp__settings *s)
{
    const struct sp__settings *running = &p->settings;
    return sp__active(p) && !running->tool && running->language != s->language &&
           strcmp(running->prefix, s->prefix) == 0 &&
           (running->asked_rank == s->asked_rank || running->rank == s->rank);
}

/* Makes room for the program's own. What a tool has recorded is published; where that fails it stays in shared memory,
 * as a program's that died over its finalize: spd, or a merge, publishes it. */
static void make_way(struct sp_profiler *p)
{
    if (p->settings.tool && sp__finalize_held(p) == SP_ERR_IO) {
        atomic_store_explicit(&p->header->state, SP__FINALIZING, memory_order_release);
        atomic_store(&p->phase, SP__ENDED);
    }
    sp__profiler_discard(p);
}

static sp_status start_tool(const char *prefix, int rank)
{
    struct sp_profiler *p = &sp__default;
    struct sp__settings s;
    char name[SP__SESSION_SIZE];
    bool disabled = false;
    if (sp__active(p))
        return SP_OK;
    if (atomic_load_explicit(&p->phase, memory_order_relaxed) == SP__ENDED)
        return SP_ERR_INACTIVE;
    if (!prefix || !*prefix) {
        sp__name_made_safe(program_invocation_short_name, sizeof name - 1, name);
        prefix = name;
    }
    sp_status status = sp__settings_read(&s, prefix, rank, SP__LANGUAGE_C, &disabled);
    if (status != SP_OK || disabled)
        return status;
    s.tool = true;
    return sp__profiler_start(p, &s);
}

static sp_status start_default(const char *prefix, int rank, int language, bool hdf5)
{
    struct sp_profiler *p = &sp__default;
    struct sp__settings s;
    bool disabled = false;
    if (language == SP_LANGUAGE_TOOL)
        return start_tool(prefix, rank);
    if (language != SP__LANGUAGE_C && language != SP__LANGUAGE_FORTRAN)
        return SP_ERR_INVALID_ARGUMENT;
    sp_status status = sp__settings_read(&s, prefix, rank, (uint32_t)language, &disabled);
    if (status == SP_ERR_INVALID_ARGUMENT)
        return status;
    if (status == SP_OK && !disabled && joins(p, &s))
        return SP_OK;
    make_way(p);
    if (status != SP_OK || disabled)
        return status;
    s.format = hdf5 && sp__spd_serves(s.session) ? SP__FORMAT_HDF5 : SP__FORMAT_AUTO;
    if (hdf5 && s.format == SP__FORMAT_AUTO)
        sp__say(SP__SAY_HDF5,
                "no spd takes session %s: the profile is a .spt, not HDF5; start spd, or get HDF5 with "
                "\"spctl merge\"",
                s.session);
    return sp__profiler_start(p, &s);
}

static int init(const char *prefix, int rank, int language, bool hdf5)
{
    struct call call = call_begin();
    pthread_mutex_lock(&sp__default.control);
    sp__default.named = true;
    sp_status status = start_default(prefix, rank, language, hdf5);
    pthread_mutex_unlock(&sp__default.control);
    return call_end(call, &sp__default, status);
}

SP_API int sp_init(const char *prefix, int rank)
{
    return init(prefix, rank, SP__LANGUAGE_C, false);
}

SP_API int sp_init_language(const char *prefix, int rank, int language)
{
    return init(prefix, rank, language, false);
}

SP_API int sp_init_hdf5(const char *prefix, int rank)
{
    return init(prefix, rank, SP__LANGUAGE_C, true);
}

static sp_profiler *create(const char *prefix, int rank, bool hdf5)
{
    struct call call = call_begin();
    struct sp__settings s;
    bool disabled = false;
    struct sp_profiler *p = NULL;
    sp_status status = sp__settings_read(&s, prefix, rank, SP__LANGUAGE_C, &disabled);
    if (status == SP_OK && !disabled)
        p = sp__profiler_take();
    if (p) {
        s.format = hdf5 && sp__spd_serves(s.session) ? SP__FORMAT_HDF5 : SP__FORMAT_AUTO;
        if (hdf5 && s.format == SP__FORMAT_AUTO)
            sp__say(SP__SAY_HDF5, "no spd takes session %s: the profile is a .spt, not HDF5", s.session);
        status = sp__profiler_start(p, &s);
        pthread_mutex_unlock(&p->control);
    }
    call_end(call, status == SP_OK ? p : NULL, SP_OK);
    return status == SP_OK ? p : NULL;
}

SP_API sp_profiler *sp_create(const char *prefix, int rank)
{
    return create(prefix, rank, false);
}

SP_API sp_profiler *sp_create_hdf5(const char *prefix, int rank)
{
    return create(prefix, rank, true);
}

SP_API void sp_destroy(sp_profiler *p)
{
    if (!p)
        return;
    struct call call = call_begin();
    pthread_mutex_lock(&p->control);
    sp__profiler_discard(p);
    pthread_mutex_unlock(&p->control);
    call_end(call, p, SP_OK);
}

SP_API sp_profiler *sp_default_profiler(void)
{
    return __atomic_load_n(&sp__default.named, __ATOMIC_RELAXED) ? &sp__default : NULL;
}

SP_API int sp_profiler_region_at(sp_profiler *p, const char *name, const char *file, int line)
{
    if (!p)
        return SP_INVALID_REGION;
    struct call call = call_begin();
    int region = SP_INVALID_REGION;
    sp_status status = SP_ERR_INACTIVE;
    if (atomic_load_explicit(&p->phase, memory_order_relaxed) == SP__FOLLOWING)
        sp__fork_follow(p);
    if (sp__enter(p)) {
        if (sp__active(p))
            region = sp__region_get(p, name, file, line, &status);
        sp__leave(p);
    }
    call_end(call, p, status);
    return region;
}

SP_API int sp_profiler_region(sp_profiler *p, const char *name)
{
    return sp_profiler_region_at(p, name, NULL, -1);
}

SP_API int sp_region_at(const char *name, const char *file, int line)
{
    return sp_profiler_region_at(&sp__default, name, file, line);
}

SP_API int sp_region(const char *name)
{
    return sp_profiler_region_at(&sp__default, name, NULL, -1);
}

SP_API unsigned sp_profiler_generation(const sp_profiler *p)
{
    return p ? (unsigned)atomic_load_explicit(&p->generation, memory_order_relaxed) : 0;
}

SP_API unsigned sp_generation(void)
{
    return sp_profiler_generation(&sp__default);
}

SP_API int sp_pause(int pause)
{
    struct sp_profiler *p = &sp__default;
    struct call call = call_begin();
    if (atomic_load_explicit(&p->phase, memory_order_relaxed) == SP__FOLLOWING)
        sp__fork_follow(p);
    pthread_mutex_lock(&p->control);
    bool live = atomic_load_explicit(&p->phase, memory_order_relaxed) == SP__LIVE;
    uint32_t from = pause ? SP__RECORDING : SP__PAUSED, to = pause ? SP__PAUSED : SP__RECORDING;
    /* What spd has paused, at the limit of its folder, is not the program's to resume. */
    if (live && (pause || p->paused) &&
        atomic_compare_exchange_strong_explicit(&p->header->state, &from, to, memory_order_release,
                                                memory_order_relaxed))
        p->paused = pause;
    pthread_mutex_unlock(&p->control);
    return call_end(call, p, live ? SP_OK : SP_ERR_INACTIVE);
}

SP_API int sp_find_region(const char *name)
{
    struct sp_profiler *p = &sp__default;
    struct call call = call_begin();
    int region = SP_INVALID_REGION;
    sp_status status = SP_ERR_INACTIVE;
    if (sp__enter(p)) {
        if (sp__active(p)) {
            region = sp__region_find(p, name);
            status = region >= 0 ? SP_OK : SP_ERR_UNMATCHED_END;
        }
        sp__leave(p);
    }
    call_end(call, p, status);
    return region;
}

SP_API int sp_profiler_finalize(sp_profiler *p)
{
    if (!p)
        return 0;
    struct call call = call_begin();
    int status = call_end(call, p, sp__finalize(p));
    return status == SP_ERR_OPEN_SCOPES ? 0 : status;
}

SP_API int sp_finalize(void)
{
    return sp_profiler_finalize(&sp__default);
}

SP_API int sp_profiler_flush(sp_profiler *p)
{
    if (!p)
        return 0;
    struct call call = call_begin();
    return call_end(call, p, sp__flush(p));
}

SP_API int sp_profiler_reset(sp_profiler *p)
{
    if (!p)
        return SP_ERR_INACTIVE;
    struct call call = call_begin();
    return call_end(call, p, sp__profiler_reset(p));
}

static bool is_region(const struct sp_profiler *p, int region)
{
    return region >= 0 && (uint32_t)region < atomic_load_explicit(&p->header->region_count, memory_order_acquire);
}

SP_API int64_t sp_num_calls(int region)
{
    struct sp_profiler *p = &sp__default;
    struct call call = call_begin();
    sp_region_stats stats = {0};
    int64_t calls = 0;
    sp_status status = SP_ERR_INACTIVE;
    if (sp__enter(p)) {
        if (is_region(p, region)) {
            sp__stats_sum(p, (uint32_t)region, &stats);
            calls = stats.calls + sp__stats_open(p, (uint32_t)region);
            status = SP_OK;
        }
        sp__leave(p);
    }
    call_end(call, p, status);
    return calls;
}

/* The const of the public functions is the caller's: what they look at is locked and counted. */
static struct sp_profiler *plain(const sp_profiler *p)
{
    return (struct sp_profiler *)(uintptr_t)p;
}

SP_API int sp_profiler_get_region_stats(const sp_profiler *profiler, int region, sp_region_stats *stats)
{
    struct sp_profiler *p = plain(profiler);
    if (!p)
        return SP_ERR_INACTIVE;
    struct call call = call_begin();
    sp_status status = SP_ERR_INACTIVE;
    if (sp__enter(p)) {
        if (stats && is_region(p, region)) {
            sp__stats_sum(p, (uint32_t)region, stats);
            status = SP_OK;
        }
        sp__leave(p);
    }
    return call_end(call, p, status);
}

SP_API int sp_profiler_num_regions(const sp_profiler *profiler)
{
    struct sp_profiler *p = plain(profiler);
    if (!p)
        return 0;
    struct call call = call_begin();
    uint32_t count = 0;
    sp_status status = SP_ERR_INACTIVE;
    if (sp__enter(p)) {
        count = atomic_load_explicit(&p->header->region_count, memory_order_acquire);
        status = SP_OK;
        sp__leave(p);
    }
    call_end(call, p, status);
    return (int)count;
}

SP_API const char *sp_profiler_region_name(const sp_profiler *profiler, int region)
{
    struct sp_profiler *p = plain(profiler);
    if (!p)
        return NULL;
    struct call call = call_begin();
    const char *name = NULL;
    if (sp__enter(p)) {
        pthread_mutex_lock(&p->table);
        if (region >= 0 && (uint32_t)region < p->names.count)
            name = p->names.names[region];
        pthread_mutex_unlock(&p->table);
        sp__leave(p);
    }
    call_end(call, p, name ? SP_OK : SP_ERR_INACTIVE);
    return name;
}

_Static_assert(SP__SAY_STATUS_LAST - SP__SAY_STATUS == SP_ERR_TOO_MANY, "a cause for each status");

SP_API void sp_say_once(const char *text, sp_status status)
{
    if (text && status > SP_OK && status <= SP_ERR_TOO_MANY)
        sp__say((enum sp__cause)(SP__SAY_STATUS + (int)status), "%s", text);
}

SP_API int sp_hdf5_available(void)
{
    struct call call = call_begin();
    char session[SP__SESSION_SIZE] = "";
    struct sp__env env;
    if (sp__active(&sp__default)) {
        memcpy(session, sp__default.settings.session, sizeof session);
    } else {
        sp__env_read(&env);
        if (env.session[0])
            memcpy(session, env.session, sizeof session);
        else
            sp__session_for_launch("scope_profile", session);
    }
    bool serves = sp__spd_serves(session);
    errno = call.saved_errno;
    return serves;
}

SP_API sp_output_format sp_default_output_format(void)
{
    return SP_OUTPUT_TRACE;
}

static sp_status set_format(struct sp_profiler *p, sp_output_format format)
{
    if (format != SP_OUTPUT_HDF5 && format != SP_OUTPUT_TRACE)
        return SP_ERR_INVALID_ARGUMENT;
    sp_status status = SP_ERR_INACTIVE;
    if (sp__enter(p)) {
        if (!sp__active(p))
            status = SP_ERR_INACTIVE;
        else if (format == SP_OUTPUT_HDF5 && !sp__spd_serves(p->settings.session))
            status = SP_ERR_UNSUPPORTED;
        else
            status = SP_OK;
        if (status == SP_OK)
            atomic_store_explicit(&p->header->format, format == SP_OUTPUT_HDF5 ? SP__FORMAT_HDF5 : SP__FORMAT_TRACE,
                                  memory_order_relaxed);
        sp__leave(p);
    }
    return status;
}

SP_API int sp_profiler_set_output_format(sp_profiler *p, sp_output_format format)
{
    if (!p)
        return SP_ERR_INACTIVE;
    struct call call = call_begin();
    return call_end(call, p, set_format(p, format));
}

SP_API int sp_set_output_format(sp_output_format format)
{
    return sp_profiler_set_output_format(&sp__default, format);
}

SP_API sp_output_format sp_profiler_output_format(const sp_profiler *profiler)
{
    struct sp_profiler *p = plain(profiler);
    if (!p)
        return SP_OUTPUT_TRACE;
    struct call call = call_begin();
    uint32_t format = SP__FORMAT_TRACE;
    sp_status status = SP_ERR_INACTIVE;
    if (sp__enter(p)) {
        format = p->written ? p->written : atomic_load_explicit(&p->header->format, memory_order_relaxed);
        status = SP_OK;
        sp__leave(p);
    }
    call_end(call, p, status);
    return format == SP__FORMAT_HDF5 ? SP_OUTPUT_HDF5 : SP_OUTPUT_TRACE;
}

SP_API sp_output_format sp_current_output_format(void)
{
    return sp_profiler_output_format(&sp__default);
}

SP_API const char *sp_profiler_output_path(const sp_profiler *profiler)
{
    struct sp_profiler *p = plain(profiler);
    if (!p)
        return NULL;
    struct call call = call_begin();
    const char *path = NULL;
    if (sp__enter(p)) {
        sp__read_answer(p);
        pthread_mutex_lock(&p->table);
        path = p->answered[0] ? p->answered : p->path;
        pthread_mutex_unlock(&p->table);
        sp__leave(p);
    }
    call_end(call, p, path ? SP_OK : SP_ERR_INACTIVE);
    return path;
}

SP_API const char *sp_output_path(void)
{
    return sp_profiler_output_path(&sp__default);
}
