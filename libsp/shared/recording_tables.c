/* recording_tables.c: all that a spool holds besides records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording_parts.h"
#include "utf8.h"

enum { ANCHORS_MOST = 1 << 20 };

int sp__making_anchor(struct sp__making *m, uint64_t ticks, int64_t mono_ns)
{
    if (m->anchor_count == ANCHORS_MOST) { /* every other one is exact enough, and memory stays bounded */
        for (size_t i = 0; i < m->anchor_count / 2; i++)
            m->anchors[i] = m->anchors[2 * i];
        m->anchor_count /= 2;
    }
    if (m->recording->end_ns < mono_ns)
        m->recording->end_ns = mono_ns;
    void *list = m->anchors;
    int rc = sp__grow(&list, &m->anchor_room, m->anchor_count, sizeof *m->anchors);
    m->anchors = list;
    if (rc == 0)
        m->anchors[m->anchor_count++] = (struct sp__anchor){ticks, mono_ns};
    return rc;
}

static int set_text(char **text, uint32_t *length, const unsigned char *from, uint32_t size)
{
    char *copy = malloc((size_t)size * 3 + 1);
    if (!copy)
        return -ENOMEM;
    *length = (uint32_t)sp__utf8_mend((const char *)from, size, copy);
    free(*text);
    *text = copy;
    return 0;
}

/* A region may come again; the first name and the first location win. */
static int add_region(struct sp__making *m, uint32_t number, const struct sp__region_entry *entry,
                      const unsigned char *text)
{
    struct sp__region_text *region = &m->regions[number];
    if (number >= m->region_count)
        m->region_count = number + 1;
    int rc = region->name ? 0 : set_text(&region->name, &region->name_length, text, entry->name_length);
    if (rc == 0 && !region->file && entry->file_length) {
        rc = set_text(&region->file, &region->file_length, text + entry->name_length, entry->file_length);
        region->line = entry->line;
    }
    return rc;
}

static int add_regions(struct sp__making *m, const struct sp__frame *frame, const unsigned char *payload)
{
    size_t at = 0;
    for (uint32_t i = 0; i < frame->count; i++) {
        struct sp__region_entry entry;
        if (frame->length - at < sizeof entry || frame->first + i >= SP__REGIONS)
            return -EBADMSG;
        memcpy(&entry, payload + at, sizeof entry);
        at += sizeof entry;
        if (entry.name_length > frame->length - at || entry.file_length > frame->length - at - entry.name_length)
            return -EBADMSG;
        int rc = add_region(m, (uint32_t)(frame->first + i), &entry, payload + at);
        if (rc)
            return rc;
        at += entry.name_length + entry.file_length;
    }
    return 0;
}

static int add_anchors(struct sp__making *m, const struct sp__frame *frame, const unsigned char *payload)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < frame->count; i++) {
        struct sp__anchor anchor;
        memcpy(&anchor, payload + i * sizeof anchor, sizeof anchor);
        rc = sp__making_anchor(m, anchor.ticks, anchor.mono_ns);
    }
    return rc;
}

static int add_bases(struct sp__making *m, const struct sp__frame *frame, const unsigned char *payload)
{
    if (frame->count > SP__LANES)
        return -EBADMSG;
    if (frame->first >= m->epoch) {
        m->epoch = frame->first;
        m->base_count = frame->count;
        memcpy(m->bases, payload, frame->count * sizeof *m->bases);
    }
    return 0;
}

/* Keeps the payload of the lane's latest frame of a kind. */
static int keep(void **list, uint32_t *count, uint64_t *seen, bool *any, const struct sp__frame *frame,
                const unsigned char *payload)
{
    if (*any && (frame->first - *seen) >> 63)
        return 0;
    void *copy = malloc(frame->length ? frame->length : 1);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, payload, frame->length);
    free(*list);
    *list = copy;
    *count = frame->count;
    *seen = frame->first;
    *any = true;
    return 0;
}

static int keep_open(struct sp__part_lane *lane, const struct sp__frame *frame, const unsigned char *payload)
{
    void *list = lane->open;
    int rc = keep(&list, &lane->open_count, &lane->open_seen, &lane->opened, frame, payload);
    lane->open = list;
    return rc;
}

static int keep_stats(struct sp__part_lane *lane, const struct sp__frame *frame, const unsigned char *payload)
{
    void *list = lane->stats;
    int rc = keep(&list, &lane->stats_count, &lane->stats_seen, &lane->measured, frame, payload);
    lane->stats = list;
    return rc;
}

static void keep_living(struct sp__part_lane *lane, const struct sp__frame *frame, const unsigned char *payload)
{
    if (lane->lived && (frame->first - lane->living_seen) >> 63)
        return;
    memcpy(&lane->living, payload, sizeof lane->living);
    lane->living_seen = frame->first;
    lane->lived = true;
}

