/* encode.c: records as the spool holds them: per record one byte of flags, then varints of what cannot be predicted
 * from the records before it in the same frame. Any record at all survives the way there and back. */
#include <errno.h>
#include <string.h>

#include "spool.h"

/* Flags. A call that began after the last one ended is told by the gap between the two; one that holds the last one
 * (an outer call: they end after their inner ones) by the distance of their ends, which is the smaller number. */
enum {
    OUTER = 1,        /* distance of ends instead of the gap */
    KIND = 2,         /* a kind follows; else it is a call */
    REGION = 4,       /* a region follows; else it is the last one seen at this depth */
    DEPTH_SAME = 0,   /* two bits of depth */
    DEPTH_LESS = 8,   /* one less than before */
    DEPTH_MORE = 16,  /* one more */
    DEPTH_GIVEN = 24, /* follows */
    DEPTH_BITS = 24,
    KNOWN_BITS = 31,
    REMEMBERED = 16 /* depths whose last region is remembered */
};

struct state {
    uint64_t end;
    uint32_t depth;
    uint32_t regions[REMEMBERED];
};

static unsigned char *put(unsigned char *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

static unsigned depth_flag(uint32_t depth, uint32_t before)
{
    if (depth == before)
        return DEPTH_SAME;
    if (depth + 1 == before)
        return DEPTH_LESS;
    return depth == before + 1 ? DEPTH_MORE : DEPTH_GIVEN;
}

size_t sp__records_encode(const struct sp__record *records, size_t count, unsigned char *buffer)
{
    struct state state = {0};
    unsigned char *at = buffer;
    for (size_t i = 0; i < count; i++) {
        const struct sp__record *r = &records[i];
        uint32_t *region = &state.regions[r->depth % REMEMBERED];
        unsigned flags = depth_flag(r->depth, state.depth);
        uint64_t distance = r->start - state.end;
        if (distance >> 63) {
            flags |= OUTER;
            distance = r->end - state.end;
        }
        if (r->kind != SP__CALL)
            flags |= KIND;
        if (r->region != *region)
            flags |= REGION;
        *at++ = (unsigned char)flags;
        at = put(at, distance);
        at = put(at, r->end - r->start);
        if (flags & REGION)
            at = put(at, r->region);
        if ((flags & DEPTH_BITS) == DEPTH_GIVEN)
            at = put(at, r->depth);
        if (flags & KIND)
            at = put(at, r->kind);
        *region = r->region;
        state.depth = r->depth;
        state.end = r->end;
    }
    return (size_t)(at - buffer);
}

/* The place after the number, or NULL where it does not end in time or is larger than `most`. */
static const unsigned char *get(const unsigned char *at, const unsigned char *end, uint64_t most, uint64_t *ret)
{
    uint64_t value = 0;
    for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
        unsigned char byte = *at++;
        if (shift == 63 && byte > 1)
            return NULL;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *ret = value;
            return value <= most ? at : NULL;
        }
    }
    return NULL;
}

static const unsigned char *decode_one(const unsigned char *at, const unsigned char *end, struct state *state,
                                       struct sp__record *ret)
{
    if (at == end || *at & ~KNOWN_BITS)
        return NULL;
    unsigned flags = *at++;
    uint64_t distance, duration, depth = state->depth, region = 0, kind = SP__CALL;
    if (!(at = get(at, end, UINT64_MAX, &distance)) || !(at = get(at, end, UINT64_MAX, &duration)))
        return NULL;
    bool region_given = flags & REGION;
    if (region_given && !(at = get(at, end, UINT32_MAX, &region)))
        return NULL;
    unsigned how = flags & DEPTH_BITS;
    if (how == DEPTH_GIVEN) {
        if (!(at = get(at, end, UINT16_MAX, &depth)))
            return NULL;
    } else if (how != DEPTH_SAME) {
        depth += how == DEPTH_MORE ? 1 : UINT64_MAX;
        if (depth > UINT16_MAX)
            return NULL;
    }
    if (flags & KIND && !(at = get(at, end, UINT16_MAX, &kind)))
        return NULL;
    uint32_t *remembered = &state->regions[depth % REMEMBERED];
    if (region_given)
        *remembered = (uint32_t)region;
    ret->start = flags & OUTER ? state->end + distance - duration : state->end + distance;
    ret->end = ret->start + duration;
    ret->region = *remembered;
    ret->depth = (uint16_t)depth;
    ret->kind = (uint16_t)kind;
    state->depth = (uint32_t)depth;
    state->end = ret->end;
    return at;
}

bool sp__records_match(const unsigned char *buffer, size_t length, const struct sp__record *records, size_t count)
{
    struct state state = {0};
    const unsigned char *at = buffer, *end = buffer + length;
    for (size_t i = 0; i < count; i++) {
        struct sp__record back;
        at = decode_one(at, end, &state, &back);
        if (!at || memcmp(&back, &records[i], sizeof back) != 0)
            return false;
    }
    return at == end;
}

int sp__records_decode(const unsigned char *buffer, size_t length, struct sp__record *ret, size_t count)
{
    struct state state = {0};
    const unsigned char *at = buffer, *end = buffer + length;
    for (size_t i = 0; i < count; i++)
        if (!(at = decode_one(at, end, &state, &ret[i])))
            return -EBADMSG;
    return at == end ? 0 : -EBADMSG;
}
