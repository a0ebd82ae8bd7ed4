/* segment.c: what a consumer, an observer and a publication make of a segment of any content. A whole segment is large and
 * almost empty, so an input is what is written over the copy of a living program's: steps of a place, a value, and in
 * between the consumer's turns. An empty input writes nothing, and gives every call back. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "guard.h"
#include "scope_profiler.h"
#include "shared/consumer.h"
#include "shared/names.h"
#include "shared/recording.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { CALLS = 40, EXTENTS_MOST = 4096, TURNS_MOST = 4, SPOOLS_MOST = 9 };

/* ---- the program, and the copy of its segment ---------------------------------------------------------------------
 */

struct extent {
    uint64_t at;
    size_t length;
    uint8_t *bytes;
};

static struct template
{
    char name[256];
    struct extent extents[EXTENTS_MOST];
    size_t count;
    uint64_t size, lanes, regions, heap;
    struct sp__lane lane[2];
    struct sp__identity identity;
}
templates[2]; /* records, statistics */

static char session[64], path[320], own[280];

static void keep(struct template *t, int fd, uint64_t at, uint64_t end)
{
    uint8_t page[SP__PAGE];
    for (; at < end; at += sizeof page) {
        size_t got = (size_t)pread(fd, page, sizeof page, (off_t)at), used = 0;
        if (got > sizeof page)
            fuzz_fail("the template cannot be read");
        for (size_t i = 0; i < got; i++)
            if (page[i])
                used = i + 1;
        if (!used)
            continue;
        if (t->count == EXTENTS_MOST)
            fuzz_fail("the template has too many pages");
        struct extent *extent = &t->extents[t->count++];
        *extent = (struct extent){at, used, malloc(used)};
        if (!extent->bytes)
            fuzz_fail("no memory");
        memcpy(extent->bytes, page, used);
    }
}

static void copy(struct template *t, const char *name)
{
    static struct sp__header header;
    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(path, sizeof path, SP__SHM_DIR "/%s", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        pread(fd, t->lane, sizeof t->lane, (off_t)header.lanes_offset) != (ssize_t)sizeof t->lane)
        fuzz_fail("the template cannot be opened");
    t->size = header.segment_size;
    t->lanes = header.lanes_offset;
    t->regions = header.regions_offset;
    t->heap = header.heap_offset;
    t->identity = header.identity;
    for (off_t at = 0, end; (at = lseek(fd, at, SEEK_DATA)) >= 0; at = end) {
        end = lseek(fd, at, SEEK_HOLE);
        keep(t, fd, (uint64_t)at, (uint64_t)end);
    }
    close(fd);
}

static void record(sp_profiler *profiler)
{
    int outer = sp_profiler_region(profiler, "outer"), inner = sp_profiler_region_at(profiler, "inner", "a.c", 3);
    sp_profiler_begin(profiler, sp_profiler_region(profiler, "open"));
    for (int i = 0; i < CALLS / 2; i++) {
        sp_profiler_begin(profiler, outer);
        sp_profiler_begin(profiler, inner);
        sp_profiler_end(profiler, inner);
        sp_profiler_end(profiler, outer);
    }
}

static void make(struct template *t, const char *mode)
{
    setenv("SP_MODE", mode, 1);
    sp_profiler *profiler = sp_create("fuzz", mode[0] == 's');
    if (!profiler)
        fuzz_fail("no program");
    record(profiler);
    DIR *dir = opendir(SP__SHM_DIR);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        const char *rank = strstr(entry->d_name, mode[0] == 's' ? ".r1" : ".r0");
        if (strstr(entry->d_name, session) && rank && !rank[3])
            copy(t, entry->d_name);
    }
    closedir(dir);
    sp_destroy(profiler);
    if (!t->count)
        fuzz_fail("the program has no segment");
}

