/* flush.h: one flush asked for over the control socket: answered when the last of its parts is published. */
#ifndef SPD_FLUSH_H
#define SPD_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

struct client;

struct flush {
    struct client *client; /* NULL once it has gone */
    bool has_id;
    json_int_t id;
    unsigned pending;
    uint64_t ranks, dropped;
    int error; /* the first errno of a part that failed */
    char why[512];
    json_t *files;
};

struct flush_link {
    struct flush *flush;
    struct flush_link *next;
};

struct flush_part {
    int error;
    const char *why;
    const char *file; /* NULL or "": nothing was to be published */
    uint64_t ranks, dropped;
};

/* Begun with one part pending, its maker's own, so that it is not answered while parts are still being added. */
struct flush *flush_create(struct client *client, bool has_id, json_int_t id);

/* A further part: whoever owns `list` completes it. 0 or -ENOMEM. */
int flush_join(struct flush *flush, struct flush_link **list);

/* Takes the list's links, each of them one part done alike. */
void flush_complete(struct flush_link **list, const struct flush_part *part);

/* The maker's own part. */
void flush_release(struct flush *flush);

#endif
