/* look: sums over calls in vectors are those of one call after another, wherever the call stands that is not like the
 * others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "io/look.h"

enum { MOST = 19 };
enum oddity { NONE, FALLS, ENDS_EARLY, TIES, TIES_IN_ORDER, LONGEST, SHORTEST, TOO_LONG, ODDITIES };

static struct sp__sums expected(const int64_t *start, const int64_t *end, size_t count)
{
    struct sp__sums sums = {.least = INT64_MAX, .last = INT64_MIN};
    for (size_t i = 0; i < count; i++) {
        int64_t duration = (int64_t)((uint64_t)end[i] - (uint64_t)start[i]);
        sums.bad = sums.bad || duration < 0 || (i && start[i] < start[i - 1]);
        sums.ties = sums.ties || (i && start[i] == start[i - 1] && end[i] > end[i - 1]);
        sums.total += (uint64_t)duration;
        sums.least = duration < sums.least ? duration : sums.least;
        sums.most = duration > sums.most ? duration : sums.most;
        sums.last = end[i] > sums.last ? end[i] : sums.last;
    }
    return sums;
}

static void a_call_is_seen_wherever_it_stands(void **state)
{
    int64_t start[MOST], end[MOST];
    (void)state;
    for (size_t count = 1; count <= MOST; count++)
        for (size_t at = 0; at < count; at++)
            for (int odd = 0; odd < ODDITIES; odd++) {
                for (size_t i = 0; i < count; i++) {
                    start[i] = INT64_C(1) << 40 | (int64_t)(100 * i);
                    end[i] = start[i] + 50 + (int64_t)(i % 3);
                }
                if (at && odd == FALLS)
                    start[at] = start[at - 1] - 1;
                else if (odd == ENDS_EARLY)
                    end[at] = start[at] - 1;
                else if (at && (odd == TIES || odd == TIES_IN_ORDER))
                    start[at] = start[at - 1], end[at] = end[at - 1] + (odd == TIES ? 1 : -1);
                else if (odd == LONGEST)
                    end[at] = INT64_MAX;
                else if (!at && odd == TOO_LONG)
                    start[at] = -1, end[at] = INT64_MAX;
                else if (odd == SHORTEST)
                    end[at] = start[at];
                struct sp__sums sums = sp__look(start, end, count, INT64_MIN), want = expected(start, end, count);
                assert_int_equal(sums.bad, want.bad);
                assert_int_equal(want.bad, odd == ENDS_EARLY || (at ? odd == FALLS : odd == TOO_LONG));
                assert_int_equal(sp__call_sound(start[at], end[at]), odd != ENDS_EARLY && (at || odd != TOO_LONG));
                assert_true(sp__look(start, end, count, start[0] + 1).bad);
                if (want.bad)
                    continue;
                assert_int_equal(sums.ties, want.ties);
                assert_true(sums.total == want.total && sums.least == want.least && sums.most == want.most &&
                            sums.last == want.last);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_call_is_seen_wherever_it_stands)};
    return cmocka_run_group_tests_name("look", tests, NULL, NULL);
}
