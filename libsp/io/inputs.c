/* inputs.c: the list of what is to be merged, summed up or checked. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apart.h"
#include "find.h"
#include "format.h"
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

struct sp__mark sp__inputs_mark(const sp_inputs *inputs)
{
    return (struct sp__mark){inputs->count, inputs->taken_count, inputs->repeated_count};
}

void sp__inputs_cut(sp_inputs *inputs, struct sp__mark mark)
{
    while (inputs->count > mark.sources) {
        struct sp__source *source = inputs->sources[--inputs->count];
        source->destroy(source);
    }
    while (inputs->taken_count > mark.taken)
        free(inputs->taken[--inputs->taken_count].path);
    while (inputs->repeated_count > mark.repeated)
        free(inputs->repeated[--inputs->repeated_count]);
}

void sp_inputs_destroy(sp_inputs *inputs)
{
    if (!inputs)
        return;
    sp__inputs_cut(inputs, (struct sp__mark){0, 0, 0});
    sp__beside_destroy(inputs->beside);
    (void)sp__apart_end(&inputs->prober);
    free(inputs->repeated);
    free(inputs->taken);
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

/* ---- what is bad, what is named twice ------------------------------------------------------------------------------
 */

void sp_inputs_on_bad(sp_inputs *inputs, void (*bad)(void *context, const sp_error *error), void *context)
{
    inputs->bad = bad;
    inputs->bad_context = context;
}

void sp_inputs_on_progress(sp_inputs *inputs, void (*progress)(void *context, double done), void *context)
{
    inputs->progress = progress;
    inputs->progress_context = context;
}

size_t sp_inputs_bad(const sp_inputs *inputs)
{
    return inputs->bad_count;
}

bool sp__error_of_input(const sp_error *error)
{
    static const int ours[] = {0, ENOMEM, ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE};
    for (size_t i = 0; error->status == SP_ERR_SYSTEM && i < sizeof ours / sizeof *ours; i++)
        if (error->system == ours[i])
            return false;
    return error->system != ENOMEM;
}

int sp__inputs_bad(sp_inputs *inputs, const sp_error *why, sp_error *error)
{
    if (inputs->bad && sp__error_of_input(why)) {
        inputs->bad_count++;
        inputs->bad(inputs->bad_context, why);
        return 0;
    }
    if (error)
        *error = *why;
    return why->status;
}

static int no_memory(const char *path, sp_error *error)
{
    return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "cannot be added to the inputs");
}

static int say_again(sp_inputs *inputs, const char *path, const char *first, sp_error *error)
{
    char text[1024];
    if (!strcmp(path, first))
        snprintf(text, sizeof text, "%.900s was given more than once and is taken once", path);
    else
        snprintf(text, sizeof text, "%.450s is the same file as %.450s and is taken once", path, first);
    return sp__texts_add(&inputs->repeated, &inputs->repeated_count, text) ? no_memory(path, error) : 0;
}

bool sp__taken_is(const struct sp__taken *taken, const struct stat *file)
{
    struct stat now;
    return taken->ino == file->st_ino && taken->dev == file->st_dev && !stat(taken->path, &now) &&
           now.st_ino == file->st_ino && now.st_dev == file->st_dev;
}

int sp__inputs_take(sp_inputs *inputs, const char *path, size_t before, bool *ret_again, sp_error *error)
{
    struct stat s;
    *ret_again = false;
    if (stat(path, &s))
        return 0;
    for (size_t i = 0; i < inputs->taken_count; i++) {
        const struct sp__taken *other = &inputs->taken[i];
        if (!sp__taken_is(other, &s))
            continue;
        *ret_again = i < before;
        return *ret_again ? say_again(inputs, path, other->path, error) : 0;
    }
    if (inputs->taken_count == inputs->taken_room) {
        size_t room = inputs->taken_room ? inputs->taken_room * 2 : 16;
        struct sp__taken *more = realloc(inputs->taken, room * sizeof *more);
        if (!more)
            return no_memory(path, error);
        inputs->taken = more;
        inputs->taken_room = room;
    }
    struct sp__taken taken = {s.st_dev, s.st_ino, strdup(path)};
    if (!taken.path)
        return no_memory(path, error);
    inputs->taken[inputs->taken_count++] = taken;
    return 0;
}

/* ---- files and folders ---------------------------------------------------------------------------------------------
 */

static int add_file(sp_inputs *inputs, const char *path, sp_error *error)
{
    bool again;
    int status = sp__inputs_take(inputs, path, inputs->taken_count, &again, error);
    if (status || again)
        return status;
    struct sp__mark mark = sp__inputs_mark(inputs);
    const struct sp__file_type *format;
    sp_error why = {0};
    status = sp__file_type_of(&format, path, &why);
    if (!status)
        status = format->open(inputs, path, &why);
    if (!status)
        status = sp__beside_annotate(inputs, mark.sources, path, &why);
    if (!status)
        return 0;
    sp__inputs_cut(inputs, mark); /* a file of many ranks may have been half added */
    return sp__inputs_bad(inputs, &why, error);
}

static int add_folder(sp_inputs *inputs, const char *path, sp_error *error)
{
    char **files;
    size_t count;
    int status = sp__find_in_folder(&files, &count, path, error);
    if (status)
        return status;
    for (size_t i = 0; !status && i < count; i++)
        status = add_file(inputs, files[i], error);
    sp_traces_free(files, count);
    return status;
}

int sp_inputs_add_path(sp_inputs *inputs, const char *path, sp_error *error)
{
    bool is_folder;
    int status = sp__find_is_folder(path, &is_folder, error);
    if (status)
        return status;
    struct sp__mark mark = sp__inputs_mark(inputs);
    status = is_folder ? add_folder(inputs, path, error) : add_file(inputs, path, error);
    if (status)
        sp__inputs_cut(inputs, mark);
    return status;
}

/* ---- spools ---------------------------------------------------------------------------------------------------------
 */

int sp__open_spools(sp_inputs *inputs, const char *const *paths, const uint64_t *ends, size_t count,
                    const char *scratch_dir, sp_error *error)
{
    char beside[SP__PATH_SIZE];
    const char *slash = strrchr(paths[0], '/');
    snprintf(beside, sizeof beside, "%.*s", slash ? (int)(slash - paths[0]) : 1, slash ? paths[0] : ".");
    const struct sp__recording_source source = {
        .spools = paths, .ends = ends, .spool_count = count, .scratch_dir = scratch_dir ? scratch_dir : beside};
    return sp__open_recording(inputs, &source, error);
}

int sp_inputs_add_spools(sp_inputs *inputs, const char *const *paths, const uint64_t *ends, size_t count,
                         const char *scratch_dir, sp_error *error)
{
    if (!count)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "no spool was given");
    struct sp__mark mark = sp__inputs_mark(inputs);
    bool again;
    int status = 0;
    for (size_t i = 0; !status && i < count; i++)
        status = sp__inputs_take(inputs, paths[i], 0, &again, error);
    sp_error why = {0};
    if (!status && (status = sp__open_spools(inputs, paths, ends, count, scratch_dir, &why)))
        status = sp__inputs_bad(inputs, &why, error);
    if (status)
        sp__inputs_cut(inputs, mark);
    return status;
}

const char *sp_inputs_session(const sp_inputs *inputs)
{
    return *inputs->session ? inputs->session : NULL;
}
