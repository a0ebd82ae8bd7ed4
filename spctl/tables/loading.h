/* loading.h: results of inputs, for report and diff. */
#ifndef SPCTL_LOADING_H
#define SPCTL_LOADING_H

#include "options.h"
#include "progress.h"
#include "scope_profiler_io.h"
#include "selection.h"

struct loading {
    const struct selection_options *selection; /* was read */
    bool calls;                                /* are going to be read, not statistics alone */
};

struct loaded {
    sp_inputs *inputs;
    sp_results *results;
    char source[64]; /* what heads call them: the session or file, or how many */
    const char *name;
    struct progress progress; /* of every reading of the inputs */
};

/* END_DONE; else the exit status, after a line that says why. */
int loaded_open(struct loaded *ret, const struct arguments *arguments, const struct loading *wanted);
void loaded_close(struct loaded *loaded); /* also of what is zeroed, or was not opened */

#endif
