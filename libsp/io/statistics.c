/* statistics.c: durations summed up, from the files' own summaries where there are some. */
#include <math.h>
#include <string.h>

#include "results.h"

enum { NEST_BYTES = 24 << 20 };

static const double second = 1e-9; /* of a nanosecond */

/* How far a rank is, by the calls that were read of it. */
struct reading {
    const sp_results *results;
    size_t rank;
    uint64_t done;
};

static int tell(void *context, uint64_t first, size_t count, const struct sp__calls *calls, sp_error *error)
{
    struct reading *reading = context;
    const sp_inputs *inputs = reading->results->inputs;
    double ranks = (double)reading->results->rank_count, all = (double)reading->results->ranks[reading->rank]->calls;
    (void)first;
    (void)calls;
    (void)error;
    reading->done += count;
    inputs->progress(inputs->progress_context, ((double)reading->rank + (double)reading->done / all) / ranks);
    return 0;
}

int sp__results_sum_rank(sp_results *results, size_t rank, bool read, sp_error *error)
{
    struct reading reading = {.results = results, .rank = rank};
    struct sp__nest_settings settings = {
        .budget = NEST_BYTES, .emit = results->inputs->progress ? tell : NULL, .context = &reading};
    struct sp__nest_result nested;
    if (results->summed[rank])
        return 0;
    if (sp__rank_sum_up(results->ranks[rank])) {
        results->summed[rank] = true;
        return 0;
    }
    if (!read)
        return 0;
    int status = sp__nest(results->ranks[rank], &settings, &nested, error);
    sp__rank_rest(results->ranks[rank]);
    results->summed[rank] = status == 0;
    return status;
}

int sp_results_sum_up(sp_results *results, sp_error *error)
{
    if (!results)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "there are no results to sum up");
    bool more = false;
    int status = 0;
    for (size_t r = 0; !status && r < results->rank_count; r++) {
        more = more || !results->summed[r];
        status = sp__results_sum_rank(results, r, true, error);
    }
    return !status && more ? sp__results_describe(results, error) : status;
}

/* Sums of the rows so far, ns. */
struct joined {
    double total, exclusive, mean, m2;
    int64_t minimum, maximum;
    uint64_t count;
};

/* Means and squares join as those of two samples (Chan, Golub and LeVeque). */
static void join(struct joined *all, const struct sp__rank_row *row, bool aggregate)
{
    const struct sp__summary *more = &row->summary;
    double a = (double)all->count, b = (double)row->calls, apart = more->mean - all->mean;
    bool first = !all->count;
    all->m2 =
        (first ? 0 : all->m2) + (aggregate ? (double)NAN : more->m2) + (first ? 0 : apart * apart * (a * b / (a + b)));
    all->mean = first ? more->mean : all->mean + apart * (b / (a + b));
    all->minimum = first || more->minimum < all->minimum ? more->minimum : all->minimum;
    all->maximum = first || more->maximum > all->maximum ? more->maximum : all->maximum;
    all->total += (double)more->total;
    all->exclusive += row->exclusive < 0 ? (double)NAN : (double)row->exclusive;
    all->count += row->calls;
}

int sp_results_statistics(sp_results *results, size_t region, int64_t rank, sp_statistics *ret, sp_error *error)
{
    const size_t *rows;
    size_t count;
    if (!results || !ret)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "statistics need results, and a place to be put");
    int status = sp__results_rows_of(results, region, rank, &rows, &count, error);
    struct joined all = {0};
    for (size_t i = 0; !status && i < count; i++) {
        const struct sp__result_row *at = &results->rows[rows[i]];
        status = sp__results_sum_rank(results, at->rank, true, error);
        if (!status)
            join(&all, &results->ranks[at->rank]->rows[at->row], results->ranks[at->rank]->aggregate);
    }
    if (status)
        return status;
    *ret = (sp_statistics){.count = all.count,
                           .total = all.total * second,
                           .exclusive = all.exclusive * second,
                           .mean = all.mean * second,
                           .minimum = (double)all.minimum * second,
                           .maximum = (double)all.maximum * second,
                           .deviation = sqrt(all.m2 / (double)all.count) * second};
    return 0;
}
