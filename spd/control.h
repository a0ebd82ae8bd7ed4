/* control.h: the control socket: connections, lines in and out. docs/control.md has the protocol. */
#ifndef SPD_CONTROL_H
#define SPD_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct client;
struct control;
struct daemon;
struct flush;
struct request;

/* Serves daemon->runtime.listener, which it takes over. 0 or -errno. */
int control_start(struct daemon *daemon);

/* Closes the listener; connections stay until control_close. */
void control_stop_listening(struct daemon *daemon);
void control_close(struct daemon *daemon);
void control_finish(struct daemon *daemon); /* after the loop has ended */

/* Sends one reply; takes the object. {"v":1} and the request's id are added. */
void control_reply(struct client *client, bool has_id, json_int_t id, json_t *reply);
void control_error(struct client *client, bool has_id, json_int_t id, int error, const char *words);

/* All parts of a flush are done: replies, if the client is still there. */
void control_flushed(struct flush *flush);

/* control_ops.c */
void control_serve(struct daemon *daemon, struct client *client, const struct request *request);

/* A client that waits for a flush is not idle, and its flush must not speak to it once it is gone. */
void client_waits(struct client *client, struct flush *flush);

#endif