/* Counters only grow, so the latest is the largest, whichever spool it stands in. */
static void add_counters(struct sp__counters *to, const unsigned char *payload)
{
    struct sp__counters c;
    memcpy(&c, payload, sizeof c);
    to->dropped = c.dropped > to->dropped ? c.dropped : to->dropped;
    to->waited_ns = c.waited_ns > to->waited_ns ? c.waited_ns : to->waited_ns;
    to->mended = c.mended > to->mended ? c.mended : to->mended;
    to->unmatched = c.unmatched > to->unmatched ? c.unmatched : to->unmatched;
    to->too_deep = c.too_deep > to->too_deep ? c.too_deep : to->too_deep;
    to->lost_no_lane = c.lost_no_lane > to->lost_no_lane ? c.lost_no_lane : to->lost_no_lane;
}

static void add_end(struct sp__making *m, const unsigned char *payload)
{
    struct sp__end_entry entry;
    memcpy(&entry, payload, sizeof entry);
    if (m->recording->ended && (entry.ticks - m->end_ticks) >> 63)
        return;
    m->recording->ended = true;
    m->recording->died = entry.end == SP__END_DIED;
    m->end_ticks = entry.ticks;
}

/* Length of one entry of a frame whose entries are all alike; 0 for the others. */
static size_t entry_size(uint16_t type)
{
    switch (type) {
    case SP__FRAME_ANCHORS:
        return sizeof(struct sp__anchor);
    case SP__FRAME_BASE:
        return sizeof(uint64_t);
    case SP__FRAME_OPEN:
        return sizeof(struct sp__open_entry);
    case SP__FRAME_STATS:
        return sizeof(struct sp__stats_entry);
    case SP__FRAME_COUNTERS:
        return sizeof(struct sp__counters);
    case SP__FRAME_END:
        return sizeof(struct sp__end_entry);
    case SP__FRAME_THREAD:
        return sizeof(struct sp__thread_entry);
    default:
        return 0;
    }
}

int sp__tables_frame(struct sp__making *m, const struct sp__frame *frame, const unsigned char *payload)
{
    size_t size = entry_size(frame->type);
    if (frame->lane >= SP__LANES || (size && (uint64_t)frame->count * size != frame->length))
        return -EBADMSG;
    struct sp__part_lane *lane = &m->lanes[frame->lane];
    switch (frame->type) {
    case SP__FRAME_REGIONS:
        return add_regions(m, frame, payload);
    case SP__FRAME_ANCHORS:
        return add_anchors(m, frame, payload);
    case SP__FRAME_BASE:
        return add_bases(m, frame, payload);
    case SP__FRAME_OPEN:
        return keep_open(lane, frame, payload);
    case SP__FRAME_STATS:
        return keep_stats(lane, frame, payload);
    case SP__FRAME_COUNTERS:
        if (frame->count == 1)
            add_counters(&lane->counters, payload);
        if (frame->first && (!lane->reached || (int64_t)frame->first > lane->reached))
            lane->reached = (int64_t)frame->first;
        return frame->count == 1 ? 0 : -EBADMSG;
    case SP__FRAME_END:
        if (frame->count == 1)
            add_end(m, payload);
        return frame->count == 1 ? 0 : -EBADMSG;
    case SP__FRAME_THREAD:
        if (frame->count == 1)
            keep_living(lane, frame, payload);
        return frame->count == 1 ? 0 : -EBADMSG;
    default:
        return 0; /* SEGMENT, and what a later version may add */
    }
}

void sp__tables_ended(struct sp__part_lane *lane, const struct sp__record *record)
{
    struct sp__open_entry *open = lane->open;
    size_t low = 0, high = lane->open_count;
    if (!high || record->start < open[0].start || record->start > open[high - 1].start)
        return;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (open[middle].start < record->start)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < lane->open_count && open[low].start == record->start; low++)
        if (open[low].region == record->region) {
            open[low].region = UINT32_MAX;
            return;
        }
}

static void add_open_calls(struct sp__making *m, const struct sp__part_lane *lane)
{
    struct sp__recording *r = m->recording;
    int64_t seen = sp__making_ns(m, lane->open_seen);
    uint32_t depth = 0;
    for (uint32_t i = 0; i < lane->open_count; i++) {
        const struct sp__open_entry *open = &lane->open[i];
        if (open->region >= SP__REGIONS)
            continue;
        int64_t start = sp__making_ns(m, open->start);
        r->open_calls[r->open_call_count++] = (struct sp__open_call){
            .thread = lane->owner_count ? (int64_t)lane->owners[lane->owner_count - 1].thread : -1,
            .region = open->region,
            .depth = depth++,
            .start_ns = start,
            .seen_ns = seen > start ? seen : start,
        };
    }
}

