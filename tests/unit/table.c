/* Tables line up whatever names are in them, and no name can move the cursor. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "table.h"
#include "text.h"

static const struct column columns[] = {{"name", false}, {"n", true}, {"last", false}};

static char *printed(struct table *table)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    table_print(table, out);
    fclose(out);
    table_destroy(table);
    return text;
}

static void columns_align_by_width_not_bytes(void **state)
{
    (void)state;
    struct table *table = table_create(columns, 3);
    const char *names[] = {"solve", "l\xc3\xb6sen", "\xe8\xa7\xa3\xe3\x81\x8f", "e\xcc\x81", "a very long region name"};
    for (size_t i = 0; i < 5; ++i) {
        table_cell(table, "%s", names[i]);
        table_cell(table, "%zu", i * 1000);
        table_cell(table, "x");
    }
    assert_int_equal(table_rows(table), 5);
    char *text = printed(table);
    size_t width = 0;
    for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *last = strrchr(line, ' ');
        assert_non_null(last);
        *last = 0;
        if (width == 0)
            width = text_width(line);
        assert_int_equal(text_width(line), width);
    }
    assert_int_equal(width, strlen("a very long region name") + 2 + 4 + 1);
    free(text);
}

static void no_blanks_at_the_end_of_a_line(void **state)
{
    (void)state;
    struct table *table = table_create(columns, 3);
    table_cell(table, "a");
    table_cell(table, "1");
    table_cell(table, "longer than its title");
    table_cell(table, "b");
    table_cell(table, "2");
    table_cell(table, "x");
    char *text = printed(table);
    assert_string_equal(text, "name  n  last\na     1  longer than its title\nb     2  x\n");
    free(text);
}

static void names_cannot_move_the_cursor(void **state)
{
    (void)state;
    struct table *table = table_create(columns, 3);
    table_cell(table, "%s", "a\nb\tc\x1b[2J\x7f");
    table_cell(table, "1");
    table_cell(table, "%s", "\xc2\x85\xff\xe2\x80\xae\xef\xbb\xbf\xd7\x90");
    char *text = printed(table);
    assert_non_null(strstr(text, "a\\nb\\tc\\x1b[2J\\x7f  1  \\u0085\xef\xbf\xbd\\u202e\\ufeff\xd7\x90\n"));
    free(text);
}

static void bad_utf8_takes_one_column_and_ends_at_the_end(void **state)
{
    (void)state;
    assert_int_equal(text_width("\xe8\xa7"), 2);         /* cut short: two bad bytes */
    assert_int_equal(text_width("\xc0\x80"), 2);         /* overlong */
    assert_int_equal(text_width("\xed\xa0\x80"), 3);     /* a surrogate */
    assert_int_equal(text_width("\xf4\x90\x80\x80"), 4); /* beyond U+10FFFF */
    assert_int_equal(text_width(""), 0);
    char *mended = text_utf8("a\xff\n");
    assert_string_equal(mended, "a\xef\xbf\xbd\n");
    free(mended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_align_by_width_not_bytes),
                                       cmocka_unit_test(no_blanks_at_the_end_of_a_line),
                                       cmocka_unit_test(names_cannot_move_the_cursor),
                                       cmocka_unit_test(bad_utf8_takes_one_column_and_ends_at_the_end)};
    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
