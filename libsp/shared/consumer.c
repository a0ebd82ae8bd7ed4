/* consumer.c: draining: from the rings to the spool. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "consumer.h"
#include "instant.h"

enum { ANCHOR_EVERY_NS = 100 * 1000 * 1000, RESET_TRIES = 16 };

/* More records than this between tail and ring: not an accident that can be counted, but no ring at all. */
#define GAP_MOST (UINT64_C(1) << 32)

int sp__consumer_bad(struct sp__consumer *c, const char *fault)
{
    c->fault = fault;
    return -EBADMSG;
}

uint32_t sp__consumer_lanes(const struct sp__consumer *c)
{
    /* Acquire: pairs with the program's release after it claimed a further lane. */
    uint32_t used = atomic_load_explicit(&c->segment.header->lanes_used, memory_order_acquire);
    uint32_t most = c->segment.lane_capacity < SP__LANES ? c->segment.lane_capacity : SP__LANES;
    return used < most ? used : most;
}

int sp__consumer_place(struct sp__consumer *c, uint32_t lane)
{
    if (c->placed[lane])
        return 0;
    int rc = sp__segment_lane(&c->segment, lane, &c->place[lane]);
    if (rc == -EBADMSG)
        return sp__consumer_bad(c, "a lane's memory lies outside of it");
    if (rc)
        return rc;
    c->next[lane] = atomic_load_explicit(&c->segment.lanes[lane].tail, memory_order_acquire); /* a consumer's release */
    c->placed[lane] = true;
    return 0;
}

/* A segment that was cut short is not touched through its mapping any more. */
static int whole(struct sp__consumer *c)
{
    struct stat st;
    if (fstat(c->segment.fd, &st) != 0)
        return -errno;
    return (uint64_t)st.st_size < c->segment.size ? sp__consumer_bad(c, "it was cut short") : 0;
}

/* Its readers find a spool by its name: one that somebody removed is given back, with all that stands in it. */
static int keep_spool(struct sp__consumer *c)
{
    struct stat st;
    if (c->observer)
        return 0;
    if (fstat(c->spool.fd, &st) != 0)
        return -errno;
    return st.st_nlink == 0 ? sp__spool_restore(&c->spool) : 0;
}

/* A reset is one frame with every lane's base, so that a reader sees all of it or nothing. Whoever keeps writing into
 * the epoch keeps nobody here: the next look takes it up, and the frame says then which records it drops. */
static int send_bases(struct sp__consumer *c)
{
    struct sp__header *header = c->segment.header;
    uint64_t bases[SP__LANES];
    uint32_t lanes, epoch, again;
    /* Acquire: pairs with the program's release after it wrote all bases of that epoch. The next reset writes the other
     * slots; one more would write these, and by then the epoch is another. */
    epoch = atomic_load_explicit(&header->epoch, memory_order_acquire);
    for (int tries = 0;; tries++) {
        if (epoch == c->epoch || tries == RESET_TRIES)
            return 0;
        lanes = sp__consumer_lanes(c);
        for (uint32_t lane = 0; lane < lanes; lane++)
            bases[lane] = atomic_load_explicit(&c->segment.lanes[lane].base[epoch & 1], memory_order_acquire);
        again = atomic_load_explicit(&header->epoch, memory_order_acquire);
        if (again == epoch)
            break;
        epoch = again;
    }
    for (uint32_t lane = 0; lane < lanes; lane++)
        /* A lane is reset where it stands, and goes on from there. */
        if ((atomic_load_explicit(&c->segment.lanes[lane].head, memory_order_acquire) - bases[lane]) >> 63)
            return sp__consumer_bad(c, "a reset lies ahead of its lane");
    int rc = sp__consumer_append(c, SP__FRAME_BASE, 0, epoch, lanes, bases, lanes * sizeof *bases);
    if (rc == 0)
        c->epoch = epoch;
    return rc;
}

static int read_ring(struct sp__consumer *c, uint32_t lane, uint64_t from, size_t count)
{
    const struct sp__lane_place *place = &c->place[lane];
    uint64_t at = from & (place->ring_records - 1);
    size_t first = place->ring_records - at < count ? (size_t)(place->ring_records - at) : count;
    const size_t size = sizeof(struct sp__record);
    int rc = sp__segment_read(&c->segment, place->ring_offset + at * size, c->records, first * size);
    if (rc == 0 && first < count)
        rc = sp__segment_read(&c->segment, place->ring_offset, c->records + first, (count - first) * size);
    return rc;
}

/* A test build takes every frame apart again: one that does not hold its records is worse than a death. */
static void verify(const struct sp__consumer *c, size_t skip, size_t count, size_t length)
{
#ifdef SP__INSTANTS
    if (sp__records_match(c->encoded, length, c->records + skip, count))
        return;
    (void)fprintf(stderr, "scope_profiler: segment %s: records do not survive their encoding\n", c->segment.name);
    abort();
#else
    (void)c, (void)skip, (void)count, (void)length;
#endif
}

/* Up to a buffer of records from c->next on. What stands in the ring stays until tail moves, and only the consumer
 * moves it. An observer is none: it drops what its copy may have lost to the producer, which is in the spool by then.
 */
