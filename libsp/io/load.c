/* load.c: files made into results, and results into files. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format.h"
#include "results.h"

sp_load_settings sp_load_settings_default(void)
{
    return (sp_load_settings){.likwid = true, .line_profile = true, .fallback = -1};
}

typedef int opener(sp_inputs *inputs, const char *path, sp_error *error);

/* One file, by its opener. */
static int load_one(sp_results **ret, const char *path, opener *open, const sp_load_settings *settings, sp_error *error)
{
    sp_load_settings defaults = sp_load_settings_default();
    sp_inputs *inputs = NULL;
    sp_results *results = NULL;
    if (!ret || !path)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "a file's name, and a place for its results, are needed");
    int status = sp_inputs_create(&inputs, error);
    if (!status)
        status = open(inputs, path, error);
    if (!status)
        status = sp__results_make(&results, inputs, true, settings ? settings : &defaults, error);
    if (status) {
        sp_inputs_destroy(inputs);
        return status;
    }
    *ret = results;
    return 0;
}

static int open_profile(sp_inputs *inputs, const char *path, sp_error *error)
{
    const struct sp__file_type *type;
    int status = sp__file_type_of(&type, path, error);
    if (!status && strcmp(type->suffix, SP_HDF5_SUFFIX) != 0)
        status = sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, NULL,
                          "not HDF5, and a profile was wanted: sp_read_native_ranks reads traces too");
    return status ? status : type->open(inputs, path, error);
}

static int open_either(sp_inputs *inputs, const char *path, sp_error *error)
{
    struct stat s;
    if (stat(path, &s) == 0 && S_ISDIR(s.st_mode))
        return sp__fail(error, SP_ERR_USAGE, 0, path, NULL,
                        "is a folder and one file was wanted: load it with sp_load_traces");
    return sp_inputs_add_path(inputs, path, error);
}

int sp_read_trace(sp_results **ret, const char *path, sp_error *error)
{
    return load_one(ret, path, sp__open_trace, NULL, error);
}

int sp_read_native_h5(sp_results **ret, const char *path, sp_error *error)
{
    return load_one(ret, path, open_profile, NULL, error);
}

int sp_read_native_ranks(sp_results **ret, const char *path, sp_error *error)
{
    return load_one(ret, path, open_either, NULL, error);
}

/* ---- profiles -----------------------------------------------------------------------------------------------------
 */

int sp_load_h5(sp_results **ret, const char *path, const sp_load_settings *settings, sp_error *error)
{
    return load_one(ret, path, open_profile, settings, error);
}

__attribute__((format(printf, 2, 3))) static void say(const sp_load_settings *settings, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (settings->say)
        settings->say(settings->say_context, line);
    else
        fprintf(stderr, "%s\n", line);
}

static void tell(const sp_results *results, const char *path, const sp_load_settings *settings)
{
    for (size_t r = 0, n = 0; r < results->rank_count; r++) {
        uint64_t calls = 0;
        size_t regions = 0;
        for (; n < results->row_count && results->rows[n].rank == r; n++, regions++)
            calls += results->ranks[r]->rows[results->rows[n].row].calls;
        say(settings, "%s: rank %" PRIu32 ": %zu %s, %" PRIu64 " %s", path, results->ranks[r]->rank, regions,
            regions == 1 ? "region" : "regions", calls, calls == 1 ? "call" : "calls");
    }
    for (size_t i = 0; i < results->inputs->count; i++) {
        const struct sp__source *source = results->inputs->sources[i];
        for (size_t k = 0; k < source->warning_count; k++)
            say(settings, "%s: %s", path, source->warnings[k]);
        for (size_t k = 0; k < source->unsupported_count; k++)
            say(settings, "%s: %s is not read", path, source->unsupported[k]);
    }
}

int sp_read_h5(sp_results **ret, const char *path, const sp_load_settings *settings, sp_error *error)
{
    sp_results *results = NULL;
    int status = load_one(ret ? &results : NULL, path, open_profile, settings, error);
    if (status)
        return status;
    if (settings && settings->verbose)
        tell(results, path, settings);
    *ret = results;
    return 0;
}

static int unavailable(const sp_results *results, size_t rank, sp_error *error)
{
    return sp__fail(error, SP_ERR_SUMMARY_UNAVAILABLE, 0, results->ranks[rank]->parts[0]->path, NULL,
                    "holds no summaries of rank %u, and its calls were not to be read: ask for the fallback",
                    (unsigned)results->ranks[rank]->rank);
}

static int summary_of(sp_results *results, bool fallback, sp_error *error)
{
    bool missing = false;
    for (size_t r = 0; r < results->rank_count; r++) {
        if (!results->summed[r] && !fallback)
            return unavailable(results, r, error);
        missing = missing || !results->summed[r];
    }
    return missing ? sp_results_sum_up(results, error) : 0;
}

static int load_summary(sp_results **ret, const char *path, const sp_load_settings *settings, bool fallback,
                        sp_error *error)
{
    sp_results *results = NULL;
    int status = load_one(ret ? &results : NULL, path, open_profile, settings, error);
    if (status)
        return status;
    bool quiet = true;
    for (size_t r = 0; r < results->rank_count; r++)
        quiet = quiet && results->summed[r];
    status = summary_of(results, settings && settings->fallback >= 0 ? settings->fallback : fallback, error);
    if (status) {
        sp_results_destroy(results);
        return status;
    }
    results->quiet = quiet;
    *ret = results;
    return 0;
}

