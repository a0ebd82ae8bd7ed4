/* consumer_mark.c: what a publication needs besides records: regions, anchors, open calls, counters, statistics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "consumer.h"
#include "instant.h"

enum { NAME_MOST = 1023, ROWS_AT_ONCE = 64, OPEN_AT_ONCE = 256, STACK_TRIES = 4 };

#define ENCODED_ROOM ((size_t)SP__FRAME_RECORDS_MOST * SP__ENCODED_MOST)

_Static_assert(SP__STACK_MOST * sizeof(struct sp__open_entry) <= ENCODED_ROOM, "an open stack fits the buffer");

int sp__consumer_append(struct sp__consumer *c, uint16_t type, uint32_t lane, uint64_t first, uint32_t count,
                        const void *payload, size_t length)
{
    int rc = sp__spool_append(&c->spool, type, (uint16_t)lane, first, count, payload, (uint32_t)length);
    c->spool_error = -rc;
    return rc;
}

int sp__consumer_send_anchor(struct sp__consumer *c)
{
    struct sp__anchor anchor = sp__clock_anchor(c->segment.identity.clock);
    int rc = sp__consumer_append(c, SP__FRAME_ANCHORS, 0, 0, 1, &anchor, sizeof anchor);
    if (rc == 0)
        c->last_anchor = anchor;
    return rc;
}

/* A REGIONS frame in the making, in c->encoded. */
struct rows {
    uint32_t first;
    uint32_t count;
    size_t used;
};

static bool is_located(const struct sp__consumer *c, uint32_t region)
{
    return c->located_bits[region / 8] >> (region % 8) & 1;
}

static int flush_rows(struct sp__consumer *c, struct rows *rows)
{
    if (!rows->count)
        return 0;
    int rc = sp__consumer_append(c, SP__FRAME_REGIONS, 0, rows->first, rows->count, c->encoded, rows->used);
    if (rc)
        return rc;
    size_t at = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        struct sp__region_entry entry;
        uint32_t region = rows->first + i;
        memcpy(&entry, c->encoded + at, sizeof entry);
        at += sizeof entry + entry.name_length + entry.file_length;
        if (entry.file_length && !is_located(c, region)) {
            c->located_bits[region / 8] = (unsigned char)(c->located_bits[region / 8] | 1U << (region % 8));
            c->located++;
        }
    }
    if (rows->first + rows->count > c->regions)
        c->regions = rows->first + rows->count;
    rows->count = 0;
    rows->used = 0;
    return 0;
}

static int read_text(struct sp__consumer *c, struct rows *rows, uint64_t offset, uint32_t length)
{
    int rc = length ? sp__segment_read(&c->segment, offset, c->encoded + rows->used, length) : 0;
    if (rc == -EBADMSG)
        return sp__consumer_bad(c, "a region's name lies outside of it");
    if (rc == 0)
        rows->used += length;
    return rc;
}

/* Nothing in a row is trusted: lengths are bounded here, offsets by sp__segment_read. */
static int add_row(struct sp__consumer *c, struct rows *rows, uint32_t region, const struct sp__region *seen)
{
    struct sp__region row = *seen;
    uint64_t at = c->segment.regions_offset + (uint64_t)region * sizeof row;
    int rc = 0;
    /* The location may have been filled in between two words of the copy: once file_offset is there, the rest is too.
     */
    if (atomic_load_explicit(&row.file_offset, memory_order_relaxed) != 0)
        rc = sp__segment_read(&c->segment, at, &row, sizeof row);
    if (rc)
        return rc;
    uint64_t file = atomic_load_explicit(&row.file_offset, memory_order_relaxed);
    struct sp__region_entry entry = {row.name_length, file ? row.file_length : 0, file ? row.line : -1};
    if (entry.name_length > NAME_MOST || entry.file_length >= SP__PATH_SIZE)
        return sp__consumer_bad(c, "a region's name is longer than one can be");
    size_t length = sizeof entry + entry.name_length + entry.file_length;
    if (rows->count && (rows->first + rows->count != region || rows->used + length > ENCODED_ROOM))
        rc = flush_rows(c, rows);
    if (rc)
        return rc;
    if (!rows->count)
        rows->first = region;
    memcpy(c->encoded + rows->used, &entry, sizeof entry);
    rows->used += sizeof entry;
    rc = read_text(c, rows, row.name_offset, entry.name_length);
    if (rc == 0)
        rc = read_text(c, rows, file, entry.file_length);
    if (rc == 0)
        rows->count++;
    return rc;
}

