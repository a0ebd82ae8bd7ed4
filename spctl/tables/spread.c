/* spread.c: a few durations are kept as they are. Of more each power of two is counted in STEPS bins, made when the first duration falls among them. */
#include "spread.h"

#include <stddef.h>
#include <stdlib.h>

#include "say.h"

enum { FEW = 256 };
enum { BITS = 6, STEPS = 1 << BITS, POWERS = 64 - BITS + 1 };

struct spread {
    uint64_t count;
    uint64_t *few;          /* NULL: there are more */
    uint32_t *bins[POWERS]; /* [0]: below STEPS; a full bin stays full */
};

static void add_to_bin(struct spread *spread, uint64_t ns)
{
    unsigned power = ns >> BITS ? 64U - BITS - (unsigned)__builtin_clzll(ns) : 0;
    uint64_t step = power ? (ns >> (power - 1)) - STEPS : ns;
    uint32_t **bins = &spread->bins[power];
    if (!*bins)
        *bins = need(calloc(STEPS, sizeof **bins));
    if ((*bins)[step] < UINT32_MAX) {
        ++(*bins)[step];
        ++spread->count;
    }
}

void spread_add(struct spread **at, uint64_t ns)
{
    if (!*at) {
        *at = need(calloc(1, sizeof **at));
        (*at)->few = need(malloc(FEW * sizeof(uint64_t)));
    }
    struct spread *spread = *at;
    if (spread->few && spread->count < FEW) {
        spread->few[spread->count++] = ns;
        return;
    }
    if (spread->few) {
        spread->count = 0;
        for (size_t i = 0; i < FEW; ++i)
            add_to_bin(spread, spread->few[i]);
        free(spread->few);
        spread->few = NULL;
    }
    add_to_bin(spread, ns);
}

bool spread_exact(const struct spread *spread)
{
    return spread->few != NULL;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

/* The duration of this order, or the middle of the bin that holds it. */
static double at_order(const struct spread *spread, uint64_t order)
{
    if (spread->few)
        return (double)spread->few[order];
    for (unsigned power = 0; power < POWERS; ++power)
        for (uint64_t step = 0; spread->bins[power] && step < STEPS; ++step) {
            if (order < spread->bins[power][step])
                return power ? (double)(STEPS + step) * (double)(1ULL << (power - 1)) +
                                   ((double)(1ULL << (power - 1)) - 1) / 2
                             : (double)step;
            order -= spread->bins[power][step];
        }
    return 0;
}

double spread_percentile(struct spread *spread, double percent)
{
    if (spread->few)
        qsort(spread->few, spread->count, sizeof *spread->few, by_size);
    double at = percent / 100 * (double)(spread->count - 1);
    uint64_t low = (uint64_t)at;
    double value = at_order(spread, low), part = at - (double)low;
    return part > 0 ? value + (at_order(spread, low + 1) - value) * part : value;
}

void spread_destroy(struct spread *spread)
{
    if (!spread)
        return;
    for (size_t power = 0; power < POWERS; ++power)
        free(spread->bins[power]);
    free(spread->few);
    free(spread);
}
