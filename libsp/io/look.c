/* look.c: see look.h. */
#include "look.h"

#include <string.h>

/* One call after another. Without comparisons of vectors a loop that can be left is the faster one. */
static struct sp__sums look_at_each(const int64_t *start, const int64_t *end, size_t count, int64_t before)
{
    struct sp__sums sums = {.least = INT64_MAX, .last = INT64_MIN};
    int64_t end_before = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        int64_t s = start[i], e = end[i], duration = (int64_t)((uint64_t)e - (uint64_t)s);
        if (s < before || e < s)
            return (struct sp__sums){.bad = true};
        if (s == before && e > end_before)
            sums.ties = true;
        sums.total += (uint64_t)duration;
        sums.least = duration < sums.least ? duration : sums.least;
        sums.most = duration > sums.most ? duration : sums.most;
        sums.last = e > sums.last ? e : sums.last;
        before = s;
        end_before = e;
    }
    return sums;
}

#ifdef __x86_64__
/* What the oldest processors of this kind lack. */
enum { WIDTH = 4 };
typedef int64_t lanes __attribute__((vector_size(WIDTH * sizeof(int64_t))));
typedef uint64_t wrapping __attribute__((vector_size(WIDTH * sizeof(int64_t))));
#define WIDE static __attribute__((target("avx2")))

static inline __attribute__((always_inline, target("avx2"))) lanes at(const int64_t *from)
{
    lanes all;
    memcpy(&all, from, sizeof all);
    return all;
}

static inline __attribute__((always_inline, target("avx2"))) lanes choose(lanes mask, lanes yes, lanes no)
{
    return (yes & mask) | (no & ~mask);
}

static void join(struct sp__sums *all, const struct sp__sums *more)
{
    all->bad = all->bad || more->bad;
    all->ties = all->ties || more->ties;
    all->total += more->total;
    all->least = more->least < all->least ? more->least : all->least;
    all->most = more->most > all->most ? more->most : all->most;
    all->last = more->last > all->last ? more->last : all->last;
}

/* The first call is looked at by itself, and so are the last ones, which fill no vector. */
WIDE struct sp__sums look_wide(const int64_t *start, const int64_t *end, size_t count, int64_t before)
{
    struct sp__sums sums = look_at_each(start, end, 1, before), rest;
    lanes bad = {0}, ties = {0}, least = {0}, most = {0}, last = {0};
    wrapping total = {0};
    least += INT64_MAX;
    last += INT64_MIN;
    size_t i = 1;
    for (; i + WIDTH <= count; i += WIDTH) {
        lanes s = at(start + i), e = at(end + i), s_before = at(start + i - 1), e_before = at(end + i - 1);
        lanes duration = (lanes)((wrapping)e - (wrapping)s);
        bad |= (s < s_before) | (e < s);
        ties |= (s == s_before) & (e > e_before);
        total += (wrapping)duration;
        least = choose(duration < least, duration, least);
        most = choose(duration > most, duration, most);
        last = choose(e > last, e, last);
    }
    rest = look_at_each(start + i, end + i, count - i, start[i - 1]);
    rest.ties = rest.ties || (i < count && start[i] == start[i - 1] && end[i] > end[i - 1]);
    for (int k = 0; k < WIDTH; k++) {
        struct sp__sums one = {.bad = bad[k] != 0,
                               .ties = ties[k] != 0,
                               .total = total[k],
                               .least = least[k],
                               .most = most[k],
                               .last = last[k]};
        join(&sums, &one);
    }
    join(&sums, &rest);
    return sums;
}
#endif

struct sp__sums sp__look(const int64_t *start, const int64_t *end, size_t count, int64_t before)
{
    struct sp__sums sums;
#ifdef __x86_64__
    if (count > WIDTH && __builtin_cpu_supports("avx2"))
        sums = look_wide(start, end, count, before);
    else
#endif
        sums = look_at_each(start, end, count, before);
    sums.bad = sums.bad || sums.least < 0; /* a duration that does not fit has wrapped round */
    return sums;
}
