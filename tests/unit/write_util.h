/* write_util.h: ranks to write in a folder of the test's own, and what is said meanwhile. */
#ifndef SP__WRITE_UTIL_H
#define SP__WRITE_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include <unistd.h>

#include "memory_source.h"

static const char *const names[] = {"main", "step", "halo exchange", "solve"};
static char folder[] = "/tmp/sp-write-XXXXXX";

static const char *at(const char *name)
{
    static char paths[8][256];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static struct sp__source *heat(uint32_t rank, size_t threads, int64_t steps)
{
    struct sp__source *source = memory_source("memory", rank, names, 4, threads);
    int64_t all = (int64_t)(threads ? threads : 1), begin = 1700000000000 + rank;
    for (int64_t t = 0; t < all; t++)
        memory_add(source, 0, begin + t, begin + 100 + steps * 100, threads ? t : -1);
    for (int64_t s = 0; s < steps; s++)
        for (int64_t t = 0; t < all; t++) {
            int64_t start = begin + 100 + s * 100 + t;
            memory_add(source, 1, start, start + 50 + s % 7, threads ? t : -1);
            memory_add(source, 2, start, start + 10 + rank % 5, threads ? t : -1);
            memory_add(source, 3, start + 15, start + 40, threads ? t : -1);
        }
    source->recorded = threads > 0;
    snprintf(source->hostname, sizeof source->hostname, "node1");
    return source;
}

static sp_inputs *of(struct sp__source *const *sources, size_t count)
{
    sp_inputs *inputs;
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(sp__inputs_append(inputs, sources[i], NULL), 0);
    return inputs;
}

static char warnings[8][1024];
static unsigned warned;
static void note_warning(void *context, const char *text)
{
    (void)context;
    assert_true(warned < 8);
    snprintf(warnings[warned++], sizeof warnings[0], "%s", text);
}

static double last_told;
static void note_progress(void *context, double done)
{
    (void)context;
    assert_true(done >= last_told);
    last_told = done;
}

static sp_write_report write_as(sp_inputs *inputs, const char *path, int schema, int gzip)
{
    sp_write_settings settings = sp_write_settings_default();
    sp_write_report report;
    sp_error error = {0};
    settings.schema = schema;
    settings.gzip = gzip;
    settings.warn = note_warning;
    settings.progress = note_progress;
    warned = 0;
    last_told = 0;
    if (sp_inputs_write(inputs, path, &settings, &report, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(report.warnings, warned);
    assert_true(!report.calls || (last_told > 0.999999 && last_told < 1.000001));
    return report;
}

static sp_inputs *opened(const char *path)
{
    sp_inputs *inputs;
    sp_error error = {0};
    assert_int_equal(sp_inputs_create(&inputs, NULL), 0);
    if (sp_inputs_add_path(inputs, path, &error) < 0)
        fail_msg("%s", error.text);
    return inputs;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[256];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

#endif
