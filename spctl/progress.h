/* progress.h: how far long work is. */
#ifndef SPCTL_PROGRESS_H
#define SPCTL_PROGRESS_H

#include <stdbool.h>

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
/* Wipes the line, where there is one. */
void progress_end(void);

#endif
