/* runtime.h: the runtime folder: the lock that makes spd the only one there, and the control socket. */
#ifndef SPD_RUNTIME_H
#define SPD_RUNTIME_H

#include <stdbool.h>
#include <sys/types.h>

#include "layout.h"
#include "options.h"

struct runtime {
    char folder[SP__PATH_SIZE];
    char socket_path[SP__PATH_SIZE];
    int lock;     /* holds byte 0 of <folder>/spd.lock */
    int listener; /* taken over by the control server */
    bool bound;   /* the socket is ours to remove, if it still is this one: */
    dev_t dev;
    ino_t ino;
};

/* Says on the log what is wrong. 0 or -errno. */
int runtime_init(struct runtime *runtime, const struct options *options);

/* No new connections find the socket; its name goes while the lock is still held. */
void runtime_unlink(struct runtime *runtime);
void runtime_finish(struct runtime *runtime);

#endif
