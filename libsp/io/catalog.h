/* catalog.h: which incarnations there are: what the data folder's spools and notes and the segments of this user show,
 * joined by their stem "<hash>.r<NNNNN>.<incarnation>". A look at one moment; everybody goes on meanwhile. */
#ifndef SP__CATALOG_H
#define SP__CATALOG_H

#include "layout.h"
#include "note_read.h"

struct sp__life {
    char stem[96];
    char session[SP__SESSION_SIZE];
    char hostname[SP__HOST_SIZE];
    char prefix[SP__PATH_SIZE];
    char incarnation[33];
    int32_t rank;
    uint32_t pid;
    int64_t birth_realtime_ns; /* -1 unknown */

    char **spools; /* paths; none of a discarded life */
    size_t spool_count;
    uint64_t spool_bytes;
    int64_t changed_ns; /* CLOCK_REALTIME of the latest change of spool and note; -1 */
    struct sp__note *note;

    char segment[256]; /* below SP__SHM_DIR, "" none */
    uint32_t state;    /* enum sp__state */
    bool alive;        /* byte 0 is held */
    bool consumed;     /* byte 1 is held */
    uint64_t segment_bytes, segment_calls, undrained, dropped;

    char why[256]; /* what could not be read, and why; "" all could */
};

struct sp__catalog {
    struct sp__life *lives; /* sorted by session, rank, birth */
    size_t count, room;
};

/* `session` NULL: all. `data_dir` is an absolute path and need not exist. `figures`: also what the lanes of segments
 * hold. 0 or a status. */
int sp__catalog_build(struct sp__catalog *ret, const char *data_dir, const char *session, bool figures,
                      sp_error *error);
void sp__catalog_finish(struct sp__catalog *catalog);

/* A session's name, or a prefix: then the launch session "<prefix>@..." that began last. */
int sp__catalog_resolve(const char *data_dir, const char *name, char ret[SP__SESSION_SIZE], sp_error *error);

/* Segments only: adds those of `session` (NULL: all) to a catalog. */
int sp__catalog_segments(struct sp__catalog *catalog, const char *session, bool figures, sp_error *error);

/* The life of that stem, made where there is none. NULL: no memory. */
struct sp__life *sp__catalog_life(struct sp__catalog *catalog, const char *stem);

/* Adds a spool that is not in the list yet and is a file of this user. 0 or -errno. */
int sp__life_add_spool(struct sp__life *life, const char *path);

#endif
