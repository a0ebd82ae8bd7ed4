/* daemon.h: a private spd for the time of one command. */
#ifndef SPCTL_DAEMON_H
#define SPCTL_DAEMON_H

#include <stdbool.h>
#include <sys/types.h>

#include "layout.h"

struct daemon {
    pid_t pid; /* 0: not running */
    char runtime_dir[SP__PATH_SIZE];
    char log[SP__PATH_SIZE + 16];
};

/* Makes a private folder below `runtime_parent` and starts spd in it for `session` alone: the spd beside this program,
 * else the one on PATH. Returns when it answers; false after a line, then nothing is left behind. It ends when this
 * process does. */
bool daemon_start(struct daemon *ret, const char *runtime_parent, const char *data_dir, const char *session);

/* True while it lives; its end is collected. */
bool daemon_alive(struct daemon *daemon);

/* Asks it to publish and end, waits for that, and removes the folder. False after a line when it had to be killed or
 * ended badly: its spools stay. */
bool daemon_stop(struct daemon *daemon);

/* A folder of daemon_start in `runtime_parent` that a killed process left: over a minute old, and no spd holds its
 * lock. */
bool daemon_folder_stale(const char *runtime_parent, const char *name);
int daemon_folder_remove(const char *path); /* 0 or -errno */

#endif
