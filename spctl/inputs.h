/* inputs.h: what merge and report take: session names, files and folders. */
#ifndef SPCTL_INPUTS_H
#define SPCTL_INPUTS_H

#include <jansson.h>

#include "options.h"
#include "scope_profiler_io.h"

/* What becomes of inputs that cannot be read: each is said, as skipped or as what ends it. */
struct bad_inputs {
    bool skip;
    json_t *list;   /* receives what was said, may be NULL */
    size_t nothing; /* operands that are no file, folder or session; sp_inputs_bad counts the files */
};

/* Adds every operand. A path that exists is a file or folder, and so is everything with a '/'; anything else a session;
 * "session:NAME" always a session. Says what a prefix or an ambiguous name was taken for, and all that cannot be read;
 * `bad` stays in use until the inputs are destroyed, for what turns out so later. `ret_taken` (may be NULL) receives
 * what each was taken for. */
void inputs_collect(sp_inputs *inputs, const struct arguments *arguments, struct bad_inputs *bad, json_t *ret_taken);

#endif
