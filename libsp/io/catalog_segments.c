/* catalog_segments.c: what the segments of this user show, read without touching them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog.h"
#include "names.h"
#include "segment.h"
#include "spool.h"

struct looking {
    struct sp__catalog *catalog;
    const char *session;
    bool figures;
};

/* Calls that ended in a lane: its statistics count them, dropped ones included. Only figures; -errno is 0 here. */
static uint64_t lane_calls(const struct sp__segment *segment, const struct sp__lane_place *place, uint32_t regions)
{
    uint64_t blocks[SP__STATS_BLOCKS], calls = 0;
    struct sp__stats stats[SP__STATS_REGIONS];
    size_t used = (regions + SP__STATS_REGIONS - 1) / SP__STATS_REGIONS;
    if (used > SP__STATS_BLOCKS)
        used = SP__STATS_BLOCKS;
    for (uint64_t bank = 0; bank < SP__BANKS; bank++) {
        if (sp__segment_read(segment, place->stats_offset + bank * sizeof blocks, blocks, used * sizeof *blocks))
            continue;
        for (size_t i = 0; i < used; i++) {
            if (!blocks[i] || sp__segment_read(segment, blocks[i], stats, sizeof stats))
                continue;
            for (size_t region = 0; region < SP__STATS_REGIONS; region++)
                calls += stats[region].calls;
        }
    }
    return calls;
}

static void take_figures(struct sp__life *life, const struct sp__segment *segment, const struct sp__header *header)
{
    struct stat s;
    if (!fstat(segment->fd, &s))
        life->segment_bytes = (uint64_t)s.st_blocks * 512;
    uint32_t regions = atomic_load_explicit(&header->region_count, memory_order_relaxed);
    uint32_t lanes = atomic_load_explicit(&header->lanes_used, memory_order_relaxed);
    struct sp__counters lost = {.lost_no_lane = atomic_load_explicit(&header->lost_no_lane, memory_order_relaxed)};
    for (uint32_t i = 0; i < lanes && i < segment->lane_capacity; i++) {
        struct sp__lane lane;
        struct sp__lane_place place;
        if (sp__segment_lane(segment, i, &place) || sp__segment_row(segment, i, &lane))
            continue;
        uint64_t held = atomic_load_explicit(&lane.head, memory_order_relaxed) -
                        atomic_load_explicit(&lane.tail, memory_order_relaxed);
        life->undrained += held <= place.ring_records ? held : 0;
        lost.dropped += atomic_load_explicit(&lane.dropped, memory_order_relaxed);
        lost.too_deep += atomic_load_explicit(&lane.too_deep, memory_order_relaxed);
        life->segment_calls += lane_calls(segment, &place, regions);
    }
    life->segment_calls -= lost.dropped < life->segment_calls ? lost.dropped : life->segment_calls;
    life->dropped += sp__counters_lost(&lost);
}

static int take_segment(struct sp__life *life, const struct sp__segment *segment, const char *name, bool figures)
{
    const struct sp__identity *id = &segment->identity;
    struct sp__header header;
    snprintf(life->session, sizeof life->session, "%s", id->session);
    snprintf(life->hostname, sizeof life->hostname, "%s", id->hostname);
    snprintf(life->prefix, sizeof life->prefix, "%s", id->prefix);
    sp__incarnation_text(id->incarnation, life->incarnation);
    life->rank = id->rank;
    life->pid = id->pid;
    life->birth_realtime_ns = id->birth_realtime_ns;
    snprintf(life->segment, sizeof life->segment, "%s", name);
    /* byte 0 before the state: a program that ends after this look is taken for living, not for dead while recording.
     */
    life->alive = sp__segment_alive(segment) != 0;
    int result = sp__segment_header(segment, &header);
    if (result)
        return result;
    life->state = atomic_load_explicit(&header.state, memory_order_relaxed);
    life->consumed = sp__lock_held(segment->fd, SP__BYTE_CONSUMER) == 1;
    /* Also one in another data folder; no other file, whatever the segment says. */
    if (atomic_load_explicit(&header.spool_chosen, memory_order_relaxed) && header.spool[0] == '/' &&
        !strncmp(sp__base_name(header.spool), life->stem, strlen(life->stem)))
        (void)sp__life_add_spool(life, header.spool);
    if (figures)
        take_figures(life, segment, &header);
    return 0;
}

/* Known by its name alone. */
static int take_name(struct sp__catalog *catalog, const char *name, const char *session, const char *why)
{
    char stem[96];
    snprintf(stem, sizeof stem, "?%.90s", name);
    struct sp__life *life = sp__catalog_life(catalog, stem);
    if (!life)
        return -ENOMEM;
    snprintf(life->session, sizeof life->session, "%s", session);
    snprintf(life->segment, sizeof life->segment, "%s", name);
    snprintf(life->why, sizeof life->why, "%s", why);
    life->state = 0;
    return 0;
}

static int look(const char *name, void *context)
{
    struct looking *l = context;
    char session[SP__SESSION_SIZE], why[256] = "", stem[96];
    sp__segment_session(name, session);
    if (l->session && strcmp(session, l->session) != 0)
        return 0;
    struct sp__segment segment;
    int result = sp__segment_open(&segment, name, false, why);
    if (result == -ENOENT || result == -EACCES)
        return 0;
    if (result)
        return take_name(l->catalog, name, session, *why ? why : strerror(-result));
    sp__incarnation_stem(&segment.identity, stem);
    struct sp__life *life = sp__catalog_life(l->catalog, stem);
    if (life && take_segment(life, &segment, name, l->figures)) {
        life->state = 0;
        snprintf(life->why, sizeof life->why, "%s/%s was cut short", SP__SHM_DIR, name);
    }
    sp__segment_close(&segment);
    return life ? 0 : -ENOMEM;
}

int sp__catalog_segments(struct sp__catalog *catalog, const char *session, bool figures, sp_error *error)
{
    struct looking l = {catalog, session, figures};
    int result = sp__segment_each(geteuid(), look, &l);
    if (result == -ENOENT || result == -EACCES)
        return 0; /* no shared memory here: files alone tell */
    return result ? sp__fail(error, SP_ERR_SYSTEM, -result, SP__SHM_DIR, NULL, "segments cannot be listed") : 0;
}
