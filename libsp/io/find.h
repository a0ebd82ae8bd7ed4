/* find.h: which files of a folder are one rank's. */
#ifndef SP__FIND_H
#define SP__FIND_H

#include "source.h"

/* Paths of the *.spt and *_rank<N>.h5 of a folder, not below it, by name; sp_traces_free frees the list.
 * SP_ERR_NOT_FOUND where it has none. */
int sp__find_in_folder(char ***ret, size_t *ret_count, const char *folder, sp_error *error);

/* Whether an input is a folder. What has no name or is not there is an error that says so. */
int sp__find_is_folder(const char *path, bool *ret, sp_error *error);

#endif
