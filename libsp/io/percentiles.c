/* percentiles.c: exact percentiles of any number of durations in constant memory. A few are sorted. Of more the first pass counts durations by
 * their leading bits; each further one counts, for every order statistic that is wanted, the durations that share its
 * leading bits by their next ones, until all bits are known. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"

enum {
    MANTISSA = 10,          /* bits that the first pass tells apart, after the highest one */
    STEP = 16,              /* bits that a further pass finds */
    BINS = 1 << STEP,       /* also enough for the first: 54 powers of two of 1,024 bins each */
    PERCENTS = 8,           /* at a time */
    TARGETS = 2 * PERCENTS, /* an order statistic below each, and the next above */
    SLICE = 8192,
    FEW = 8192 /* durations that are sorted */
};

/* One order statistic: what is known of it so far. */
struct target {
    uint64_t order; /* among the durations that share its known bits, from 0 */
    uint64_t known; /* those bits, in place */
    unsigned open;  /* how many low bits are still unknown */
    size_t group;   /* of the histograms of this pass; targets that share their known bits share it */
};

struct percentiles {
    sp_results *results;
    const size_t *rows;
    size_t row_count;
    struct target targets[TARGETS];
    size_t target_count;
    const struct target *groups[TARGETS]; /* one target of each */
    size_t group_count;
    uint64_t *bins; /* of each group */
    int64_t *times;
    uint64_t *few; /* NULL: there are more */
    size_t few_count, few_room;
};

static unsigned leading(uint64_t value)
{
    return 63U - (unsigned)__builtin_clzll(value);
}

/* Below 2^MANTISSA each value has a bin; then each power of two has 2^MANTISSA of them. */
static size_t first_bin(uint64_t value)
{
    if (value >> MANTISSA == 0)
        return (size_t)value;
    unsigned shift = leading(value) - MANTISSA;
    return ((size_t)shift << MANTISSA) + (size_t)(value >> shift);
}

static void open_first_bin(struct target *target, size_t bin)
{
    unsigned power = (unsigned)(bin >> MANTISSA);
    target->open = power ? power - 1 : 0;
    target->known = power ? (uint64_t)((bin & ((1U << MANTISSA) - 1)) + (1U << MANTISSA)) << target->open : bin;
}

static unsigned shift_of(const struct target *target)
{
    return target->open > STEP ? target->open - STEP : 0;
}

static void count(struct percentiles *p, uint64_t value, bool first)
{
    if (p->few) {
        if (p->few_count < p->few_room)
            p->few[p->few_count++] = value;
        return;
    }
    if (first) {
        p->bins[first_bin(value)]++;
        return;
    }
    for (size_t g = 0; g < p->group_count; g++) {
        const struct target *target = p->groups[g];
        uint64_t off = value - target->known;
        if (off >> target->open == 0)
            p->bins[g * BINS + (size_t)(off >> shift_of(target))]++;
    }
}

static int pass(struct percentiles *p, bool first, sp_error *error)
{
    if (p->bins)
        memset(p->bins, 0, (first ? 1 : p->group_count) * BINS * sizeof *p->bins);
    int status = 0;
    for (size_t i = 0; !status && i < p->row_count; i++) {
        const struct sp__result_row *row = &p->results->rows[p->rows[i]];
        struct sp__rank *rank = p->results->ranks[row->rank];
        struct sp__cursor *cursor = NULL;
        struct sp__calls calls = {.start = p->times, .end = p->times + SLICE};
        size_t have = 1;
        status = sp__cursor_open_with(&cursor, rank, row->row, SLICE, 0, error);
        while (!status && have) {
            status = sp__cursor_fill(cursor, &calls, SLICE, &have, error);
            for (size_t k = 0; !status && k < have; k++)
                count(p, (uint64_t)calls.end[k] - (uint64_t)calls.start[k], first);
        }
        sp__cursor_close(cursor);
        sp__rank_rest(rank);
        if (p->results->inputs->progress)
            p->results->inputs->progress(p->results->inputs->progress_context, -1);
    }
    return status;
}

/* The bin that holds the target, whose order becomes that within the bin. */
static size_t bin_of(struct target *target, const uint64_t *bins)
{
    size_t bin = 0;
    while (bin < BINS - 1 && target->order >= bins[bin])
        target->order -= bins[bin++];
    return bin;
}

