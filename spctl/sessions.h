/* sessions.h: what a session's name on the command line stands for. */
#ifndef SPCTL_SESSIONS_H
#define SPCTL_SESSIONS_H

#include "scope_profiler_io.h"

/* The session that `name` means: the one of that name, else the newest launch "<name>@...". 1: found, 0: there is none,
 * then ret holds the name as it is; -1: the folder cannot be read, said. */
int session_resolve(const char *data_dir, const char *name, char ret[128]);

const char *rank_state_name(enum sp_rank_state state);

#endif
