/* pages.h: zeroed memory without malloc: a program that drains for itself may do so in a signal handler that
 * interrupted malloc. Async-signal-safe. */
#ifndef SP__PAGES_H
#define SP__PAGES_H

#include <stddef.h>
#include <sys/mman.h>

/* NULL: no memory. */
static inline void *sp__pages_take(size_t length)
{
    void *map = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return map == MAP_FAILED ? NULL : map;
}

/* `length` as it was taken; NULL is ignored. */
static inline void sp__pages_give(void *pages, size_t length)
{
    if (pages)
        munmap(pages, length);
}

#endif
