/* scribble SPD COUNT SEED: writes over COUNT live segments of programs that record, each in another place, while the spd
 * of that pid serves them, and removes them. Prints "scribbled COUNT, ATTACHED attached".
 * scribble SPD KIND: one program; prints its segment's name once spd has attached, does KIND at the first byte of
 * standard input, prints "done", and ends with standard input.
 *
 * The programs are children that use the library as any program does; what happens to them does not matter. Exit status:
 * 1 spd is gone, 2 the test cannot be made. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <scope_profiler.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout.h"

enum { BATCH = 25, ROUNDS = 2, ATTACH_TRIES = 400, TRY_US = 5000, SCRIBBLE_MOST = 512 };

static pid_t spd;

struct victim {
    char name[256];
    int fd;
    uint64_t size, lanes, regions, heap, ring, ring_bytes, stack, stats;
};

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "scribble: %s: %s\n", what, strerror(errno));
    exit(2);
}

static uint64_t next(uint64_t *random)
{
    *random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
    return *random * UINT64_C(2685821657736338717);
}

static int number(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < 0 || value > 1000000)
        exit(2);
    return (int)value;
}

/* ---- the programs -------------------------------------------------------------------------------------------------
 */

static void record(sp_profiler *profiler, int calls)
{
    int outer = sp_profiler_region(profiler, "outer"),
        inner = sp_profiler_region_at(profiler, "inner", "scribble.c", 7);
    sp_profiler_begin(profiler, outer); /* stays open */
    for (int i = 0; i < calls; i++) {
        sp_profiler_begin(profiler, inner);
        sp_profiler_end(profiler, inner);
    }
}

/* Ranks [first, first + count), each a profiler. Records on until it is killed, by a signal of its own too. */
static _Noreturn void program(int first, int count, int ready)
{
    sp_profiler *profilers[BATCH];
    for (int i = 0; i < count; i++) {
        profilers[i] = sp_create("victim", first + i);
        if (!profilers[i])
            die("sp_create");
        record(profilers[i], 200);
    }
    if (write(ready, "", 1) != 1)
        die("pipe");
    for (;;) {
        for (int i = 0; count > 1 && i < count; i++)
            record(profilers[i], 5);
        usleep(2000);
    }
}

static pid_t start(int first, int count)
{
    int ends[2];
    char byte;
    if (pipe(ends))
        die("pipe");
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        close(ends[0]);
        program(first, count, ends[1]);
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1)
        exit(2); /* it said why */
    close(ends[0]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* ---- their segments -----------------------------------------------------------------------------------------------
 */

static void fetch(const struct victim *v, uint64_t at, void *to, size_t length)
{
    memset(to, 0, length);
    if (pread(v->fd, to, length, (off_t)at) < 0)
        die(v->name);
}

static void path_of(const struct victim *v, char ret[300])
{
    snprintf(ret, 300, "/dev/shm/%s", v->name);
}

static void take(struct victim *v, const char *name)
{
    static struct sp__header header;
    struct sp__lane lane;
    char path[300];
    snprintf(v->name, sizeof v->name, "%s", name);
    path_of(v, path);
    v->fd = open(path, O_RDWR | O_CLOEXEC);
    if (v->fd < 0)
        die(path);
    fetch(v, 0, &header, sizeof header);
    fetch(v, header.lanes_offset, &lane, sizeof lane);
    v->size = header.segment_size;
    v->lanes = header.lanes_offset;
    v->regions = header.regions_offset;
    v->heap = header.heap_offset;
    v->ring = lane.ring_offset;
    v->ring_bytes = lane.ring_records * sizeof(struct sp__record);
    v->stack = lane.stack_offset;
    v->stats = lane.stats_offset;
}

/* "sp.<uid>.<session>.<hash>.r<rank>" of this session, ranks from `first` on. */
static int find(struct victim *victims, int first, int most)
{
    const char *session = getenv("SP_SESSION"), *rank;
    char part[128];
    int count = 0;
    DIR *dir = opendir("/dev/shm");
    if (!dir || !session)
        die("/dev/shm");
    snprintf(part, sizeof part, ".%s.", session);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (count == most || !strstr(entry->d_name, part) || !(rank = strrchr(entry->d_name, 'r')))
            continue;
        if (atol(rank + 1) >= first && atol(rank + 1) < first + most)
            take(&victims[count++], entry->d_name);
    }
    closedir(dir);
    return count;
}

static bool attached(const struct victim *v)
{
    uint32_t chosen;
    fetch(v, offsetof(struct sp__header, spool_chosen), &chosen, sizeof chosen);
    return chosen == 1;
}

static void wait_attached(const struct victim *victims, int count)
{
    for (int tries = 0, i = 0; tries < ATTACH_TRIES && i < count; tries++) {
        while (i < count && attached(&victims[i]))
            i++;
        if (i < count)
            usleep(TRY_US);
    }
}

