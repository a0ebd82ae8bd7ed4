/* arrays.c: an in-memory recorder of the classic kind: two growing arrays per region, two clock_gettime a pair. It keeps
 * all in the program's own memory, for one thread, and loses it with the program. */
#include "arrays.h"

#include <stdlib.h>
#include <time.h>

enum { REGIONS = 64, FIRST = 1024 };

struct column {
    int64_t *values;
    size_t count, room;
};

static struct column starts[REGIONS], ends[REGIONS];

static int64_t now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void push(struct column *column, int64_t value)
{
    if (column->count == column->room) {
        size_t room = column->room ? 2 * column->room : FIRST;
        int64_t *larger = realloc(column->values, room * sizeof *larger);
        if (!larger)
            abort();
        column->values = larger;
        column->room = room;
    }
    column->values[column->count++] = value;
}

void arrays_begin(int region)
{
    push(&starts[region % REGIONS], now());
}

void arrays_end(int region)
{
    push(&ends[region % REGIONS], now());
}

size_t arrays_finish(void)
{
    size_t calls = 0;
    for (int i = 0; i < REGIONS; i++) {
        calls += ends[i].count;
        free(starts[i].values);
        free(ends[i].values);
        starts[i] = ends[i] = (struct column){0};
    }
    return calls;
}
