/* recording_ranges.c: which records of a lane were taken already. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording_parts.h"

int sp__grow(void **list, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return 0;
    size_t more = *room ? *room * 2 : 16;
    void *larger = reallocarray(*list, more, size);
    if (!larger)
        return -ENOMEM;
    *list = larger;
    *room = more;
    return 0;
}

/* The first range that ends after `at`. Records come in order, so it mostly is none. */
static size_t first_after(const struct sp__ranges *r, int64_t at)
{
    size_t low = 0, high = r->count;
    if (high && r->list[high - 1].to <= at)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->list[middle].to <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int insert(struct sp__ranges *r, size_t place, int64_t from, int64_t to)
{
    bool before = place > 0 && r->list[place - 1].to == from;
    bool after = place < r->count && r->list[place].from == to;
    if (before && after) {
        r->list[place - 1].to = r->list[place].to;
        memmove(&r->list[place], &r->list[place + 1], (r->count - place - 1) * sizeof *r->list);
        r->count--;
    } else if (before) {
        r->list[place - 1].to = to;
    } else if (after) {
        r->list[place].from = from;
    } else {
        void *list = r->list;
        int rc = sp__grow(&list, &r->room, r->count, sizeof *r->list);
        r->list = list;
        if (rc)
            return rc;
        memmove(&r->list[place + 1], &r->list[place], (r->count - place) * sizeof *r->list);
        r->list[place] = (struct sp__range){from, to};
        r->count++;
    }
    return 0;
}

int sp__ranges_take(struct sp__ranges *r, int64_t *from, int64_t to, int64_t *ret_to)
{
    int64_t at = *from;
    size_t place = first_after(r, at);
    while (place < r->count && r->list[place].from <= at)
        at = r->list[place++].to;
    if (at >= to)
        return 0;
    int64_t end = place < r->count && r->list[place].from < to ? r->list[place].from : to;
    int rc = insert(r, place, at, end);
    if (rc)
        return rc;
    *from = at;
    *ret_to = end;
    return 1;
}

uint64_t sp__ranges_missing(const struct sp__ranges *r, int64_t low)
{
    uint64_t missing = 0;
    int64_t at = low;
    for (size_t i = 0; i < r->count; i++) {
        if (r->list[i].from > at)
            missing += (uint64_t)r->list[i].from - (uint64_t)at;
        if (r->list[i].to > at)
            at = r->list[i].to;
    }
    return missing;
}
