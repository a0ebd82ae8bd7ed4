/* scope_profiler_io.h: reading, merging and writing scope-profiler profiles (libspio).
 *
 * Functions return 0 or a negative enum sp_io_status; details are in the sp_error that every call takes last (may be
 * NULL). Outputs (ret_...) are untouched on failure. All times are nanoseconds of CLOCK_MONOTONIC unless a name says
 * otherwise; statistics that people read are in seconds where it says so. Strings are UTF-8.
 *
 * Threads: different objects may be used by different threads; one object by one thread at a time. HDF5 is called under
 * one lock inside the library, so a program that uses HDF5 itself from another thread must not do so meanwhile. */
#ifndef SCOPE_PROFILER_IO_H
#define SCOPE_PROFILER_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define SP_MAGIC          "SCOPEPRF"
#define SP_TRACE_SUFFIX   ".spt"
#define SP_HDF5_SUFFIX    ".h5"
#define SP_RANK_HDF5_GLOB "*_rank[0-9]*.h5"

enum sp_io_status {
    SP_ERR_TRACE_FORMAT = -101,    /* not a trace, truncated, newer version, two claims on a rank */
    SP_ERR_CORRUPT_PROFILE = -102, /* cannot be opened as HDF5, or what stands in it contradicts itself */
    SP_ERR_SCHEMA = -103,          /* a schema or layout that this version does not read; names it */
    SP_ERR_NOT_FOUND = -104,       /* no such file, folder, session, rank or region */
    SP_ERR_SUMMARY_UNAVAILABLE = -105,
    SP_ERR_SYSTEM = -106,   /* a system call failed: sp_error.system holds errno */
    SP_ERR_USAGE = -107,    /* arguments that make no sense together */
    SP_ERR_BUSY = -108,     /* somebody else is at it */
    SP_ERR_NO_EVENTS = -109 /* calls were asked of what holds statistics alone, or was loaded as a summary */
};

typedef struct sp_error {
    int status;      /* enum sp_io_status */
    int system;      /* errno or 0 */
    char file[1024]; /* the file or session it is about, "" none */
    char place[256]; /* "byte 1286", "/events/end_times row 3", "" none */
    char text[1024]; /* one line for a person: what, which file, where, why, what to do */
} sp_error;

/* ---- inputs: what is to be merged, published, summed up or checked ------------------------------------------------
 */

typedef struct sp_inputs sp_inputs;

int sp_inputs_create(sp_inputs **ret, sp_error *error);
void sp_inputs_destroy(sp_inputs *inputs);

/* Sets who is told of each file that cannot be read, so that one does not hide the others: from now on adding such a
 * file leaves it out, tells of it and succeeds, and sp_inputs_write looks at all ranks before it gives up, at those of
 * good files too where others were bad. What was named and is not there at all (no such path, a folder without files, no
 * such session) stays an error of that call. The error is valid during the call, which may come from another thread,
 * one at a time, while a call of this library runs. NULL: the first bad file ends a call with its error, as at the
 * beginning. */
void sp_inputs_on_bad(sp_inputs *inputs, void (*bad)(void *context, const sp_error *error), void *context);

/* How many files were told of so far. */
size_t sp_inputs_bad(const sp_inputs *inputs);

/* Sets who is told how far reading is that no settings tell of (statistics, percentiles and calls of results): 0 ... 1, or
 * negative where nobody knows how much there is. From any thread, one at a time; NULL: nobody. */
void sp_inputs_on_progress(sp_inputs *inputs, void (*progress)(void *context, double done), void *context);

/* Has a child process open profiles from now on. HDF5 1.10 itself crashes or loops over some damaged files; so asked,
 * such a file is SP_ERR_CORRUPT_PROFILE, where else this process would die. The child is made by fork(2) when the first
 * profile is added and ends with the inputs, or over a damaged file, and then there is another; it works under limits of
 * processor time and memory. It hands over the tables, and tries what will be read later: the chunks and samples of the
 * calls, and the groups. What changes after that, or is damaged among calls that it did not sample, can still end this
 * process when its turn comes. Off at the beginning: for programs that may fork and that leave their children's statuses
 * alone (no SIGCHLD ignored, no wait for any child). */
enum sp_probe {
    SP_PROBE_NONE = 0,
    SP_PROBE_STATISTICS, /* for statistics: calls are tried of files alone that hold no summaries */
    SP_PROBE_ALL
};
void sp_inputs_probe(sp_inputs *inputs, enum sp_probe what);

