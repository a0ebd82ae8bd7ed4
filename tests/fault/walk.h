/* walk.h: the parts of the walk over all labelled instants: plan (walk.c), one run (run.c, processes.c), what a run
 * must have kept (profile.c). */
#ifndef WALK_H
#define WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "counts.h"
#include "instant.h"

enum { LIVES = 3, SPDS = 2, WORDS_SIZE = 700, KILL_SIZE = 64 };
enum role { PROGRAM, SPD, MERGE, ROLES };

/* What is run, in one way or another. */
struct family {
    const char *name;
    const char *scripts[LIVES]; /* of the lives of rank 0, one after the other; NULL: no more */
    unsigned killed;            /* the life that is killed at labels */
    const char *spd;            /* its options; NULL: there is none */
    bool spd_later;             /* it comes when all lives are over */
    bool drops;                 /* programs wait for no room */
    bool strict;                /* one thread, no anchors: the label says whether the last call counts */
};

/* One run: who is killed where ("" nobody), and what happens then. */
struct run {
    const struct family *family;
    char program[KILL_SIZE]; /* LABEL:HIT */
    char spd[SPDS][KILL_SIZE];
    char merge[KILL_SIZE];
    bool gone;    /* an spd that was killed is not started again */
    bool at_once; /* the next life does not wait for the last one's end to be settled */
    bool look;    /* nobody is killed: which labels are passed, how often */
};

struct result {
    uint64_t dropped; /* calls, counted */
    bool ran, good;
    bool killed[ROLES]; /* by the label */
    bool killed_second; /* the second spd */
    double seconds;
    char words[WORDS_SIZE];                  /* what was wrong */
    uint32_t seen[ROLES][SP__INSTANT_COUNT]; /* after a look: so many passings at least */
    uint32_t spools;                         /* that were looked at frame by frame */
};

extern const char *const instant_labels[SP__INSTANT_COUNT];

/* To be called in a process of its own. */
void run_all_of_it(const struct run *run, unsigned number, struct result *ret);

/* "family=... program=... spd=..." as it is given to the walk again. */
void run_words(const struct run *run, char *ret, size_t size);

/* processes.c: children of a run, and the folders they work in. */
struct place {
    char folder[200]; /* with data, run, cwd, kept in it */
    char session[64];
    const struct family *family;
    bool look;
};
bool place_make(struct place *place, unsigned number, const struct family *family);
void place_remove(const struct place *place);
/* Starts argv (NULL-terminated) with stdout and stderr appended to <folder>/<role>.log. -1: failed. */
pid_t place_start(const struct place *place, enum role role, const char *kill_at, const char *const *argv);
void place_last_words(const struct place *place, enum role role, char *ret, size_t size);
off_t place_log_size(const struct place *place, enum role role);
bool place_says(const struct place *place, enum role role, off_t from, const char *words); /* from there on */
void place_keep_spools(const struct place *place); /* a second name for each, so that it can be looked at in the end */
bool place_segments(const struct place *place, char *ret, size_t size);
bool place_litter(const struct place *place, char *ret, size_t size); /* temporaries beside the merged profile */
void place_seen(const struct place *place, enum role role, uint32_t seen[SP__INSTANT_COUNT]);
void kill_children(void);

/* profile.c */
struct expected {
    const struct counts *counts[LIVES];
    int last[LIVES]; /* whether the last sp_end of one that was killed counts: 1, 0; -1: either way */
    bool drops;
};
bool profile_holds(const char *path, const struct expected *expected, uint64_t *ret_dropped, char *why, size_t size);
bool spools_sound(const struct place *place, uint32_t *ret_count, char *why, size_t size);

#endif
