#include "aside.h"

#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { PROCESSORS_MOST = 8192 };

static cpu_set_t *allowed, *others;
static size_t size;

void aside_init(void)
{
    size = CPU_ALLOC_SIZE(PROCESSORS_MOST);
    allowed = CPU_ALLOC(PROCESSORS_MOST);
    others = CPU_ALLOC(PROCESSORS_MOST);
    if (allowed && others && !sched_getaffinity(0, size, allowed) && CPU_COUNT_S(size, allowed) > 1)
        return;
    free(allowed);
    free(others);
    allowed = others = NULL;
}

void aside_step(uint32_t cpu_plus_one)
{
    if (!allowed || !cpu_plus_one || cpu_plus_one > PROCESSORS_MOST || (uint32_t)sched_getcpu() + 1 != cpu_plus_one)
        return;
    CPU_ZERO_S(size, others);
    CPU_OR_S(size, others, others, allowed);
    CPU_CLR_S(cpu_plus_one - 1, size, others);
    /* It takes some ten microseconds and is refused where the mask has changed: then it is where it was. */
    (void)sched_setaffinity(0, size, others);
}

void aside_forget(void)
{
    if (allowed)
        (void)sched_setaffinity(0, size, allowed);
}
