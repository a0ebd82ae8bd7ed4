/* check_apart.c: checking a profile in a child process, whose death is a finding. */
#include <errno.h>
#include <stdio.h>

#include "apart.h"
#include "check.h"

enum { CPU_MILLISECONDS = 800 };

/* What the child sends: findings, and how far it is, then one end. */
struct message {
    bool end;
    bool progress;
    double done;
    int status;
    char place[256];
    char text[1024];
    sp_check_result result;
    sp_error error;
};

static void send_finding(void *context, const char *place, const char *text)
{
    struct message message = {0};
    snprintf(message.place, sizeof message.place, "%s", place);
    snprintf(message.text, sizeof message.text, "%s", text);
    (void)sp__apart_send(*(int *)context, &message, sizeof message);
}

/* Once a hundredth: each is a message. */
static void send_progress(void *context, double done)
{
    static double told;
    struct message message = {.progress = true, .done = done};
    if (done - told < 0.01)
        return;
    told = done;
    (void)sp__apart_send(*(int *)context, &message, sizeof message);
}

static void child(void *context, int fd)
{
    const struct sp__checking *c = context;
    struct message message = {.end = true};
    struct sp__checking own = {.path = c->path,
                               .found = send_finding,
                               .context = &fd,
                               .progress = c->progress ? send_progress : NULL,
                               .progress_context = &fd,
                               .expects = sp__apart_limit_calls,
                               .error = &message.error};
    sp__apart_limit(c->path, CPU_MILLISECONDS);
    message.status = sp__check_h5_here(&own);
    if (message.status == SP_ERR_SYSTEM && message.error.system == ENOMEM) {
        sp__check_found(&own, message.error.place, "needs more memory than a sound file of its size: it is damaged");
        message.status = 0;
    }
    message.result = own.result;
    (void)sp__apart_send(fd, &message, sizeof message);
}

int sp__check_h5(struct sp__checking *c)
{
    struct sp__apart apart;
    struct message message = {0};
    int status = sp__apart_start(&apart, child, c, c->path, c->error);
    if (status)
        return status;
    while (sp__apart_receive(apart.fd, &message, sizeof message) && !message.end) {
        if (!message.progress)
            sp__check_found(c, message.place, "%s", message.text);
        else if (c->progress)
            c->progress(c->progress_context, message.done);
    }
    const char *death = sp__apart_end(&apart);
    if (message.end) {
        c->result = message.result; /* counts those that were not told, too */
        if (message.status && c->error)
            *c->error = message.error;
        return message.status;
    }
    snprintf(c->result.format, sizeof c->result.format, "HDF5");
    sp__check_found(c, "", "HDF5 %s this file: it is damaged", death);
    return 0;
}