/* A .spt, a profile, a spool, or a folder (its *.spt and *_rank<N>.h5, not below it). The content decides which, not the
 * name. Opened and its tables read now, so that a bad one is named now; its calls are read when their turn comes.
 * What lies beside it as its session published it is known as that session's (the notes there tell). A file that was
 * added before, by whatever name, is taken once, which sp_inputs_write's `warn` says. */
int sp_inputs_add_path(sp_inputs *inputs, const char *path, sp_error *error);

/* One incarnation from its spools (more than one where a consumer could not append to its predecessor's), for whoever
 * drains it: no further than `ends[n]` bytes of each (NULL, or UINT64_MAX: all of it). `scratch_dir` NULL: beside the
 * first. SP_ERR_USAGE where they are of different incarnations. */
int sp_inputs_add_spools(sp_inputs *inputs, const char *const *paths, const uint64_t *ends, size_t count,
                         const char *scratch_dir, sp_error *error);

typedef struct sp_session_settings {
    const char *data_dir;    /* the data folder; NULL: the default */
    const char *session;     /* a session's name, or a prefix: then its newest launch session */
    const char *hostname;    /* only ranks of this host; NULL all */
    bool live;               /* also what stands in segments and in no spool yet */
    bool recover;            /* drain dead segments that nobody consumes into their spools first, and remove them */
    const char *scratch_dir; /* for sorting; NULL: the session's data folder */
    bool ended;              /* only incarnations whose segment is gone, or was discarded */
} sp_session_settings;
sp_session_settings sp_session_settings_default(void);

/* Every incarnation of the session: its spools where they exist, else its published file, each record once. */
int sp_inputs_add_session(sp_inputs *inputs, const sp_session_settings *settings, sp_error *error);

/* What of the inputs is wanted. All of it: sp_selection_default(). */
typedef struct sp_selection {
    const uint32_t (*ranks)[2]; /* pairs of a first and a last rank, both of them included; NULL: all */
    size_t rank_count;          /* pairs */
    const char *const
        *regions; /* patterns as of fnmatch(3), without flags; a region is wanted where any fits; NULL: all */
    size_t region_count;
    int64_t from_ns, to_ns; /* a call is wanted where it began in [from, to) ns after the first call of all inputs, so
                             * that windows which touch share no call; INT64_MIN and INT64_MAX: no limit */
} sp_selection;
sp_selection sp_selection_default(void);

/* 0 where something may be written to `output`; SP_ERR_USAGE where it is one of the inputs by whatever name, or no
 * regular file. Inputs that are added later are not looked at. */
int sp_inputs_apart(const sp_inputs *inputs, const char *output, sp_error *error);

/* Narrows everything added so far; once. Ranks and regions that nothing fits are SP_ERR_NOT_FOUND. What stored ids and
 * summaries say of calls that are left out is forgotten: both are computed anew from what is left. SP_ERR_USAGE where
 * times are asked of statistics without events. */
int sp_inputs_select(sp_inputs *inputs, const sp_selection *selection, sp_error *error);

/* The name that a prefix stood for; the session's own name otherwise; NULL before sp_inputs_add_session. */
const char *sp_inputs_session(const sp_inputs *inputs);

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

enum sp_file_format { SP_FILE_HDF5 = 0, SP_FILE_TRACE = 1 };

typedef struct sp_write_settings {
    enum sp_file_format format;
    const char *label;   /* NULL: the output's stem */
    const char *session; /* metadata sp_session; NULL: of the inputs */
    bool nesting;        /* call and parent ids even where not every input carries them */
    int schema;          /* of SP_FILE_HDF5: 2, or 3 (times as deltas); 0: 2 */
    int gzip;            /* of SP_FILE_HDF5: level 1 ... 9, after shuffle; 0: stored as it is */
    bool sync;     /* on the disk before it takes its name (the default); else only a file that is replaced waits for
                          * that, and where there was none the kernel writes it when it gets to it, as it does for cp */
    bool skip_bad; /* with sp_inputs_on_bad: what turns out bad while it is read is left out, else it ends the call */
    void (*progress)(void *context, double done); /* 0 ... 1; from any thread, one at a time; may be NULL */
    void *progress_context;
    void (*warn)(void *context, const char *text); /* one line each, once the output is written; may be NULL */
    void *warn_context;
} sp_write_settings;
sp_write_settings sp_write_settings_default(void);

