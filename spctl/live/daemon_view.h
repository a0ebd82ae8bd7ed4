/* daemon_view.h: what spctl status shows of spd. */
#ifndef SPCTL_DAEMON_VIEW_H
#define SPCTL_DAEMON_VIEW_H

#include <stdbool.h>
#include <stdio.h>

/* Asks the spd of this runtime folder and prints what it says on `out`; JSON, on one line, on stdout. False where none
 * answers; daemon_absent then says why. */
bool daemon_show(const char *runtime_dir, bool as_json, FILE *out);
void daemon_absent(const char *runtime_dir);

#endif
