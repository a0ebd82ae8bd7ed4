/* inputs.h: what merge and report take: session names, files and folders. */
#ifndef SPCTL_INPUTS_H
#define SPCTL_INPUTS_H

#include <jansson.h>

#include "options.h"
#include "scope_profiler_io.h"

/* Adds every operand. A path that exists is a file or folder, and so is everything with a '/'; anything else a session;
 * "session:NAME" always a session. Says every one that is bad, and what a prefix or an ambiguous name was taken for.
 * `ret_taken` (may be NULL) receives what each was taken for. Returns how many were bad. */
size_t inputs_collect(sp_inputs *inputs, const struct arguments *arguments, json_t *ret_taken);

#endif
