/* write.c: one profile of all inputs: grouped by rank, checked, handed to the writer of its format. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../shared/layout.h"
#include "../shared/names.h"
#include "inputs.h"
#include "results.h"

enum { LOOK_BUDGET = 24 << 20 };

sp_write_settings sp_write_settings_default(void)
{
    return (sp_write_settings){.format = SP_FILE_HDF5, .sync = true};
}

void sp__writing_warn(struct sp__writing *writing, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&writing->lock);
    writing->report.warnings++;
    (void)sp__texts_add(&writing->warnings, &writing->warning_count, text);
    pthread_mutex_unlock(&writing->lock);
}

void sp__writing_progress(struct sp__writing *writing, uint64_t calls)
{
    pthread_mutex_lock(&writing->lock);
    writing->done += calls;
    if (writing->settings->progress && writing->calls)
        writing->settings->progress(writing->settings->progress_context,
                                    (double)writing->done / (double)writing->calls);
    pthread_mutex_unlock(&writing->lock);
}

/* A path as an error holds it, which has room for most of them. */
static bool names(const sp_error *error, const char *path)
{
    return !strncmp(error->file, path, sizeof error->file - 1);
}

/* Tells of a bad file, once. */
static int tell(struct sp__writing *writing, const char *path, const sp_error *why)
{
    for (size_t i = 0; i < writing->bad_count; i++)
        if (!strcmp(writing->bad[i], path))
            return 0;
    if (sp__texts_add(&writing->bad, &writing->bad_count, path))
        return -ENOMEM;
    return sp__inputs_bad(writing->inputs, why, NULL);
}

