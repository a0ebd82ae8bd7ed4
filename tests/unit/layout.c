/* layout: what the static asserts of layout_check.h cannot say about a segment's shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "layout.h"

static void entries_straddle_pages_or_leave_holes(void **state)
{
    (void)state;
    assert_int_equal(SP__PAGE % sizeof(struct sp__open), 0);
    assert_int_equal(SP__PAGE % sizeof(struct sp__region), 0);
    assert_int_equal(sizeof(struct sp__record), 24);
    /* No padding: what is written to a spool holds no stray bytes. */
    assert_int_equal(sizeof(struct sp__identity), SP__SESSION_SIZE + SP__HOST_SIZE + SP__BOOT_SIZE + SP__PATH_SIZE +
                                                      SP__INCARNATION_SIZE + 8 + 8 * 4 + 16 + 8);
    assert_int_equal(sizeof(struct sp__stats), 6 * 8);
}

static void magic_reads_as_text(void **state)
{
    (void)state;
    uint64_t magic = SP__MAGIC;
    assert_memory_equal(&magic, "CSPSGMT1", 8);
}

static void a_word_needs_a_lock(void **state)
{
    (void)state;
    struct sp__lane lane = {0};
    assert_true(atomic_is_lock_free(&lane.head));
    assert_true(atomic_is_lock_free(&lane.depth));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_straddle_pages_or_leave_holes),
        cmocka_unit_test(magic_reads_as_text),
        cmocka_unit_test(a_word_needs_a_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
