/* template.h: the page around its data; embed.py makes it of template.html, page.css and the scripts. */
#ifndef SPCTL_PAGE_TEMPLATE_H
#define SPCTL_PAGE_TEMPLATE_H

#include <stddef.h>

/* What every page begins with. */
#define PAGE_DOCTYPE "<!doctype html>"

extern const char page_head[], page_tail[];
extern const size_t page_head_size, page_tail_size;

#endif
