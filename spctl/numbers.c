#include "numbers.h"

#include <stdlib.h>
#include <string.h>

#include "say.h"

/* FNV-1a, whose low bits are mixed once more since they choose the bucket. */
static uint64_t hash_of(const unsigned char *bytes, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < length; ++i)
        hash = (hash ^ bytes[i]) * 0x100000001b3U;
    return hash ^ hash >> 29;
}

/* The bucket where the key is, or the empty one where it belongs. */
static uint32_t *find(const struct numbers *numbers, const void *key, size_t length, uint64_t hash)
{
    uint32_t mask = 2 * numbers->room - 1;
    for (uint32_t at = (uint32_t)hash & mask;; at = (at + 1) & mask) {
        uint32_t *bucket = &numbers->buckets[at];
        if (*bucket == 0)
            return bucket;
        const struct number_key *known = &numbers->keys[*bucket - 1];
        if (known->hash == hash && known->length == length && memcmp(known->bytes, key, length) == 0)
            return bucket;
    }
}

static void grow(struct numbers *numbers)
{
    numbers->room = numbers->room ? 2 * numbers->room : 64;
    numbers->keys = need(realloc(numbers->keys, numbers->room * sizeof *numbers->keys));
    free(numbers->buckets);
    numbers->buckets = need(calloc(2 * (size_t)numbers->room, sizeof *numbers->buckets));
    for (uint32_t n = 0; n < numbers->count; ++n) {
        const struct number_key *key = &numbers->keys[n];
        *find(numbers, key->bytes, key->length, key->hash) = n + 1;
    }
}

uint32_t number_of(struct numbers *numbers, const void *key, size_t length)
{
    uint64_t hash = hash_of(key, length);
    if (numbers->count == numbers->room)
        grow(numbers);
    uint32_t *bucket = find(numbers, key, length, hash);
    if (*bucket == 0) {
        char *bytes = need(malloc(length + 1));
        memcpy(bytes, key, length);
        bytes[length] = 0;
        numbers->keys[numbers->count] = (struct number_key){bytes, length, hash};
        *bucket = ++numbers->count;
    }
    return *bucket - 1;
}

void numbers_finish(struct numbers *numbers)
{
    for (uint32_t n = 0; n < numbers->count; ++n)
        free(numbers->keys[n].bytes);
    free(numbers->keys);
    free(numbers->buckets);
    *numbers = (struct numbers){0};
}
