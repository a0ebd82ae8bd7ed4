/* empty.c: the least that a call into a library costs: a function that does nothing, in a library of its own. */
#include "empty.h"

void bench_empty(int region)
{
    (void)region;
}
