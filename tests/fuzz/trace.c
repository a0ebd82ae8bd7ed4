/* trace.c: any bytes as a .spt. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_save("fuzz.spt", data, size);
    fuzz_read("fuzz.spt", size ? data[size - 1] ^ data[size / 2] : 0, FUZZ_RECOVERABLE);
    return 0;
}
