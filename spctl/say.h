/* say.h: what spctl says on stderr, how it ends, and progress of long work. */
#ifndef SPCTL_SAY_H
#define SPCTL_SAY_H

#include <stdbool.h>
#include <stddef.h>

enum { END_DONE = 0, END_FAILED = 1, END_USAGE = 2, END_LOSS = 3 };

/* The verb that messages begin with: "spctl merge: ...". */
void say_verb(const char *name);

/* One line on stderr; control characters in it are escaped, a progress line is wiped first. */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/* `memory`, or the end of the program with one line where it is NULL. */
void *need(void *memory);

/* "WHAT 42 %" on stderr where that is a terminal and the work takes over a second. `done` is 0 ... 1, negative: not
 * known, then the seconds so far are shown. */
struct progress {
    const char *what;
    double began;
    double shown;
    bool terminal;
};
void progress_begin(struct progress *ret, const char *what);
void progress_show(void *progress, double done);
void progress_end(void);

#endif
