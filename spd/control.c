#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <uv.h>

#include "daemon.h"
#include "flush.h"
#include "log.h"
#include "request.h"

enum {
    CLIENTS_MOST = 256,
    FLUSHES_MOST = 64,       /* of one client */
    BACKLOG_PAUSE = 1 << 20, /* unsent bytes from which on a client is not read */
    BACKLOG_MOST = 32 << 20
};

struct client {
    struct client *next, *previous; /* the one that was heard last comes first */
    struct control *control;
    uv_pipe_t pipe;
    struct lines lines;
    struct flush *flushes[FLUSHES_MOST];
    unsigned flush_count;
    bool reading;
    bool closing;
    bool last_words; /* closed once what was written has gone */
};

struct control {
    struct daemon *daemon;
    uv_pipe_t listener;
    bool listening;
    struct client *first, *last;
    unsigned count, most;
};

struct reply {
    uv_write_t write;
    struct client *client;
    char *text;
};

static void serve_lines(struct client *client);
static void start_reading(struct client *client);

static void unlink_client(struct client *client)
{
    struct control *control = client->control;
    if (client->previous)
        client->previous->next = client->next;
    else
        control->first = client->next;
    if (client->next)
        client->next->previous = client->previous;
    else
        control->last = client->previous;
}

static void push_client(struct client *client)
{
    struct control *control = client->control;
    client->previous = NULL;
    client->next = control->first;
    if (control->first)
        control->first->previous = client;
    else
        control->last = client;
    control->first = client;
}

static void on_closed(uv_handle_t *handle)
{
    struct client *client = handle->data;
    lines_finish(&client->lines);
    free(client);
}

static void close_client(struct client *client)
{
    if (client->closing)
        return;
    client->closing = true;
    for (unsigned n = 0; n < client->flush_count; ++n)
        client->flushes[n]->client = NULL;
    client->flush_count = 0;
    unlink_client(client);
    --client->control->count;
    uv_close((uv_handle_t *)&client->pipe, on_closed);
}

static void on_written(uv_write_t *write, int status)
{
    struct reply *reply = (struct reply *)write;
    struct client *client = reply->client;
    free(reply->text);
    free(reply);
    if (client->closing)
        return;
    if (status || (client->last_words && !uv_stream_get_write_queue_size((uv_stream_t *)&client->pipe))) {
        close_client(client);
        return;
    }
    if (!client->reading && !client->last_words) {
        start_reading(client);
        serve_lines(client);
    }
}

void control_reply(struct client *client, bool has_id, json_int_t id, json_t *message)
{
    if (!client || client->closing) {
        json_decref(message);
        return;
    }
    if (!message) { /* no memory, or words that are not UTF-8: a client that waits for it would wait for ever */
        close_client(client);
        return;
    }
    json_object_set_new(message, "v", json_integer(REQUEST_VERSION));
    if (has_id)
        json_object_set_new(message, "id", json_integer(id));
    size_t length = json_dumpb(message, NULL, 0, JSON_COMPACT);
    struct reply *reply = calloc(1, sizeof *reply);
    char *text = reply ? malloc(length + 1) : NULL;
    if (!text || !length) {
        free(text);
        free(reply);
        json_decref(message);
        close_client(client); /* a reply that is missing in the middle would be worse */
        return;
    }
    json_dumpb(message, text, length, JSON_COMPACT);
    json_decref(message);
    text[length] = '\n';
    *reply = (struct reply){.client = client, .text = text};
    uv_buf_t buffer = uv_buf_init(text, (unsigned)length + 1);
    if (uv_write(&reply->write, (uv_stream_t *)&client->pipe, &buffer, 1, on_written)) {
        free(text);
        free(reply);
        close_client(client);
        return;
    }
    if (uv_stream_get_write_queue_size((uv_stream_t *)&client->pipe) > BACKLOG_MOST)
        close_client(client);
}

void control_error(struct client *client, bool has_id, json_int_t id, int error, const char *words)
{
    json_t *reply = json_pack("{s:b, s:s}", "ok", 0, "error", words);
    if (reply && error)
        json_object_set_new(reply, "errno", json_integer(error));
    control_reply(client, has_id, id, reply);
}

void client_waits(struct client *client, struct flush *flush)
{
    if (client->flush_count < FLUSHES_MOST)
        client->flushes[client->flush_count++] = flush;
    else
        flush->client = NULL;
}