static void group(struct percentiles *p)
{
    p->group_count = 0;
    for (size_t i = 0; i < p->target_count; i++) {
        struct target *target = &p->targets[i];
        size_t g = 0;
        if (!target->open)
            continue;
        while (g < p->group_count && (p->groups[g]->known != target->known || p->groups[g]->open != target->open))
            g++;
        if (g == p->group_count)
            p->groups[p->group_count++] = target;
        target->group = g;
    }
}

static int by_size(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

static int sort(struct percentiles *p, sp_error *error)
{
    int status = p->few_count ? 0 : pass(p, true, error);
    if (!status)
        qsort(p->few, p->few_count, sizeof *p->few, by_size);
    for (size_t i = 0; !status && i < p->target_count; i++)
        p->targets[i].known = p->targets[i].order < p->few_count ? p->few[p->targets[i].order] : 0;
    return status;
}

static int find(struct percentiles *p, sp_error *error)
{
    int status = pass(p, true, error);
    for (size_t i = 0; !status && i < p->target_count; i++)
        open_first_bin(&p->targets[i], bin_of(&p->targets[i], p->bins));
    for (group(p); !status && p->group_count; group(p)) {
        status = pass(p, false, error);
        for (size_t i = 0; !status && i < p->target_count; i++) {
            struct target *target = &p->targets[i];
            unsigned shift = shift_of(target);
            if (!target->open)
                continue;
            target->known += (uint64_t)bin_of(target, p->bins + target->group * BINS) << shift;
            target->open = shift;
        }
    }
    return status;
}

/* As numpy does it: from the nearer end, so that both ends are met exactly. */
static double between(uint64_t low, uint64_t high, double part)
{
    double apart = (double)(high - low);
    return part < 0.5 ? (double)low + apart * part : (double)high - apart * (1 - part);
}

static int some(struct percentiles *p, uint64_t calls, const double *percents, size_t number, double *ret,
                sp_error *error)
{
    double parts[PERCENTS];
    p->target_count = 2 * number;
    for (size_t i = 0; i < number; i++) {
        double at = percents[i] / 100 * (double)(calls - 1);
        uint64_t low = (uint64_t)at;
        low = low < calls ? low : calls - 1;
        parts[i] = at - (double)low;
        p->targets[2 * i] = (struct target){.order = low};
        p->targets[2 * i + 1] = (struct target){.order = low + 1 < calls ? low + 1 : low};
    }
    int status = p->few ? sort(p, error) : find(p, error);
    for (size_t i = 0; !status && i < number; i++)
        ret[i] = between(p->targets[2 * i].known, p->targets[2 * i + 1].known, parts[i]) * 1e-9;
    return status;
}

static int prepare(struct percentiles *p, uint64_t *ret_calls, sp_error *error)
{
    int status = 0;
    *ret_calls = 0;
    for (size_t i = 0; !status && i < p->row_count; i++) {
        const struct sp__result_row *row = &p->results->rows[p->rows[i]];
        status = sp__results_has_events(p->results, p->rows[i], error);
        *ret_calls += p->results->ranks[row->rank]->rows[row->row].calls;
    }
    if (status)
        return status;
    if (*ret_calls <= FEW) {
        p->few_room = (size_t)*ret_calls;
        p->few = malloc((p->few_room + 1) * sizeof *p->few);
    } else {
        p->bins = malloc((size_t)TARGETS * BINS * sizeof *p->bins);
    }
    p->times = malloc((size_t)2 * SLICE * sizeof *p->times);
    return (p->few || p->bins) && p->times ? 0 : sp__results_no_memory(error);
}

int sp_results_percentiles(sp_results *results, size_t region, int64_t rank, const double *percents, size_t number,
                           double *ret_seconds, sp_error *error)
{
    struct percentiles p = {.results = results};
    uint64_t calls = 0;
    if (!results || !percents || !ret_seconds)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "percentiles need results, percents and a place to be put");
    for (size_t i = 0; i < number; i++)
        if (!(percents[i] >= 0 && percents[i] <= 100))
            return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "a percent is a number from 0 to 100, not %g",
                            percents[i]);
    double *found = calloc(number + 1, sizeof *found);
    int status =
        found ? sp__results_rows_of(results, region, rank, &p.rows, &p.row_count, error) : sp__results_no_memory(error);
    if (!status)
        status = prepare(&p, &calls, error);
    for (size_t i = 0; !status && i < number; i += PERCENTS)
        status = some(&p, calls, percents + i, number - i < PERCENTS ? number - i : PERCENTS, found + i, error);
    if (!status && number)
        memcpy(ret_seconds, found, number * sizeof *found);
    free(p.bins);
    free(p.few);
    free(p.times);
    free(found);
    return status;
}
