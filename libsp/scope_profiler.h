/* scope_profiler.h: records regions of a program into shared memory. Link with -lsp; this header is the manual.
 *
 *     sp_init("solver", SP_RANK_AUTO);
 *     int step = SP_REGION_AT("step");
 *     for (...) { sp_begin(step); ...; sp_end(step); }
 *     sp_finalize();
 *
 * A profiler records calls of named regions: a call is one begin and its end, in one thread. There is a default
 * profiler (sp_init and the short names) and any number of explicit ones (sp_create and sp_profiler_...). Each has a
 * segment of its own in /dev/shm. A running spd drains the segments and publishes the profiles; without one the library
 * does both, and sp_finalize writes "<prefix>_rank<NNNNN>.spt".
 *
 * Environment, read by sp_init and sp_create (a program with raised privileges is treated as if nothing were set):
 * SP_SESSION, SP_RANK, SP_DISABLE=1, SP_MODE=records|stats, SP_RING=<records>, SP_FULL_WAIT=<microseconds>,
 * SP_FORK=stop|follow, SP_CLOCK=tsc|monotonic, SP_DATA_DIR, SP_RUNTIME_DIR.
 *
 * What holds for every function unless its comment says otherwise:
 *   - Any thread may call it at any time, also before sp_init, after sp_finalize, in atexit handlers and destructors.
 *     Using an explicit profiler while or after another thread destroys it does nothing, or acts on a profiler that was
 *     created since; it does not crash.
 *   - It leaves errno alone and prints nothing, except one line on stderr per process and cause, where something was
 *     lost or could not be made.
 *   - It sets what sp_profiler_last_error returns for this thread and profiler.
 *   - It is not async-signal-safe, but for those of the next paragraph.
 *   - Strings that are passed in are copied. Strings that are returned belong to the library.
 *
 * Signal handlers may call sp_begin, sp_end, sp_profiler_begin, sp_profiler_end, sp_now_ns, sp_is_active,
 * sp_profiler_is_active and sp_profiler_last_error, whatever they interrupt: malloc, any function of this library,
 * another handler. Also as the first call of a thread, over a full ring, and where the program drains for itself. They
 * take no lock, take no memory from malloc, and leave errno alone.
 *   - A handler ends what it begins, and names regions that were registered outside of handlers.
 *   - Over its own thread's begin or end, a handler records into a lane of its own, the thread's signal lane. There it
 *     does not wait: where the ring is full its calls are dropped, and counted; what it has open when the recording is
 *     reset is forgotten. Over a handler that records there, there is no lane: counted, too.
 *   - Over its own thread's flush or finalize, and on an alternate stack (sigaltstack), which may be short, a full ring
 *     is neither waited for nor drained: the call is dropped, and counted. 16 KiB of stack are enough there, 64 KiB
 *     elsewhere.
 *   - A call in a handler sets sp_profiler_last_error for the thread that it interrupted.
 *   - Not in a handler: the first call of a forked child, and the first call of a thread in a program that made more
 *     than 31 thread keys before it loaded this library.
 *
 * Caveats:
 *   - A begin must be ended by the thread that began it. A thread that ends leaves its open calls unrecorded.
 *   - Jumping out of a signal handler (siglongjmp) that interrupted sp_begin or sp_end sends the rest of that thread's
 *     calls to its signal lane.
 *   - A ring that is full is waited for (SP_FULL_WAIT, 100,000 microseconds) where a consumer lives; after that its
 *     calls are dropped and counted, while the statistics stay exact.
 *   - While recording is paused (sp_pause, or by spd), begins are swallowed with their ends; a call that began before
 *     is recorded whole.
 *   - More than 16,384 calls open at once in a thread are counted, not recorded. 131,072 regions, 512 threads at a
 *     time.
 *   - A forked child does not record unless SP_FORK=follow; then it becomes a further part of its parent's rank at its
 *     first call.
 *   - With more than one thread and no spd, the .spt holds the joined calls of all of them, and the threads' own lanes
 *     stay in the data folder, for "spctl merge SESSION". With SP_MODE=stats and no spd, so do the statistics: there is
 *     no .spt then, and sp_output_path names the spool that holds them, which "spctl report" and "spctl merge" read.
 *   - sp_finalize under spd, and sp_profiler_flush, wait for it up to ten seconds.
 *   - The segment is the user's own memory: whoever truncates it under a running program brings that program SIGBUS. */
#ifndef SCOPE_PROFILER_H
#define SCOPE_PROFILER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SP_API __attribute__((visibility("default")))
#else
#define SP_API
#endif