int sp_load_h5_summary(sp_results **ret, const char *path, const sp_load_settings *settings, sp_error *error)
{
    return load_summary(ret, path, settings, false, error);
}

int sp_read_h5_summary(sp_results **ret, const char *path, const sp_load_settings *settings, sp_error *error)
{
    return load_summary(ret, path, settings, true, error);
}

int sp_results_open(sp_results **ret, sp_inputs *inputs, sp_error *error)
{
    sp_load_settings settings = sp_load_settings_default();
    if (!ret || !inputs)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "results are made from inputs, and need a place to be put");
    return sp__results_make(ret, inputs, false, &settings, error);
}

int sp_results_load(sp_results **ret, sp_inputs *inputs, bool fallback, sp_error *error)
{
    sp_results *results = NULL;
    int status = sp_results_open(ret ? &results : NULL, inputs, error);
    if (!status)
        status = summary_of(results, fallback, error);
    if (status) {
        sp_results_destroy(results);
        return status;
    }
    *ret = results;
    return 0;
}

/* ---- sets of files ------------------------------------------------------------------------------------------------
 */

static int add_all(sp_inputs **ret, const char *const *paths, size_t count, sp_error *error)
{
    sp_inputs *inputs = NULL;
    int status = sp_inputs_create(&inputs, error);
    for (size_t i = 0; !status && i < count; i++)
        status = sp_inputs_add_path(inputs, paths[i], error);
    if (status) {
        sp_inputs_destroy(inputs);
        return status;
    }
    *ret = inputs;
    return 0;
}

/* Files and folders as inputs. */
static int gather(sp_inputs **ret, const char *const *named, size_t count, sp_error *error)
{
    char **paths;
    size_t found;
    int status = sp_find_traces(&paths, &found, named, count, error);
    if (status)
        return status;
    status = add_all(ret, (const char *const *)paths, found, error);
    sp_traces_free(paths, found);
    return status;
}

int sp_load_traces(sp_results **ret, const char *const *inputs, size_t count, const sp_load_settings *settings,
                   sp_error *error)
{
    sp_load_settings defaults = sp_load_settings_default();
    sp_inputs *gathered = NULL;
    if (!ret)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "results need a place to be put");
    int status = gather(&gathered, inputs, count, error);
    if (!status && (status = sp__results_make(ret, gathered, true, settings ? settings : &defaults, error)))
        sp_inputs_destroy(gathered);
    return status;
}

int sp_convert_traces(const char *const *inputs, size_t count, const char *output, const char *label,
                      const sp_write_settings *settings, sp_write_report *ret_report, sp_error *error)
{
    sp_write_settings own = settings ? *settings : sp_write_settings_default();
    sp_inputs *gathered;
    if (!output || !*output)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "the output has no name");
    own.format = SP_FILE_HDF5;
    own.label = label ? label : own.label;
    int status = gather(&gathered, inputs, count, error);
    if (status)
        return status;
    status = sp_inputs_write(gathered, output, &own, ret_report, error);
    sp_inputs_destroy(gathered);
    return status;
}

/* A name as a pattern that fits it alone. */
static char *pattern_of(const char *name)
{
    char *pattern = malloc(2 * strlen(name) + 1), *to = pattern;
    if (!pattern)
        return NULL;
    for (; *name; name++) {
        if (strchr("*?[]\\", *name))
            *to++ = '\\';
        *to++ = *name;
    }
    *to = 0;
    return pattern;
}

static int select_as(sp_inputs *inputs, const sp_results *results, sp_error *error)
{
    size_t regions = results->regions.count, made = 0;
    char **patterns = calloc(regions + 1, sizeof *patterns);
    uint32_t(*ranks)[2] = calloc(results->rank_count + 1, sizeof *ranks);
    int status = patterns && ranks ? 0 : sp__results_no_memory(error);
    for (size_t r = 0; !status && r < results->rank_count; r++)
        ranks[r][0] = ranks[r][1] = results->ranks[r]->rank;
    for (; !status && made < regions; made++)
        if (!(patterns[made] = pattern_of(results->regions.names[made])))
            status = sp__results_no_memory(error);
    sp_selection selection = sp_selection_default();
    selection.ranks = (const uint32_t(*)[2])ranks;
    selection.rank_count = results->rank_count;
    selection.regions = (const char *const *)patterns;
    selection.region_count = regions;
    if (!status)
        status = sp_inputs_select(inputs, &selection, error);
    for (size_t i = 0; patterns && i < regions; i++)
        free(patterns[i]);
    free(patterns);
    free(ranks);
    return status;
}

int sp_write_results(sp_results *results, const char *output, const sp_write_settings *settings,
                     sp_write_report *ret_report, sp_error *error)
{
    sp_write_settings own = settings ? *settings : sp_write_settings_default();
    sp_inputs *narrowed = NULL;
    int status = 0;
    if (!results || !output || !*output)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "results are written to a file, which needs a name");
    own.format = SP_FILE_HDF5;
    own.label = own.label || !results->label[0] ? own.label : results->label;
    if (results->narrowed) {
        status = add_all(&narrowed, (const char *const *)results->paths, results->path_count, error);
        if (!status)
            status = select_as(narrowed, results, error);
    }
    if (!status)
        status = sp_inputs_write(narrowed ? narrowed : results->inputs, output, &own, ret_report, error);
    sp_inputs_destroy(narrowed);
    return status;
}
