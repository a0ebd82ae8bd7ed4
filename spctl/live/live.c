#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "names.h"
#include "say.h"
#include "scope_profiler.h"

#define NO_NAME UINT32_MAX

enum { WINDOW = 1 << 16, STACK_TRIES = 16, BEGIN_MARKERS = 4 };

/* From here on the two clocks' readings bound the rate well enough. */
static const int64_t OLD_NS = 10000000;
/* What two ways to measure one rate may differ by. */
static const double RATE_SHARE = 2e-3;

void tally_add(struct tally *to, const struct tally *more)
{
    if (more->calls > 0) {
        bool first = to->calls == 0;
        to->minimum = first || more->minimum < to->minimum ? more->minimum : to->minimum;
        to->maximum = first || more->maximum > to->maximum ? more->maximum : to->maximum;
    }
    to->calls += more->calls;
    to->open += more->open;
    if (__builtin_add_overflow(to->total, more->total, &to->total))
        to->total = INT64_MAX;
    if (to->exclusive < 0 || more->exclusive < 0)
        to->exclusive = -1;
    else if (__builtin_add_overflow(to->exclusive, more->exclusive, &to->exclusive))
        to->exclusive = INT64_MAX;
}

/* ---- clock -------------------------------------------------------------------------------------------------------- */

static double rate_between(const struct sp__anchor *from, const struct sp__anchor *to)
{
    double ticks = (double)to->ticks - (double)from->ticks, ns = (double)to->mono_ns - (double)from->mono_ns;
    return ticks > 0 && ns > 0 ? ns / ticks : 0;
}

/* This machine's, from a look of our own. */
static double measured_rate(void)
{
    static double known;
    if (known > 0)
        return known;
    struct sp__anchor from = sp__clock_anchor(SP__CLOCK_TSC), to;
    do {
        nanosleep(&(struct timespec){.tv_nsec = OLD_NS}, NULL);
        to = sp__clock_anchor(SP__CLOCK_TSC);
    } while (to.mono_ns - from.mono_ns < OLD_NS);
    known = rate_between(&from, &to);
    return known > 0 ? known : 1;
}

/* The longer the stretch the better the rate, but what the segment says of its beginning may be damaged, of another time
 * namespace, or before this machine slept. */
static double tick_ns(const struct sp__identity *id, const struct sp__anchor *now)
{
    if (id->clock != SP__CLOCK_TSC)
        return 1;
    double since_birth = rate_between(&id->birth, now), measured = measured_rate();
    bool old = now->mono_ns - id->birth.mono_ns > 100 * OLD_NS;
    return old && since_birth > measured * (1 - RATE_SHARE) && since_birth < measured * (1 + RATE_SHARE) ? since_birth
                                                                                                         : measured;
}