static bool drained(const struct victim *v)
{
    struct sp__lane lane;
    fetch(v, v->lanes, &lane, sizeof lane);
    return atomic_load(&lane.head) == atomic_load(&lane.tail);
}

static void put(const struct victim *v, uint64_t at, const void *bytes, size_t length)
{
    if (pwrite(v->fd, bytes, length, (off_t)at) < 0)
        die(v->name);
}

/* ---- what is done to them -----------------------------------------------------------------------------------------
 */

#define HEADER(field) offsetof(struct sp__header, field), sizeof(((struct sp__header *)0)->field), false
#define LANE(field)   offsetof(struct sp__lane, field), sizeof(((struct sp__lane *)0)->field), true

static const struct {
    size_t at, size;
    bool lane;
} words[] = {{HEADER(magic)},
             {HEADER(abi_major)},
             {HEADER(segment_size)},
             {HEADER(lanes_offset)},
             {HEADER(heap_offset)},
             {HEADER(lane_capacity)},
             {HEADER(state)},
             {HEADER(format)},
             {HEADER(epoch)},
             {HEADER(bank)},
             {HEADER(region_count)},
             {HEADER(lanes_used)},
             {HEADER(threads)},
             {HEADER(flush_request)},
             {HEADER(heap_next)},
             {HEADER(lost_no_lane)},
             {HEADER(bell_cpu)},
             {HEADER(spool_chosen)},
             {HEADER(flush_done)},
             {HEADER(spooled)},
             {HEADER(published)},
             {HEADER(answer.seq)},
             {HEADER(identity.rank)},
             {HEADER(identity.clock)},
             {LANE(head)},
             {LANE(depth)},
             {LANE(claimed)},
             {LANE(dropped)},
             {LANE(tail)},
             {LANE(ring_offset)},
             {LANE(ring_records)},
             {LANE(stack_offset)},
             {LANE(stats_offset)},
             {LANE(base)},
             {LANE(ready)},
             {LANE(signal_lane)},
             {HEADER(regions_offset)}};

static void change_word(const struct victim *v, uint64_t *random)
{
    static const uint64_t values[] = {
        0,         1,       2,          3,          4,          5,          6,          1023,       1024,          4096,
        INT32_MAX, 1 << 24, UINT32_MAX, 1ULL << 32, 1ULL << 40, 1ULL << 62, 1ULL << 63, UINT64_MAX, UINT64_MAX - 1};
    size_t word = next(random) % (sizeof words / sizeof *words);
    uint64_t at = words[word].at + (words[word].lane ? v->lanes : 0), value;
    size_t size = words[word].size < sizeof value ? words[word].size : sizeof value;
    fetch(v, at, &value, size);
    if (next(random) % 3)
        value = values[next(random) % (sizeof values / sizeof *values)];
    else
        value += next(random) % 2049 - 1024;
    put(v, at, &value, size);
}

/* Random bytes somewhere in [from, to), at most to its end. */
static void scribble(const struct victim *v, uint64_t from, uint64_t to, uint64_t *random)
{
    unsigned char bytes[SCRIBBLE_MOST];
    uint64_t at = from + next(random) % (to - from);
    size_t length = 1 + next(random) % sizeof bytes;
    if (length > to - at)
        length = (size_t)(to - at);
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(next(random) >> 32);
    put(v, at, bytes, length);
}

static void cut(const struct victim *v, uint64_t size)
{
    if (ftruncate(v->fd, (off_t)size))
        die(v->name);
}

static void cut_somewhere(const struct victim *v, uint64_t *random)
{
    const uint64_t sizes[] = {0,
                              1,
                              4096,
                              v->lanes,
                              v->lanes + 100,
                              v->regions,
                              v->heap,
                              v->ring + 24,
                              v->size - 4096,
                              v->size - 1,
                              next(random) % v->size};
    cut(v, sizes[next(random) % (sizeof sizes / sizeof *sizes)]);
}

static void hurt(const struct victim *v, int kind, uint64_t *random)
{
    const uint64_t words_at = offsetof(struct sp__header, state), answer_at = offsetof(struct sp__header, spool_chosen);
    switch (kind % 16) {
    case 0:
        scribble(v, 0, words_at, random);
        break;
    case 1:
        scribble(v, words_at, answer_at, random);
        break;
    case 2:
        scribble(v, answer_at, sizeof(struct sp__header), random);
        break;
    case 3:
        scribble(v, v->lanes, v->lanes + sizeof(struct sp__lane), random);
        break;
    case 4:
        scribble(v, v->lanes, v->regions, random);
        break;
    case 5:
        scribble(v, v->regions, v->regions + 4 * sizeof(struct sp__region), random);
        break;
    case 6:
        scribble(v, v->heap, v->ring > v->heap ? v->ring : v->heap + 4096, random);
        break;
    case 7:
        scribble(v, v->ring, v->ring + v->ring_bytes, random);
        break;
    case 8:
        scribble(v, v->stack, v->stack + 8 * sizeof(struct sp__open), random);
        break;
    case 9:
        scribble(v, v->stats, v->stats + SP__STATS_BLOCKS * sizeof(uint64_t), random);
        break;
    case 10:
        scribble(v, v->size - 4096, v->size, random);
        break;
    case 11:
        cut_somewhere(v, random);
        break;
    default:
        change_word(v, random);
    }
}