static int send_block(struct sp__consumer *c, uint32_t lane, size_t count)
{
    struct sp__lane *line = &c->segment.lanes[lane];
    int rc = read_ring(c, lane, c->next[lane], count);
    if (rc)
        return rc;
    SP__INSTANT(copy);
    size_t skip = 0;
    if (c->observer) {
        /* Acquire: pairs with the consumer's release, which comes after the block is in its spool. */
        uint64_t tail = atomic_load_explicit(&line->tail, memory_order_acquire);
        uint64_t lost = tail - c->next[lane];
        if (!(lost >> 63))
            skip = lost < count ? (size_t)lost : count;
    }
    if (skip < count) {
        size_t length = sp__records_encode(c->records + skip, count - skip, c->encoded);
        verify(c, skip, count - skip, length);
        rc = sp__consumer_append(c, SP__FRAME_RECORDS, lane, c->next[lane] + skip, (uint32_t)(count - skip), c->encoded,
                                 length);
        if (rc)
            return rc;
    }
    c->next[lane] += count;
    /* Release: the block is written; pairs with the producer's acquire before it reuses these records. A death right
     * before this store leaves tail behind the spool: see take_over. */
    if (!c->observer) {
        SP__INSTANT(tail_before);
        atomic_store_explicit(&line->tail, c->next[lane], memory_order_release);
        SP__INSTANT(tail_after);
    }
    return 0;
}

/* Sequence numbers wrap, so all that is said about two of them is said by their difference. */
static int drain_lane(struct sp__consumer *c, uint32_t lane, uint64_t head, uint64_t most, uint64_t *taken)
{
    uint64_t ring = c->place[lane].ring_records;
    if (c->observer) {
        uint64_t tail = atomic_load_explicit(&c->segment.lanes[lane].tail, memory_order_acquire); /* as in send_block */
        if (!((tail - c->next[lane]) >> 63))
            c->next[lane] = tail;
        if ((head - c->next[lane]) >> 63)
            return 0;
    }
    uint64_t count = head - c->next[lane];
    if (count > ring) {
        if (count - ring > GAP_MOST)
            return sp__consumer_bad(c, "a lane counts fewer records than were drained, or more than there can be");
        c->gaps += count - ring;
        c->next[lane] += count - ring;
        count = ring;
    }
    while (count && *taken < most) {
        uint64_t block = count < most - *taken ? count : most - *taken;
        if (block > SP__FRAME_RECORDS_MOST)
            block = SP__FRAME_RECORDS_MOST;
        int rc = send_block(c, lane, (size_t)block);
        if (rc)
            return rc;
        count -= block;
        *taken += block;
    }
    return 0;
}

static int drain_lanes(struct sp__consumer *c, uint64_t most, uint64_t *taken)
{
    uint64_t heads[SP__LANES];
    uint32_t lanes = sp__consumer_lanes(c);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        int rc = sp__consumer_place(c, lane);
        if (rc && rc != -EAGAIN)
            return rc;
        /* Acquire: pairs with the producer's release after the record. */
        heads[lane] = rc ? 0 : atomic_load_explicit(&c->segment.lanes[lane].head, memory_order_acquire);
    }
    /* After the heads, so that every region which those records name is in the table; and into the spool before them.
     * Acquire: pairs with the program's release after the row. */
    int rc = sp__consumer_send_regions(c, atomic_load_explicit(&c->segment.header->region_count, memory_order_acquire));
    for (uint32_t i = 0; rc == 0 && i < lanes && *taken < most; i++) {
        uint32_t lane = (c->turn + i) % lanes;
        if (c->placed[lane])
            rc = drain_lane(c, lane, heads[lane], most, taken);
        if (*taken >= most)
            c->turn = lane + 1;
    }
    return rc;
}

int sp__consumer_drain(struct sp__consumer *c, uint64_t most, uint64_t *ret_records)
{
    uint64_t taken = 0;
    int rc = whole(c);
    if (rc)
        return rc;
    uint64_t now = sp__clock_mono();
    if (!c->observer)
        atomic_store_explicit(&c->segment.header->consumer_beat_ns, now, memory_order_relaxed);
    rc = keep_spool(c);
    if (rc == 0)
        rc = send_bases(c);
    if (rc == 0)
        rc = drain_lanes(c, most ? most : UINT64_MAX, &taken);
    if (rc == 0 && taken && c->segment.identity.clock != SP__CLOCK_MONOTONIC &&
        now - (uint64_t)c->last_anchor.mono_ns >= ANCHOR_EVERY_NS)
        rc = sp__consumer_send_anchor(c);
    if (rc == 0 && ret_records)
        *ret_records = taken;
    return rc;
}

unsigned sp__consumer_pressure(const struct sp__consumer *c)
{
    uint64_t most = 0;
    for (uint32_t lane = 0; lane < sp__consumer_lanes(c); lane++) {
        if (!c->placed[lane])
            continue;
        uint64_t held = atomic_load_explicit(&c->segment.lanes[lane].head, memory_order_acquire) - c->next[lane];
        uint64_t ring = c->place[lane].ring_records;
        uint64_t share = held >= ring ? 1024 : held * 1024 / ring;
        most = share > most ? share : most;
    }
    return (unsigned)most;
}

void sp__consumer_answer(struct sp__consumer *c, int status, int error, uint32_t format, const char *path)
{
    struct sp__answer *answer = &c->segment.header->answer;
    /* Odd already where an earlier consumer died in the middle. */
    uint32_t seq = atomic_load_explicit(&answer->seq, memory_order_relaxed) | 1U;
    atomic_store_explicit(&answer->seq, seq, memory_order_relaxed);
    /* Pairs with the reader's fence between its copy and its second look at seq. */
    atomic_thread_fence(memory_order_release);
    answer->status = (uint32_t)status;
    SP__INSTANT(answer);
    answer->error = error;
    answer->format = format;
    if (path) {
        size_t length = strnlen(path, sizeof answer->path - 1);
        memcpy(answer->path, path, length);
        answer->path[length] = '\0';
    }
    atomic_store_explicit(&answer->seq, seq + 1, memory_order_release); /* pairs with the reader's first acquire load */
}