static void leave(void)
{
    unlink(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    snprintf(session, sizeof session, "fuzz-%ld", (long)getpid());
    setenv("SP_SESSION", session, 1);
    setenv("SP_DATA_DIR", "data", 1);
    setenv("SP_RUNTIME_DIR", "run", 1);
    setenv("SP_CLOCK", "monotonic", 1);
    setenv("SP_RING", "1024", 1);
    make(&templates[0], "records");
    make(&templates[1], "stats");
    atexit(leave);
    return 0;
}

/* ---- an input -----------------------------------------------------------------------------------------------------
 */

struct input {
    const uint8_t *at, *end;
    bool changed, cut; /* since the beginning */
};

static uint64_t take(struct input *in, size_t length)
{
    uint64_t value = 0;
    if ((size_t)(in->end - in->at) < length)
        length = (size_t)(in->end - in->at);
    memcpy(&value, in->at, length);
    in->at += length;
    return value;
}

/* A part of the segment: where it begins, and how much of it a step may reach. */
static uint64_t part(const struct template *t, unsigned which, uint64_t *ret_size)
{
    const struct sp__lane *lane = &t->lane[0];
    static const size_t state = offsetof(struct sp__header, state), chosen = offsetof(struct sp__header, spool_chosen);
    const struct {
        uint64_t at, size;
    } parts[] = {
        {0, offsetof(struct sp__header, identity)},
        {offsetof(struct sp__header, identity), sizeof(struct sp__identity)},
        {state, chosen - state},
        {chosen, 32},
        {offsetof(struct sp__header, spool), 64},
        {t->lanes, sizeof *lane},
        {t->lanes, sizeof *lane},
        {t->lanes + sizeof *lane, 3 * sizeof *lane},
        {t->regions, 4 * sizeof(struct sp__region)},
        {t->heap, 256},
        {lane->ring_offset, 2 * CALLS * sizeof(struct sp__record)},
        {lane->stack_offset, 4 * sizeof(struct sp__open)},
        {lane->stats_offset, SP__STATS_BLOCKS * sizeof(uint64_t)},
        {t->size - SP__PAGE, SP__PAGE},
    };
    which %= sizeof parts / sizeof *parts;
    *ret_size = parts[which].size;
    return parts[which].at;
}

static const uint64_t numbers[] = {0,          1,          2,          3,          255,        1023,       1024,
                                   4096,       16384,      16385,      131071,     131072,     131073,     INT32_MAX,
                                   UINT32_MAX, 1ULL << 32, 1ULL << 40, 1ULL << 62, INT64_MAX,  1ULL << 63, UINT64_MAX,
                                   512,        513,        8192,       1ULL << 24, 1ULL << 25, 7,          6};

/* One byte says what: how many bytes are written (0 none: the end of a turn, or a cut), the next where. */
static bool step(struct input *in, const struct template *t, int fd)
{
    uint64_t size, value, old = 0;
    unsigned what = (unsigned)take(in, 1);
    static const unsigned lengths[] = {4, 8, 1, 2, 4, 8, 8, 0};
    size_t length = lengths[what & 7];
    if (!length && what & 8) { /* in sixteenths, or a few bytes short */
        value = take(in, 1);
        value = value & 1 ? t->size * (value >> 4) / 16 : t->size - value;
        if (!in->cut && ftruncate(fd, (off_t)value))
            fuzz_fail("it cannot be cut");
        in->changed = in->cut = true;
        return true;
    }
    if (!length)
        return false;
    uint64_t from = part(t, (unsigned)take(in, 1), &size);
    uint64_t at = from + take(in, 2) * (what & 16 ? 1 : length) % size;
    if (pread(fd, &old, length, (off_t)at) < 0)
        fuzz_fail("it cannot be read");
    switch (what >> 5 & 3) {
    case 0:
        value = take(in, length);
        break;
    case 1:
        value = numbers[take(in, 1) % (sizeof numbers / sizeof *numbers)];
        break;
    case 2:
        value = old + take(in, 1) - 128;
        break;
    default:
        value = t->lane[0].ring_offset + 8 * take(in, 1);
    }
    if (in->cut || value == old)
        return true; /* what was cut off does not come back */
    if (pwrite(fd, &value, length, (off_t)at) != (ssize_t)length)
        fuzz_fail("it cannot be written");
    in->changed = true;
    return true;
}

static void turn(struct input *in, const struct template *t, int fd)
{
    while (in->at < in->end && step(in, t, fd))
        ;
}

/* ---- what is done with it -----------------------------------------------------------------------------------------
 */

static void right(const char *what, int rc, const char *why)
{
    if (rc != 0 && rc != -EBADMSG && rc != -EPROTONOSUPPORT)
        fuzz_fail("%s blames the system for what is in the segment: %s", what, strerror(-rc));
    if (rc && why && !*why)
        fuzz_fail("%s fails without words", what);
}

/* Whatever was drained can be published. */
static void publish(const char *spool, const struct input *in, const struct template *t, bool drained)
{
    const char *const spools[] = {spool};
    struct sp__recording_source source = {.spools = spools, .spool_count = 1, .scratch_dir = "."};
    struct sp__recording *recording;
    char why[256] = "";
    int rc = sp__recording_create(&recording, &source, why);
    if (rc)
        fuzz_fail("a spool that was just written cannot be read: %s", why);
    if (recording->bad_bytes || recording->bad_frames)
        fuzz_fail("a spool that was just written is not sound");
    uint64_t calls = 0;
    for (size_t row = 0; row < recording->row_count; row++) {
        int64_t start, end;
        if (recording->identity.mode != SP__MODE_STATS && recording->rows[row].calls &&
            sp__recording_read(recording, row, recording->rows[row].calls - 1, 1, &start, &end, NULL))
            fuzz_fail("a recording's call cannot be read");
        calls += recording->rows[row].calls;
    }
    if (drained && !in->changed && (calls != CALLS || recording->gaps || recording->open_call_count != 1))
        fuzz_fail("%llu calls of mode %u, %llu gaps, %zu open calls: not what the program recorded",
                  (unsigned long long)calls, t->identity.mode, (unsigned long long)recording->gaps,
                  recording->open_call_count);
    sp__recording_destroy(recording);
}

static void observe(void)
{
    struct sp__identity identity;
    char why[256] = "";
    char spool[SP__PATH_SIZE];
    uint32_t state;
    int fd = -1, rc = sp__consumer_observe(own, ".", &identity, &fd, spool, &state, why);
    right("observing", rc, why);
    if (rc == 0)
        close(fd);
}

static void consume(struct input *in, const struct template *t, int fd, bool published)
{
    struct sp__consumer *c;
    char why[256] = "", spool[SP__PATH_SIZE];
    int rc = sp__consumer_attach(&c, own, "data", why);
    right("attaching", rc, why);
    if (rc)
        return;
    snprintf(spool, sizeof spool, "%s", c->spool.path);
    for (int turns = 0; rc == 0 && turns < TURNS_MOST; turns++) {
        uint64_t taken = 0;
        rc = sp__consumer_drain(c, turns & 1 ? 16 : 0, &taken);
        if (taken > (uint64_t)SP__LANES * SP__RING_MOST)
            fuzz_fail("more records were drained than there can be");
        (void)sp__consumer_pressure(c);
        sp__consumer_answer(c, 0, 0, SP__FORMAT_TRACE, "/somewhere");
        if (rc == 0)
            rc = sp__consumer_mark(c, 0);
        if (in->at == in->end)
            break;
        if (rc == 0)
            turn(in, t, fd);
    }
    if (rc == 0 && (rc = sp__consumer_drain(c, 0, NULL)) == 0)
        rc = sp__consumer_mark(c, SP__END_DIED);
    right("draining", rc, c->fault ? c->fault : "none");
    if (published)
        publish(spool, in, t, rc == 0);
    sp__consumer_destroy(c);
    unlink(spool);
}

static int build(const struct template *t)
{
    /* A name that no spd of this machine takes for a segment's. */
    snprintf(own, sizeof own, "%s.dfuzz", t->name);
    snprintf(path, sizeof path, SP__SHM_DIR "/%s", own);
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)t->size))
        fuzz_fail("no copy: %s", strerror(errno));
    for (size_t i = 0; i < t->count; i++)
        if (pwrite(fd, t->extents[i].bytes, t->extents[i].length, (off_t)t->extents[i].at) < 0)
            fuzz_fail("no copy: %s", strerror(errno));
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool guarded;
    if (!guarded && guard_init(4)) /* here, since libFuzzer's own handler is set after LLVMFuzzerInitialize */
        fuzz_fail("no guard");
    guarded = true;
    sp__segment_watch(guard_add, guard_remove);
    struct input in = {data, data + size, false, false};
    unsigned first = (unsigned)take(&in, 1);
    const struct template *t = &templates[first & 1];
    int fd = build(t);
    turn(&in, t, fd);
    if (!(first & 6))
        observe();
    consume(&in, t, fd, !(first & 24)); /* not each time: a recording takes longer than all the rest */
    close(fd);
    return 0;
}
