/* flame.h: the tree of call paths, over all ranks and threads. */
#ifndef SPCTL_PAGE_FLAME_H
#define SPCTL_PAGE_FLAME_H

#include "stream.h"

struct flame;
struct flame *flame_create(void);
void flame_destroy(struct flame *flame);

/* The call's path, the `parent` of calls in it. Past a bound of paths and depth calls are counted as left out. */
uint32_t flame_add(struct flame *flame, const struct stream_call *call);

/* "flame" of the document: the paths of most time. */
void flame_json(const struct flame *flame, json_t *document);

#endif