/* Rows [from, to); of those that the spool holds already only the ones whose location came later. */
static int send_rows(struct sp__consumer *c, uint32_t from, uint32_t to)
{
    struct rows rows = {0};
    struct sp__region table[ROWS_AT_ONCE];
    uint32_t known = c->regions;
    int rc = 0;
    for (uint32_t at = from; rc == 0 && at < to; at += ROWS_AT_ONCE) {
        uint32_t n = to - at < ROWS_AT_ONCE ? to - at : ROWS_AT_ONCE;
        rc = sp__segment_read(&c->segment, c->segment.regions_offset + (uint64_t)at * sizeof *table, table,
                              n * sizeof *table);
        for (uint32_t i = 0; rc == 0 && i < n; i++) {
            bool there = atomic_load_explicit(&table[i].file_offset, memory_order_relaxed) != 0;
            if (at + i >= known || (there && !is_located(c, at + i)))
                rc = add_row(c, &rows, at + i, &table[i]);
        }
    }
    return rc ? rc : flush_rows(c, &rows);
}

int sp__consumer_send_regions(struct sp__consumer *c, uint32_t count)
{
    if (count > c->segment.region_capacity || count > SP__REGIONS)
        return sp__consumer_bad(c, "it counts more regions than it has room for");
    return count > c->regions ? send_rows(c, c->regions, count) : 0;
}

/* The open stack of a lane, outermost first, into c->encoded. It is a hint while its thread runs on: where it shrank
 * during the copy, what lay above is left out. */
static int copy_stack(struct sp__consumer *c, uint32_t lane, uint32_t *ret_count)
{
    struct sp__lane *line = &c->segment.lanes[lane];
    struct sp__open part[OPEN_AT_ONCE];
    struct sp__open_entry *out = (struct sp__open_entry *)(void *)c->encoded;
    uint32_t count = 0;
    for (int attempt = 0; attempt < STACK_TRIES; attempt++) {
        /* Acquire, here and below: pairs with the producer's release after the entry. */
        uint32_t depth = atomic_load_explicit(&line->depth, memory_order_acquire);
        if (depth > SP__STACK_MOST)
            return sp__consumer_bad(c, "a lane has more open calls than it has room for");
        count = 0;
        for (uint32_t at = 0; at < depth; at += OPEN_AT_ONCE) {
            uint32_t n = depth - at < OPEN_AT_ONCE ? depth - at : OPEN_AT_ONCE;
            int rc =
                sp__segment_read(&c->segment, c->place[lane].stack_offset + at * sizeof *part, part, n * sizeof *part);
            if (rc)
                return rc;
            uint32_t now = atomic_load_explicit(&line->depth, memory_order_acquire);
            for (uint32_t i = 0; i < n && at + i < now; i++)
                if (!(part[i].flags & SP__OPEN_UNRECORDED))
                    out[count++] = (struct sp__open_entry){part[i].start, part[i].region, 0};
        }
        if (atomic_load_explicit(&line->depth, memory_order_acquire) == depth)
            break;
    }
    *ret_count = count;
    return 0;
}

/* True where the last call in the ring is this one: its thread died between publishing the record and popping it. */
static int ended_last(struct sp__consumer *c, uint32_t lane, const struct sp__open_entry *open)
{
    struct sp__record last;
    uint64_t head =
        atomic_load_explicit(&c->segment.lanes[lane].head, memory_order_acquire); /* the producer's release */
    int rc = sp__segment_last_call(&c->segment, &c->place[lane], head, &last);
    return rc == 1 ? last.start == open->start && last.region == open->region : rc;
}

static int send_open(struct sp__consumer *c, uint32_t lane, bool dead, uint64_t now)
{
    uint32_t count;
    int rc = copy_stack(c, lane, &count);
    if (rc == 0 && dead && count) {
        const struct sp__open_entry *entries = (const struct sp__open_entry *)(const void *)c->encoded;
        rc = ended_last(c, lane, &entries[count - 1]);
        if (rc == 1)
            count--;
    }
    if (rc < 0 || (!count && !c->open[lane]))
        return rc < 0 ? rc : 0;
    rc = sp__consumer_append(c, SP__FRAME_OPEN, lane, now, count, c->encoded, count * sizeof(struct sp__open_entry));
    if (rc == 0)
        c->open[lane] = count > 0;
    return rc;
}

