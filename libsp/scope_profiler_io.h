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
    SP_ERR_SYSTEM = -106, /* a system call failed: sp_error.system holds errno */
    SP_ERR_USAGE = -107,  /* arguments that make no sense together */
    SP_ERR_BUSY = -108    /* somebody else is at it */
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

/* A .spt, a profile, a .spool, or a folder (its *.spt and *_rank<N>.h5, not below it). The content decides between the
 * first two, not the name.
 * Opened and its tables read now, so that a bad one is named now; its calls are read when their turn comes. */
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
} sp_session_settings;
sp_session_settings sp_session_settings_default(void);

/* Every incarnation of the session: its spools where they exist, else its published file, each record once. */
int sp_inputs_add_session(sp_inputs *inputs, const sp_session_settings *settings, sp_error *error);

/* The name that a prefix stood for; the session's own name otherwise; NULL before sp_inputs_add_session. */
const char *sp_inputs_session(const sp_inputs *inputs);

/* ---- writing ------------------------------------------------------------------------------------------------------
 */

enum sp_file_format { SP_FILE_HDF5 = 0, SP_FILE_TRACE = 1 };

typedef struct sp_write_settings {
    enum sp_file_format format;
    const char *label;                            /* NULL: the output's stem */
    const char *session;                          /* metadata sp_session; NULL: of the inputs */
    bool nesting;                                 /* call and parent ids even where not every input carries them */
    void (*progress)(void *context, double done); /* 0 ... 1; may be NULL */
    void *progress_context;
    void (*warn)(void *context, const char *text); /* one line each; may be NULL */
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
 */

typedef struct sp_results sp_results;

/* One row: a region on a rank. ns. */
typedef struct sp_result {
    const char *region;      /* owned by the results */
    const char *source_file; /* "" unknown */
    int64_t source_line;     /* -1 unknown */
    uint32_t rank;
    uint64_t calls;
    int64_t total, minimum, maximum;    /* 0 without calls */
    int64_t exclusive;                  /* -1 unknown */
    int64_t start_minimum, end_maximum; /* INT64_MAX and INT64_MIN of statistics without events, whose m2 is 0 */
    double mean, m2;
} sp_result;

/* Statistics of a profile, a trace, a folder or anything in `inputs`; event data is touched only where the file has no
 * summaries (`fallback`), else SP_ERR_SUMMARY_UNAVAILABLE. */
int sp_results_load(sp_results **ret, sp_inputs *inputs, bool fallback, sp_error *error);
void sp_results_destroy(sp_results *results);
size_t sp_results_count(const sp_results *results);
int sp_results_row(const sp_results *results, size_t n, sp_result *ret);
size_t sp_results_rank_count(const sp_results *results);
/* Value of a metadata attribute as text, lists joined by "\n"; NULL: there is none. */
const char *sp_results_metadata(const sp_results *results, const char *key);

/* ---- checking -----------------------------------------------------------------------------------------------------
 */

typedef struct sp_check_result {
    char format[64]; /* "trace version 2, little-endian", "HDF5 schema 2", ... */
    uint64_t ranks, regions, calls;
    uint64_t findings;
} sp_check_result;

/* Reads a file whole and calls `found` for each thing that is wrong (place, words). 0 also when there are findings; an
 * error only where the file cannot be read at all for reasons of the system. */
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
    uint64_t bytes;     /* of segment, spool and published file */
    int64_t age_ns;     /* since it began; -1 unknown */
    int64_t changed_ns; /* CLOCK_REALTIME of the last change of its files; -1 unknown */
    char file[1024];    /* published file, "" none */
    char why[256];      /* SP_RANK_UNREADABLE: the reason */
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