static void put32(const struct victim *v, uint64_t at, uint32_t value)
{
    put(v, at, &value, sizeof value);
}

static void put64(const struct victim *v, uint64_t at, uint64_t value)
{
    put(v, at, &value, sizeof value);
}

static void hurt_so(const struct victim *v, const char *kind)
{
    if (!strcmp(kind, "cut-all"))
        cut(v, 0);
    else if (!strcmp(kind, "cut-lanes"))
        cut(v, v->lanes);
    else if (!strcmp(kind, "cut-end"))
        cut(v, v->size - 4096);
    else if (!strcmp(kind, "state"))
        put32(v, offsetof(struct sp__header, state), 77);
    else if (!strcmp(kind, "regions"))
        put32(v, offsetof(struct sp__header, region_count), UINT32_MAX);
    else if (!strcmp(kind, "head"))
        put64(v, v->lanes + offsetof(struct sp__lane, head), 1);
    else if (!strcmp(kind,
                     "tail")) { /* of a program that ends: what nobody drains for ever must not be tried for ever */
        put64(v, v->lanes + offsetof(struct sp__lane, tail), 7);
        put32(v, offsetof(struct sp__header, state), SP__FINALIZING);
    } else if (!strcmp(kind, "reset")) {
        put64(v, v->lanes + offsetof(struct sp__lane, base) + 8, 1 << 30);
        put32(v, offsetof(struct sp__header, epoch), 1);
    } else if (!strcmp(kind, "lane")) { /* the second one: claimed by nobody so far */
        uint64_t lane = v->lanes + sizeof(struct sp__lane);
        put64(v, lane + offsetof(struct sp__lane, ring_offset), v->size - 8);
        put64(v, lane + offsetof(struct sp__lane, ring_records), 1024);
        put32(v, lane + offsetof(struct sp__lane, ready), 1);
        put32(v, offsetof(struct sp__header, lanes_used), 2);
    } else {
        exit(2);
    }
}

/* ---- the two ways -------------------------------------------------------------------------------------------------
 */

static void remove_segments(struct victim *victims, int count)
{
    char path[300];
    for (int i = 0; i < count; i++) {
        path_of(&victims[i], path);
        unlink(path);
        close(victims[i].fd);
    }
}

/* Each is hurt in ROUNDS places, one after the other: most of what is written over goes unnoticed alone. */
static void many(int total, uint64_t random)
{
    static struct victim victims[BATCH];
    int scribbled = 0, seen = 0;
    for (int first = 0; first < total / ROUNDS; first += BATCH) {
        pid_t pid = start(first, BATCH);
        int count = find(victims, first, BATCH);
        bool before = first / BATCH % 4 == 3; /* of these, many before or while spd attaches */
        if (!before)
            wait_attached(victims, count);
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < count; i++) {
                seen += attached(&victims[i]);
                hurt(&victims[i], scribbled++, &random);
            }
            usleep(10000); /* a few turns of the loop; the programs record on, or are ended by what they find */
        }
        end(pid);
        usleep(5000);
        remove_segments(victims, count);
        if (kill(spd, 0)) {
            fprintf(stderr, "scribble: spd did not survive the first %d\n", scribbled);
            exit(1);
        }
    }
    printf("scribbled %d, %d attached\n", scribbled, seen);
}

static void one(const char *kind)
{
    static struct victim victim;
    pid_t pid = start(0, 1);
    if (find(&victim, 0, 1) != 1)
        die("segment");
    wait_attached(&victim, 1);
    for (int tries = 0; tries < ATTACH_TRIES && !drained(&victim); tries++)
        usleep(TRY_US);
    printf("%s\n", victim.name);
    fflush(stdout);
    if (getchar() == EOF)
        exit(2);
    hurt_so(&victim, kind);
    printf("done\n");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    end(pid);
    remove_segments(&victim, 1);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    spd = (pid_t)number(argv[1]);
    if (argc == 4)
        many(number(argv[2]), (uint64_t)number(argv[3]) * 2654435761U + 1);
    else
        one(argv[2]);
    return 0;
}
