/* results.c: what was loaded, by region, rank and row. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "results.h"

int sp__results_no_memory(sp_error *error)
{
    return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, NULL, NULL, "the results cannot be held");
}

static bool region_wanted(const sp_load_settings *settings, const char *name)
{
    bool wanted = !settings->regions;
    for (size_t i = 0; !wanted && i < settings->region_count; i++)
        wanted = !strcmp(settings->regions[i], name) || !fnmatch(settings->regions[i], name, 0);
    return wanted;
}

static bool rank_wanted(const sp_load_settings *settings, uint32_t rank)
{
    bool wanted = !settings->ranks;
    for (size_t i = 0; !wanted && i < settings->rank_count; i++)
        wanted = settings->ranks[i][0] <= rank && rank <= settings->ranks[i][1];
    return wanted;
}

static void keep_ranks(sp_results *results, const sp_load_settings *settings)
{
    size_t kept = 0;
    for (size_t r = 0; r < results->rank_count; r++) {
        if (rank_wanted(settings, results->ranks[r]->rank)) {
            results->ranks[kept++] = results->ranks[r];
        } else {
            sp__rank_destroy(results->ranks[r]);
            results->narrowed = true;
        }
    }
    results->rank_count = kept;
}

/* The rows that are wanted, and the names of their regions. */
static int list_rows(sp_results *results, const sp_load_settings *settings, sp_error *error)
{
    size_t most = 0;
    for (size_t r = 0; r < results->rank_count; r++)
        most += results->ranks[r]->row_count;
    results->rows = calloc(most + 1, sizeof *results->rows);
    if (!results->rows)
        return sp__results_no_memory(error);
    for (size_t r = 0; r < results->rank_count; r++)
        for (size_t i = 0; i < results->ranks[r]->row_count; i++) {
            const char *name = results->ranks[r]->rows[i].name;
            if (!region_wanted(settings, name)) {
                results->narrowed = true;
                continue;
            }
            int64_t region = sp__name_set_add(&results->regions, name);
            if (region < 0)
                return sp__results_no_memory(error);
            results->rows[results->row_count++] =
                (struct sp__result_row){.rank = r, .row = i, .region = (size_t)region};
        }
    return 0;
}

/* Rows by region: counted one place on, summed up, then put in place. */
static int index_rows(sp_results *results, sp_error *error)
{
    size_t regions = results->regions.count;
    size_t *next = calloc(regions + 1, sizeof *next);
    results->region_first = calloc(regions + 1, sizeof *results->region_first);
    results->region_rows = calloc(results->row_count + 1, sizeof *results->region_rows);
    if (!next || !results->region_first || !results->region_rows) {
        free(next);
        return sp__results_no_memory(error);
    }
    for (size_t n = 0; n < results->row_count; n++)
        results->region_first[results->rows[n].region + 1]++;
    for (size_t i = 0; i < regions; i++) {
        results->region_first[i + 1] += results->region_first[i];
        next[i] = results->region_first[i];
    }
    for (size_t n = 0; n < results->row_count; n++)
        results->region_rows[next[results->rows[n].region]++] = n;
    free(next);
    return 0;
}

static int found_nothing(const sp_results *results, const sp_load_settings *settings, sp_error *error)
{
    for (size_t i = 0; settings->ranks && i < settings->rank_count; i++) {
        bool fits = false;
        for (size_t r = 0; !fits && r < results->rank_count; r++)
            fits = settings->ranks[i][0] <= results->ranks[r]->rank && results->ranks[r]->rank <= settings->ranks[i][1];
        if (!fits)
            return sp__fail(error, SP_ERR_NOT_FOUND, 0, results->path_count ? results->paths[0] : NULL, NULL,
                            "there is no rank of %u to %u", (unsigned)settings->ranks[i][0],
                            (unsigned)settings->ranks[i][1]);
    }
    for (size_t i = 0; settings->regions && i < settings->region_count; i++) {
        bool fits = false;
        for (size_t n = 0; !fits && n < results->regions.count; n++)
            fits = !strcmp(settings->regions[i], results->regions.names[n]) ||
                   !fnmatch(settings->regions[i], results->regions.names[n], 0);
        if (!fits)
            return sp__fail(error, SP_ERR_NOT_FOUND, 0, results->path_count ? results->paths[0] : NULL, NULL,
                            "there is no region \"%.200s\"", settings->regions[i]);
    }
    return 0;
}