/* One jump less on the way to sp_begin and sp_end. */
#define SP_HOT SP_API
#if defined(__has_attribute)
#if __has_attribute(noplt)
#undef SP_HOT
#define SP_HOT SP_API __attribute__((noplt))
#endif
#endif

#define SP_VERSION        "0.1.0"
#define SP_FORMAT_VERSION 2
#define SP_INVALID_REGION (-1)
#define SP_RANK_AUTO      (-1) /* SP_RANK, else the rank that MPI or Slurm gave, else 0 */
#define SP_MAX_NAME       1023 /* bytes of a region's name, without its NUL */

typedef enum sp_status {
    SP_OK = 0,
    SP_ERR_INACTIVE = 1,          /* not initialized, disabled, finalized or destroyed; a handle that is none */
    SP_ERR_NO_CLOCK = 2,          /* the clock cannot be read */
    SP_ERR_NO_MEMORY = 3,         /* no memory of the process */
    SP_ERR_IO = 4,                /* a file could not be written */
    SP_ERR_UNMATCHED_END = 5,     /* an end of what is not open in this thread */
    SP_ERR_OPEN_SCOPES = 6,       /* calls were open: refused (reset), or done without them (finalize) */
    SP_ERR_UNSUPPORTED = 7,       /* HDF5 without an spd */
    SP_ERR_INVALID_ARGUMENT = 16, /* a bad rank, name, session or prefix */
    SP_ERR_RANK_IN_USE = 17,      /* a living process has this session, prefix and rank, or their name is taken */
    SP_ERR_NO_SPACE = 18,         /* /dev/shm has no room, or is missing */
    SP_ERR_TOO_DEEP = 19,         /* more open calls than a lane holds: counted, not recorded */
    SP_ERR_TOO_MANY = 20          /* no room for a further region or thread */
} sp_status;

typedef enum sp_output_format { SP_OUTPUT_HDF5 = 0, SP_OUTPUT_TRACE = 1 } sp_output_format;

/* A profiler; memory of the library. */
typedef struct sp_profiler sp_profiler;

/* Finished calls only, of all threads. Zero without calls. */
typedef struct sp_region_stats {
    int64_t calls;
    int64_t total_ns;
    int64_t min_ns;
    int64_t max_ns;
} sp_region_stats;

/* One open call. The caller's; may be copied. slot -1: nothing is left to end. */
typedef struct sp_scope {
    sp_profiler *profiler;
    int region;
    int64_t slot;
} sp_scope;

/* ---- the default profiler -----------------------------------------------------------------------------------------
 */

/* Starts the default profiler. `prefix` is where the profile goes, "_rank<NNNNN>.spt" is added to it; NULL or "" mean
 * "scope_profile"; a relative one counts from the current folder. `rank` is 0 or more, or SP_RANK_AUTO.
 * A running default profiler is discarded unpublished, as by sp_destroy.
 * 0; 0 with profiling off under SP_DISABLE=1; else non-zero and profiling is off, last_error says why:
 * INVALID_ARGUMENT (a bad rank or prefix leaves a running profiler alone), RANK_IN_USE, NO_SPACE, NO_MEMORY, NO_CLOCK,
 * IO, TOO_MANY. */
SP_API int sp_init(const char *prefix, int rank);

/* The handle of a region: dense from 0, the same name gives the same handle. Bytes that are not UTF-8 become U+FFFD; ""
 * is a name. -1: INACTIVE; INVALID_ARGUMENT (NULL, or longer than SP_MAX_NAME bytes); TOO_MANY or NO_SPACE. */
SP_API int sp_region(const char *name);

/* The same with a source location; `file` NULL or "" and `line` below 0 mean none. The first location of a region
 * stands; a missing one is filled in by a later call. */
SP_API int sp_region_at(const char *name, const char *file, int line);

/* Begins and ends a call of a region in this thread. A handle that is none, or an inactive profiler: nothing happens
 * but last_error. An end closes the innermost open call of its own region, also where calls cross; without one it is
 * counted and changes nothing (UNMATCHED_END). Wait-free but for a full ring. Async-signal-safe: over this thread's own
 * begin or end a handler's calls go to a lane of their own. last_error: OK, INACTIVE, UNMATCHED_END, TOO_DEEP, TOO_MANY
 * (no lane for this thread), NO_SPACE. */
SP_HOT void sp_begin(int region);
SP_HOT void sp_end(int region);

