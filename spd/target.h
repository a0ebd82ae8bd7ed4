/* target.h: which file a publication is to become: never one that holds another life's records. */
#ifndef SPD_TARGET_H
#define SPD_TARGET_H

#include <stddef.h>

#include "layout.h"

struct daemon;
struct rank;
struct session;

/* The path that "_rank<NNNNN>" is added to: below the session's folder, or the program's own prefix where --publish
 * prefix asks for it and that folder is the same user's. 0 or -ENAMETOOLONG. */
int target_base(struct daemon *daemon, const struct sp__identity *id, const char *folder, char *ret, size_t size);

/* Sets rank->life: the one that this incarnation's note names, else the first that nobody else's file, note or running
 * rank has taken. 0 or -EMFILE where there are too many. */
int target_life(struct daemon *daemon, struct rank *rank);

/* Sets session->merged: the plain name while every rank in it can be
 * written anew without holding two lives of one, else the first free further one. */
void target_merged(struct session *session);

#endif
