/* preload.h: the libraries that "spctl run" has a command load before its own. */
#ifndef SPCTL_PRELOAD_H
#define SPCTL_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>

/* Adds `library`, e.g. "libsp_mpi.so", to a list for LD_PRELOAD: as it lies where this program's libraries were
 * installed, or in `folder` of the build tree that this program lies in. False after a line where it is in neither, or
 * its path cannot stand in such a list. */
bool preload_add(const char *library, const char *folder, char *list, size_t size);

/* Puts the list before what LD_PRELOAD says already; an empty one changes nothing. In the child that becomes the
 * command. 0 or -errno. */
int preload_set(const char *list);

#endif