static int64_t ns_of(const struct live *live, uint64_t ticks)
{
    double ns = (double)ticks * live->tick_ns;
    return live->tick_ns == 1 && ticks <= INT64_MAX ? (int64_t)ticks : ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

static enum sp_rank_state state_of(uint32_t state, bool alive)
{
    if (state < SP__RECORDING || state > SP__DISCARDED)
        return SP_RANK_UNREADABLE;
    if (state == SP__FINALIZING)
        return SP_RANK_FINALIZING;
    if (state > SP__FINALIZING)
        return SP_RANK_PUBLISHED;
    return !alive ? SP_RANK_DEAD : state == SP__PAUSED ? SP_RANK_PAUSED : SP_RANK_RECORDING;
}

static void take_spool(struct live *live, const struct sp__header *header)
{
    struct stat s;
    char stem[96];
    sp__incarnation_stem(&live->segment.identity, stem);
    /* No other file, whatever the segment says. */
    if (atomic_load_explicit(&header->spool_chosen, memory_order_relaxed) && header->spool[0] == '/' &&
        strncmp(sp__base_name(header->spool), stem, strlen(stem)) == 0 && lstat(header->spool, &s) == 0)
        live->spool_bytes = (uint64_t)s.st_size;
}

static void see(struct live *live, uint64_t ticks)
{
    if (ticks > live->last_sign && ticks <= live->now.ticks)
        live->last_sign = ticks;
}

static int take_lane(struct live *live, uint32_t number)
{
    struct sp__lane lane;
    struct sp__lane_place place;
    struct sp__record last;
    int error = sp__segment_row(&live->segment, number, &lane);
    if (error)
        return error;
    live->counters.dropped += atomic_load_explicit(&lane.dropped, memory_order_relaxed);
    live->counters.too_deep += atomic_load_explicit(&lane.too_deep, memory_order_relaxed);
    live->counters.waited_ns += atomic_load_explicit(&lane.waited_ns, memory_order_relaxed);
    error = sp__segment_lane(&live->segment, number, &place);
    if (error)
        return error == -EAGAIN ? 0 : error;
    uint64_t head = atomic_load_explicit(&lane.head, memory_order_relaxed);
    uint64_t held = head - atomic_load_explicit(&lane.tail, memory_order_relaxed);
    live->undrained += held <= place.ring_records ? held : 0;
    if (live->state != SP_RANK_DEAD)
        return 0;
    int found = sp__segment_last_call(&live->segment, &place, head, &last);
    if (found == 1)
        see(live, last.end);
    return found < 0 ? found : 0;
}

static int take_state(struct live *live)
{
    struct sp__header header;
    /* byte 0 before the state: a program that ends in between is taken for living, not for dead while recording. */
    bool alive = sp__segment_alive(&live->segment) != 0;
    int error = sp__segment_header(&live->segment, &header);
    if (error)
        return error;
    uint32_t state = atomic_load_explicit(&header.state, memory_order_relaxed);
    live->state = state_of(state, alive);
    live->gone = state == SP__DISCARDED;
    live->lanes = atomic_load_explicit(&header.lanes_used, memory_order_relaxed);
    if (live->lanes > live->segment.lane_capacity)
        live->lanes = live->segment.lane_capacity;
    live->region_count = atomic_load_explicit(&header.region_count, memory_order_relaxed);
    if (live->region_count > live->segment.region_capacity || live->state == SP_RANK_UNREADABLE)
        return -EBADMSG;
    live->counters.lost_no_lane = atomic_load_explicit(&header.lost_no_lane, memory_order_relaxed);
    live->now = sp__clock_anchor(live->segment.identity.clock);
    live->tick_ns = tick_ns(&live->segment.identity, &live->now);
    take_spool(live, &header);
    see(live, live->segment.identity.birth.ticks);
    for (uint32_t lane = 0; !error && lane < live->lanes; ++lane)
        error = take_lane(live, lane);
    return error;
}

int live_open(struct live *ret, const char *name, struct numbers *names, char ret_why[256])
{
    struct live live = {.names = names};
    int error = sp__segment_open(&live.segment, name, false, ret_why);
    if (error)
        return error;
    sp__incarnation_text(live.segment.identity.incarnation, live.incarnation);
    error = take_state(&live);
    if (error) {
        if (error == -EBADMSG)
            snprintf(ret_why, 256, "%s/%s contradicts itself or was cut short", SP__SHM_DIR, name);
        sp__segment_close(&live.segment);
        return error;
    }
    *ret = live;
    return 0;
}

void live_close(struct live *live)
{
    sp__segment_close(&live->segment);
    free(live->regions);
    free(live->rows);
    free(live->window);
}

struct walk {
    const char *session;
    int (*each)(const char *name, void *context);
    void *context;
};

static int if_of_session(const char *name, void *context)
{
    const struct walk *walk = context;
    char session[SP__SESSION_SIZE];
    sp__segment_session(name, session);
    return strcmp(session, walk->session) == 0 ? walk->each(name, walk->context) : 0;
}

int live_each(const char *session, int (*each)(const char *name, void *context), void *context)
{
    struct walk walk = {session, each, context};
    int result = sp__segment_each(geteuid(), if_of_session, &walk);
    return result == -ENOENT || result == -EACCES ? 0 : result; /* no shared memory here: files alone tell */
}

/* ---- regions ------------------------------------------------------------------------------------------------------ */

/* `length` bytes at `at` through the window. NULL: outside, or cut off. */
static const char *text_at(struct live *live, uint64_t at, size_t length)
{
    bool inside = live->window && at >= live->window_at && at - live->window_at <= live->window_length &&
                  length <= live->window_length - (at - live->window_at);
    if (!inside) {
        if (!live->window)
            live->window = need(malloc(WINDOW));
        uint64_t left = at < live->segment.size ? live->segment.size - at : 0;
        live->window_at = at;
        live->window_length = left < WINDOW ? (size_t)left : WINDOW;
        if (length > live->window_length || sp__segment_read(&live->segment, at, live->window, live->window_length)) {
            live->window_length = 0;
            return NULL;
        }
    }
    return live->window + (at - live->window_at);
}

/* All that there are, at once. */
static void read_rows(struct live *live)
{
    uint64_t at = live->segment.regions_offset + (uint64_t)live->row_count * sizeof *live->rows;
    uint32_t more = live->region_count - live->row_count;
    live->rows = need(realloc(live->rows, live->region_count * sizeof *live->rows));
    memset((void *)(live->rows + live->row_count), 0xff, more * sizeof *live->rows); /* no name is that long */
    (void)sp__segment_read(&live->segment, at, live->rows + live->row_count, more * sizeof *live->rows);
    live->row_count = live->region_count;
}

static uint32_t look_up(struct live *live, uint32_t region)
{
    if (region >= live->row_count)
        read_rows(live);
    const struct sp__region *row = &live->rows[region];
    const char *text = row->name_length <= SP_MAX_NAME ? text_at(live, row->name_offset, row->name_length) : NULL;
    if (text)
        return number_of(live->names, text, row->name_length);
    char unknown[32];
    int length = snprintf(unknown, sizeof unknown, "(region %u)", (unsigned)region);
    return number_of(live->names, unknown, (size_t)length);
}

uint32_t live_region(struct live *live, uint32_t region)
{
    if (region >= live->segment.region_capacity)
        region = live->segment.region_capacity - 1; /* damage: whatever stands there */
    if (region >= live->region_count || !live->regions) {
        uint32_t known = live->regions ? live->region_count : 0;
        /* It was registered after the look at the header. */
        live->region_count = region >= live->region_count ? region + 1 : live->region_count;
        live->regions = need(realloc(live->regions, live->region_count * sizeof *live->regions));
        memset(live->regions + known, 0xff, (live->region_count - known) * sizeof *live->regions);
    }
    if (live->regions[region] == NO_NAME)
        live->regions[region] = look_up(live, region);
    return live->regions[region];
}

/* ---- statistics --------------------------------------------------------------------------------------------------- */

static void add_stats(struct sp__stats *to, const struct sp__stats *more)
{
    if (more->calls == 0)
        return;
    bool first = to->calls == 0;
    to->minimum = first || more->minimum < to->minimum ? more->minimum : to->minimum;
    to->maximum = more->maximum > to->maximum ? more->maximum : to->maximum;
    to->calls += more->calls;
    to->total += more->total;
    to->exclusive += more->exclusive;
}

/* Adds the lane's blocks to `sums`, which has room for whole ones. */
static int add_lane(const struct live *live, uint32_t lane, struct sp__stats *sums, size_t blocks)
{
    uint64_t offsets[SP__STATS_BLOCKS];
    struct sp__stats block[SP__STATS_REGIONS];
    struct sp__lane_place place;
    int error = sp__segment_lane(&live->segment, lane, &place);
    for (uint64_t bank = 0; !error && bank < SP__BANKS; ++bank) {
        error = sp__segment_read(&live->segment, place.stats_offset + bank * sizeof offsets, offsets,
                                 blocks * sizeof *offsets);
        for (size_t i = 0; !error && i < blocks; ++i) {
            if (!offsets[i])
                continue;
            error = sp__segment_read(&live->segment, offsets[i], block, sizeof block);
            for (size_t region = 0; !error && region < SP__STATS_REGIONS; ++region)
                add_stats(&sums[i * SP__STATS_REGIONS + region], &block[region]);
        }
    }
    return error == -EAGAIN ? 0 : error;
}

int live_statistics(struct live *live, void (*each)(void *context, uint32_t name, const struct tally *tally),
                    void *context)
{
    size_t blocks = (live->region_count + SP__STATS_REGIONS - 1) / SP__STATS_REGIONS;
    struct sp__stats *sums = need(calloc(blocks * SP__STATS_REGIONS + 1, sizeof *sums));
    uint32_t regions = live->region_count;
    int error = 0;
    for (uint32_t lane = 0; !error && lane < live->lanes; ++lane)
        error = add_lane(live, lane, sums, blocks);
    for (uint32_t region = 0; !error && region < regions; ++region) {
        const struct sp__stats *sum = &sums[region];
        if (sum->calls == 0)
            continue;
        const struct tally tally = {.calls = sum->calls,
                                    .total = ns_of(live, sum->total),
                                    .minimum = ns_of(live, sum->minimum),
                                    .maximum = ns_of(live, sum->maximum),
                                    .exclusive = ns_of(live, sum->exclusive)};
        each(context, live_region(live, region), &tally);
    }
    free(sums);
    return error;
}

/* ---- threads ------------------------------------------------------------------------------------------------------ */

static bool same(const struct sp__open *a, const struct sp__open *b)
{
    return a->start == b->start && a->region == b->region && a->flags == b->flags && a->token == b->token;
}

/* An open stack while its thread goes on: the entries, the depth, the entries again. Entries below the depth that did
 * not change around the reading of it were open then, all of them together; a begin writes its entry anew. */
struct snapshot {
    struct sp__open *entries, *read, *again; /* of SP__STACK_MOST */
    uint32_t count;
    bool changing;
};

static int snap(const struct live *live, uint32_t lane, const struct sp__lane_place *place, struct snapshot *s)
{
    const struct sp__segment *segment = &live->segment;
    uint64_t depth_at = sp__segment_lane_offset(segment, lane) + offsetof(struct sp__lane, depth);
    uint32_t expected, depth;
    s->count = 0;
    s->changing = true;
    int error = sp__segment_read(segment, depth_at, &expected, sizeof expected);
    for (int attempt = 0; !error && attempt < STACK_TRIES && s->changing; ++attempt) {
        if (expected > SP__STACK_MOST)
            error = -EBADMSG;
        size_t bytes = expected * sizeof *s->read;
        atomic_thread_fence(memory_order_acquire);
        if (!error)
            error = sp__segment_read(segment, place->stack_offset, s->read, bytes);
        atomic_thread_fence(memory_order_acquire);
        if (!error)
            error = sp__segment_read(segment, depth_at, &depth, sizeof depth);
        atomic_thread_fence(memory_order_acquire);
        if (!error)
            error = sp__segment_read(segment, place->stack_offset, s->again, bytes);
        if (error)
            break;
        uint32_t stood = 0;
        while (stood < depth && stood < expected && same(&s->read[stood], &s->again[stood]))
            ++stood;
        s->changing = stood < depth;
        if (!s->changing || stood >= s->count) {
            memcpy(s->entries, s->read, stood * sizeof *s->read);
            s->count = stood;
        }
        expected = depth;
    }
    return error;
}

static void name_of_living(const struct live *live, uint32_t native_id, char ret[17])
{
    const struct sp__identity *id = &live->segment.identity;
    char path[64];
    if (id->pid_space == 0 || id->pid_space != sp__pid_space())
        return; /* a pid of another namespace is somebody else's here */
    snprintf(path, sizeof path, "/proc/%u/task/%u/comm", (unsigned)id->pid, (unsigned)native_id);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t length = fd < 0 ? -1 : read(fd, ret, 16);
    if (fd >= 0)
        close(fd);
    ret[length > 0 ? length : 0] = 0;
    ret[strcspn(ret, "\n")] = 0;
}

/* What the thread put at the beginning of its lane, where that was not overwritten and is its own. */
static void name_of_ring(const struct live *live, const struct sp__lane_place *place, uint32_t thread, char ret[17])
{
    struct sp__record record;
    for (uint64_t at = 0; at < BEGIN_MARKERS; ++at) {
        if (sp__segment_read(&live->segment, place->ring_offset + at * sizeof record, &record, sizeof record))
            return;
        if (record.kind != SP__THREAD_NAME || record.region != thread)
            continue;
        memcpy(ret, &record.start, sizeof record.start);
        memcpy(ret + sizeof record.start, &record.end, sizeof record.end);
        ret[16] = 0;
    }
}

/* A thread that died between publishing a record and closing the call: it had ended. */
static int without_ended(const struct live *live, const struct sp__lane_place *place, uint64_t head, struct snapshot *s)
{
    struct sp__record last;
    int found = sp__segment_last_call(&live->segment, place, head, &last);
    if (found == 1 && s->count > 0 && last.start == s->entries[s->count - 1].start &&
        last.region == s->entries[s->count - 1].region)
        --s->count;
    return found < 0 ? found : 0;
}

static int take_thread(struct live *live, uint32_t lane, struct snapshot *s, struct live_thread *ret)
{
    struct sp__lane row;
    struct sp__lane_place place;
    int error = sp__segment_lane(&live->segment, lane, &place);
    if (!error)
        error = sp__segment_row(&live->segment, lane, &row);
    uint64_t owner = error ? 0 : atomic_load_explicit(&row.owner, memory_order_relaxed);
    if (!error && (atomic_load_explicit(&row.claimed, memory_order_relaxed) == 0 || owner == 0))
        error = -EAGAIN; /* nobody's */
    if (!error)
        error = snap(live, lane, &place, s);
    bool dead = live->state == SP_RANK_DEAD;
    if (!error && dead)
        error = without_ended(live, &place, atomic_load_explicit(&row.head, memory_order_relaxed), s);
    if (error)
        return error;
    *ret = (struct live_thread){.number = (uint32_t)owner,
                                .native_id = (uint32_t)(owner >> 32),
                                .signal = row.signal_lane == 1,
                                .changing = s->changing,
                                .count = s->count};
    if (dead)
        name_of_ring(live, &place, ret->number, ret->name);
    else
        name_of_living(live, ret->native_id, ret->name);
    return 0;
}

static void fill_calls(struct live *live, const struct snapshot *s, struct live_thread *thread)
{
    if (live->state != SP_RANK_DEAD) /* its calls and its last sign are told as of one moment */
        live->now = sp__clock_anchor(live->segment.identity.clock);
    uint64_t now = live->now.ticks;
    thread->calls = need(malloc((thread->count + 1) * sizeof *thread->calls));
    for (uint32_t i = 0; i < thread->count; ++i) {
        const struct sp__open *entry = &s->entries[i];
        thread->calls[i] = (struct live_open_call){.name = live_region(live, entry->region),
                                                   .recorded = !(entry->flags & SP__OPEN_UNRECORDED),
                                                   .ns = now > entry->start ? ns_of(live, now - entry->start) : 0};
    }
}

/* Begins of open calls are signs of life too, and count for all threads: a first pass over a dead one's. */
static void see_begins(struct live *live, struct snapshot *s)
{
    struct live_thread thread;
    for (uint32_t lane = 0; lane < live->lanes; ++lane)
        if (take_thread(live, lane, s, &thread) == 0 && thread.count > 0)
            see(live, s->entries[thread.count - 1].start);
}

int live_threads(struct live *live, int (*each)(void *context, const struct live_thread *thread), void *context)
{
    struct sp__open *room = need(malloc(3 * SP__STACK_MOST * sizeof *room));
    struct snapshot s = {.entries = room, .read = room + SP__STACK_MOST, .again = room + 2 * SP__STACK_MOST};
    int result = 0;
    if (live->state == SP_RANK_DEAD)
        see_begins(live, &s);
    for (uint32_t lane = 0; result == 0 && lane < live->lanes; ++lane) {
        struct live_thread thread;
        result = take_thread(live, lane, &s, &thread);
        if (result == -EAGAIN) {
            result = 0;
            continue;
        }
        if (result == 0) {
            fill_calls(live, &s, &thread);
            result = each(context, &thread);
            free(thread.calls);
        }
    }
    free(room);
    return result;
}
