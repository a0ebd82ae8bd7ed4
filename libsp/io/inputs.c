/* inputs.c: the list of what is to be merged, summed up or checked. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "file_id.h"
#include "inputs.h"
#include "names.h"

int sp_inputs_create(sp_inputs **ret, sp_error *error)
{
    sp_inputs *inputs = calloc(1, sizeof *inputs);
    if (!inputs)
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, NULL, NULL, "no list of inputs can be made");
    *ret = inputs;
    return 0;
}

void sp__inputs_cut(sp_inputs *inputs, size_t count)
{
    while (inputs->count > count) {
        struct sp__source *source = inputs->sources[--inputs->count];
        source->destroy(source);
    }
}

void sp_inputs_destroy(sp_inputs *inputs)
{
    if (!inputs)
        return;
    sp__inputs_cut(inputs, 0);
    free(inputs->sources);
    free(inputs);
}

int sp__inputs_append(sp_inputs *inputs, struct sp__source *source, sp_error *error)
{
    if (inputs->count == inputs->room) {
        size_t room = inputs->room ? inputs->room * 2 : 16;
        struct sp__source **more = realloc(inputs->sources, room * sizeof(struct sp__source *));
        if (!more) {
            int status = sp__fail(error, SP_ERR_SYSTEM, ENOMEM, source->path, NULL, "cannot be added to the inputs");
            source->destroy(source);
            return status;
        }
        inputs->sources = more;
        inputs->room = room;
    }
    inputs->sources[inputs->count++] = source;
    return 0;
}

/* The content decides; the suffix only words the error of a file that is neither. */
static int add_file(sp_inputs *inputs, const char *path, sp_error *error)
{
    enum sp__kind_of_file kind;
    size_t length = strlen(path), suffix = strlen(SP__SPOOL_SUFFIX);
    if (length > suffix && !strcmp(path + length - suffix, SP__SPOOL_SUFFIX))
        return sp_inputs_add_spools(inputs, &path, NULL, 1, NULL, error);
    int status = sp__file_kind(path, &kind, error);
    if (status)
        return status;
    suffix = strlen(SP_TRACE_SUFFIX);
    bool trace = length >= suffix && !strcmp(path + length - suffix, SP_TRACE_SUFFIX);
    if (kind == SP__FILE_IS_TRACE || (kind != SP__FILE_IS_HDF5 && trace))
        return sp__open_trace(inputs, path, error);
    if (kind == SP__FILE_IS_EMPTY)
        return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, "byte 0",
                        "empty: truncated or not HDF5, and not a trace");
    if (kind == SP__FILE_IS_OTHER)
        return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, "byte 0",
                        "not a trace (it does not begin with " SP_MAGIC ") and not HDF5");
    return sp__open_h5(inputs, path, -1, error);
}

static int is_rank_file(const struct dirent *entry)
{
    return !fnmatch("*" SP_TRACE_SUFFIX, entry->d_name, FNM_PERIOD) ||
           !fnmatch(SP_RANK_HDF5_GLOB, entry->d_name, FNM_PERIOD);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_folder(sp_inputs *inputs, const char *path, sp_error *error)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_rank_file, by_name);
    if (count < 0)
        return sp__fail(error, SP_ERR_SYSTEM, errno, path, NULL, "the folder cannot be listed");
    int status = 0, added = 0;
    for (int i = 0; i < count; i++) {
        char *file = NULL;
        struct stat s;
        if (!status &&
            asprintf(&file, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", entries[i]->d_name) < 0) {
            file = NULL;
            status = sp__fail(error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "the folder cannot be read");
        }
        if (!status && !(stat(file, &s) == 0 && S_ISDIR(s.st_mode))) {
            status = add_file(inputs, file, error);
            added++;
        }
        free(file);
        free(entries[i]);
    }
    free(entries);
    if (!status && !added)
        status = sp__fail(error, SP_ERR_NOT_FOUND, 0, path, NULL, "the folder holds no *%s and no %s", SP_TRACE_SUFFIX,
                          SP_RANK_HDF5_GLOB);
    return status;
}

int sp_inputs_add_path(sp_inputs *inputs, const char *path, sp_error *error)
{
    struct stat s;
    if (!path || !*path)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "an input has no name");
    if (stat(path, &s))
        return sp__fail(error, errno == ENOENT || errno == ENOTDIR ? SP_ERR_NOT_FOUND : SP_ERR_SYSTEM, errno, path,
                        NULL, "cannot be read");
    size_t before = inputs->count;
    int status = S_ISDIR(s.st_mode) ? add_folder(inputs, path, error) : add_file(inputs, path, error);
    if (status)
        sp__inputs_cut(inputs, before);
    return status;
}

int sp_inputs_add_spools(sp_inputs *inputs, const char *const *paths, const uint64_t *ends, size_t count,
                         const char *scratch_dir, sp_error *error)
{
    char beside[SP__PATH_SIZE];
    if (!count)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "no spool was given");
    const char *slash = strrchr(paths[0], '/');
    snprintf(beside, sizeof beside, "%.*s", slash ? (int)(slash - paths[0]) : 1, slash ? paths[0] : ".");
    const struct sp__recording_source source = {
        .spools = paths, .ends = ends, .spool_count = count, .scratch_dir = scratch_dir ? scratch_dir : beside};
    return sp__open_recording(inputs, &source, error);
}

const char *sp_inputs_session(const sp_inputs *inputs)
{
    return *inputs->session ? inputs->session : NULL;
}