int sp__writing_bad(struct sp__writing *writing, const sp_error *why)
{
    const struct sp_inputs *inputs = writing->inputs;
    const char *path = NULL;
    int status = why->status;
    for (size_t i = 0; !path && inputs->bad && sp__error_of_input(why) && i < inputs->count; i++)
        path = names(why, inputs->sources[i]->path) ? inputs->sources[i]->path : NULL;
    pthread_mutex_lock(&writing->lock);
    if (path && !tell(writing, path, why)) {
        status = 0;
        if (why == writing->error)
            writing->error->status = 0;
    } else if (why != writing->error) {
        *writing->error = *why;
    }
    pthread_mutex_unlock(&writing->lock);
    return status;
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

int sp_inputs_apart(const sp_inputs *inputs, const char *output, sp_error *error)
{
    struct stat file;
    bool there = stat(output, &file) == 0;
    if (there && !S_ISREG(file.st_mode))
        return sp__fail(error, SP_ERR_USAGE, 0, output, NULL,
                        "is no regular file and is not replaced: name another output");
    for (size_t i = 0; there && i < inputs->taken_count; i++) /* a bad one that is going to be skipped, too */
        if (sp__taken_is(&inputs->taken[i], &file))
            return sp__fail(error, SP_ERR_USAGE, 0, output, NULL, "is also an input (%.500s): name another output",
                            inputs->taken[i].path);
    if (lstat(output, &file) == 0 && S_ISLNK(file.st_mode)) /* what it stands for would be replaced, or mistaken */
        return sp__fail(error, SP_ERR_USAGE, 0, output, NULL,
                        "is a symbolic link and is not replaced: name the file itself, or another output");
    return 0;
}

static int output_is_apart(const struct sp__writing *writing)
{
    size_t length = strlen(writing->output), suffix = strlen(SP_TRACE_SUFFIX);
    int result = sp_inputs_apart(writing->inputs, writing->output, writing->error);
    if (result == 0 && writing->settings->format == SP_FILE_HDF5 && length >= suffix &&
        !strcmp(writing->output + length - suffix, SP_TRACE_SUFFIX))
        return sp__fail(writing->error, SP_ERR_USAGE, 0, writing->output, NULL,
                        "is the name of a trace, and a profile is written: name it *" SP_HDF5_SUFFIX);
    return result;
}

static int settings_sound(const struct sp__writing *writing)
{
    const sp_write_settings *s = writing->settings;
    if (s->schema && s->schema != 2 && s->schema != 3)
        return sp__fail(writing->error, SP_ERR_USAGE, 0, writing->output, NULL,
                        "cannot be written in schema %d: 2 and 3 are", s->schema);
    if (s->gzip < 0 || s->gzip > 9)
        return sp__fail(writing->error, SP_ERR_USAGE, 0, writing->output, NULL,
                        "cannot be packed at gzip level %d: 1 to 9 are, 0 is not to pack", s->gzip);
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

static void warn_of_dropped(struct sp__writing *writing, const struct sp__source *source)
{
    unsigned rank = source->rank;
    uint64_t known = source->dropped_full + source->dropped_no_lane + source->dropped_deep;
    if (source->dropped_full)
        sp__writing_warn(writing,
                         "%s: rank %u dropped %llu calls while recording, since its ring was full: set SP_RING or "
                         "SP_FULL_WAIT higher",
                         source->path, rank, large(source->dropped_full));
    if (source->dropped_no_lane)
        sp__writing_warn(writing,
                         "%s: rank %u dropped %llu calls while recording, of threads without a place: %d threads at "
                         "a time are recorded, as far as /dev/shm has room",
                         source->path, rank, large(source->dropped_no_lane), SP__LANES);
    if (source->dropped_deep)
        sp__writing_warn(writing,
                         "%s: rank %u dropped %llu calls while recording, since they were nested too deep: %d open "
                         "calls of a thread are recorded, as far as /dev/shm has room",
                         source->path, rank, large(source->dropped_deep), SP__STACK_MOST);
    if (source->dropped > known)
        sp__writing_warn(writing, "%s: rank %u dropped %llu calls while recording", source->path, rank,
                         large(source->dropped - known));
}

static void warn_of_source(struct sp__writing *writing, const struct sp__source *source)
{
    unsigned rank = source->rank;
    warn_of_dropped(writing, source);
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

static void forget(char ***texts, size_t *count)
{
    while (*count)
        free((*texts)[--*count]);
    free(*texts);
    *texts = NULL;
}

static int write_ranks(struct sp__writing *writing)
{
    writing->aggregate = writing->rank_count && writing->ranks[0]->aggregate;
    report_sources(writing);
    if (count_regions(writing) < 0)
        return sp__fail(writing->error, SP_ERR_SYSTEM, ENOMEM, writing->output, NULL, "cannot be written");
    return writing->settings->format == SP_FILE_TRACE ? sp__write_trace(writing) : sp__write_h5(writing);
}

/* Reads all calls for nothing but to find what else is bad, where nothing is going to be written. */
static int look_at_ranks(struct sp__writing *writing)
{
    const struct sp__nest_settings settings = {.budget = LOOK_BUDGET};
    int result = 0;
    for (size_t r = 0; result == 0 && r < writing->rank_count; r++) {
        struct sp__nest_result nested;
        sp_error why = {0};
        if (!writing->ranks[r]->aggregate && sp__nest(writing->ranks[r], &settings, &nested, &why) < 0)
            result = sp__writing_bad(writing, &why);
        sp__rank_rest(writing->ranks[r]);
    }
    return result;
}

/* One pass over all inputs, from scratch. */
static int pass(struct sp__writing *writing, bool doomed)
{
    writing->report = (sp_write_report){0};
    writing->calls = writing->done = 0;
    forget(&writing->warnings, &writing->warning_count);
    forget(&writing->bad, &writing->bad_count);
    int result = one_kind(writing);
    if (result == 0)
        result = sp__ranks_create(&writing->ranks, &writing->rank_count, writing->inputs, writing->error);
    if (result < 0)
        return result;
    result = doomed ? look_at_ranks(writing) : write_ranks(writing);
    for (size_t r = 0; r < writing->rank_count; r++)
        sp__rank_rest(writing->ranks[r]);
    sp__ranks_destroy(writing->ranks, writing->rank_count);
    /* A writer that reads one rank leaves it at the error of that. */
    if (result < 0 && writing->error->status)
        result = sp__writing_bad(writing, writing->error);
    return result < 0 && !writing->error->status && writing->bad_count ? 0 : result;
}

/* Takes the bad files of the last pass out of the inputs. */
static void leave_out(struct sp__writing *writing)
{
    struct sp_inputs *inputs = writing->inputs;
    size_t kept = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        struct sp__source *source = inputs->sources[i];
        bool bad = false;
        for (size_t k = 0; !bad && k < writing->bad_count; k++)
            bad = !strcmp(writing->bad[k], source->path);
        if (bad)
            source->destroy(source);
        else
            inputs->sources[kept++] = source;
    }
    inputs->count = kept;
}

static int write_all(struct sp__writing *writing)
{
    struct sp_inputs *inputs = writing->inputs;
    bool skip = writing->settings->skip_bad;
    int result = settings_sound(writing);
    if (result == 0)
        result = output_is_apart(writing);
    while (result == 0) {
        if (inputs->bad_count && !inputs->count)
            return sp__fail(writing->error, SP_ERR_NOT_FOUND, 0, writing->output, NULL,
                            "was not written: none of the inputs can be read");
        result = pass(writing, inputs->bad_count && !skip);
        if (result == 0 && inputs->bad_count && !skip)
            return sp__fail(writing->error, SP_ERR_CORRUPT_PROFILE, 0, writing->output, NULL,
                            "was not written: %zu of the inputs cannot be read", inputs->bad_count);
        if (result == 0 && !writing->bad_count)
            break;
        leave_out(writing);
    }
    return result;
}

int sp_inputs_write(sp_inputs *inputs, const char *output, const sp_write_settings *settings,
                    sp_write_report *ret_report, sp_error *error)
{
    sp_write_settings defaults = sp_write_settings_default();
    sp_error why = {0};
    struct sp__writing writing = {.output = output,
                                  .settings = settings ? settings : &defaults,
                                  .inputs = inputs,
                                  .error = &why,
                                  .lock = PTHREAD_MUTEX_INITIALIZER};
    int result = write_all(&writing);
    writing.report.warnings += inputs->bad_count;
    for (size_t i = 0; result == 0 && settings && settings->warn && i < writing.warning_count; i++)
        settings->warn(settings->warn_context, writing.warnings[i]);
    /* Nothing is lost by these: they are said and not counted. */
    for (size_t i = 0; result == 0 && settings && settings->warn && i < inputs->repeated_count; i++)
        settings->warn(settings->warn_context, inputs->repeated[i]);
    forget(&writing.warnings, &writing.warning_count);
    forget(&writing.bad, &writing.bad_count);
    if (result < 0 && error)
        *error = why;
    if (result == 0 && ret_report)
        *ret_report = writing.report;
    return result;
}

int sp_results_report(sp_results *results, const char *name, void (*warn)(void *context, const char *text),
                      void *context, sp_write_report *ret, sp_error *error)
{
    const sp_write_settings settings = sp_write_settings_default();
    sp_error unused;
    struct sp__writing writing = {.output = name,
                                  .settings = &settings,
                                  .inputs = results->inputs,
                                  .ranks = results->ranks,
                                  .rank_count = results->rank_count,
                                  .error = error ? error : &unused,
                                  .lock = PTHREAD_MUTEX_INITIALIZER};
    report_sources(&writing);
    if (count_regions(&writing) < 0)
        return sp__results_no_memory(error);
    writing.report.warnings += results->inputs->bad_count;
    for (size_t i = 0; warn && i < writing.warning_count; i++)
        warn(context, writing.warnings[i]);
    for (size_t i = 0; warn && i < results->inputs->repeated_count; i++)
        warn(context, results->inputs->repeated[i]);
    forget(&writing.warnings, &writing.warning_count);
    *ret = writing.report;
    return 0;
}