typedef struct sp_write_report {
    uint64_t ranks, regions, rows, calls;
    uint64_t dropped;  /* counted while recording */
    uint64_t lost;     /* gaps and damage found now */
    uint64_t warnings; /* something was skipped, mended or left out: exit status 3 */
    uint64_t threads;
    uint64_t open_calls;
    uint64_t deaths;
} sp_write_report;

/* Writes one profile of all inputs, whole or not at all. Two claims on one rank are SP_ERR_TRACE_FORMAT, unless both
 * are of one session. An output that is also an input is SP_ERR_USAGE, and so is statistics without events
 * (SP_MODE=stats) beside events; alone they become a profile of the aggregate layout, and the parts of a rank add up.
 */
int sp_inputs_write(sp_inputs *inputs, const char *output, const sp_write_settings *settings,
                    sp_write_report *ret_report, sp_error *error);

/* ---- results ------------------------------------------------------------------------------------------------------
 *
 * What files hold, for programs that read them: find files, load them, ask. An example that prints the average duration
 * of one region on rank 0 is docs/examples/average.c.
 *
 * Caveats:
 * - Loading reads tables only: names, locations, counts, and the summaries that a file holds. Calls are read when they
 *   are asked for, so that damage among them shows then, as SP_ERR_CORRUPT_PROFILE or SP_ERR_TRACE_FORMAT with its
 *   place. The files must stay where they are, unchanged, while their results are used: SP_ERR_BUSY else.
 * - Statistics that a file holds are taken from it; those that it lacks are computed from its calls, rank by rank, when
 *   they are first asked for. That takes as long as reading them all, in constant memory.
 * - A region that was registered and never called is not there.
 * - Exclusive time is NaN (or -1 ns) where nobody knows it: a file that holds totals without it, or threads unknown and
 *   calls that overlap.
 * - Profiles of the aggregate layout (SP_MODE=stats) hold no events: their deviation is NaN; calls and percentiles are
 *   SP_ERR_NO_EVENTS.
 * - Calls of one start come in order of descending end, whatever the file's order was.
 * - Strings that results give belong to them and die with them. Indexes of regions and rows are dense from 0 and mean
 *   nothing for other results. */

typedef struct sp_results sp_results;

/* Versions of .spt that are read: `static const int known[] = SP_KNOWN_FORMAT_VERSIONS;` */
#define SP_KNOWN_FORMAT_VERSIONS                                                                                       \
    {                                                                                                                  \
        1, 2                                                                                                           \
    }
#define SP_KNOWN_FORMAT_VERSION_COUNT 2

#define SP_ALL_RANKS (-1)

/* Files and folders in, a sorted list of files out, each once, also where several of its names were given. A folder
 * stands for its *.spt and *_rank<N>.h5, not below it; a file for itself, whatever its name. *ret is given back to
 * sp_traces_free. SP_ERR_NOT_FOUND: an input does not exist, or a folder has neither kind; SP_ERR_SYSTEM; SP_ERR_USAGE:
 * no input. Any thread. */
int sp_find_traces(char ***ret, size_t *ret_count, const char *const *inputs, size_t count, sp_error *error);
void sp_traces_free(char **traces, size_t count); /* NULL: nothing happens */

/* What is to be loaded, and how. Everything that it points at may go after the call. */
typedef struct sp_load_settings {
    const char *const *regions; /* patterns as of fnmatch(3), without flags; a region is loaded where any fits, and a
                                 * pattern is also the exact name that equals it; NULL: all. Statistics of what is
                                 * loaded stay those of the whole file, exclusive times too; a profile written from it
                                 * (sp_write_results) knows only what is left, and computes them anew from that */
    size_t region_count;
    const uint32_t (*ranks)[2]; /* pairs of a first and a last rank, both included; NULL: all */
    size_t rank_count;          /* pairs */
    bool likwid;                /* sp_results_values may be asked for "likwid" ... */
    bool line_profile;          /* ... and for "line_profile". Neither is read before that */
    /* Of the summary functions: 1 computes from the calls what the file has no summaries for, 0 is
     * SP_ERR_SUMMARY_UNAVAILABLE, -1 (the default) what the function does by itself. */
    int fallback;
    bool verbose;                                 /* of sp_read_h5: tell of each rank ... */
    void (*say)(void *context, const char *line); /* ... a line without its end; NULL: to stderr */
    void *say_context;
    const char *label; /* NULL: the files' own, else the stem of the one file, else "" */
} sp_load_settings;
sp_load_settings sp_load_settings_default(void);

