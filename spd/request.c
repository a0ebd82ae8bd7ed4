#include "request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

enum { ROOM_FIRST = 1024, OP_MOST = 40 };

int lines_room(struct lines *lines, char **ret_at, size_t *ret_size)
{
    if (lines->begin && lines->length == lines->room) {
        memmove(lines->data, lines->data + lines->begin, lines->length - lines->begin);
        lines->length -= lines->begin;
        lines->seen -= lines->begin;
        lines->begin = 0;
    }
    if (lines->length == lines->room) {
        if (lines->room >= REQUEST_LINE_MOST)
            return -EMSGSIZE;
        size_t room = lines->room ? lines->room * 2 : ROOM_FIRST;
        char *data = realloc(lines->data, room);
        if (!data)
            return -ENOMEM;
        lines->data = data;
        lines->room = room;
    }
    *ret_at = lines->data + lines->length;
    *ret_size = lines->room - lines->length;
    return 0;
}

void lines_added(struct lines *lines, size_t count)
{
    lines->length += count;
}

bool lines_next(struct lines *lines, char **ret_line, size_t *ret_length)
{
    if (lines->length == lines->seen)
        return false;
    char *end = memchr(lines->data + lines->seen, '\n', lines->length - lines->seen);
    if (!end) {
        lines->seen = lines->length;
        return false;
    }
    *end = '\0';
    *ret_line = lines->data + lines->begin;
    *ret_length = (size_t)(end - *ret_line);
    lines->begin = lines->seen = (size_t)(end + 1 - lines->data);
    return true;
}

void lines_finish(struct lines *lines)
{
    free(lines->data);
    *lines = (struct lines){0};
}

static int parse_op(const json_t *message, struct request *request, char *ret_why, size_t why_size)
{
    static const char *const ops[] = {"ping", "status", "list", "flush"};
    const char *op = json_string_value(json_object_get(message, "op"));
    if (!op) {
        snprintf(ret_why, why_size, "the request has no \"op\"");
        return -EINVAL;
    }
    if (strlen(op) > OP_MOST) { /* nor cut to fit, which may leave half a character and so no valid reply */
        snprintf(ret_why, why_size, "\"op\" is no request of this spd; it knows ping, status, list and flush");
        return -EINVAL;
    }
    for (size_t n = 0; n < sizeof ops / sizeof *ops; ++n) {
        if (!strcmp(op, ops[n])) {
            request->op = (enum request_op)n;
            return 0;
        }
    }
    snprintf(ret_why, why_size, "\"%s\" is no request of this spd; it knows ping, status, list and flush", op);
    return -EINVAL;
}

static int parse_session(const json_t *message, struct request *request, char *ret_why, size_t why_size)
{
    const json_t *session = json_object_get(message, "session");
    if (!session || json_is_null(session))
        return 0;
    const char *text = json_string_value(session);
    if (!text || !sp__session_valid(text) || strlen(text) >= sizeof request->session) {
        snprintf(ret_why, why_size, "\"session\" holds no session name");
        return -EINVAL;
    }
    snprintf(request->session, sizeof request->session, "%s", text);
    return 0;
}

int request_parse(const char *line, size_t length, struct request *ret, char *ret_why, size_t why_size)
{
    struct request request = {0};
    json_error_t error;
    json_t *message = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(message)) {
        snprintf(ret_why, why_size, "not a JSON object: %s", message ? "another kind of value" : error.text);
        json_decref(message);
        return -EBADMSG;
    }
    const json_t *version = json_object_get(message, "v");
    if (!json_is_integer(version) || json_integer_value(version) != REQUEST_VERSION) {
        snprintf(ret_why, why_size, "\"v\" must be %d, the version that this spd speaks", REQUEST_VERSION);
        json_decref(message);
        return -EBADMSG;
    }
    const json_t *id = json_object_get(message, "id");
    request.has_id = json_is_integer(id);
    request.id = json_integer_value(id);
    int status = parse_op(message, &request, ret_why, why_size);
    if (!status)
        status = parse_session(message, &request, ret_why, why_size);
    if (!status && request.op == REQUEST_FLUSH && !*request.session) {
        snprintf(ret_why, why_size, "flush needs a \"session\"");
        status = -EINVAL;
    }
    *ret = request;
    json_decref(message);
    return status;
}
