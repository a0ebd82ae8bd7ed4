/* clock.c: choosing a clock, reading anchors, and the map from ticks to nanoseconds. */
#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

__extension__ typedef unsigned __int128 wide;

/* Slopes are ns per tick in units of 2^-SLOPE_BITS: over the longest stretch between anchors, hours of them, the
 * rounding stays below a nanosecond. */
enum { SLOPE_BITS = 48 };

static const int64_t THIN_NS = 20000000;        /* anchors that follow sooner than this say nothing new */
static const int64_t BREAK_NS = 2000;           /* what reading two clocks "at once" may be off by, at the very worst */
static const int64_t BREAK_SHARE = 1000;        /* one part in so many: 1000 ppm */
static const int64_t READING_NS = 100;          /* what it is off by ordinarily */
static const int64_t EXTRAPOLATE_NS = 50000000; /* the least stretch whose slope is carried beyond the anchors */

static bool tsc_invariant(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007U, &a, &b, &c, &d) && (d & (1U << 8));
#else
    return false;
#endif
}

/* The fewest ticks that one reading of CLOCK_MONOTONIC takes, by the C library or as a system call. */
static uint64_t reading_ticks(bool call)
{
    uint64_t least = UINT64_MAX;
#if defined(__x86_64__)
    for (int i = 0; i < 8; i++) {
        struct timespec t;
        uint64_t before = __rdtsc();
        long status = call ? syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t) : clock_gettime(CLOCK_MONOTONIC, &t);
        uint64_t took = __rdtsc() - before;
        if (status == 0 && took < least)
            least = took;
    }
#endif
    return least;
}

/* A guest's kvm-clock is the TSC times a constant of the host's. The vDSO reads it without entering the kernel only
 * while the host says that one such constant holds on all processors: just where the TSC can be taken as it is. */
static bool guest_clock_is_tsc(void)
{
    uint64_t read = reading_ticks(false);
    return read < reading_ticks(true) / 2;
}

static bool kernel_uses_tsc(void)
{
    char name[24];
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, name, sizeof name - 1);
    close(fd);
    name[got > 0 ? got : 0] = 0;
    return strcmp(name, "tsc\n") == 0 || (strcmp(name, "kvm-clock\n") == 0 && guest_clock_is_tsc());
}

uint32_t sp__clock_choose(int wanted)
{
    if (wanted == SP__CLOCK_MONOTONIC || !tsc_invariant())
        return SP__CLOCK_MONOTONIC;
    return wanted == SP__CLOCK_TSC || kernel_uses_tsc() ? SP__CLOCK_TSC : SP__CLOCK_MONOTONIC;
}

struct sp__anchor sp__clock_anchor(uint32_t clock)
{
    struct sp__anchor best = {0};
#if defined(__x86_64__)
    if (clock == SP__CLOCK_TSC) {
        uint64_t width = UINT64_MAX;
        for (int i = 0; i < 8; i++) {
            _mm_lfence();
            uint64_t before = __rdtsc();
            _mm_lfence();
            uint64_t ns = sp__clock_mono();
            _mm_lfence();
            uint64_t after = __rdtsc();
            if (after - before < width) {
                width = after - before;
                best = (struct sp__anchor){.ticks = before + width / 2, .mono_ns = (int64_t)ns};
            }
        }
        return best;
    }
#endif
    (void)clock;
    best.ticks = sp__clock_mono();
    best.mono_ns = (int64_t)best.ticks;
    return best;
}

/* From anchor i to anchor i + 1. */
struct stretch {
    wide slope;
    bool broken;
};

struct sp__clock_map {
    uint32_t clock;
    size_t count;
    struct sp__anchor *anchors;
    struct stretch *stretches; /* count - 1 */
    wide slope_before;         /* beyond the first and the last anchor */
    wide slope_after;
    int64_t error_ns;
    unsigned breaks;
    _Atomic(size_t) *near; /* the stretch of the last answer, where the next one mostly is too; relaxed: any will do */
    _Atomic(size_t) near_is;
};

static int by_ticks(const void *left, const void *right)
{
    const struct sp__anchor *a = left, *b = right;
    if (a->ticks != b->ticks)
        return a->ticks < b->ticks ? -1 : 1;
    return a->mono_ns < b->mono_ns ? -1 : a->mono_ns > b->mono_ns;
}

/* Keeps anchors that rise in both clocks and stand far enough from the one before, but always enough of them for a
 * short life. Looks back only: later anchors change nothing about earlier ones. */