/* Each path of the inputs once. */
static int list_paths(sp_results *results, sp_error *error)
{
    const char *last = NULL;
    for (size_t i = 0; i < results->inputs->count; i++) {
        const char *path = results->inputs->sources[i]->path;
        if (last && !strcmp(last, path)) /* sources of one profile follow one another */
            continue;
        if (sp__texts_add(&results->paths, &results->path_count, path))
            return sp__results_no_memory(error);
        last = path;
    }
    return 0;
}

static int choose_label(sp_results *results, const char *asked, sp_error *error)
{
    const char *label = asked;
    for (size_t i = 0; !label && i < results->inputs->count; i++)
        for (size_t a = 0; !label && a < results->inputs->sources[i]->attribute_count; a++) {
            const struct sp__attribute *attribute = &results->inputs->sources[i]->attributes[a];
            if (!strcmp(attribute->name, "label") && attribute->text_count == 1)
                label = attribute->texts[0];
        }
    const char *stem = "";
    size_t length = 0;
    if (!label && results->path_count == 1) {
        const char *slash = strrchr(results->paths[0], '/');
        stem = slash ? slash + 1 : results->paths[0];
        const char *dot = strrchr(stem, '.');
        length = dot && dot != stem ? (size_t)(dot - stem) : strlen(stem);
    }
    results->label = label ? strdup(label) : strndup(stem, length);
    return results->label ? 0 : sp__results_no_memory(error);
}

static int fill(sp_results *results, const sp_load_settings *settings, sp_error *error)
{
    int status = sp__ranks_create(&results->ranks, &results->rank_count, results->inputs, error);
    if (status)
        return status;
    keep_ranks(results, settings);
    results->summed = calloc(results->rank_count + 1, sizeof *results->summed);
    if (!results->summed)
        return sp__results_no_memory(error);
    if ((status = list_rows(results, settings, error)) || (status = index_rows(results, error)) ||
        (status = list_paths(results, error)) || (status = found_nothing(results, settings, error)) ||
        (status = choose_label(results, settings->label, error)))
        return status;
    for (size_t r = 0; r < results->rank_count; r++)
        if ((status = sp__results_sum_rank(results, r, false, error)))
            return status;
    return sp__results_describe(results, error);
}

int sp__results_make(sp_results **ret, sp_inputs *inputs, bool owned, const sp_load_settings *settings, sp_error *error)
{
    sp_results *results = calloc(1, sizeof *results);
    if (!results)
        return sp__results_no_memory(error);
    results->inputs = inputs;
    results->likwid = settings->likwid;
    results->line_profile = settings->line_profile;
    int status = fill(results, settings, error);
    if (status) {
        sp_results_destroy(results);
        return status;
    }
    results->owned = owned;
    *ret = results;
    return 0;
}

void sp_results_destroy(sp_results *results)
{
    if (!results)
        return;
    sp__results_forget(results);
    sp_traces_free(results->paths, results->path_count);
    sp__name_set_finish(&results->regions);
    free(results->region_first);
    free(results->region_rows);
    free(results->rows);
    free(results->summed);
    free(results->label);
    sp__ranks_destroy(results->ranks, results->rank_count);
    if (results->owned)
        sp_inputs_destroy(results->inputs);
    free(results);
}

/* ---- asking -------------------------------------------------------------------------------------------------------
 */

size_t sp_results_region_count(const sp_results *results)
{
    return results ? results->regions.count : 0;
}

const char *sp_results_region(const sp_results *results, size_t region)
{
    return results && region < results->regions.count ? results->regions.names[region] : NULL;
}