/* All of these make results that the caller gives to sp_results_destroy; `settings` NULL: the defaults. Regions and
 * ranks of `settings` that nothing fits are SP_ERR_NOT_FOUND. Beyond what each names: SP_ERR_NOT_FOUND (no such file),
 * SP_ERR_BUSY (somebody writes it), SP_ERR_SYSTEM, SP_ERR_USAGE (an argument is NULL; a folder). Different threads may
 * load at once; HDF5 is used by one at a time. */

/* One .spt: its rank, and per region calls, source file and line ("" and -1 in version 1). SP_ERR_TRACE_FORMAT: not a
 * trace, truncated or damaged, another version; its place is "byte N". */
int sp_read_trace(sp_results **ret, const char *path, sp_error *error);

/* One .h5 with any number of ranks: schema 1, 2, 3, or statistics alone. SP_ERR_CORRUPT_PROFILE: cannot be opened as
 * HDF5, or contradicts itself, at the place that is named; SP_ERR_SCHEMA: a schema that this version does not read. */
int sp_read_native_h5(sp_results **ret, const char *path, sp_error *error);

/* Either kind, told apart by content, not by name; statuses of both. */
int sp_read_native_ranks(sp_results **ret, const char *path, sp_error *error);

/* Files and folders, as of sp_find_traces, as one set. Two files that claim one rank are SP_ERR_TRACE_FORMAT, which
 * names both, unless they are windows or lives of one rank of one session; where one of those holds events and another
 * statistics alone, SP_ERR_USAGE. Statuses of the functions above. */
int sp_load_traces(sp_results **ret, const char *const *inputs, size_t count, const sp_load_settings *settings,
                   sp_error *error);

/* Reads inputs as sp_load_traces does and writes them as one standard profile, whole or not at all; `label` NULL: the
 * output's stem. `settings` NULL: the defaults; its label yields to `label`. `ret_report` may be NULL. Statuses of
 * sp_load_traces and sp_inputs_write. */
int sp_convert_traces(const char *const *inputs, size_t count, const char *output, const char *label,
                      const sp_write_settings *settings, sp_write_report *ret_report, sp_error *error);

/* Writes results as one standard profile, narrowed as they were loaded: with fewer regions, exclusive times and parents
 * are computed from what is left, and files are read anew. The label is that of `settings`, else of the results, else
 * the output's stem. Statuses of sp_inputs_write. */
int sp_write_results(sp_results *results, const char *output, const sp_write_settings *settings,
                     sp_write_report *ret_report, sp_error *error);

/* A whole profile: regions, ranks, calls, metadata, groups. Statuses of sp_read_native_h5. sp_load_h5 is silent;
 * sp_read_h5 tells of each rank, and of what was mended or is not read, where settings->verbose says so. */
int sp_load_h5(sp_results **ret, const char *path, const sp_load_settings *settings, sp_error *error);
int sp_read_h5(sp_results **ret, const char *path, const sp_load_settings *settings, sp_error *error);

/* Statistics of a profile without touching an event; calls and percentiles of such results are SP_ERR_NO_EVENTS. A file
 * without summaries is SP_ERR_SUMMARY_UNAVAILABLE, or, with fallback, summed up now from its calls, which may be asked
 * for then. sp_load_h5_summary does not fall back by itself, sp_read_h5_summary does. */
int sp_load_h5_summary(sp_results **ret, const char *path, const sp_load_settings *settings, sp_error *error);
int sp_read_h5_summary(sp_results **ret, const char *path, const sp_load_settings *settings, sp_error *error);

/* Anything in `inputs`, which stays the caller's, must outlive the results and is not added to meanwhile. Statistics
 * are known at return, from summaries, else from the calls (`fallback`), else SP_ERR_SUMMARY_UNAVAILABLE. */
int sp_results_load(sp_results **ret, sp_inputs *inputs, bool fallback, sp_error *error);
/* The same without statistics, as far as files do not hold them: calls are not touched. */
int sp_results_open(sp_results **ret, sp_inputs *inputs, sp_error *error);

