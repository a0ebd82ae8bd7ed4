/* look.h: what a block of calls comes to, in one pass each. They take most of a merge's time beside the nesting and the
 * kernel's copies, and are compiled once more for processors that compare vectors of 64-bit numbers. */
#ifndef SP__LOOK_H
#define SP__LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp__sums {
    bool bad;  /* some call stands where it cannot: the rest means nothing */
    bool ties; /* some equal starts do not stand by descending end */
    uint64_t total;
    int64_t least, most, last; /* durations; the largest end */
};

/* `before` is the start of the call before the block, INT64_MIN where there is none. */
struct sp__sums sp__look(const int64_t *start, const int64_t *end, size_t count, int64_t before);

/* Whether a call may be: it does not end before it starts, and its duration is a number of 64 bits. */
static inline bool sp__call_sound(int64_t start, int64_t end)
{
    return end >= start && (start >= 0 || end <= INT64_MAX + start);
}

#endif