/* Nanoseconds in one tick, over the whole life. */
static double tick_ns(const struct sp__making *m)
{
    const struct sp__anchor *birth = &m->recording->identity.birth;
    uint64_t ticks = 0;
    for (size_t i = 0; i < m->anchor_count; i++)
        if (!((m->anchors[i].ticks - birth->ticks) >> 63) && m->anchors[i].ticks - birth->ticks > ticks)
            ticks = m->anchors[i].ticks - birth->ticks;
    if (m->recording->identity.clock == SP__CLOCK_MONOTONIC || ticks == 0)
        return 1.0;
    return (double)(sp__making_ns(m, birth->ticks + ticks) - sp__making_ns(m, birth->ticks)) / (double)ticks;
}

static int64_t duration(uint64_t ticks, double tick)
{
    double ns = (double)ticks * tick;
    return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

static int64_t sum(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static void add_stats(struct sp__region_stats *to, const struct sp__stats *from, double tick)
{
    /* Calls are counted last: read or killed within the end of a call, some of the others have it, some have not. */
    uint64_t total = from->total > from->maximum ? from->total : from->maximum;
    uint64_t exclusive = from->exclusive < total ? from->exclusive : total;
    uint64_t least = from->minimum < from->maximum ? from->minimum : from->maximum;
    uint64_t calls = from->calls < INT64_MAX ? from->calls : INT64_MAX;
    int64_t minimum = duration(least, tick), maximum = duration(from->maximum, tick);
    to->minimum = to->calls == 0 || minimum < to->minimum ? minimum : to->minimum;
    to->maximum = maximum > to->maximum ? maximum : to->maximum;
    to->calls = (uint64_t)sum((int64_t)to->calls, (int64_t)calls);
    to->total = sum(to->total, duration(total, tick));
    to->exclusive = sum(to->exclusive, duration(exclusive, tick));
}

/* In stats mode the calls are those that the statistics count. */
static void count_stats(struct sp__making *m)
{
    struct sp__recording *r = m->recording;
    memset(m->calls, 0, SP__REGIONS * sizeof *m->calls);
    r->calls = 0;
    for (size_t i = 0; i < r->stats_count; i++) {
        uint32_t region = r->stats[i].region;
        m->calls[region] = r->stats[i].calls;
        r->calls += r->stats[i].calls;
        m->region_count = region >= m->region_count ? region + 1 : m->region_count;
    }
}

/* Statistics of all lanes, one entry a region. */
static int sum_stats(struct sp__making *m)
{
    struct sp__recording *r = m->recording;
    uint32_t regions = 0; /* one past the highest that has any */
    for (uint32_t lane = 0; lane < SP__LANES; lane++)
        for (uint32_t i = 0; i < m->lanes[lane].stats_count; i++) {
            uint32_t region = m->lanes[lane].stats[i].region;
            if (region < SP__REGIONS && region >= regions)
                regions = region + 1;
        }
    if (!regions)
        return 0;
    struct sp__region_stats *all = calloc(regions, sizeof *all);
    if (!all)
        return -ENOMEM;
    double tick = tick_ns(m);
    for (uint32_t lane = 0; lane < SP__LANES; lane++)
        for (uint32_t i = 0; i < m->lanes[lane].stats_count; i++) {
            const struct sp__stats_entry *entry = &m->lanes[lane].stats[i];
            if (entry->region < regions)
                add_stats(&all[entry->region], &entry->stats, tick);
        }
    for (uint32_t region = 0; region < regions; region++)
        if (all[region].calls) {
            all[region].region = region;
            all[r->stats_count++] = all[region];
        }
    struct sp__region_stats *fit = realloc(all, (r->stats_count + 1) * sizeof *all);
    r->stats = fit ? fit : all;
    return 0;
}

int sp__tables_finish(struct sp__making *m)
{
    struct sp__recording *r = m->recording;
    size_t open = 0;
    for (uint32_t lane = 0; lane < SP__LANES; lane++) {
        const struct sp__counters *c = &m->lanes[lane].counters;
        open += m->lanes[lane].open_count;
        r->counters.dropped += c->dropped;
        r->counters.waited_ns += c->waited_ns;
        r->counters.mended += c->mended;
        r->counters.unmatched += c->unmatched;
        r->counters.too_deep += c->too_deep;
        r->counters.lost_no_lane += c->lost_no_lane;
    }
    r->open_calls = malloc((open + 1) * sizeof *r->open_calls);
    if (!r->open_calls)
        return -ENOMEM;
    for (uint32_t lane = 0; lane < SP__LANES; lane++)
        add_open_calls(m, &m->lanes[lane]);
    if (r->ended)
        r->end_ns = sp__making_ns(m, m->end_ticks);
    int rc = sum_stats(m);
    if (rc == 0 && r->identity.mode == SP__MODE_STATS)
        count_stats(m);
    return rc;
}
