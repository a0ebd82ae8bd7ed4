/* verbs.h: every verb lies in cmds/<name>.c. */
#ifndef SPCTL_VERBS_H
#define SPCTL_VERBS_H

#include "options.h"

extern const struct verb verb_run, verb_list, verb_flush, verb_merge, verb_report, verb_check, verb_recover, verb_gc,
    verb_config, verb_help, verb_status, verb_stack, verb_diff, verb_export;

/* In the order of the overview; ends with NULL. */
extern const struct verb *const verbs[];
const struct verb *verb_find(const char *name);
int verb_main(const struct verb *verb, int argc, char **argv);
void verbs_overview(void);

#endif
