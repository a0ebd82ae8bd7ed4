/* arrays.h: the recorder that arrays.c describes, in a library of its own. */
#ifndef BENCH_ARRAYS_H
#define BENCH_ARRAYS_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
void arrays_begin(int region);
void arrays_end(int region);
size_t arrays_finish(void); /* frees; the calls that were kept */
#pragma GCC visibility pop

#endif