void sp_results_destroy(sp_results *results); /* NULL: nothing happens. Iterators over its calls are closed before */

/* ---- results: regions, ranks, rows -------------------------------------------------------------------------------- */

size_t sp_results_region_count(const sp_results *results);
/* In order of first registration; NULL: there is no region of this number. */
const char *sp_results_region(const sp_results *results, size_t region);
/* The number of the region of this name; SP_ERR_NOT_FOUND, SP_ERR_USAGE (NULL). */
int sp_results_find_region(const sp_results *results, const char *name, size_t *ret, sp_error *error);
/* How many ranks have the region, whose first `room` numbers are put, ascending, into ret (NULL with room 0). */
size_t sp_results_region_ranks(const sp_results *results, size_t region, uint32_t *ret, size_t room);

size_t sp_results_rank_count(const sp_results *results);
/* The n-th rank's number, ascending; SP_ERR_NOT_FOUND past the end. */
int sp_results_rank(const sp_results *results, size_t n, uint32_t *ret);

/* One row: a region on a rank. ns. */
typedef struct sp_result {
    const char *region;
    const char *source_file; /* "" unknown */
    int64_t source_line;     /* -1 unknown */
    uint32_t rank;
    uint64_t calls;
    bool summed;                        /* what follows is known; else zeros, see sp_results_sum_up */
    int64_t total, minimum, maximum;    /* 0 without calls */
    int64_t exclusive;                  /* -1 unknown */
    int64_t start_minimum, end_maximum; /* INT64_MAX and INT64_MIN of statistics without events, whose m2 is 0 */
    double mean, m2;                    /* m2: the sum of squared deviations from the mean, ns^2 */
} sp_result;

size_t sp_results_count(const sp_results *results);
/* By rank, then in order of registration; SP_ERR_NOT_FOUND past the end. */
int sp_results_row(const sp_results *results, size_t n, sp_result *ret);
/* Makes the statistics of all rows known: reads the calls of those ranks whose files hold no summaries. */
int sp_results_sum_up(sp_results *results, sp_error *error);

/* ---- results: statistics ------------------------------------------------------------------------------------------ */

typedef struct sp_statistics {
    uint64_t count;                /* of calls */
    double total, exclusive;       /* seconds, as all below; exclusive NaN: unknown */
    double mean, minimum, maximum; /* of durations */
    double deviation;              /* standard, of the whole population; NaN: unknown */
} sp_statistics;

/* Of a region on one rank, or on SP_ALL_RANKS together. SP_ERR_NOT_FOUND: no such region, or the rank does not have it;
 * where calls must be read for it, what reading them says. */
int sp_results_statistics(sp_results *results, size_t region, int64_t rank, sp_statistics *ret, sp_error *error);

/* Percentiles of the durations, seconds, one for each of `count` percents in [0, 100]: exact, with numpy's linear
 * interpolation, in constant memory; the calls are read once where they are a few, else two to six times for each eight percents. SP_ERR_NO_EVENTS:
 * the file holds none, or the results were loaded as a summary; SP_ERR_USAGE: a percent out of range; else as
 * sp_results_statistics. */
int sp_results_percentiles(sp_results *results, size_t region, int64_t rank, const double *percents, size_t count,
                           double *ret_seconds, sp_error *error);

/* ---- results: calls ----------------------------------------------------------------------------------------------- */

typedef struct sp_calls sp_calls;

/* The caller's arrays, one value a call. start and end must be there; the others may be NULL: not wanted. */
typedef struct sp_call_columns {
    int64_t *start, *end; /* ns of CLOCK_MONOTONIC */
    int64_t *thread;      /* number of the thread within its rank, /thread_table/index of a profile; -1 unknown */
    int64_t *call;        /* ids, unique within a rank; -1 where the file holds none */
    int64_t *parent;      /* id of the call that this one was made in; -1: none, or unknown */
} sp_call_columns;

/* Begins to read the calls of a region on one rank, in order of start. Any number may be open at once, each closed
 * before its results are destroyed. SP_ERR_NOT_FOUND, SP_ERR_NO_EVENTS, and what reading says. */
int sp_calls_open(sp_calls **ret, sp_results *results, size_t region, uint32_t rank, sp_error *error);
void sp_calls_close(sp_calls *calls); /* NULL: nothing happens */
/* The next calls, at most `room` of them, into the caller's arrays; *ret_count 0 at the end, and it may be less than
 * `room` before. */
