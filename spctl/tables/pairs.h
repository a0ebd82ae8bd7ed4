/* pairs.h: which number a pair of numbers has. */
#ifndef SPCTL_PAIRS_H
#define SPCTL_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#define PAIRS_NONE SIZE_MAX

struct pair;
struct pairs { /* zeroed at first */
    struct pair *slots;
    size_t count, room;
};

/* The number of (a, b), which is `next` for a pair that is new; with PAIRS_NONE that is not added, and the answer. */
size_t pairs_number(struct pairs *pairs, uint64_t a, uint64_t b, size_t next);
void pairs_clear(struct pairs *pairs);
void pairs_finish(struct pairs *pairs);

#endif
