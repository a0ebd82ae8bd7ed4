/* producer.h: for unit tests: a real segment whose lanes are claimed and filled by the test itself, store by store as
 * the program does, so that it can stop between any two of them. */
#ifndef TEST_PRODUCER_H
#define TEST_PRODUCER_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "clock.h"
#include "consumer.h"
#include "env.h"
#include "names.h"
#include "recording.h"
#include "segment.h"

struct producer {
    struct sp__born born;
    struct sp__header *header;
    struct sp__lane *lanes;
    struct sp__identity identity;
};

static char test_folder[64];

static inline int test_setup(void **state)
{
    (void)state;
    snprintf(test_folder, sizeof test_folder, "/tmp/sp-unit-XXXXXX");
    if (!mkdtemp(test_folder))
        return -1;
    char path[96];
    snprintf(path, sizeof path, "%s/data", test_folder);
    setenv("SP_DATA_DIR", path, 1);
    snprintf(path, sizeof path, "%s/run", test_folder);
    setenv("SP_RUNTIME_DIR", path, 1);
    return 0;
}

static inline int test_remove(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static inline int test_teardown(void **state)
{
    (void)state;
    return nftw(test_folder, test_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void identity_make(struct sp__identity *id, uint32_t clock, uint32_t mode)
{
    static unsigned made;
    memset(id, 0, sizeof *id);
    snprintf(id->session, sizeof id->session, "unit%d-%u", (int)getpid(), made);
    snprintf(id->hostname, sizeof id->hostname, "host");
    snprintf(id->boot_id, sizeof id->boot_id, "boot");
    snprintf(id->prefix, sizeof id->prefix, "%s/prefix", test_folder);
    id->name_hash = sp__name_hash(id->session, id->prefix);
    id->rank = 3;
    id->uid = (uint32_t)geteuid();
    id->pid = (uint32_t)getpid();
    id->clock = clock;
    id->mode = mode;
    memcpy(id->incarnation, &made, sizeof made);
    id->incarnation[15] = 7;
    id->birth = sp__clock_anchor(clock);
    id->birth_realtime_ns = 1700000000000000000;
    made++;
}

static inline int producer_bury(int fd, const char *name)
{
    (void)fd;
    (void)name;
    return -EEXIST;
}

static inline void producer_start(struct producer *p, uint32_t clock, uint32_t mode)
{
    struct sp__birth birth = {.lanes = 16, .ring = 65536, .format = SP__FORMAT_AUTO};
    uint64_t need = 0;
    identity_make(&birth.identity, clock, mode);
    p->identity = birth.identity;
    assert_int_equal(sp__segment_create(&birth, producer_bury, &p->born, &need), 0);
    p->header = (void *)p->born.map;
    p->lanes = (void *)(p->born.map + p->header->lanes_offset);
}

/* The end of the program; its segment stays. */
static inline void producer_die(struct producer *p)
{
    sp__born_finish(&p->born);
}

static inline void producer_remove(struct producer *p)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", SP__SHM_DIR, p->born.name);
    unlink(path);
}

static inline void producer_finish(struct producer *p)
{
    producer_die(p);
    producer_remove(p);
}

static inline uint64_t producer_take(struct producer *p, uint64_t length)
{
    uint64_t at = sp__heap_take(p->header, length);
    assert_true(at != 0);
    assert_int_equal(sp__born_reserve(&p->born, at, length, true), 0);
    return at;
}

/* A lane whose first record has sequence number `first`. */
static inline void producer_lane(struct producer *p, uint32_t number, uint64_t ring, uint64_t first)
{
    struct sp__lane *lane = &p->lanes[number];
    lane->ring_records = ring;
    lane->ring_offset = producer_take(p, ring * sizeof(struct sp__record));
    lane->stack_offset = producer_take(p, SP__STACK_MOST * sizeof(struct sp__open));
    lane->stats_offset = producer_take(p, SP__BANKS * SP__STATS_BLOCKS * sizeof(uint64_t));
    atomic_store(&lane->head, first);
    atomic_store(&lane->tail, first);
    atomic_store(&lane->claimed, 1);
    atomic_store_explicit(&lane->ready, 1, memory_order_release);
    if (atomic_load(&p->header->lanes_used) <= number)
        atomic_store_explicit(&p->header->lanes_used, number + 1, memory_order_release);
}

static inline uint32_t producer_region(struct producer *p, const char *name)
{
    uint32_t number = atomic_load(&p->header->region_count);
    struct sp__region *row = (void *)(p->born.map + p->header->regions_offset);
    assert_int_equal(sp__born_reserve(&p->born, p->header->regions_offset + number * sizeof *row, sizeof *row, true),
                     0);
    row[number].name_length = (uint32_t)strlen(name);
    row[number].name_offset = producer_take(p, strlen(name) + 1);
    row[number].line = -1;
    memcpy(p->born.map + row[number].name_offset, name, strlen(name));
    atomic_store_explicit(&p->header->region_count, number + 1, memory_order_release);
    return number;
}

static inline void producer_locate(struct producer *p, uint32_t number, const char *file, int32_t line)
{
    struct sp__region *row = (void *)(p->born.map + p->header->regions_offset);
    uint64_t at = producer_take(p, strlen(file) + 1);
    memcpy(p->born.map + at, file, strlen(file));
    row[number].line = line;
    row[number].file_length = (uint32_t)strlen(file);
    atomic_store_explicit(&row[number].file_offset, at, memory_order_release);
}

static inline void producer_put(struct producer *p, uint32_t number, uint16_t kind, uint64_t start, uint64_t end,
                                uint32_t region, uint16_t depth)
{
    struct sp__lane *lane = &p->lanes[number];
    uint64_t head = atomic_load(&lane->head);
    struct sp__record *ring = (void *)(p->born.map + lane->ring_offset);
    ring[head & (lane->ring_records - 1)] = (struct sp__record){start, end, region, depth, kind};
    atomic_store_explicit(&lane->head, head + 1, memory_order_release);
}

static inline void producer_call(struct producer *p, uint32_t number, uint64_t start, uint64_t end, uint32_t region)
{
    producer_put(p, number, SP__CALL, start, end, region, 0);
}

static inline void producer_open(struct producer *p, uint32_t number, uint64_t start, uint32_t region, uint32_t flags)
{
    struct sp__lane *lane = &p->lanes[number];
    struct sp__open *stack = (void *)(p->born.map + lane->stack_offset);
    uint32_t depth = atomic_load(&lane->depth);
    stack[depth] = (struct sp__open){.start = start, .region = region, .flags = flags};
    atomic_store_explicit(&lane->depth, depth + 1, memory_order_release);
}

static inline struct sp__consumer *attach(struct producer *p, const char *data)
{
    struct sp__consumer *c = NULL;
    char why[256] = "", folder[96];
    snprintf(folder, sizeof folder, "%s/%s", test_folder, data);
    int rc = sp__consumer_attach(&c, p->born.name, folder, why);
    if (rc)
        print_error("attach: %s (%s)\n", why, strerror(-rc));
    assert_int_equal(rc, 0);
    return c;
}

static inline struct sp__recording *open_recording(const char *const *spools, size_t count, const char *live)
{
    struct sp__recording_source source = {
        .spools = spools, .spool_count = count, .live = live, .scratch_dir = test_folder};
    struct sp__recording *r = NULL;
    char why[256] = "";
    int rc = sp__recording_create(&r, &source, why);
    if (rc)
        print_error("recording: %s (%s)\n", why, strerror(-rc));
    assert_int_equal(rc, 0);
    return r;
}

#endif
