/* beside.c: the notes that lie beside published files. A .spt says neither session nor incarnation; without them two
 * lives of one rank are two claims on it. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "inputs.h"
#include "names.h"
#include "note_read.h"

/* The folder that was looked at last: of each note only what finds it again, since there may be thousands. */
struct sp__beside {
    char *folder;
    struct named {
        char *file; /* base name of the published file */
        char *note;
    } * named;
    size_t count, room;
};

static int by_file(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    int order = strcmp(a->file, b->file);
    return order ? order : strcmp(a->note, b->note);
}

void sp__beside_destroy(struct sp__beside *beside)
{
    if (!beside)
        return;
    for (size_t i = 0; i < beside->count; i++) {
        free(beside->named[i].file);
        free(beside->named[i].note);
    }
    free(beside->named);
    free(beside->folder);
    free(beside);
}

static int add_note(struct sp__beside *beside, const char *name)
{
    char path[SP__PATH_SIZE];
    struct sp__note *note;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", beside->folder, name) >= sizeof path ||
        sp__note_read(&note, path, NULL))
        return 0; /* no note, or not for us: the file stands for itself */
    struct named named = {strdup(sp__base_name(note->file)), strdup(path)};
    sp__note_destroy(note);
    if (beside->count == beside->room) {
        size_t room = beside->room ? beside->room * 2 : 16;
        struct named *more = realloc(beside->named, room * sizeof *more);
        if (more) {
            beside->named = more;
            beside->room = room;
        }
    }
    if (!named.file || !named.note || beside->count == beside->room) {
        free(named.file);
        free(named.note);
        return -ENOMEM;
    }
    beside->named[beside->count++] = named;
    return 0;
}

static int look(struct sp__beside **ret, const char *folder)
{
    struct sp__beside *beside = calloc(1, sizeof *beside);
    int result = beside && (beside->folder = strdup(folder)) ? 0 : -ENOMEM;
    DIR *dir = result ? NULL : opendir(folder);
    for (const struct dirent *entry; !result && dir && (entry = readdir(dir));)
        if (!fnmatch("*" SP__NOTE_SUFFIX, entry->d_name, FNM_PERIOD))
            result = add_note(beside, entry->d_name);
    if (dir)
        closedir(dir);
    if (result) {
        sp__beside_destroy(beside);
        return result;
    }
    if (beside->count)
        qsort(beside->named, beside->count, sizeof *beside->named, by_file);
    *ret = beside;
    return 0;
}

/* A note in the session's folder speaks of the file beside it if that is where it was published, wherever both were
 * brought since; one of a file that was published elsewhere speaks of that very file alone. */
static bool speaks_of(const struct sp__note *note, const char *path)
{
    struct stat file, other;
    const char *base = sp__base_name(note->file);
    size_t folder = (size_t)(base - note->file), session = strlen(note->session);
    if (session && folder > session + 1 && note->file[folder - session - 2] == '/' &&
        !memcmp(note->file + folder - session - 1, note->session, session))
        return true;
    return !stat(path, &file) && !stat(note->file, &other) && file.st_ino == other.st_ino &&
           file.st_dev == other.st_dev;
}

static int annotate(sp_inputs *inputs, size_t first, const char *path, const struct sp__note *note, sp_error *error)
{
    for (size_t i = first; speaks_of(note, path) && i < inputs->count; i++) {
        struct sp__source *source = inputs->sources[i];
        if (source->rank == note->rank)
            return sp__note_annotate(source, note, *source->incarnation, error);
    }
    return 0;
}

int sp__beside_annotate(sp_inputs *inputs, size_t first, const char *path, sp_error *error)
{
    if (first == inputs->count || *inputs->sources[first]->incarnation) /* a spool says all of it itself */
        return 0;
    const char *base = sp__base_name(path);
    char folder[SP__PATH_SIZE];
    int length = base == path ? 1 : (int)(base - path);
    if (snprintf(folder, sizeof folder, "%.*s", length, base == path ? "." : path) >= (int)sizeof folder)
        return 0;
    if (!inputs->beside || strcmp(inputs->beside->folder, folder) != 0) {
        sp__beside_destroy(inputs->beside);
        inputs->beside = NULL;
        int result = look(&inputs->beside, folder);
        if (result)
            return sp__fail(error, SP_ERR_SYSTEM, -result, path, NULL, "cannot be added to the inputs");
    }
    const struct sp__beside *beside = inputs->beside;
    size_t low = 0, high = beside->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(beside->named[middle].file, base) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    int status = 0;
    for (; !status && low < beside->count && !strcmp(beside->named[low].file, base); low++) {
        struct sp__note *note;
        if (sp__note_read(&note, beside->named[low].note, NULL))
            continue;
        status = annotate(inputs, first, path, note, error);
        sp__note_destroy(note);
    }
    return status;
}
