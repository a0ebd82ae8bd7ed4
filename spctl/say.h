/* say.h: what spctl says on stderr, and how it ends. */
#ifndef SPCTL_SAY_H
#define SPCTL_SAY_H

#include <stdbool.h>
#include <stddef.h>

#include "progress.h"

enum { END_DONE = 0, END_FAILED = 1, END_USAGE = 2, END_LOSS = 3 };

/* The verb that messages begin with: "spctl merge: ...". */
void say_verb(const char *name);

/* One line on stderr; control characters in it are escaped, a progress line is wiped first. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* The same of a warning of the reading library, which gives it a context. */
void say_warning(void *context, const char *text);

/* `memory`, or the end of the program with one line where it is NULL. */
void *need(void *memory);

#endif
