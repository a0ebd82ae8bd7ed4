/* request.h: what comes in on the control socket: lines, and the JSON of one request. docs/control.md has the protocol.
 */
#ifndef SPD_REQUEST_H
#define SPD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum { REQUEST_LINE_MOST = 64 * 1024, REQUEST_VERSION = 1 };

/* Bytes of one connection that are not yet a whole line, or whole lines not yet served. */
struct lines {
    char *data;
    size_t begin;  /* of the first line that was not handed out */
    size_t length; /* end of what was read */
    size_t room;
    size_t seen; /* up to here there is no newline after begin */
};

/* Where the next bytes go: at least one byte of room. 0; -EMSGSIZE: a line is too long; -ENOMEM. */
int lines_room(struct lines *lines, char **ret_at, size_t *ret_size);
void lines_added(struct lines *lines, size_t count);
/* True: *ret_line is the next whole line, NUL-terminated in place of its newline, good until the next call here. */
bool lines_next(struct lines *lines, char **ret_line, size_t *ret_length);
void lines_finish(struct lines *lines);

enum request_op { REQUEST_PING, REQUEST_STATUS, REQUEST_LIST, REQUEST_FLUSH };

struct request {
    enum request_op op;
    bool has_id;
    json_int_t id;
    char session[128]; /* "" none given */
};

/* 0; -EINVAL: a sound message that asks for something impossible (the connection goes on, *ret has the id);
 * -EBADMSG: not JSON, not an object, or another version (the connection is closed). `ret_why` words both. */
int request_parse(const char *line, size_t length, struct request *ret, char *ret_why, size_t why_size);

#endif
