/* h5_lzf.c: the LZF filter (number 32000), with which h5py packs data where gzip is not asked for and which HDF5 itself
 * does not bring along. Reading only.
 *
 * A control byte c below 32 stands before c + 1 bytes to be copied. Any other begins a repetition: its upper three bits
 * are the length less 2, where 7 means that a further byte is added; its lower five and the next byte are the distance
 * back, less 1. */
#include <string.h>

#include "h5.h"

enum { LZF_FILTER = 32000 };

/* Unpacks, or with `to` NULL only measures. The length, or 0 where the bytes make no sense. */
static size_t unpack(const unsigned char *from, size_t length, unsigned char *to)
{
    size_t made = 0;
    for (size_t at = 0; at < length;) {
        unsigned control = from[at++];
        if (control < 32) {
            size_t run = control + 1U;
            if (run > length - at)
                return 0;
            if (to)
                memcpy(to + made, from + at, run);
            at += run;
            made += run;
            continue;
        }
        size_t run = (control >> 5) + 2U;
        if (control >> 5 == 7) {
            if (at == length)
                return 0;
            run += from[at++];
        }
        if (at == length)
            return 0;
        size_t back = ((control & 31U) << 8 | from[at++]) + 1U;
        if (back > made)
            return 0;
        /* Byte by byte: a repetition may reach into what it makes itself. */
        for (size_t i = 0; to && i < run; i++)
            to[made + i] = to[made + i - back];
        made += run;
    }
    return made;
}

static size_t filter(unsigned flags, size_t value_count, const unsigned values[], size_t length, size_t *room,
                     void **buffer)
{
    (void)value_count, (void)values;
    if (!(flags & H5Z_FLAG_REVERSE))
        return 0;
    size_t made = unpack(*buffer, length, NULL);
    unsigned char *unpacked = made ? H5allocate_memory(made, false) : NULL;
    if (!unpacked)
        return 0;
    unpack(*buffer, length, unpacked);
    H5free_memory(*buffer);
    *buffer = unpacked;
    *room = made;
    return made;
}

void sp__h5_lzf_register(void)
{
    static const H5Z_class2_t lzf = {.version = H5Z_CLASS_T_VERS,
                                     .id = LZF_FILTER,
                                     .encoder_present = 0,
                                     .decoder_present = 1,
                                     .name = "lzf",
                                     .filter = filter};
    if (H5Zfilter_avail(LZF_FILTER) <= 0)
        (void)H5Zregister(&lzf);
}
