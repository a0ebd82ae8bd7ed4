/* child.h: a child that drains this benchmark's rings, as spd would, so that recording alone is measured. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <consumer.h>
#include <names.h>

static inline int bench_drain_one(const char *name, void *context)
{
    struct sp__consumer *consumer;
    char folder[1024];
    (void)context;
    if (!strstr(name, getenv("SP_SESSION")))
        return 0;
    (void)snprintf(folder, sizeof folder, "%s/drained", getenv("SP_DATA_DIR"));
    if (sp__consumer_attach(&consumer, name, folder, NULL) != 0)
        return 0;
    while (sp__segment_alive(&consumer->segment) == 1) {
        if (sp__consumer_drain(consumer, 0, NULL) != 0)
            break;
        usleep(1000);
    }
    (void)sp__segment_unlink(&consumer->segment);
    sp__consumer_destroy(consumer);
    return 1;
}

/* After bench_folder. The child dies with its parent. */
static inline pid_t bench_drain(void)
{
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            (void)sp__segment_each(geteuid(), bench_drain_one, NULL);
            usleep(1000);
        }
    }
    return child;
}

static inline void bench_end(pid_t child)
{
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
}

#endif
