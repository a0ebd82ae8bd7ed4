/* numbers.h: dense numbers for byte strings, in the order in which they were first seen: region names, pairs. */
#ifndef SPCTL_NUMBERS_H
#define SPCTL_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

struct number_key {
    char *bytes; /* and a NUL behind them */
    size_t length;
    uint64_t hash;
};

/* All zero: empty. */
struct numbers {
    struct number_key *keys;
    uint32_t *buckets; /* number + 1; a power of two of them */
    uint32_t count, room;
};

/* The number of `key`, given now where it has none. Out of memory ends the program. */
uint32_t number_of(struct numbers *numbers, const void *key, size_t length);
void numbers_finish(struct numbers *numbers);

#endif