void control_flushed(struct flush *flush)
{
    struct client *client = flush->client;
    if (!client)
        return;
    for (unsigned n = 0; n < client->flush_count; ++n)
        if (client->flushes[n] == flush)
            client->flushes[n--] = client->flushes[--client->flush_count];
    if (flush->error) {
        control_error(client, flush->has_id, flush->id, flush->error, flush->why);
        return;
    }
    control_reply(client, flush->has_id, flush->id,
                  json_pack("{s:b, s:O, s:I, s:I}", "ok", 1, "files", flush->files, "ranks", (json_int_t)flush->ranks,
                            "dropped", (json_int_t)flush->dropped));
}

/* Says why, takes nothing more, and closes when that is sent. */
static void refuse(struct client *client, const char *words)
{
    uv_read_stop((uv_stream_t *)&client->pipe);
    client->reading = false;
    client->last_words = true;
    control_error(client, false, 0, 0, words);
}

static void serve_lines(struct client *client)
{
    char *line;
    size_t length;
    while (!client->closing && !client->last_words) {
        if (uv_stream_get_write_queue_size((uv_stream_t *)&client->pipe) > BACKLOG_PAUSE ||
            client->flush_count == FLUSHES_MOST) {
            uv_read_stop((uv_stream_t *)&client->pipe); /* it reads slower than it asks: on_written goes on */
            client->reading = false;
            return;
        }
        if (!lines_next(&client->lines, &line, &length))
            return;
        struct request request;
        char why[256];
        int status = request_parse(line, length, &request, why, sizeof why);
        if (status == -EBADMSG)
            refuse(client, why);
        else if (status)
            control_error(client, request.has_id, request.id, -status, why);
        else
            control_serve(client->control->daemon, client, &request);
    }
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct client *client = handle->data;
    size_t size = 0;
    (void)suggested;
    ret->base = NULL;
    int status = lines_room(&client->lines, &ret->base, &size);
    ret->len = status ? 0 : size; /* 0: on_read is told UV_ENOBUFS */
}

static void on_read(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct client *client = stream->data;
    (void)buffer;
    if (length == UV_ENOBUFS) {
        refuse(client, "a message may have 65535 bytes; this one is longer");
        return;
    }
    if (length < 0) {
        close_client(client);
        return;
    }
    lines_added(&client->lines, (size_t)length);
    unlink_client(client);
    push_client(client);
    serve_lines(client);
}

static void start_reading(struct client *client)
{
    client->reading = !uv_read_start((uv_stream_t *)&client->pipe, on_room, on_read);
}

static bool peer_is_ours(const struct client *client)
{
    uv_os_fd_t fd;
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (uv_fileno((const uv_handle_t *)&client->pipe, &fd) || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
        return false;
    return peer.uid == geteuid() || peer.uid == 0;
}

static void drop_oldest_idle(struct control *control)
{
    for (struct client *client = control->last; client; client = client->previous) {
        if (client->flush_count)
            continue;
        close_client(client);
        return;
    }
    if (control->last)
        close_client(control->last);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct control *control = listener->data;
    if (status)
        return;
    struct client *client = calloc(1, sizeof *client);
    if (!client)
        return;
    client->control = control;
    client->pipe.data = client;
    uv_pipe_init(&control->daemon->loop, &client->pipe, 0);
    push_client(client);
    ++control->count;
    if (uv_accept(listener, (uv_stream_t *)&client->pipe) || !peer_is_ours(client)) {
        close_client(client);
        return;
    }
    if (control->count > control->most)
        drop_oldest_idle(control);
    if (!client->closing)
        start_reading(client);
}

int control_start(struct daemon *daemon)
{
    struct control *control = calloc(1, sizeof *control);
    struct rlimit files;
    if (!control)
        return -ENOMEM;
    control->daemon = daemon;
    control->most = CLIENTS_MOST;
    if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur / 4 < CLIENTS_MOST)
        control->most = (unsigned)(files.rlim_cur / 4);
    daemon->control = control;
    uv_pipe_init(&daemon->loop, &control->listener, 0);
    control->listener.data = control;
    control->listening = true;
    int status = uv_pipe_open(&control->listener, daemon->runtime.listener);
    if (status)
        return status;
    daemon->runtime.listener = -1; /* the handle closes it */
    return uv_listen((uv_stream_t *)&control->listener, 1024, on_connection);
}

void control_stop_listening(struct daemon *daemon)
{
    struct control *control = daemon->control;
    if (!control || !control->listening)
        return;
    control->listening = false;
    uv_close((uv_handle_t *)&control->listener, NULL);
}

void control_close(struct daemon *daemon)
{
    control_stop_listening(daemon);
    while (daemon->control && daemon->control->first)
        close_client(daemon->control->first);
}

void control_finish(struct daemon *daemon)
{
    free(daemon->control);
    daemon->control = NULL;
}
