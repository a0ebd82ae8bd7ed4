/* node.h: "node-<hostname>.json" in a session's folder: what a .spt has no place for, of this node's ranks. */
#ifndef SPD_NODE_H
#define SPD_NODE_H

#include <jansson.h>

#include "recording.h"

struct session;

/* What one publication tells about an incarnation. On a worker thread. NULL: no memory. */
json_t *node_fact(const struct sp__recording *recording, const char *file, const char *format, bool final);

/* Takes over each fact of the array (NULL: none) and writes the file soon, off the loop. */
void node_add(struct session *session, json_t *facts);

#endif
