#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#include "say.h"

struct pair {
    uint64_t a, b;
    size_t number; /* plus 1; 0: free */
};

static struct pair *slot_of(const struct pairs *pairs, uint64_t a, uint64_t b)
{
    size_t slot = (size_t)(((a << 32 | a >> 32) ^ b) * 0x9e3779b97f4a7c15U >> 32) & (pairs->room - 1);
    while (pairs->slots[slot].number && (pairs->slots[slot].a != a || pairs->slots[slot].b != b))
        slot = (slot + 1) & (pairs->room - 1);
    return &pairs->slots[slot];
}

static void grow(struct pairs *pairs)
{
    struct pairs more = {.count = pairs->count, .room = pairs->room ? 2 * pairs->room : 64};
    more.slots = need(calloc(more.room, sizeof *more.slots));
    for (size_t i = 0; i < pairs->room; ++i)
        if (pairs->slots[i].number)
            *slot_of(&more, pairs->slots[i].a, pairs->slots[i].b) = pairs->slots[i];
    free(pairs->slots);
    *pairs = more;
}

size_t pairs_number(struct pairs *pairs, uint64_t a, uint64_t b, size_t next)
{
    if (2 * pairs->count >= pairs->room)
        grow(pairs);
    struct pair *slot = slot_of(pairs, a, b);
    if (slot->number)
        return slot->number - 1;
    if (next != PAIRS_NONE) {
        *slot = (struct pair){.a = a, .b = b, .number = next + 1};
        ++pairs->count;
    }
    return next;
}

void pairs_clear(struct pairs *pairs)
{
    if (pairs->room)
        memset(pairs->slots, 0, pairs->room * sizeof *pairs->slots);
    pairs->count = 0;
}

void pairs_finish(struct pairs *pairs)
{
    free(pairs->slots);
    *pairs = (struct pairs){0};
}