int sp_calls_next(sp_calls *calls, const sp_call_columns *into, size_t room, size_t *ret_count, sp_error *error);
bool sp_calls_have_threads(const sp_calls *calls); /* the file says of each call which thread made it */
bool sp_calls_have_ids(const sp_calls *calls);     /* the file holds call and parent ids */

/* One call of a walk. Valid while it is shown. */
typedef struct sp_walk_call {
    size_t region; /* its number */
    uint32_t rank;
    size_t lane;    /* dense from 0 within the rank; within a lane two calls are disjoint or one holds the other */
    int64_t thread; /* as in sp_call_columns; calls that cross others have threads of their own, as in a profile */
    const char *thread_name; /* "" unknown */
    size_t depth;            /* how many calls of its lane hold it */
    int64_t start, end;      /* ns of CLOCK_MONOTONIC */
    int64_t above;           /* entered: what `enter` answered for the call that this one was made in, as say the parent
                              * ids that the file holds, else its lane; -1 none, or left */
    bool unsure;             /* entered: nobody knows that call: of no known thread, whose calls cross */
    int64_t exclusive;       /* left: ns less those of the calls that it holds in its lane; -1 before */
} sp_walk_call;

/* Either may be NULL. They answer 0 or more; a negative answer ends the walk and is returned. */
typedef struct sp_walk_visitor {
    bool callers; /* `above` is wanted by the ids that the file holds, which are read for it; else by lanes */
    int64_t (*enter)(void *context, const sp_walk_call *call);
    int (*leave)(void *context, const sp_walk_call *call);
} sp_walk_visitor;

/* Shows all calls of the n-th rank: entered in order of start, the holder before what it holds; left in any order before
 * the next call of the lane that it does not hold. In memory that grows with the calls open at a time alone. A parent
 * that had ended, or is in no file, is none. A region that was not loaded is not shown, and what is inside is shown as
 * inside what holds it. Whoever sp_inputs_on_progress named is told how many of all ranks are done. SP_ERR_NO_EVENTS;
 * SP_ERR_TRACE_FORMAT where more calls cross each other than any program has threads; and what reading says. */
int sp_results_walk(sp_results *results, size_t n, const sp_walk_visitor *visitor, void *context, sp_error *error);

/* When the first call of all ranks began; INT64_MAX where there are no calls. Reads one call of each row. */
int sp_results_first_start(sp_results *results, int64_t *ret_ns, sp_error *error);

/* Counts of what the results hold, and calls `warn` (may be NULL) for each line about what was dropped, is missing or
 * damaged, or is not read; `name` is what lines about all of it begin with. */
int sp_results_report(sp_results *results, const char *name, void (*warn)(void *context, const char *text),
                      void *context, sp_write_report *ret, sp_error *error);

/* ---- results: what else there is ---------------------------------------------------------------------------------- */

/* The label; "" without one. */
const char *sp_results_label(const sp_results *results);

/* Value of a metadata attribute as text, lists joined by "\n"; NULL: there is none. Of one profile: what stands in it.
 * Of traces and sets: what is known of them together; start_time_ns and finalize_time_ns once statistics
 * are, after sp_results_sum_up at the latest. */
const char *sp_results_metadata(const sp_results *results, const char *key);
size_t sp_results_metadata_count(const sp_results *results);
/* The n-th key and value; SP_ERR_NOT_FOUND past the end. */
int sp_results_metadata_at(const sp_results *results, size_t n, const char **ret_key, const char **ret_value);

enum sp_value_kind {
    SP_VALUE_INTEGERS,
    SP_VALUE_REALS,
    SP_VALUE_TEXTS,
    SP_VALUE_OTHER /* a compound or the like, or more than the library gives at once: values are left out */
};

/* A dataset or an attribute below /rank<N>/<group>; valid during the call that shows it. */
typedef struct sp_value {
    uint32_t rank;
    const char *path;      /* of the object, "/rank3/likwid/MEM/values" */
    const char *attribute; /* of that object; NULL: the dataset itself */
    enum sp_value_kind kind;
    size_t count;            /* values in all; what has several dimensions comes row by row */
    const int64_t *integers; /* the one of the kind; the others are NULL */
    const double *reals;
    const char *const *texts; /* UTF-8; bad bytes became U+FFFD */
} sp_value;