/* Publishes, and stops recording. 0, also when inactive or finalized already; open calls are listed as open in the
 * profile and last_error is OPEN_SCOPES. Non-zero with SP_ERR_IO: not published, still recording, nothing lost; may be
 * called again. Under spd: 0 once its spool has everything (at the latest it publishes after this process has ended).
 * Afterwards names, statistics and output path stay readable. */
SP_API int sp_finalize(void);

/* Begun calls of a region, open ones included, over all threads, since sp_init or the last reset; 0 when there is no
 * such region. */
SP_API int64_t sp_num_calls(int region);

/* CLOCK_MONOTONIC in ns; what all published times are. Does not touch last_error. Async-signal-safe. */
SP_API int64_t sp_now_ns(void);

/* 1 while the default profiler records (or is paused), else 0. Does not touch last_error. Async-signal-safe. */
SP_API int sp_is_active(void);

/* 1 when an spd that takes this process's session runs now, else 0. Does not touch last_error. */
SP_API int sp_hdf5_available(void);

/* SP_OUTPUT_TRACE. Does not touch last_error. */
SP_API sp_output_format sp_default_output_format(void);

/* What the default profiler is to be published as. 0; non-zero: INACTIVE, INVALID_ARGUMENT, or UNSUPPORTED (HDF5 where
 * no spd takes this session), and nothing changes. It wins over spd's --format auto and yields to an explicit one. */
SP_API int sp_set_output_format(sp_output_format format);

/* What was asked for, sp_default_output_format() at first; after publishing, what was written. */
SP_API sp_output_format sp_current_output_format(void);

/* The absolute path of the profile: before publishing where it is going to be, afterwards where it is (statistics that
 * no spd published: their spool). Belongs to the profiler, valid until that is destroyed or replaced; NULL before the
 * first sp_init. */
SP_API const char *sp_output_path(void);

/* The default profiler; NULL before the first sp_init, then never NULL again (also when that sp_init failed). Always
 * the same pointer. Do not pass it to sp_destroy unless the running profile is to be discarded. */
SP_API sp_profiler *sp_default_profiler(void);

/* ---- explicit profilers -------------------------------------------------------------------------------------------
 */

/* As sp_init, for a profiler of its own; several stand side by side in one process and rank. The caller owns it until
 * sp_destroy. NULL on failure, as sp_init's non-zero, and under SP_DISABLE=1. */
SP_API sp_profiler *sp_create(const char *prefix, int rank);

/* Ends a profiler and frees it. Without finalize its recording is discarded, and files that were flushed stay. NULL is
 * ignored. Names and paths that it returned are gone afterwards. */
SP_API void sp_destroy(sp_profiler *profiler);

/* As the functions without "profiler" above. For NULL: region gives -1, begin and end nothing, finalize and flush 0,
 * set_output_format non-zero, output_format the default, output_path NULL, is_active 0. */
SP_API int sp_profiler_region(sp_profiler *profiler, const char *name);
SP_API int sp_profiler_region_at(sp_profiler *profiler, const char *name, const char *file, int line);
SP_HOT void sp_profiler_begin(sp_profiler *profiler, int region);
SP_HOT void sp_profiler_end(sp_profiler *profiler, int region);
SP_API int sp_profiler_set_output_format(sp_profiler *profiler, sp_output_format format);
SP_API sp_output_format sp_profiler_output_format(const sp_profiler *profiler);
SP_API const char *sp_profiler_output_path(const sp_profiler *profiler);
SP_API int sp_profiler_is_active(const sp_profiler *profiler);
SP_API int sp_profiler_finalize(sp_profiler *profiler);

/* Ends the most recently opened call of this thread that is still open. 0; non-zero: UNMATCHED_END (none), INACTIVE. */
SP_API int sp_profiler_end_last(sp_profiler *profiler);

/* Begins a call, and remembers which. slot is -1 where nothing was begun (INACTIVE, TOO_MANY). */
SP_API sp_scope sp_profiler_scope_begin(sp_profiler *profiler, int region);

/* Ends exactly that call, in the thread that began it, and sets slot to -1. 0; non-zero and nothing changes:
 * UNMATCHED_END (a later call of the region is open in this thread; ended already, also through a copy; forgotten by a
 * reset; another thread's; slot -1; NULL), INACTIVE. */
SP_API int sp_scope_end(sp_scope *scope);

/* Forgets all calls, drained and flushed ones too; handles stay. 0; non-zero: OPEN_SCOPES (any thread has a call open),
 * INACTIVE (also after finalize: statistics stay). */
SP_API int sp_profiler_reset(sp_profiler *profiler);