static int send_counters(struct sp__consumer *c, uint32_t lane)
{
    const struct sp__lane *line = &c->segment.lanes[lane];
    struct sp__counters counters = {
        .dropped = atomic_load_explicit(&line->dropped, memory_order_relaxed),
        .waited_ns = atomic_load_explicit(&line->waited_ns, memory_order_relaxed),
        .mended = atomic_load_explicit(&line->mended, memory_order_relaxed),
        .unmatched = atomic_load_explicit(&line->unmatched, memory_order_relaxed),
        .too_deep = atomic_load_explicit(&line->too_deep, memory_order_relaxed),
    };
    if (lane == 0)
        counters.lost_no_lane = atomic_load_explicit(&c->segment.header->lost_no_lane, memory_order_relaxed);
    uint64_t reached = c->placed[lane] ? c->next[lane] : 0;
    return sp__consumer_append(c, SP__FRAME_COUNTERS, lane, reached, 1, &counters, sizeof counters);
}

/* One block of a lane's statistics behind what stands in *entries. */
static int add_block(struct sp__consumer *c, uint64_t offset, uint32_t first, struct sp__stats_entry **entries,
                     uint32_t *count)
{
    struct sp__stats block[SP__STATS_REGIONS];
    int rc = sp__segment_read(&c->segment, offset, block, sizeof block);
    if (rc == -EBADMSG)
        return sp__consumer_bad(c, "a lane's statistics lie outside of it");
    if (rc)
        return rc;
    struct sp__stats_entry *larger = realloc(*entries, (*count + SP__STATS_REGIONS) * sizeof *larger);
    if (!larger)
        return -ENOMEM;
    *entries = larger;
    for (uint32_t i = 0; i < SP__STATS_REGIONS; i++)
        if (block[i].calls)
            larger[(*count)++] = (struct sp__stats_entry){first + i, 0, block[i]};
    return 0;
}

static int send_stats(struct sp__consumer *c, uint32_t lane, uint64_t now)
{
    uint64_t table[SP__STATS_BLOCKS];
    struct sp__stats_entry *entries = NULL;
    uint32_t count = 0;
    /* Acquire: pairs with rotation's release of the bank. */
    uint32_t bank = atomic_load_explicit(&c->segment.header->bank, memory_order_acquire) % SP__BANKS;
    int rc = sp__segment_read(&c->segment, c->place[lane].stats_offset + bank * sizeof table, table, sizeof table);
    for (uint32_t block = 0; rc == 0 && block < SP__STATS_BLOCKS; block++)
        if (table[block])
            rc = add_block(c, table[block], block * SP__STATS_REGIONS, &entries, &count);
    if (rc == 0)
        rc = sp__consumer_append(c, SP__FRAME_STATS, lane, now, count, entries, count * sizeof *entries);
    free(entries);
    return rc;
}

static int send_end(struct sp__consumer *c, enum sp__end end, uint64_t now)
{
    struct sp__end_entry entry = {end, 0, now};
    const struct sp__identity *identity = &c->segment.identity;
    int rc = sp__consumer_append(c, SP__FRAME_SEGMENT, 0, SP__SPOOL_VERSION, 1, identity, sizeof *identity);
    SP__INSTANT(mark_end);
    if (rc == 0)
        rc = sp__consumer_append(c, SP__FRAME_END, 0, 0, 1, &entry, sizeof entry);
    c->ended = rc == 0;
    return rc;
}

static int mark_lane(struct sp__consumer *c, uint32_t lane, enum sp__end end, uint64_t now)
{
    int rc = sp__consumer_place(c, lane);
    if (rc == 0)
        rc = send_open(c, lane, end != 0, now);
    else if (rc == -EAGAIN)
        rc = 0; /* claimed, but its memory is not there yet: its counters count all the same */
    if (rc == 0)
        rc = send_counters(c, lane);
    if (rc == 0 && end != SP__END_DIED) /* its pid may be another process's by now */
        rc = sp__consumer_send_thread(c, lane, now);
    if (rc == 0 && c->placed[lane] && c->segment.identity.mode == SP__MODE_STATS)
        rc = send_stats(c, lane, now);
    return rc;
}

int sp__consumer_mark(struct sp__consumer *c, enum sp__end end)
{
    SP__INSTANT(mark_before);
    /* Acquire: pairs with the program's release after the row. */
    uint32_t count = atomic_load_explicit(&c->segment.header->region_count, memory_order_acquire);
    int rc = sp__consumer_send_regions(c, count);
    if (rc == 0 && c->located < c->regions)
        rc = send_rows(c, 0, c->regions);
    if (rc == 0)
        rc = sp__consumer_send_anchor(c);
    uint64_t now = sp__clock_now(c->segment.identity.clock);
    uint32_t lanes = sp__consumer_lanes(c);
    for (uint32_t lane = 0; rc == 0 && (lane < lanes || lane == 0); lane++)
        rc = lane < lanes ? mark_lane(c, lane, end, now) : send_counters(c, 0);
    if (rc == 0 && end != 0 && !c->ended)
        rc = send_end(c, end, now);
    SP__INSTANT(mark_after);
    return rc;
}
