#include "pack.h"

#include <stdlib.h>

#include "say.h"

void pack_number(struct pack *pack, uint64_t number)
{
    enum { MOST_BYTES = 10 };
    if (pack->room - pack->count < MOST_BYTES) {
        pack->room = pack->room ? 2 * pack->room : 256;
        pack->bytes = need(realloc(pack->bytes, pack->room));
    }
    for (; number >= 0x80; number >>= 7)
        pack->bytes[pack->count++] = (unsigned char)(number | 0x80);
    pack->bytes[pack->count++] = (unsigned char)number;
}

json_t *pack_json(struct pack *pack)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = need(malloc(4 * (pack->count / 3 + 1) + 1)), *to = text;
    for (size_t i = 0; i < pack->count; i += 3) {
        size_t left = pack->count - i;
        uint32_t three = (uint32_t)pack->bytes[i] << 16 | (left > 1 ? (uint32_t)pack->bytes[i + 1] << 8 : 0) |
                         (left > 2 ? pack->bytes[i + 2] : 0);
        *to++ = digits[three >> 18];
        *to++ = digits[three >> 12 & 63];
        *to++ = left > 1 ? digits[three >> 6 & 63] : '=';
        *to++ = left > 2 ? digits[three & 63] : '=';
    }
    json_t *ret = need(json_stringn(text, (size_t)(to - text)));
    free(text);
    free(pack->bytes);
    *pack = (struct pack){0};
    return ret;
}
