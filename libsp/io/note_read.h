/* note_read.h: reading what note.h writes: where an incarnation was published, and what a .spt has no place for. */
#ifndef SP__NOTE_READ_H
#define SP__NOTE_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "source.h"

struct sp__note {
    char session[128];
    char prefix[SP__PATH_SIZE];
    char hostname[256];
    char incarnation[33];
    char file[SP__PATH_SIZE]; /* absolute */
    char format[16];          /* "spt", "h5", "merged" */
    char language[16];
    uint32_t rank;
    uint32_t pid;
    bool final, ended, died;
    uint64_t calls, threads, gaps;
    struct sp__counters counters; /* what was lost or mended, and no more of them */
    int64_t clock_error_ns, birth_mono_ns, birth_realtime_ns, end_mono_ns; /* -1 unknown */
    char **deaths;
    size_t death_count;
    char **open_calls;
    size_t open_call_count;
};

/* Heap. 0; SP_ERR_NOT_FOUND; SP_ERR_CORRUPT_PROFILE for what is no note. */
int sp__note_read(struct sp__note **ret, const char *path, sp_error *error);
void sp__note_destroy(struct sp__note *note);

/* Tells the source of a published file what the note knows of it and the file has no place for; `again` where another
 * life's note spoke of the same source before. 0 or SP_ERR_SYSTEM. */
int sp__note_annotate(struct sp__source *source, const struct sp__note *note, bool again, sp_error *error);

#endif