int sp_results_find_region(const sp_results *results, const char *name, size_t *ret, sp_error *error)
{
    if (!results || !name || !ret)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "a region is found by results and a name");
    int64_t found = sp__name_set_find(&results->regions, name);
    if (found >= 0) {
        *ret = (size_t)found;
        return 0;
    }
    return sp__fail(error, SP_ERR_NOT_FOUND, 0, results->path_count ? results->paths[0] : NULL, NULL,
                    "there is no region \"%.200s\"", name);
}

size_t sp_results_region_ranks(const sp_results *results, size_t region, uint32_t *ret, size_t room)
{
    if (!results || region >= results->regions.count)
        return 0;
    size_t first = results->region_first[region], count = results->region_first[region + 1] - first;
    for (size_t i = 0; ret && i < count && i < room; i++)
        ret[i] = results->ranks[results->rows[results->region_rows[first + i]].rank]->rank;
    return count;
}

size_t sp_results_rank_count(const sp_results *results)
{
    return results ? results->rank_count : 0;
}

int sp_results_rank(const sp_results *results, size_t n, uint32_t *ret)
{
    if (!results || !ret || n >= results->rank_count)
        return SP_ERR_NOT_FOUND;
    *ret = results->ranks[n]->rank;
    return 0;
}

size_t sp_results_count(const sp_results *results)
{
    return results ? results->row_count : 0;
}

int sp_results_row(const sp_results *results, size_t n, sp_result *ret)
{
    if (!results || !ret || n >= results->row_count)
        return SP_ERR_NOT_FOUND;
    const struct sp__result_row *at = &results->rows[n];
    const struct sp__rank *rank = results->ranks[at->rank];
    const struct sp__rank_row *row = &rank->rows[at->row];
    *ret = (sp_result){.region = row->name,
                       .source_file = row->file ? row->file : "",
                       .source_line = row->line,
                       .rank = rank->rank,
                       .calls = row->calls,
                       .summed = results->summed[at->rank],
                       .exclusive = -1};
    if (!ret->summed)
        return 0;
    ret->total = row->summary.total;
    ret->minimum = row->summary.minimum;
    ret->maximum = row->summary.maximum;
    ret->exclusive = row->exclusive;
    ret->start_minimum = row->summary.start_minimum;
    ret->end_maximum = row->summary.end_maximum;
    ret->mean = row->summary.mean;
    ret->m2 = row->summary.m2;
    return 0;
}

const char *sp_results_label(const sp_results *results)
{
    return results ? results->label : "";
}

int sp__results_rows_of(const sp_results *results, size_t region, int64_t rank, const size_t **ret, size_t *ret_count,
                        sp_error *error)
{
    if (region >= results->regions.count)
        return sp__fail(error, SP_ERR_NOT_FOUND, 0, results->path_count ? results->paths[0] : NULL, NULL,
                        "there is no region %zu, there are %zu", region, results->regions.count);
    size_t first = results->region_first[region], end = results->region_first[region + 1], low = first, high = end;
    while (rank >= 0 && low < high) {
        size_t middle = low + (high - low) / 2;
        if (results->ranks[results->rows[results->region_rows[middle]].rank]->rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    bool there = rank == SP_ALL_RANKS || (rank >= 0 && low < end &&
                                          results->ranks[results->rows[results->region_rows[low]].rank]->rank == rank);
    if (!there)
        return sp__fail(error, SP_ERR_NOT_FOUND, 0, results->path_count ? results->paths[0] : NULL, NULL,
                        "region \"%.200s\" has no calls on rank %lld", results->regions.names[region], (long long)rank);
    *ret = &results->region_rows[low];
    *ret_count = rank == SP_ALL_RANKS ? end - first : 1;
    return 0;
}

int sp__results_has_events(const sp_results *results, size_t row, sp_error *error)
{
    const struct sp__rank *rank = results->ranks[results->rows[row].rank];
    if (rank->aggregate)
        return sp__fail(error, SP_ERR_NO_EVENTS, 0, rank->parts[0]->path, NULL,
                        "holds statistics without events (SP_MODE=stats), so there are no calls to read");
    if (results->quiet)
        return sp__fail(error, SP_ERR_NO_EVENTS, 0, rank->parts[0]->path, NULL,
                        "was loaded as a summary, without its calls: load it with sp_load_h5");
    return 0;
}
