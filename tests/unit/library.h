/* library.h: a folder for files of the tests of the reading library, and the fixtures by name. */
#ifndef SP_TEST_LIBRARY_H
#define SP_TEST_LIBRARY_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scope_profiler_io.h"

static char folder[] = "/tmp/spio-library-XXXXXX";

static const char *fixture(const char *name)
{
    static char path[4][1024];
    static unsigned next;
    char *into = path[next++ % 4];
    snprintf(into, 1024, "%s/%s", SP_TEST_FIXTURES, name);
    return into;
}

static const char *in_folder(const char *name)
{
    static char path[4][1024];
    static unsigned next;
    char *into = path[next++ % 4];
    snprintf(into, 1024, "%s/%s", folder, name);
    return into;
}

static void copy(const char *from, const char *to)
{
    char command[4096];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

static void clear(void)
{
    char command[256];
    snprintf(command, sizeof command, "find '%s' -mindepth 1 -delete", folder);
    assert_int_equal(system(command), 0);
}

#endif
