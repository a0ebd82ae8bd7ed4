/* publisher.h: publications: made on worker threads from spools, a few at a time, HDF5 one at a time. */
#ifndef SPD_PUBLISHER_H
#define SPD_PUBLISHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>
#include <uv.h>

#include "layout.h"
#include "options.h"

struct daemon;
struct flush_link;
struct rank;
struct session;

enum publication_kind {
    PUBLISH_FLUSH, /* what is in the spool so far; more will come */
    PUBLISH_FINAL, /* all of an incarnation */
    PUBLISH_ASIDE, /* what was drained of a segment that is no good any more */
    PUBLISH_SESSION
};

struct publication_source {
    char path[SP__PATH_SIZE];
    bool attached; /* byte 1 of its segment is ours */
    bool ended;    /* found by the job: an END frame stands in it */
    bool left_out; /* found by the job: not ours to merge now */
    bool at_work;  /* of those, on this node: somebody may be appending to it */
};

struct publication {
    uv_work_t work;
    struct publication *next; /* queued */
    struct daemon *daemon;
    struct session *session;
    struct rank *rank; /* NULL: the session's merged file */
    enum publication_kind kind;

    /* What the job needs, copied: the loop goes on meanwhile. */
    struct publication_source *sources;
    size_t source_count;
    uint64_t end; /* of the first spool; UINT64_MAX for a session */
    char folder[SP__PATH_SIZE];
    char note[SP__PATH_SIZE];
    char trace[SP__PATH_SIZE]; /* the two names that this life may have */
    char hdf5[SP__PATH_SIZE];
    char data_dir[SP__PATH_SIZE];
    char name[SP__SESSION_SIZE];
    char hostname[SP__HOST_SIZE];
    enum options_format format;
    uint32_t asked;            /* enum sp__format of the program */
    bool several;              /* several lanes were used: most likely by several threads */
    int sync;                  /* descriptor to bring to the disk first, or -1 */
    _Atomic uint32_t *spooled; /* header word to set then, or NULL */
    uint32_t request;          /* flush_request that this answers */
    bool add_settled;          /* merged: also ranks that only the old merged file holds */
    bool keeps_spools;         /* the session's file holds an incarnation that its spool goes on speaking for */
    struct flush_link *flushes;

    /* What came of it. */
    bool busy;       /* the session's file would hold what no note of it speaks of */
    bool wants_hdf5; /* its first part is done: the second waits for the HDF5 thread */
    int error;       /* errno */
    char why[SP__PATH_SIZE + 1100];
    char file[SP__PATH_SIZE]; /* "" none */
    uint32_t written;         /* enum sp__format */
    uint64_t ranks, calls, dropped, lost;
    json_t *facts; /* array for node-<hostname>.json */
};

struct publisher {
    struct daemon *daemon;
    struct publication *first, **end;           /* waiting for a worker */
    struct publication *hdf5_first, **hdf5_end; /* waiting for the HDF5 thread */
    unsigned running;
    bool hdf5_running;
};

void publisher_init(struct publisher *publisher, struct daemon *daemon);
bool publisher_busy(const struct publisher *publisher);

/* Takes a snapshot of the rank's spool and publishes it; rank_published is called with what came of it. */
void publisher_rank(struct publisher *publisher, struct rank *rank, enum publication_kind kind);

/* All spools of the session as one file; session_merged is called. */
void publisher_session(struct publisher *publisher, struct session *session);

/* The last close of a removed spool frees its blocks, which takes long for a large one: done on a worker thread. Takes
 * the descriptor; -1: nothing. */
void publisher_close(struct publisher *publisher, int fd);

/* publication.c: the jobs themselves, on a worker thread. */
void publication_prepare(struct publication *publication);
void publication_hdf5(struct publication *publication);

/* The session's file holds another life, or part, of the rank of source n. */
bool publication_rank_twice(const struct publication *publication, size_t n);

#endif