static size_t thin(struct sp__anchor *anchors, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept > 0) {
            const struct sp__anchor *last = &anchors[kept - 1];
            if (anchors[i].ticks <= last->ticks || anchors[i].mono_ns <= last->mono_ns)
                continue;
            int64_t since = anchors[i].mono_ns - last->mono_ns;
            if (since < THIN_NS && since < (anchors[i].mono_ns - anchors[0].mono_ns) / 2)
                continue;
        }
        anchors[kept++] = anchors[i];
    }
    return kept;
}

static uint64_t ticks_of(const struct sp__clock_map *map, size_t i)
{
    return map->anchors[i + 1].ticks - map->anchors[i].ticks;
}

static int64_t ns_of(const struct sp__clock_map *map, size_t i)
{
    return map->anchors[i + 1].mono_ns - map->anchors[i].mono_ns;
}

static wide slope_between(const struct sp__anchor *from, const struct sp__anchor *to)
{
    return ((wide)(uint64_t)(to->mono_ns - from->mono_ns) << SLOPE_BITS) / (to->ticks - from->ticks);
}

/* ticks x slope in ns, at most INT64_MAX. */
static int64_t scaled(uint64_t ticks, wide slope)
{
    wide ns;
    if (!(slope >> 64)) /* one multiplication; a division of this width costs more than all the rest */
        ns = ((wide)(uint64_t)slope * ticks) >> SLOPE_BITS;
    else if (ticks > ~(wide)0 / slope)
        return INT64_MAX;
    else
        ns = (slope * ticks) >> SLOPE_BITS;
    return ns > (wide)INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

struct weighed {
    wide slope;
    int64_t weight;
};

static int by_slope(const void *left, const void *right)
{
    const struct weighed *a = left, *b = right;
    return a->slope < b->slope ? -1 : a->slope > b->slope;
}

/* The middle slope by time on CLOCK_MONOTONIC, which a suspended machine does not spend. */
static int median_slope(const struct sp__clock_map *map, wide *ret)
{
    size_t count = map->count - 1;
    struct weighed *all = malloc(count * sizeof *all);
    if (!all)
        return -ENOMEM;
    int64_t left = 0;
    for (size_t i = 0; i < count; i++) {
        all[i] = (struct weighed){.slope = map->stretches[i].slope, .weight = ns_of(map, i)};
        left = add(left, all[i].weight);
    }
    qsort(all, count, sizeof *all, by_slope);
    size_t at = 0;
    for (left /= 2; at + 1 < count && left >= all[at].weight; at++)
        left -= all[at].weight;
    *ret = all[at].slope;
    free(all);
    return 0;
}

/* A stretch that no steady clock explains is a break. Inside it ticks run on from its left at the rate of the last
 * good stretch, and no further than its right end. */
static int find_breaks(struct sp__clock_map *map)
{
    wide median;
    int error = median_slope(map, &median);
    if (error)
        return error;
    wide good = median;
    for (size_t i = 0; i + 1 < map->count; i++) {
        struct stretch *s = &map->stretches[i];
        int64_t off = distance(ns_of(map, i), scaled(ticks_of(map, i), median));
        s->broken = off > BREAK_NS && off > ns_of(map, i) / BREAK_SHARE;
        map->breaks += s->broken;
        if (s->broken)
            s->slope = good;
        else
            good = s->slope;
    }
    return 0;
}

/* The slope at one end of the map: over the unbroken anchors nearest to it, as far as makes a stretch worth trusting.
 */
static wide end_slope(const struct sp__clock_map *map, bool after)
{
    size_t last = map->count - 1;
    size_t from = after ? last : 0;
    size_t to = from;
    while (after ? to > 0 : to < last) {
        if (map->stretches[after ? to - 1 : to].broken)
            break;
        to = after ? to - 1 : to + 1;
        if (distance(map->anchors[from].mono_ns, map->anchors[to].mono_ns) >= EXTRAPOLATE_NS)
            break;
    }
    if (to == from)
        return map->stretches[after ? last - 1 : 0].slope;
    return after ? slope_between(&map->anchors[to], &map->anchors[from])
                 : slope_between(&map->anchors[from], &map->anchors[to]);
}

/* How far stretch i, drawn straight, may be from the truth if its neighbour's rate came in gradually: the neighbour's
 * deviation from i's slope, over the length of i. Half of it, since both ends of i are anchors. */
static int64_t bend(const struct sp__clock_map *map, size_t i, size_t neighbour)
{
    if (map->stretches[i].broken || map->stretches[neighbour].broken)
        return 0;
    int64_t off = distance(ns_of(map, neighbour), scaled(ticks_of(map, neighbour), map->stretches[i].slope));
    if (off <= 2 * READING_NS)
        return off;
    double longer = (double)ns_of(map, i) / (double)ns_of(map, neighbour);
    double bound = (double)off * (longer > 1 ? longer : 1) / 2;
    return bound < 9e18 ? (int64_t)bound : INT64_MAX;
}

static void bound_error(struct sp__clock_map *map)
{
    map->error_ns = READING_NS;
    for (size_t i = 0; i + 2 < map->count; i++) {
        int64_t left = bend(map, i, i + 1), right = bend(map, i + 1, i);
        int64_t most = left > right ? left : right;
        if (most > map->error_ns)
            map->error_ns = most;
    }
}

static int build(struct sp__clock_map *map, const struct sp__anchor *anchors, size_t count)
{
    map->anchors = malloc(count * sizeof *anchors);
    if (!map->anchors)
        return -ENOMEM;
    /* CLOCK_MONOTONIC is never negative, whatever a spool says: so that no distance between two of them overflows. */
    for (size_t i = 0; i < count; i++)
        map->anchors[i] = (struct sp__anchor){anchors[i].ticks, anchors[i].mono_ns > 0 ? anchors[i].mono_ns : 0};
    qsort(map->anchors, count, sizeof *anchors, by_ticks);
    map->count = thin(map->anchors, count);
    map->slope_before = map->slope_after = (wide)1 << SLOPE_BITS;
    map->error_ns = -1;
    if (map->count < 2)
        return 0;
    map->stretches = calloc(map->count - 1, sizeof *map->stretches);
    if (!map->stretches)
        return -ENOMEM;
    for (size_t i = 0; i + 1 < map->count; i++)
        map->stretches[i].slope = slope_between(&map->anchors[i], &map->anchors[i + 1]);
    int error = find_breaks(map);
    if (error)
        return error;
    map->slope_before = end_slope(map, false);
    map->slope_after = end_slope(map, true);
    bound_error(map);
    return 0;
}

int sp__clock_map_create(struct sp__clock_map **ret, uint32_t clock, const struct sp__anchor *anchors, size_t count)
{
    if (clock == SP__CLOCK_TSC && count == 0)
        return -EINVAL;
    struct sp__clock_map *map = calloc(1, sizeof *map);
    if (!map)
        return -ENOMEM;
    map->clock = clock;
    map->near = &map->near_is;
    int error = clock == SP__CLOCK_TSC ? build(map, anchors, count) : 0;
    if (error) {
        sp__clock_map_destroy(map);
        return error;
    }
    *ret = map;
    return 0;
}

void sp__clock_map_destroy(struct sp__clock_map *map)
{
    if (!map)
        return;
    free(map->anchors);
    free(map->stretches);
    free(map);
}

int64_t sp__clock_map_ns(const struct sp__clock_map *map, uint64_t ticks)
{
    if (map->clock != SP__CLOCK_TSC)
        return ticks > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)ticks;
    const struct sp__anchor *a = map->anchors;
    size_t last = map->count - 1;
    if (ticks < a[0].ticks) {
        int64_t before = scaled(a[0].ticks - ticks, map->slope_before);
        return before < a[0].mono_ns ? a[0].mono_ns - before : 0;
    }
    if (ticks >= a[last].ticks)
        return add(a[last].mono_ns, scaled(ticks - a[last].ticks, map->slope_after));
    size_t low = atomic_load_explicit(map->near, memory_order_relaxed), high = low + 1;
    if (a[low].ticks > ticks || ticks >= a[high].ticks) {
        low = 0;
        high = last; /* a[low].ticks <= ticks < a[high].ticks */
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;
            if (a[middle].ticks <= ticks)
                low = middle;
            else
                high = middle;
        }
        atomic_store_explicit(map->near, low, memory_order_relaxed);
    }
    int64_t ns = add(a[low].mono_ns, scaled(ticks - a[low].ticks, map->stretches[low].slope));
    return ns < a[high].mono_ns ? ns : a[high].mono_ns;
}

int64_t sp__clock_map_error_ns(const struct sp__clock_map *map)
{
    return map->error_ns;
}

unsigned sp__clock_map_breaks(const struct sp__clock_map *map)
{
    return map->breaks;
}
