/* fuzz.h: what the fuzz targets share. Each makes its file in the current folder, which is best one in memory
 * (tests/fuzz/run sees to that), and lets every reader of the library loose on it. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "scope_profiler_io.h"

/* libFuzzer's side. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* A finding: says what does not hold and stops the process, so that the input is kept. */
_Noreturn __attribute__((format(printf, 1, 2))) void fuzz_fail(const char *format, ...);

void fuzz_save(const char *path, const uint8_t *data, size_t size);

enum {
    FUZZ_SOUND = 1,      /* the file must be found sound */
    FUZZ_RECOVERABLE = 2 /* a trace or a spool */
};

/* Checks the file, and, as `variant` says, loads its results, merges it into an HDF5 profile or a trace of some
 * settings, or recovers it. Whatever is in the file: every failure is one of the library's, in words, and none of the
 * system; a sound file can be read and merged; what was written is sound. */
void fuzz_read(const char *path, unsigned variant, unsigned flags);

#endif
