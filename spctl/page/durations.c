#include "durations.h"

#include <stdlib.h>

#include "json.h"
#include "paths.h"
#include "say.h"
#include "spread.h"

enum {
    BARS = 4, /* of histograms, an octave */
    ALL_BARS = 64 * BARS,
    MOST_SLICES = 400,
    LEAST_SLICES = 80,
    ALL_SLICES = 16000
};

struct slice {
    uint64_t calls;
    int64_t total;
    uint64_t minimum, maximum;
};

struct detail {
    uint64_t bars[ALL_BARS];
    struct slice slices[MOST_SLICES];
};

struct region {
    struct spread *spread;
    struct detail *detail; /* NULL: not one of those that are shown in detail */
};

struct durations {
    const struct page_scope *scope;
    struct region *regions;
    size_t count, detailed, slices;
    double slices_per_ns;
};

struct durations *durations_create(const struct page_scope *scope)
{
    struct durations *durations = need(calloc(1, sizeof *durations));
    size_t count = scope->table.count < PAGE_REGIONS ? scope->table.count : PAGE_REGIONS;
    durations->scope = scope;
    durations->count = count;
    durations->detailed = count < PAGE_DETAILED ? count : PAGE_DETAILED;
    durations->slices = count ? ALL_SLICES / durations->detailed : MOST_SLICES;
    durations->slices = durations->slices < LEAST_SLICES  ? LEAST_SLICES
                        : durations->slices > MOST_SLICES ? MOST_SLICES
                                                          : durations->slices;
    durations->slices_per_ns = (double)durations->slices / (double)scope->span;
    durations->regions = need(calloc(count ? count : 1, sizeof *durations->regions));
    for (size_t i = 0; i < durations->detailed; ++i)
        durations->regions[i].detail = need(calloc(1, sizeof(struct detail)));
    return durations;
}

void durations_destroy(struct durations *durations)
{
    for (size_t i = 0; i < durations->count; ++i) {
        spread_destroy(durations->regions[i].spread);
        free(durations->regions[i].detail);
    }
    free(durations->regions);
    free(durations);
}

/* Bar n holds durations from 2^(n / BARS) * (1 + n % BARS / BARS) ns to where the next one begins, bar 0 that of 0 ns
 * too. */
static size_t bar_of(uint64_t duration)
{
    unsigned top = duration ? 63U - (unsigned)__builtin_clzll(duration) : 0;
    uint64_t part = top >= 2 ? duration >> (top - 2) : duration << (2 - top);
    return duration ? (size_t)top * BARS + (size_t)part - BARS : 0;
}

void durations_add(struct durations *durations, const sp_walk_call *call)
{
    const uint32_t line = durations->scope->lines[call->region];
    const uint64_t duration = (uint64_t)call->end - (uint64_t)call->start;
    if (line >= durations->count)
        return;
    struct region *region = &durations->regions[line];
    spread_add(&region->spread, duration);
    if (!region->detail)
        return;
    ++region->detail->bars[bar_of(duration)];
    size_t at = (size_t)((double)page_offset(durations->scope, call->start) * durations->slices_per_ns);
    struct slice *slice = &region->detail->slices[at < durations->slices ? at : durations->slices - 1];
    slice->minimum = slice->calls == 0 || duration < slice->minimum ? duration : slice->minimum;
    slice->maximum = duration > slice->maximum ? duration : slice->maximum;
    slice->total = paths_add(slice->total, duration < INT64_MAX ? (int64_t)duration : INT64_MAX);
    ++slice->calls;
}

double durations_percentile(const struct durations *durations, size_t line, double percent)
{
    struct spread *spread = line < durations->count ? durations->regions[line].spread : NULL;
    return spread ? spread_percentile(spread, percent) : -1;
}

/* The first bar that is not empty, then the calls of all to the last one. */
static json_t *histogram_json(const struct detail *detail)
{
    size_t first = 0, last = ALL_BARS - 1;
    while (first < last && detail->bars[first] == 0)
        ++first;
    while (first < last && detail->bars[last] == 0)
        --last;
    json_t *object = need(json_object());
    json_put(object, "first", json_count(first));
    json_t *calls = json_put(object, "calls", json_array());
    for (size_t i = first; i <= last; ++i)
        json_push(calls, json_count(detail->bars[i]));
    return object;
}

/* Columns of those slices in which a call began. */
static json_t *slices_json(const struct detail *detail, size_t slices)
{
    json_t *object = need(json_object());
    json_t *at = json_put(object, "slice", json_array()), *calls = json_put(object, "calls", json_array());
    json_t *total = json_put(object, "total_ns", json_array());
    json_t *minimum = json_put(object, "min_ns", json_array()), *maximum = json_put(object, "max_ns", json_array());
    for (size_t i = 0; i < slices; ++i) {
        const struct slice *slice = &detail->slices[i];
        if (slice->calls == 0)
            continue;
        json_push(at, json_count(i));
        json_push(calls, json_count(slice->calls));
        json_push(total, json_integer(slice->total));
        json_push(minimum, json_count(slice->minimum));
        json_push(maximum, json_count(slice->maximum));
    }
    return object;
}

void durations_json(const struct durations *durations, json_t *document)
{
    json_t *histograms = json_put(document, "histograms", json_array());
    json_t *over_time = json_put(document, "over_time", json_object());
    json_put(over_time, "slices", json_count(durations->slices));
    json_t *regions = json_put(over_time, "regions", json_array());
    for (size_t i = 0; i < durations->detailed; ++i) {
        json_push(histograms, histogram_json(durations->regions[i].detail));
        json_push(regions, slices_json(durations->regions[i].detail, durations->slices));
    }
    if (durations->detailed < durations->count)
        page_note(document, "Histograms and durations over time are there for the %zu regions of most time, of %zu.",
                  durations->detailed, durations->scope->table.count);
}
