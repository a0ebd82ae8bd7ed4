/* flame.h: the tree of call paths, over all ranks and threads. */
#ifndef SPCTL_PAGE_FLAME_H
#define SPCTL_PAGE_FLAME_H

#include "paths.h"
#include "scope.h"

enum { FLAME_DEEPEST = 256 };

/* "flame" of the document: the paths of most time. */
void flame_json(const struct page_scope *scope, const struct paths *paths, json_t *document);

#endif
