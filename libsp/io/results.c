/* results.c: statistics of inputs, from their summaries where they have them, else from one pass over their calls. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nesting.h"
#include "write.h"

enum { BUDGET = 24 << 20 };

struct sp_results {
    sp_result *rows;
    size_t count;
    size_t rank_count;
    struct sp__metadata metadata;
    struct text {
        char *name, *value;
    } * texts; /* one per attribute, lists joined */
};

static int sum_up(struct sp__rank *rank, bool fallback, sp_error *error)
{
    if (sp__rank_sum_up(rank))
        return 0;
    if (!fallback)
        return sp__fail(error, SP_ERR_SUMMARY_UNAVAILABLE, 0, rank->parts[0]->path, NULL,
                        "holds no summaries, and its calls were not to be read");
    struct sp__nest_settings settings = {.budget = BUDGET};
    struct sp__nest_result nested;
    return sp__nest(rank, &settings, &nested, error);
}

static int add_rows(sp_results *results, const struct sp__rank *rank)
{
    for (size_t r = 0; r < rank->row_count; r++) {
        const struct sp__rank_row *row = &rank->rows[r];
        char *region = strdup(row->name), *file = strdup(row->file);
        if (!region || !file) {
            free(region);
            free(file);
            return -ENOMEM;
        }
        results->rows[results->count++] = (sp_result){.region = region,
                                                      .source_file = file,
                                                      .source_line = row->line,
                                                      .rank = rank->rank,
                                                      .calls = row->calls,
                                                      .total = row->summary.total,
                                                      .minimum = row->summary.minimum,
                                                      .maximum = row->summary.maximum,
                                                      .exclusive = row->exclusive,
                                                      .start_minimum = row->summary.start_minimum,
                                                      .end_maximum = row->summary.end_maximum,
                                                      .mean = row->summary.mean,
                                                      .m2 = row->summary.m2};
    }
    return 0;
}

static char *text_of(const struct sp__attribute *attribute)
{
    char number[32];
    size_t size = sizeof number;
    for (size_t i = 0; i < attribute->text_count; i++)
        size += strlen(attribute->texts[i]) + 1;
    char *text = malloc(size), *to = text;
    if (!text)
        return NULL;
    *to = 0;
    if (attribute->number)
        snprintf(text, size, "%lld", (long long)attribute->value);
    for (size_t i = 0; i < attribute->text_count; i++) {
        if (i)
            *to++ = '\n';
        to = stpcpy(to, attribute->texts[i]);
    }
    return text;
}

/* What the inputs say themselves of label, times and the like comes before what a merge of them would say. */
static int add_metadata(sp_results *results, struct sp__rank *const *ranks, size_t rank_count, const char *session)
{
    struct sp__metadata_facts facts = {.label = "", .session = session, .start_ns = INT64_MAX, .end_ns = INT64_MIN};
    for (size_t n = 0; n < results->count; n++) {
        const sp_result *row = &results->rows[n];
        facts.start_ns = row->start_minimum < facts.start_ns ? row->start_minimum : facts.start_ns;
        facts.end_ns = row->end_maximum > facts.end_ns ? row->end_maximum : facts.end_ns;
    }
    for (size_t r = rank_count; r-- > 0;)
        for (size_t p = ranks[r]->part_count; p-- > 0;)
            for (size_t i = 0; i < ranks[r]->parts[p]->attribute_count; i++) {
                const struct sp__attribute *attribute = &ranks[r]->parts[p]->attributes[i];
                if (!strcmp(attribute->name, "label") && attribute->text_count == 1)
                    facts.label = attribute->texts[0];
            }
    int result = sp__metadata_make(&results->metadata, ranks, rank_count, &facts);
    if (result < 0)
        return result;
    results->texts = calloc(results->metadata.count + 1, sizeof *results->texts);
    if (!results->texts)
        return -ENOMEM;
    for (size_t i = 0; i < results->metadata.count; i++) {
        results->texts[i].name = results->metadata.attributes[i].name;
        results->texts[i].value = text_of(&results->metadata.attributes[i]);
        if (!results->texts[i].value)
            return -ENOMEM;
    }
    return 0;
}

int sp_results_load(sp_results **ret, sp_inputs *inputs, bool fallback, sp_error *error)
{
    struct sp__rank **ranks;
    size_t rank_count, rows = 0;
    int result = sp__ranks_create(&ranks, &rank_count, inputs, error), code = 0;
    if (result < 0)
        return result;
    for (size_t r = 0; result == 0 && r < rank_count; r++) {
        result = sum_up(ranks[r], fallback, error);
        rows += ranks[r]->row_count;
    }
    sp_results *results = calloc(1, sizeof *results);
    if (results)
        results->rows = calloc(rows + 1, sizeof *results->rows);
    if (result == 0 && (!results || !results->rows))
        code = -ENOMEM;
    for (size_t r = 0; result == 0 && code == 0 && r < rank_count; r++)
        code = add_rows(results, ranks[r]);
    if (result == 0 && code == 0) {
        results->rank_count = rank_count;
        code = add_metadata(results, ranks, rank_count, inputs->session);
    }
    if (code < 0)
        result = sp__fail(error, SP_ERR_SYSTEM, -code, NULL, NULL, "the results cannot be held");
    sp__ranks_destroy(ranks, rank_count);
    if (result < 0) {
        sp_results_destroy(results);
        return result;
    }
    *ret = results;
    return 0;
}

void sp_results_destroy(sp_results *results)
{
    if (!results)
        return;
    for (size_t n = 0; n < results->count; n++) {
        free((void *)(uintptr_t)results->rows[n].region); /* const to readers, and ours */
        free((void *)(uintptr_t)results->rows[n].source_file);
    }
    for (size_t i = 0; results->texts && i < results->metadata.count; i++)
        free(results->texts[i].value);
    free(results->texts);
    sp__metadata_finish(&results->metadata);
    free(results->rows);
    free(results);
}

size_t sp_results_count(const sp_results *results)
{
    return results->count;
}

int sp_results_row(const sp_results *results, size_t n, sp_result *ret)
{
    if (n >= results->count)
        return SP_ERR_NOT_FOUND;
    *ret = results->rows[n];
    return 0;
}

size_t sp_results_rank_count(const sp_results *results)
{
    return results->rank_count;
}

const char *sp_results_metadata(const sp_results *results, const char *key)
{
    for (size_t i = 0; i < results->metadata.count; i++)
        if (!strcmp(results->texts[i].name, key))
            return results->texts[i].value;
    return NULL;
}
