/* writing.h: writing the merged profile, for merge and run. */
#ifndef SPCTL_WRITING_H
#define SPCTL_WRITING_H

#include <stdbool.h>

#include "scope_profiler_io.h"

/* Whether a profile can be written there, tried out with a temporary that is removed again; false after a line. Also
 * removes temporaries of that name that a killed process left. */
bool output_possible(const char *output);

/* END_DONE, END_LOSS (each cause said), or END_FAILED or END_USAGE (said; ret_report is untouched). What the settings call
 * is set here. */
int profile_write(sp_inputs *inputs, const char *output, sp_write_settings settings, sp_write_report *ret_report);

/* "OUT: 4 ranks, 3 regions, 240000 calls, 0 dropped" and what a reader should know besides, on stdout. */
void profile_written_print(const char *output, const sp_write_report *report);

#endif
