/* empty.h: what a call into any library costs at least: through the PLT, and back. */
#ifndef BENCH_EMPTY_H
#define BENCH_EMPTY_H

__attribute__((visibility("default"))) void bench_empty(int region);

#endif
