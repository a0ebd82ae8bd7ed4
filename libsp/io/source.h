/* source.h: one part of one rank, whatever it was read from. Adding a format means one file that fills this in. */
#ifndef SP__SOURCE_H
#define SP__SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../scope_profiler_io.h"
#include "../shared/recording.h"
#include "../shared/spool.h"

/* Columns of calls. The caller owns the arrays; thread, call and parent may be NULL: not wanted. */
struct sp__calls {
    int64_t *start;
    int64_t *end;
    int64_t *thread; /* thread_table index within this source; -1 unknown */
    int64_t *call;   /* ids within this source; only asked for where source->ids */
    int64_t *parent;
};

/* Field for field the compound of FORMATS section 2, "summary_statistics". */
struct sp__summary {
    int64_t total, minimum, maximum, first, last, start_minimum, end_maximum;
    uint64_t gpu_count;
    int64_t gpu_total;
    double mean, m2;
};

struct sp__source_row {
    const char *name; /* valid UTF-8, NUL-terminated, owned by the source */
    const char *file; /* "" unknown */
    const char *text; /* source_texts, "" unknown */
    const char *tags; /* JSON list, "[]" */
    int64_t line;     /* -1 unknown */
    uint64_t calls;
    bool summarized; /* summary is good without touching events */
    struct sp__summary summary;
    int64_t exclusive; /* -1 unknown; of the file, where it has one */
};

/* One attribute of a profile's /metadata: numbers are int64, everything else is texts (one unless it was a list). */
struct sp__attribute {
    char *name;
    bool number;
    int64_t value;
    char **texts;
    size_t text_count;
    bool list;
};

struct sp__source {
    const char *path; /* what messages name; owned */
    uint32_t rank;
    struct sp__source_row *rows; /* in order of registration; names unique; rows without calls may be present */
    size_t row_count;
    struct sp__thread *threads; /* NULL: lanes unknown */
    size_t thread_count;
    bool lanes;        /* thread_ids are known: an index that stands in `threads`, or -1 where the input says unknown */
    bool ids;          /* call and parent ids are stored */
    bool aggregate;    /* rows hold statistics (sp__source_row_aggregate) and there are no events to read */
    bool recorded;     /* lanes as libsp recorded them: parents follow from them, as good as stored ids */
    bool sequential;   /* a call costs reading all that stand before it in its row: to be read from the first one on */
    bool nested_alone; /* lanes unknown but known to be one lane (a trace published by a session of one lane) */

    /* Metadata, "" or -1 unknown. */
    char session[128];
    char hostname[256];
    char language[16];
    char incarnation[33]; /* "" for plain files; parts of one rank join only where both are of one session */
    uint64_t dropped;     /* whatever the reason: sp__source_dropped */
    uint64_t dropped_full, dropped_no_lane, dropped_deep;  /* of these, as far as the reason is known */
    uint64_t lost;                                         /* gaps and damaged bytes found while reading */
    int64_t clock_error_ns;                                /* -1 unknown */
    int64_t birth_mono_ns, birth_realtime_ns, end_mono_ns; /* -1 unknown */
    char **open_calls;                                     /* as sp__open_call_text */
    size_t open_call_count;
    char **deaths;
    size_t death_count;
    char **groups; /* of a profile: what stands below /rank<N>/ and is copied as it is, "/rank3/likwid" */
    size_t group_count;
    char **unsupported; /* places that a merge cannot carry over: "/events/gpu_durations", ... */
    size_t unsupported_count;
    char **warnings; /* whole sentences about what was mended while opening, without the file's name */
    size_t warning_count;
    struct sp__attribute *attributes; /* all of /metadata; on the first source of a file alone */
    size_t attribute_count;

    /* Reads calls [first, first + count) of a row; starts ascend within a row. 0 or negative enum sp_io_status. Opens
     * its file when its turn comes; `rest` closes it again (open files are bounded by the caller). */
    int (*read)(struct sp__source *source, size_t row, uint64_t first, size_t count, const struct sp__calls *ret,
                sp_error *error);
    void (*rest)(struct sp__source *source);
    void (*destroy)(struct sp__source *source);
    void *data; /* the format's own */
};

/* apart.h: a child process; pid 0: there is none. */
struct sp__apart {
    pid_t pid;
    int fd;
};

/* inputs.c owns the list; the openers below append to it. */
struct sp_inputs {
    struct sp__source **sources;
    size_t count, room;
    char session[128];
    void (*bad)(void *context, const sp_error *error); /* NULL: the first bad file ends the call */
    void *bad_context;
    size_t bad_count;
    void (*progress)(void *context, double done); /* may be NULL */
    void *progress_context;
    struct sp__taken *taken; /* inputs.c: every file that was named so far, bad ones too */
    size_t taken_count, taken_room;
    char **repeated; /* sentences about files that were named twice and are taken once */
    size_t repeated_count;
    struct sp__beside *beside; /* beside.c: the notes of the folder that was looked at last */
    bool narrowed;             /* sp_inputs_select was called */
    enum sp_probe probe;
    struct sp__apart prober; /* probe.c: the child that looks at profiles */
};
int sp__inputs_append(sp_inputs *inputs, struct sp__source *source,
                      sp_error *error); /* takes ownership, also on failure */

/* Openers, one a file: source_trace.c (versions 1 and 2, either byte order), source_h5.c (a profile gives one source a
 * rank), source_spool.c (a recording). `only_rank` -1: all; else just that rank of the profile. */
int sp__open_trace(sp_inputs *inputs, const char *path, sp_error *error);
int sp__open_h5(sp_inputs *inputs, const char *path, int64_t only_rank, sp_error *error);
int sp__open_recording(sp_inputs *inputs, const struct sp__recording_source *source, sp_error *error);
/* The same of one that was made, which it takes over, also on failure; its damage is the caller's to tell. */
int sp__append_recording(sp_inputs *inputs, struct sp__recording *recording, const char *path, sp_error *error);

/* source.c: what openers share. sp__source_free frees the source and all that it owns,
 * `data` excepted. */
struct sp__source *sp__source_create(const char *path); /* unknown values set; NULL: no memory */

/* Adds the calls that one life lost while recording. */
void sp__source_dropped(struct sp__source *source, const struct sp__counters *counters);
void sp__source_free(struct sp__source *source);
/* Statistics without events: a summary that says nothing of when and how they were spread. */
void sp__source_row_aggregate(struct sp__source_row *row, int64_t total, int64_t minimum, int64_t maximum,
                              int64_t exclusive);
/* Appends a copy of text to an owned list. 0 or -ENOMEM. */
int sp__texts_add(char ***list, size_t *count, const char *text);
/* A copy of `length` bytes as NUL-terminated UTF-8: bad bytes and NULs become U+FFFD, told by *ret_mended. NULL: no
 * memory. */
char *sp__utf8_copy(const char *bytes, size_t length, bool *ret_mended);

/* source.c: the error of events and statistics in one profile, naming a source of each. SP_ERR_USAGE. */
int sp__fail_mixed(const struct sp__source *one, const struct sp__source *other, sp_error *error);

/* error.c: fills error (may be NULL) and returns status. */
__attribute__((format(printf, 6, 7))) int sp__fail(sp_error *error, int status, int system, const char *file,
                                                   const char *place, const char *text, ...);

/* h5.c: the one lock around HDF5; nesting allowed on one thread. Also silences HDF5's own printing. */
void sp__h5_lock(void);
void sp__h5_unlock(void);

#endif
