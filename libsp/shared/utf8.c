/* utf8.c: telling and mending UTF-8. */
#include <string.h>

#include "utf8.h"

/* What may follow a first byte: how many bytes in all (0: it begins nothing), and the bounds of the second. */
static size_t begins(unsigned char first, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (first < 0x80)
        return 1;
    if (first < 0xc2)
        return 0;
    if (first < 0xe0)
        return 2;
    if (first < 0xf0) {
        if (first == 0xe0) /* shorter forms exist */
            *low = 0xa0;
        else if (first == 0xed) /* surrogates */
            *high = 0x9f;
        return 3;
    }
    if (first == 0xf0)
        *low = 0x90;
    else if (first == 0xf4) /* beyond U+10FFFF */
        *high = 0x8f;
    return first < 0xf5 ? 4 : 0;
}

size_t sp__utf8_step(const char *text, size_t length, bool *ret_good)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned char low, high;
    size_t whole = begins(bytes[0], &low, &high), at = 1;
    while (at < whole && at < length && bytes[at] >= low && bytes[at] <= high) {
        low = 0x80;
        high = 0xbf;
        at++;
    }
    *ret_good = at == whole;
    return at;
}

size_t sp__utf8_mend(const char *text, size_t length, char *ret)
{
    size_t used = 0;
    for (size_t at = 0; at < length;) {
        bool good;
        size_t step = sp__utf8_step(text + at, length - at, &good);
        const char *from = good && text[at] ? text + at : SP__UTF8_REPLACEMENT;
        size_t size = from == text + at ? step : strlen(SP__UTF8_REPLACEMENT);
        memcpy(ret + used, from, size);
        used += size;
        at += step;
    }
    ret[used] = '\0';
    return used;
}
