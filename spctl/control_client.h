/* control_client.h: one question to spd over its control socket, <runtime>/control: a line of JSON there, one back. */
#ifndef SPCTL_CONTROL_CLIENT_H
#define SPCTL_CONTROL_CLIENT_H

#include <jansson.h>

enum control_result {
    CONTROL_ANSWERED, /* spd says ok */
    CONTROL_REFUSED,  /* spd says no: its words in ret_why */
    CONTROL_ABSENT,   /* nobody listens there */
    CONTROL_BROKEN    /* somebody does, but it is not an spd of this user, or it did not answer in time */
};

/* `session` may be NULL. Waits up to `seconds` for the answer and calls show(context, -1) meanwhile (may be NULL).
 * *ret_answer is set for CONTROL_ANSWERED, to be freed with json_decref; ret_why is set for all other results. */
enum control_result control_ask(const char *runtime_dir, const char *op, const char *session, int seconds,
                                void (*show)(void *context, double done), void *context, json_t **ret_answer,
                                char ret_why[512]);

#endif