/* Finished calls of a region. 0; non-zero INACTIVE: no such region, `stats` or profiler NULL, never initialized. */
SP_API int sp_profiler_get_region_stats(const sp_profiler *profiler, int region, sp_region_stats *stats);

/* How many regions there are; 0 for NULL. */
SP_API int sp_profiler_num_regions(const sp_profiler *profiler);

/* The name of a region, valid until the profiler is destroyed or replaced; NULL: no such region (INACTIVE). */
SP_API const char *sp_profiler_region_name(const sp_profiler *profiler, int region);

/* Publishes every call that ended since the start or the last reset, and goes on. 0, also when inactive; non-zero with
 * SP_ERR_IO: not published, still recording, nothing lost. */
SP_API int sp_profiler_flush(sp_profiler *profiler);

/* The status of this thread's latest call on this profiler; SP_OK for NULL and where there was none. A thread that goes
 * back and forth between more than seven explicit profilers may be told SP_OK for one it left. */
SP_API sp_status sp_profiler_last_error(const sp_profiler *profiler);

/* One line in English; never NULL, for no number. Static memory. */
SP_API const char *sp_error_string(sp_status status);

/* ---- for bindings -------------------------------------------------------------------------------------------------
 */

#define SP_LANGUAGE_C       0 /* and C++ */
#define SP_LANGUAGE_FORTRAN 1
#define SP_LANGUAGE_TOOL    2 /* none: a library that records for a program which need not know of it, e.g. preloaded */

/* sp_init of another language. With the same prefix and rank as the running default profiler of the other language it
 * joins that one: 0, and both record into it.
 *
 * A tool never stands in a program's way:
 *   - Whatever its prefix and rank, it joins a running default profiler, the program's or another tool's: 0. It must
 *     not finalize what it joined.
 *   - Where none is running it starts one as a tool's: 0, and sp_generation() has changed. Prefix NULL means the
 *     program's base name, made safe. Such a one is published, not discarded, when the program calls sp_init; then the
 *     program's own starts, and the tool's calls go there.
 *   - Over one that the program or a tool has finalized nothing starts, so that its names and path stay readable:
 *     INACTIVE, and the tool's later calls go nowhere. So do they in a forked child that does not follow. */
SP_API int sp_init_language(const char *prefix, int rank, int language);

/* Whether handles that were remembered are still good: changes whenever the handles of the profiler begin anew (init,
 * create, destroy, in a forked child); 0 before the first init and for NULL. No two profilers of a process ever have
 * the same, so it also tells one from another that has come to stand at its address. Not changed by finalize and reset.
 * Ask before sp_region, remember both, and ask for the handle again where it has changed. Some nanoseconds. Does not
 * touch last_error. Async-signal-safe. */
SP_API unsigned sp_generation(void);
SP_API unsigned sp_profiler_generation(const sp_profiler *profiler);

/* Pauses (1) or resumes (0) the default profiler, for all threads: begins are swallowed with their ends meanwhile, a
 * call that is open is recorded whole. Resumes only what it paused itself. The next init records. 0; non-zero:
 * INACTIVE. */
SP_API int sp_pause(int pause);

/* The handle of a region of the default profiler that was registered before; -1, and nothing is registered:
 * UNMATCHED_END (no such region), INACTIVE. */
SP_API int sp_find_region(const char *name);

/* sp_begin and sp_end, and what last_error is afterwards. Async-signal-safe. */
SP_HOT sp_status sp_begin_status(int region);
SP_HOT sp_status sp_end_status(int region);

/* Says a fault that the program did not ask for, on stderr after "scope_profiler: "; only the first one of each status
 * in a process, and none for SP_OK. Does not touch last_error. Async-signal-safe. */
SP_API void sp_say_once(const char *text, sp_status status);

/* sp_init and sp_create of a program that was built for HDF5: they ask for it where an spd serves, and say once where
 * none does; the profile is a .spt then. Results as sp_init and sp_create. */
SP_API int sp_init_hdf5(const char *prefix, int rank);
SP_API sp_profiler *sp_create_hdf5(const char *prefix, int rank);

#ifdef __cplusplus
}
#endif

#define SP_REGION_AT(name)                    sp_region_at((name), __FILE__, __LINE__)
#define SP_PROFILER_REGION_AT(profiler, name) sp_profiler_region_at((profiler), (name), __FILE__, __LINE__)

#ifdef SP_USE_HDF5
#define sp_init(prefix, rank)   sp_init_hdf5((prefix), (rank))
#define sp_create(prefix, rank) sp_create_hdf5((prefix), (rank))
#endif

#endif
