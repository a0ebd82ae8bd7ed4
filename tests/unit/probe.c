/* probe.c: a child that opens profiles must hand over what they hold, and neither lose its way nor stay behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/h5_tables.h"

static char *packed(struct sp__h5_tables *tables, size_t *ret_length)
{
    char *bytes = NULL;
    assert_true(sp__h5_tables_pack(tables, &bytes, ret_length));
    return bytes;
}

static void tables_of(struct sp__h5_tables *ret, const char *name)
{
    char path[1024];
    hid_t file;
    struct sp__file_id id;
    snprintf(path, sizeof path, SP_TEST_FIXTURES "/%s", name);
    sp__h5_lock();
    assert_int_equal(sp__h5_open(&file, &id, NULL, path, NULL), 0);
    assert_int_equal(sp__h5_tables_read(ret, file, path, id.size, NULL), 0);
    H5Fclose(file);
    sp__h5_unlock();
}

static void tables_that_cross_lose_or_change_something(void **state)
{
    (void)state;
    static const char *const names[] = {"python-writer.h5", "schema1.h5", "threads.h5", "aggregate.h5"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct sp__h5_tables tables = {0}, there = {0};
        size_t length, again;
        tables_of(&tables, names[i]);
        char *bytes = packed(&tables, &length);
        assert_true(sp__h5_tables_unpack(&there, bytes, length));
        assert_int_equal(there.rows, tables.rows);
        assert_int_equal(there.attribute_count, tables.attribute_count);
        assert_int_equal(there.group_count, tables.group_count);
        assert_string_equal(there.names[there.names_count - 1], tables.names[tables.names_count - 1]);
        for (size_t row = 0; row < there.rows; row++)
            assert_int_equal(there.counts[row], tables.counts[row]);
        char *back = packed(&there, &again);
        assert_int_equal(again, length);
        assert_memory_equal(back, bytes, length);
        free(back);
        free(bytes);
        sp__h5_tables_finish(&there);
        sp__h5_tables_finish(&tables);
    }
}

static void tables_that_arrive_cut_or_damaged_are_trusted(void **state)
{
    (void)state;
    struct sp__h5_tables tables = {0}, there;
    size_t length;
    tables_of(&tables, "python-writer.h5");
    char *bytes = packed(&tables, &length);
    for (size_t cut = 0; cut < length; cut++) {
        char *part = malloc(cut + 1); /* of its own size, so that a tool sees what is read past it */
        memcpy(part, bytes, cut);
        assert_false(sp__h5_tables_unpack(&there, part, cut));
        free(part);
    }
    for (size_t at = 0; at < length; at++) {
        bytes[at] ^= (char)0xff;
        if (sp__h5_tables_unpack(&there, bytes, length))
            sp__h5_tables_finish(&there);
        bytes[at] ^= (char)0xff;
    }
    free(bytes);
    sp__h5_tables_finish(&tables);
}

/* What adding a file says, and what it adds. */
static int add(sp_inputs *inputs, const char *path, char ret[2048])
{
    sp_error error = {0};
    size_t before = inputs->count;
    int status = sp_inputs_add_path(inputs, path, &error);
    int used = snprintf(ret, 2048, "%d %s %s;", status, error.place, error.text);
    for (size_t i = before; i < inputs->count; i++) {
        const struct sp__source *s = inputs->sources[i];
        used += snprintf(ret + used, 2048 - (size_t)used, " %u: %zu rows %zu threads %zu groups %zu attributes %s",
                         (unsigned)s->rank, s->row_count, s->thread_count, s->group_count, s->attribute_count,
                         s->row_count ? s->rows[s->row_count - 1].name : "");
        assert_in_range(used, 0, 2047);
    }
    return status;
}

static void a_probed_profile_is_not_what_it_is_else(void **state)
{
    (void)state;
    unsigned good = 0, bad = 0;
    sp_inputs *plain, *probed;
    assert_int_equal(sp_inputs_create(&plain, NULL), 0);
    assert_int_equal(sp_inputs_create(&probed, NULL), 0);
    sp_inputs_probe(probed, SP_PROBE_ALL);
    DIR *list = opendir(SP_TEST_FIXTURES);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));) {
        char path[1024], one[2048], other[2048];
        if (!strstr(entry->d_name, ".h5"))
            continue;
        snprintf(path, sizeof path, SP_TEST_FIXTURES "/%s", entry->d_name);
        (add(plain, path, one) ? bad++ : good++);
        add(probed, path, other);
        assert_string_equal(one, other);
    }
    closedir(list);
    assert_true(good > 5 && bad > 5);
    sp_inputs_destroy(plain);
    sp_inputs_destroy(probed);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void a_child_killed_from_outside_blames_a_sound_file(void **state)
{
    (void)state;
    char words[2048];
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    sp_inputs_probe(inputs, SP_PROBE_ALL);
    assert_int_equal(add(inputs, SP_TEST_FIXTURES "/schema1.h5", words), 0);
    assert_true(inputs->prober.pid > 0);
    assert_int_equal(kill(inputs->prober.pid, SIGKILL), 0);
    assert_int_equal(add(inputs, SP_TEST_FIXTURES "/threads.h5", words), 0);
    sp_inputs_destroy(inputs);
}

static void a_relative_name_is_looked_for_where_the_child_began(void **state)
{
    (void)state;
    char words[2048], before[1024];
    sp_inputs *inputs;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    sp_inputs_probe(inputs, SP_PROBE_ALL);
    assert_int_equal(add(inputs, SP_TEST_FIXTURES "/schema1.h5", words), 0);
    assert_int_equal(chdir(SP_TEST_FIXTURES), 0);
    if (add(inputs, "threads.h5", words))
        fail_msg("%s", words);
    assert_int_equal(chdir(before), 0);
    sp_inputs_destroy(inputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_that_cross_lose_or_change_something),
        cmocka_unit_test(tables_that_arrive_cut_or_damaged_are_trusted),
        cmocka_unit_test(a_probed_profile_is_not_what_it_is_else),
        cmocka_unit_test(a_child_killed_from_outside_blames_a_sound_file),
        cmocka_unit_test(a_relative_name_is_looked_for_where_the_child_began),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
