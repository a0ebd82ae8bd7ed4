/* inputs.h: what adding a path, adding a session and narrowing share. */
#ifndef SP__INPUTS_H
#define SP__INPUTS_H

#include <sys/stat.h>

#include "source.h"

/* How far a list had got, to take back what was added since. */
struct sp__mark {
    size_t sources, taken, repeated;
};
struct sp__mark sp__inputs_mark(const sp_inputs *inputs);
void sp__inputs_cut(sp_inputs *inputs, struct sp__mark mark);

/* A file that was named, by whatever name and whether it can be read or not. */
struct sp__taken {
    dev_t dev;
    ino_t ino;
    char *path;
};

/* Is it this file, and does it still go by that name? The number of one that was removed is given to others. */
bool sp__taken_is(const struct sp__taken *taken, const struct stat *file);

/* Notes that a file is named; *ret_again where one of the first `before` that were noted is the same file: then that is
 * said, and it is to be left alone. A file that is not there is not noted. */
int sp__inputs_take(sp_inputs *inputs, const char *path, size_t before, bool *ret_again, sp_error *error);

/* Whether an error is about what was given to be read, and not about this machine's memory, space or descriptors. */
bool sp__error_of_input(const sp_error *error);

/* A file could not be read: told of, and 0; else its status, with `error` filled. */
int sp__inputs_bad(sp_inputs *inputs, const sp_error *why, sp_error *error);

int sp__open_spools(sp_inputs *inputs, const char *const *paths, const uint64_t *ends, size_t count,
                    const char *scratch_dir, sp_error *error);

/* beside.c: sources from `first` on are of the file `path`: tells them what the notes in its folder know of it, so that
 * files of one session are known as such also where they are named one by one, or after they were moved. */
int sp__beside_annotate(sp_inputs *inputs, size_t first, const char *path, sp_error *error);
void sp__beside_destroy(struct sp__beside *beside);

#endif
