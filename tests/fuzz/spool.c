/* spool.c: any bytes as a .spool. Every frame carries checksums, so that a changed byte alone would never get past
 * them: the mutator changes frames and their contents and makes the checksums anew, mostly. */
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "shared/spool.h"

enum { HEAD = sizeof(struct sp__frame), FRAMES_MOST = 64, RECORDS_MOST = 256, TYPES = 10 };

/* ---- entry --------------------------------------------------------------------------------------------------------
 */

/* Twice in a row, the first time cut short: nothing may count double. */
static void read_joined(const char *path, uint64_t end)
{
    const char *const paths[] = {path, path};
    const uint64_t ends[] = {end, UINT64_MAX};
    sp_inputs *inputs;
    sp_error error = {0};
    if (sp_inputs_create(&inputs, &error))
        fuzz_fail("no inputs: %s", error.text);
    if (sp_inputs_add_spools(inputs, paths, ends, 2, ".", &error) && !*error.text)
        fuzz_fail("joined spools are refused without words");
    sp_inputs_destroy(inputs);
}

/* What a consumer does that finds it: cuts its torn end and appends. What is there afterwards is read to the end. */
static void reopen(const char *path)
{
    static struct sp__identity identity;
    static struct sp__spool_state state;
    static struct sp__spool spool;
    struct sp__spool_reader reader;
    struct sp__frame frame;
    if (sp__spool_reader_open(&reader, path, UINT64_MAX, &identity))
        return;
    sp__spool_reader_close(&reader);
    int rc = sp__spool_reopen(&spool, path, &identity, &state);
    if (rc)
        fuzz_fail("a spool with an owner is refused: %s", strerror(-rc));
    const uint32_t end[4] = {SP__END_DIED, 0, 0, 0};
    if (sp__spool_append(&spool, SP__FRAME_END, 0, 0, 1, end, sizeof end) ||
        sp__spool_reader_open(&reader, path, UINT64_MAX, &identity))
        fuzz_fail("a spool that was appended to cannot be read");
    uint16_t last = 0;
    while ((rc = sp__spool_reader_next(&reader, &frame)) == 1)
        last = frame.type;
    if (rc || reader.torn || last != SP__FRAME_END)
        fuzz_fail("what was appended is not found again");
    sp__spool_reader_close(&reader);
    sp__spool_close(&spool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char path[] = "fuzz.spool";
    unsigned variant = size ? data[size - 1] ^ data[size / 2] ^ data[size / 3] : 0;
    fuzz_save(path, data, size);
    fuzz_read(path, variant, FUZZ_RECOVERABLE);
    if (variant % 3 == 0)
        read_joined(path, size / 2);
    reopen(path);
    return 0;
}

/* ---- making and changing frames -----------------------------------------------------------------------------------
 */

struct buffer {
    uint8_t *data;
    size_t size, most;
};

static void put_frame(struct buffer *b, unsigned type, unsigned lane, uint64_t first, uint32_t count,
                      const void *payload, size_t length)
{
    struct sp__frame head = {.type = (uint16_t)type, .lane = (uint16_t)lane, .first = first, .count = count};
    if (length > b->most || HEAD > b->most - length || b->size > b->most - length - HEAD)
        return;
    memcpy(&head.magic, "SPFR", 4);
    head.length = (uint32_t)length;
    head.payload_hash = sp__frame_payload_hash(payload, length);
    head.head_hash = sp__frame_head_hash(&head);
    memcpy(b->data + b->size, &head, HEAD);
    if (length)
        memcpy(b->data + b->size + HEAD, payload, length);
    b->size += HEAD + length;
}

static void put_regions(struct buffer *b)
{
    static const char *const names[] = {"main", "solve", "halo exchange"};
    uint8_t payload[256];
    size_t length = 0;
    for (unsigned i = 0; i < 3; i++) {
        struct sp__region_entry entry = {(uint32_t)strlen(names[i]), i == 1 ? 6 : 0, i == 1 ? 12 : -1};
        memcpy(payload + length, &entry, sizeof entry);
        memcpy(payload + length + sizeof entry, names[i], entry.name_length);
        memcpy(payload + length + sizeof entry + entry.name_length, "main.c", entry.file_length);
        length += sizeof entry + entry.name_length + entry.file_length;
    }
    put_frame(b, SP__FRAME_REGIONS, 0, 0, 3, payload, length);
}

/* A thread's markers, then calls of region 0 that each hold one of region 1 + lane % 2. */
static void put_records(struct buffer *b, unsigned lane)
{
    struct sp__record records[16] = {{1000, 77 + lane, lane, 0, SP__THREAD_BEGIN},
                                     {4096 + lane, lane == 0, lane, 0, SP__THREAD_IDENT},
                                     {0x6b726f77, 0, lane, 0, SP__THREAD_NAME}};
    uint8_t payload[sizeof records / sizeof *records * SP__ENCODED_MOST];
    size_t count = 3;
    for (uint64_t at = 2000; count < 15; at += 100) {
        records[count++] = (struct sp__record){at + 10, at + 60, 1 + lane % 2, 1, SP__CALL};
        records[count++] = (struct sp__record){at, at + 90, 0, 0, SP__CALL};
    }
    records[count++] = (struct sp__record){5000, 4321, lane, 0, SP__THREAD_END};
    put_frame(b, SP__FRAME_RECORDS, lane, 0, (uint32_t)count, payload, sp__records_encode(records, count, payload));
}

/* A sound spool to begin with, of one kind or another. */
static size_t begin(uint8_t *data, size_t most, unsigned seed)
{
    static struct sp__identity identity;
    struct buffer b = {data, 0, most};
    const struct sp__anchor anchors[] = {{1000, 1000000}, {9000, 1008000}};
    const struct sp__counters counters = {.dropped = seed >> 4 & 1, .waited_ns = 5};
    const struct sp__open_entry open[] = {{6000, 0, 0}, {6100, 1, 0}};
    const struct sp__stats_entry stats[] = {{0, 0, {6, 540, 90, 90, 240, 0}}, {1, 0, {6, 300, 50, 50, 300, 0}}};
    const struct sp__end_entry end = {seed & 2 ? SP__END_DIED : SP__END_FINALIZED, 0, 8000};
    const uint64_t bases[] = {seed >> 5 & 3};
    identity = (struct sp__identity){.session = "session42",
                                     .hostname = "node1",
                                     .boot_id = "b",
                                     .prefix = "/tmp/run",
                                     .incarnation = {1, 2, 3},
                                     .rank = (int32_t)(seed & 1),
                                     .clock = seed & 4 ? SP__CLOCK_TSC : SP__CLOCK_MONOTONIC,
                                     .mode = seed & 8 ? SP__MODE_STATS : SP__MODE_RECORDS,
                                     .birth = {1000, seed & 4 ? 1000000 : 1000},
                                     .birth_realtime_ns = 1700000000000000000};
    put_frame(&b, SP__FRAME_SEGMENT, 0, SP__SPOOL_VERSION, 1, &identity, sizeof identity);
    put_regions(&b);
    put_frame(&b, SP__FRAME_ANCHORS, 0, 0, seed & 4 ? 2 : 0, anchors, seed & 4 ? sizeof anchors : 0);
    for (unsigned lane = 0; lane < 2; lane++) {
        if (seed & 8)
            put_frame(&b, SP__FRAME_STATS, lane, 7000, 2, stats, sizeof stats);
        else
            put_records(&b, lane);
        put_frame(&b, SP__FRAME_COUNTERS, lane, seed & 8 ? 0 : 16, 1, &counters, sizeof counters);
    }
    put_frame(&b, SP__FRAME_OPEN, 0, 7000, 2, open, sizeof open);
    if (seed & 96)
        put_frame(&b, SP__FRAME_BASE, 0, 1, 1, bases, sizeof bases);
    put_frame(&b, SP__FRAME_END, 0, 0, 1, &end, sizeof end);
    return b.size;
}

static unsigned next(uint32_t *random)
{
    *random ^= *random << 13, *random ^= *random >> 17, *random ^= *random << 5;
    return *random >> 3;
}

static struct sp__frame head_at(const uint8_t *data, size_t at)
{
    struct sp__frame head;
    memcpy(&head, data + at, HEAD);
    return head;
}

/* Where frames begin, as far as they follow on each other. */
static unsigned walk(const uint8_t *data, size_t size, size_t *ret)
{
    unsigned count = 0;
    for (size_t at = 0; count < FRAMES_MOST && size - at >= HEAD;) {
        struct sp__frame head = head_at(data, at);
        if (memcmp(&head.magic, "SPFR", 4) != 0 || head.length > size - at - HEAD)
            break;
        ret[count++] = at;
        at += HEAD + head.length;
    }
    return count;
}

/* Gives the frame at `at` another payload. The new size of all. */
static size_t replace(uint8_t *data, size_t size, size_t most, size_t at, const uint8_t *payload, size_t length)
{
    struct sp__frame head = head_at(data, at);
    size_t tail = at + HEAD + head.length, rest = size - tail;
    if (at + HEAD + length + rest > most)
        return size;
    memmove(data + at + HEAD + length, data + tail, rest);
    memcpy(data + at + HEAD, payload, length);
    head.length = (uint32_t)length;
    memcpy(data + at, &head, HEAD);
    return at + HEAD + length + rest;
}

static uint64_t strange(uint32_t *random)
{
    static const uint64_t numbers[] = {
        0,      1,         2,          3,          255,        511,       512,        8192,           131071,
        131072, INT32_MAX, UINT32_MAX, 1ULL << 32, 1ULL << 62, INT64_MAX, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX};
    return numbers[next(random) % (sizeof numbers / sizeof *numbers)];
}

static void change_head(uint8_t *data, size_t at, uint32_t *random)
{
    struct sp__frame head = head_at(data, at);
    switch (next(random) % 6) {
    case 0:
        head.type = (uint16_t)(next(random) % TYPES);
        break;
    case 1:
        head.lane = (uint16_t)(next(random) % 4 ? next(random) % 3 : strange(random));
        break;
    case 2:
        head.first = strange(random);
        break;
    case 3:
        head.first += next(random) % 33 - 16;
        break;
    case 4:
        head.count += next(random) % 3 - 1;
        break;
    default:
        head.count = (uint32_t)strange(random);
    }
    memcpy(data + at, &head, HEAD);
}

static void change_record(struct sp__record *r, uint32_t *random)
{
    switch (next(random) % 7) {
    case 0:
        r->kind = (uint16_t)(next(random) % 8);
        break;
    case 1:
        r->region = (uint32_t)(next(random) % 4 ? next(random) % 5 : strange(random));
        break;
    case 2:
        r->depth = (uint16_t)(next(random) % 4 ? next(random) % 4 : strange(random));
        break;
    case 3:
        r->start = strange(random);
        break;
    case 4:
        r->end = strange(random);
        break;
    case 5:
        r->start += next(random) % 201 - 100;
        break;
    default:
        r->end += next(random) % 201 - 100;
    }
}

/* Records are changed as records: an encoding of other ones, not bytes that no longer decode. */
static size_t change_records(uint8_t *data, size_t size, size_t most, size_t at, uint32_t *random)
{
    static struct sp__record records[RECORDS_MOST + 1];
    static uint8_t payload[(RECORDS_MOST + 1) * SP__ENCODED_MOST];
    struct sp__frame head = head_at(data, at);
    if (head.count > RECORDS_MOST || sp__records_decode(data + at + HEAD, head.length, records, head.count))
        return size;
    uint32_t which = head.count ? next(random) % head.count : 0;
    unsigned how = next(random) % 8;
    if (how == 0 || !head.count) { /* one more */
        records[head.count] = head.count ? records[which] : (struct sp__record){0};
        which = head.count++;
    } else if (how == 1) { /* one less */
        records[which] = records[--head.count];
    }
    for (unsigned i = next(random) % 4; i-- > 0 && which < head.count;)
        change_record(&records[which], random);
    memcpy(data + at, &head, HEAD);
    return replace(data, size, most, at, payload, sp__records_encode(records, head.count, payload));
}

static size_t change_payload(uint8_t *data, size_t size, size_t most, size_t at)
{
    static uint8_t payload[1 << 14];
    struct sp__frame head = head_at(data, at);
    if (head.length > sizeof payload)
        return size;
    memcpy(payload, data + at + HEAD, head.length);
    size_t room = head.length + 64 < sizeof payload ? head.length + 64 : sizeof payload;
    return replace(data, size, most, at, payload, LLVMFuzzerMutate(payload, head.length, room));
}

/* A copy of the frame at `from` in front of the one at `to`, or, `move`, in its place. */
static size_t copy_frame(uint8_t *data, size_t size, size_t most, size_t from, size_t to)
{
    static uint8_t copy[HEAD + (1 << 14)];
    size_t length = HEAD + head_at(data, from).length;
    if (length > sizeof copy || length > most - size)
        return size;
    memcpy(copy, data + from, length);
    memmove(data + to + length, data + to, size - to);
    memcpy(data + to, copy, length);
    return size + length;
}

static size_t remove_frame(uint8_t *data, size_t size, size_t at)
{
    size_t end = at + HEAD + head_at(data, at).length;
    memmove(data + at, data + end, size - end);
    return size - (end - at);
}

static size_t change(uint8_t *data, size_t size, size_t most, uint32_t *random)
{
    size_t frames[FRAMES_MOST];
    unsigned count = walk(data, size, frames);
    if (!count)
        return begin(data, most, next(random));
    size_t at = frames[next(random) % count];
    switch (next(random) % 16) {
    case 0:
        return LLVMFuzzerMutate(data, size, most);
    case 1:
        return remove_frame(data, size, at);
    case 2:
    case 3:
        return copy_frame(data, size, most, at, frames[next(random) % count]);
    case 4:
    case 5:
    case 6:
        change_head(data, at, random);
        return size;
    case 7:
        return size > 1 ? size - next(random) % (size < 64 ? size : 64) : size;
    case 8:
    case 9:
    case 10:
    case 11:
        if (head_at(data, at).type == SP__FRAME_RECORDS)
            return change_records(data, size, most, at, random);
        break;
    default:
        break;
    }
    return change_payload(data, size, most, at);
}

static void make_checksums(uint8_t *data, size_t size)
{
    size_t frames[FRAMES_MOST];
    unsigned count = walk(data, size, frames);
    for (unsigned i = 0; i < count; i++) {
        struct sp__frame head = head_at(data, frames[i]);
        head.payload_hash = sp__frame_payload_hash(data + frames[i] + HEAD, head.length);
        head.head_hash = sp__frame_head_hash(&head);
        memcpy(data + frames[i], &head, HEAD);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    uint32_t random = seed * 2654435761U + 1;
    for (unsigned i = 1 + next(&random) % 3; i-- > 0;)
        size = change(data, size, most, &random);
    if (next(&random) % 8)
        make_checksums(data, size);
    return size;
}
