/* rank.h: one attached segment: draining, its end, and what is told to its program. */
#ifndef SPD_RANK_H
#define SPD_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "consumer.h"

struct daemon;
struct flush_link;
struct publication;
struct session;

struct rank {
    struct rank *next, *previous; /* of the daemon */
    struct rank *next_due;
    struct rank *next_of_name;
    struct daemon *daemon;
    struct session *session;
    struct sp__consumer *consumer;
    int guard;

    char base[SP__PATH_SIZE]; /* published as <base>_rank<NNNNN>[.i<life>].spt or .h5 */
    unsigned life;
    char note[SP__PATH_SIZE];
    char other_spool[SP__PATH_SIZE]; /* one that the header names and that could not be appended to; "" none */

    bool due;
    bool rung;   /* its program rang since it was served last */
    bool closed; /* a description of its segment was closed: byte 0 is to be looked at */
    /* A ring passed half, and much came since: looked at every few ms, since to be woken costs the program that rings tens
     * of microseconds on a virtual machine, and a look of our own costs it nothing. Who never rings is drained with the
     * tick, which costs us less. */
    uint64_t linger_until_ms;
    bool stalled;   /* the spool takes nothing at the moment */
    bool dead;      /* byte 0 was seen free */
    bool aside;     /* poisoned or inconsistent: what the spool holds is published, then it is let go */
    bool whole;     /* its last publication stands: only names are left to be removed */
    bool discarded; /* nothing of it is kept */
    bool paused_by_limit;
    int removed_spool; /* keeps it until its owner has closed it: see publisher_close; -1 none */
    uint32_t ended;    /* enum sp__end once the END frame is written; 0 recording */
    uint64_t records;  /* drained by this spd */
    uint64_t dropped_said, dropped_said_ms;
    uint64_t retry_ms; /* not before, after a publication failed */
    unsigned failures; /* of its last publication, in a row */
    unsigned again;    /* final publications after which its rings held more */

    /* Flushes: wanted by control or at the end of spd; asked by the program through flush_request. */
    bool flush_wanted;
    uint32_t flush_taken; /* the program's request that the next publication answers */
    bool flush_marked;    /* merged: marked for the session's next file */
    bool in_merge;        /* merged: the running file answers flush_taken of its start */
    uint32_t flush_merging;
    struct flush_link *waiting;      /* control's flushes that the next publication answers */
    struct publication *publication; /* running or queued */
};

/* Takes the consumer, also on failure. 0 or -errno. */
int rank_create(struct daemon *daemon, struct sp__consumer *consumer);

/* Lets the segment go as it is: byte 1 falls free, programs go on. */
void rank_destroy(struct rank *rank);

/* Off the processor where its program rang last: see aside.h. */
void rank_step_aside(const struct rank *rank);

/* One slice of draining, then whatever its state asks for. */
void rank_service(struct rank *rank);

/* Whether byte 0 is free; then it is due. */
void rank_look_alive(struct rank *rank);

/* Once a second: cheap when nothing happened. */
void rank_tick(struct rank *rank, uint64_t now_ms);

/* Its publication came to an end; the publication is freed by the caller. */
void rank_published(struct rank *rank, const struct publication *publication);

/* Merged format: the session's file that was begun after this rank was marked stands, or failed (error 0 or errno). */
void rank_merged(struct rank *rank, int error, const char *path);

/* Where it is going to be, as far as is known. */
void rank_planned(const struct rank *rank, char *ret, size_t size, uint32_t *ret_format);

void rank_counters(const struct rank *rank, struct sp__counters *ret, uint64_t *ret_heads, uint64_t *ret_undrained);

static inline const struct sp__identity *rank_identity(const struct rank *rank)
{
    return &rank->consumer->segment.identity;
}

/* "session S rank N" for messages. */
#define RANK_SAYS        "session %s rank %d"
#define RANK_NAMES(rank) rank_identity(rank)->session, (int)rank_identity(rank)->rank

/* rank_end.c */
void rank_flush(struct rank *rank);
void rank_end(struct rank *rank, uint32_t end);
void rank_set_aside(struct rank *rank, const char *why); /* NULL: what the guard or the consumer found */
void rank_discard(struct rank *rank);
void rank_bury(struct rank *rank); /* names, spools, the program's answer; then the rank is gone */

/* The spool took nothing: said once; 0 is good news, said too. */
void rank_spool_status(struct rank *rank, int status);

#endif
