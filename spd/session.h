/* session.h: what the ranks of one session on this node share: folder, limits, the merged file, node-<hostname>.json.
 */
#ifndef SPD_SESSION_H
#define SPD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "layout.h"

struct daemon;
struct flush_link;
struct publication;
struct rank;

enum { SESSION_BUSY_MOST = 5 }; /* ... and from then on that name is left to those that it holds */

struct session {
    struct session *next;
    struct daemon *daemon;
    char name[SP__SESSION_SIZE];
    char folder[SP__PATH_SIZE];
    size_t ranks;              /* attached */
    bool spool_fails, limited; /* said */
    uint64_t kept_bytes;       /* of spools whose ranks have ended and that wait for the merged file */

    char merged[SP__PATH_SIZE]; /* where the next merged file goes */
    bool merged_plain;          /* its plain name: ranks that only it holds by now are taken along */
    bool merged_settled;        /* there are such ranks */
    bool merge_now;             /* a flush wants it */
    bool merge_ended;           /* ranks have ended since the last one */
    uint64_t merge_retry_ms;
    unsigned merge_failures;
    unsigned merge_busy; /* times in a row that a program which drains itself was in the way of the plain name ... */
    struct publication *publication;
    struct flush_link *waiting;

    json_t *node; /* node.c's */
    char node_path[SP__PATH_SIZE];
    bool node_dirty; /* something is to be written ... */
    bool node_last;  /* ... and among it what is the last of some incarnation */
    struct node_write *node_write;
};

/* Finds or makes it. NULL: no memory, or the path is too long. */
struct session *session_get(struct daemon *daemon, const char *name);
struct session *session_find(struct daemon *daemon, const char *name);

/* Frees it when nothing of it is left to be done. */
void session_release(struct session *session);

/* Merged format: sessions whose ranks ended under an spd that did not live to merge them. */
void session_recover(struct daemon *daemon);

/* Merged format: `now` for a flush, else once the last rank has ended. */
void session_want_merge(struct session *session, bool now);
void session_step(struct session *session);
void session_merged(struct session *session, const struct publication *publication);

/* --max-session-bytes, --max-bytes. */
void session_limit(struct rank *rank);

#endif