/* Calls `each` for every dataset and attribute of a group ("likwid", "line_profile", "perf_events") of every rank that
 * has one, in order of names within a rank; its layout is the writer's own. A non-zero answer ends it and is returned.
 * SP_ERR_NOT_FOUND: no rank has one; SP_ERR_USAGE: the settings left it out, or NULL; else as sp_read_native_h5. `each`
 * must not destroy the results. */
int sp_results_values(sp_results *results, const char *group, int (*each)(void *context, const sp_value *value),
                      void *context, sp_error *error);

/* A table for people: a line for each region over all its ranks, times in seconds, unknown ones as "-". Sums up first.
 * SP_ERR_SYSTEM: it cannot be written. */
int sp_results_print_summary(sp_results *results, FILE *to, sp_error *error);

/* ---- recovering ---------------------------------------------------------------------------------------------------
 */

typedef struct sp_recover_report {
    uint64_t regions, calls;           /* saved */
    uint64_t lost_regions, lost_calls; /* known to have been there, as far as the file says */
    uint64_t lost_bytes;               /* of the file, that nothing could be made of */
} sp_recover_report;

/* Writes what can be saved of a cut or damaged .spt or spool: to a .spt where `output` ends so, else to a profile. `lost`
 * (may be NULL) is called for each loss, place and words. A file of which nothing can be saved is SP_ERR_TRACE_FORMAT and
 * nothing is written; a profile (.h5) is SP_ERR_USAGE. The broken file stays as it is. `settings` NULL: the defaults. */
int sp_recover(const char *broken, const char *output, const sp_write_settings *settings,
               void (*lost)(void *context, const char *place, const char *text), void *context,
               sp_recover_report *ret_report, sp_error *error);

/* ---- checking -----------------------------------------------------------------------------------------------------
 */

typedef struct sp_check_result {
    char format[64]; /* "trace version 2, little-endian", "HDF5 schema 2", ... */
    uint64_t ranks, regions, calls;
    uint64_t findings;
} sp_check_result;

/* Reads a file whole and calls `found` for each thing that is wrong (place, words). 0 also when there are findings; an
 * error only where the file cannot be read at all for reasons of the system. The first also tells how far it is,
 * 0 ... 1. */
int sp_check_file_progress(const char *path, void (*found)(void *context, const char *place, const char *text),
                           void *context, void (*progress)(void *context, double done), void *progress_context,
                           sp_check_result *ret, sp_error *error);
int sp_check_file(const char *path, void (*found)(void *context, const char *place, const char *text), void *context,
                  sp_check_result *ret, sp_error *error);

/* ---- sessions -----------------------------------------------------------------------------------------------------
 */

enum sp_rank_state {
    SP_RANK_RECORDING,
    SP_RANK_PAUSED,
    SP_RANK_FINALIZING,
    SP_RANK_DEAD,      /* died and not yet published */
    SP_RANK_SPOOLED,   /* ended, its spool not yet published */
    SP_RANK_PUBLISHED, /* ended and published */
    SP_RANK_UNREADABLE /* a segment of another ABI version, or damaged: see why */
};

typedef struct sp_rank_info {
    char session[128];
    char prefix[1024];
    char hostname[256];
    char incarnation[33];
    int rank;
    uint32_t pid;
    enum sp_rank_state state;
    bool consumed;  /* somebody drains it now */
    uint64_t calls; /* ended and kept so far, drained or not: of a segment what its statistics count less what was
                       dropped, of a spool its records, else what the note says */
    uint64_t undrained;
    uint64_t dropped;
    uint64_t bytes;         /* of segment, spool and published file */
    int64_t age_ns;         /* since it began; -1 unknown */
    int64_t changed_ns;     /* CLOCK_REALTIME of the last change of its files; -1 unknown */
    char file[1024];        /* published file, "" none */
    char why[256];          /* SP_RANK_UNREADABLE: the reason */
    bool died;              /* as far as what was published tells */
    const char *open_calls; /* likewise, lines as in metadata sp_open_calls; good until `each` returns */
} sp_rank_info;

/* Calls `each` for every incarnation that segments, spools and notes show, sorted by session, rank, age; `session` NULL
 * for all, or a prefix, which stands for its newest launch session. A non-zero answer of `each` ends it and is
 * returned. Needs no spd. */
int sp_sessions_each(const char *data_dir, const char *session, int (*each)(void *context, const sp_rank_info *info),
                     void *context, sp_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif
