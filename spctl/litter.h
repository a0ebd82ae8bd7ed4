/* litter.h: temporaries of processes that were killed while they published. */
#ifndef SPCTL_LITTER_H
#define SPCTL_LITTER_H

#include <stdbool.h>

/* Whether `name` in the open folder `folder` is a temporary (see durable.h) of a process that is gone. On a file system
 * that other machines write to, where a pid says nothing, it must also be an hour old. */
bool litter_is(int folder, const char *name);

/* Removes litter whose target was `path`. */
void litter_beside(const char *path);

#endif
