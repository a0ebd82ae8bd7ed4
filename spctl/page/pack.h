/* pack.h: numbers as text: LEB128 of unsigned integers, in base64. */
#ifndef SPCTL_PAGE_PACK_H
#define SPCTL_PAGE_PACK_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct pack {
    unsigned char *bytes;
    size_t count, room;
};

void pack_number(struct pack *pack, uint64_t number);
/* The string; the pack is empty afterwards. */
json_t *pack_json(struct pack *pack);

#endif
