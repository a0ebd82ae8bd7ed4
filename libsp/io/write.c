/* write.c: one profile of all inputs: grouped by rank, checked, handed to the writer of its format. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../shared/names.h"
#include "write.h"

sp_write_settings sp_write_settings_default(void)
{
    return (sp_write_settings){.format = SP_FILE_HDF5};
}

void sp__writing_warn(struct sp__writing *writing, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    writing->report.warnings++;
    if (writing->settings->warn)
        writing->settings->warn(writing->settings->warn_context, text);
}

void sp__writing_progress(struct sp__writing *writing, uint64_t calls)
{
    writing->done += calls;
    if (writing->settings->progress && writing->calls)
        writing->settings->progress(writing->settings->progress_context,
                                    (double)writing->done / (double)writing->calls);
}

struct place {
    struct sp__source *source;
    size_t number;
};

static int by_rank(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->source->rank != b->source->rank)
        return a->source->rank < b->source->rank ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

int sp__ranks_create(struct sp__rank ***ret_ranks, size_t *ret_count, const struct sp_inputs *inputs, sp_error *error)
{
    struct place *order = calloc(inputs->count + 1, sizeof *order);
    struct sp__source **parts = calloc(inputs->count + 1, sizeof(struct sp__source *));
    struct sp__rank **ranks = calloc(inputs->count + 1, sizeof(struct sp__rank *));
    size_t count = 0;
    int result =
        order && parts && ranks ? 0 : sp__fail(error, SP_ERR_SYSTEM, ENOMEM, NULL, NULL, "cannot group the inputs");
    for (size_t i = 0; result == 0 && i < inputs->count; i++)
        order[i] = (struct place){inputs->sources[i], i};
    if (result == 0 && inputs->count)
        qsort(order, inputs->count, sizeof *order, by_rank);
    for (size_t i = 0; result == 0 && i < inputs->count; i++)
        parts[i] = order[i].source;
    for (size_t i = 0, next; result == 0 && i < inputs->count; i = next) {
        for (next = i + 1; next < inputs->count && parts[next]->rank == parts[i]->rank; next++)
            ;
        result = sp__rank_create(&ranks[count], parts + i, next - i, error);
        count += result == 0;
    }
    free(order);
    free(parts);
    if (result < 0) {
        sp__ranks_destroy(ranks, count);
        return result;
    }
    *ret_ranks = ranks;
    *ret_count = count;
    return 0;
}

void sp__ranks_destroy(struct sp__rank **ranks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sp__rank_destroy(ranks[i]);
    free(ranks);
}

static int output_is_apart(const struct sp__writing *writing)
{
    struct stat output, input;
    if (stat(writing->output, &output) < 0)
        return 0;
    if (!S_ISREG(output.st_mode))
        return sp__fail(writing->error, SP_ERR_USAGE, 0, writing->output, NULL,
                        "is no regular file and is not replaced: name another output");
    for (size_t i = 0; i < writing->inputs->count; i++) {
        const char *path = writing->inputs->sources[i]->path;
        if (stat(path, &input) == 0 && input.st_dev == output.st_dev && input.st_ino == output.st_ino)
            return sp__fail(writing->error, SP_ERR_USAGE, 0, writing->output, NULL,
                            "is also an input (%s): name another output", path);
    }
    return 0;
}

static int one_kind(const struct sp__writing *writing)
{
    struct sp__source *const *sources = writing->inputs->sources;
    for (size_t i = 1; i < writing->inputs->count; i++)
        if (sources[i]->aggregate != sources[0]->aggregate)
            return sp__fail_mixed(sources[0], sources[i], writing->error);
    return 0;
}

static unsigned long long large(uint64_t value)
{
    return value;
}

static void warn_of_source(struct sp__writing *writing, const struct sp__source *source)
{
    unsigned rank = source->rank;
    if (source->dropped)
        sp__writing_warn(writing,
                         "%s: rank %u dropped %llu calls while recording, since its ring was full: set SP_RING or "
                         "SP_FULL_WAIT higher",
                         source->path, rank, large(source->dropped));
    if (source->lost)
        sp__writing_warn(writing, "%s: %llu records or bytes of rank %u are missing or damaged and left out",
                         source->path, large(source->lost), rank);
    for (size_t i = 0; i < source->warning_count; i++)
        sp__writing_warn(writing, "%s: %s", source->path, source->warnings[i]);
    for (size_t i = 0; i < source->unsupported_count; i++)
        sp__writing_warn(writing, "%s: %s cannot be carried over and is left out", source->path,
                         source->unsupported[i]);
}

static void report_sources(struct sp__writing *writing)
{
    for (size_t r = 0; r < writing->rank_count; r++) {
        writing->calls += writing->ranks[r]->calls;
        writing->report.rows += writing->ranks[r]->row_count;
        for (size_t p = 0; p < writing->ranks[r]->part_count; p++) {
            const struct sp__source *part = writing->ranks[r]->parts[p];
            writing->report.dropped += part->dropped;
            writing->report.lost += part->lost;
            writing->report.open_calls += part->open_call_count;
            writing->report.deaths += part->death_count;
            warn_of_source(writing, part);
        }
    }
    writing->report.ranks = writing->rank_count;
    writing->report.calls = writing->calls;
    char hosts[256];
    if (!sp__one_clock(writing->ranks, writing->rank_count, hosts))
        sp__writing_warn(writing, "%s: times of %s are not aligned, since their clocks differ", writing->output, hosts);
}

static int count_regions(struct sp__writing *writing)
{
    struct sp__name_set names = {0};
    int result = 0;
    for (size_t r = 0; r < writing->rank_count; r++)
        for (size_t i = 0; i < writing->ranks[r]->row_count; i++)
            if (sp__name_set_add(&names, writing->ranks[r]->rows[i].name) < 0)
                result = -ENOMEM;
    writing->report.regions = names.count;
    sp__name_set_finish(&names);
    return result;
}

int sp_inputs_write(sp_inputs *inputs, const char *output, const sp_write_settings *settings,
                    sp_write_report *ret_report, sp_error *error)
{
    sp_write_settings defaults = sp_write_settings_default();
    struct sp__writing writing = {
        .output = output, .settings = settings ? settings : &defaults, .inputs = inputs, .error = error};
    int result = output_is_apart(&writing);
    if (result == 0)
        result = one_kind(&writing);
    if (result == 0)
        result = sp__ranks_create(&writing.ranks, &writing.rank_count, inputs, error);
    if (result < 0)
        return result;
    writing.aggregate = writing.rank_count && writing.ranks[0]->aggregate;
    report_sources(&writing);
    if (count_regions(&writing) < 0)
        result = sp__fail(error, SP_ERR_SYSTEM, ENOMEM, output, NULL, "cannot be written");
    if (result == 0)
        result = writing.settings->format == SP_FILE_TRACE ? sp__write_trace(&writing) : sp__write_h5(&writing);
    for (size_t r = 0; r < writing.rank_count; r++)
        sp__rank_rest(writing.ranks[r]);
    sp__ranks_destroy(writing.ranks, writing.rank_count);
    if (result == 0 && ret_report)
        *ret_report = writing.report;
    return result;
}
