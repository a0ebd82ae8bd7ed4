/* find.c: files and folders made into one list of files. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "find.h"

static int no_memory(const char *path, sp_error *error)
{
    return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "cannot be listed");
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

int sp__find_in_folder(char ***ret, size_t *ret_count, const char *folder, sp_error *error)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_rank_file, by_name), status = 0;
    if (count < 0)
        return sp__fail(error, SP_ERR_SYSTEM, errno, folder, NULL, "the folder cannot be listed");
    char **found = NULL;
    size_t found_count = 0, length = strlen(folder);
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        struct stat s;
        if (!status &&
            asprintf(&path, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/", entries[i]->d_name) < 0) {
            path = NULL;
            status = no_memory(folder, error);
        }
        if (!status && !(stat(path, &s) == 0 && S_ISDIR(s.st_mode)) && sp__texts_add(&found, &found_count, path))
            status = no_memory(folder, error);
        free(path);
        free(entries[i]);
    }
    free(entries);
    if (!status && !found_count)
        status = sp__fail(error, SP_ERR_NOT_FOUND, 0, folder, NULL, "the folder holds no *%s and no %s",
                          SP_TRACE_SUFFIX, SP_RANK_HDF5_GLOB);
    if (status) {
        sp_traces_free(found, found_count);
        return status;
    }
    *ret = found;
    *ret_count = found_count;
    return 0;
}

void sp_traces_free(char **traces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(traces[i]);
    free(traces);
}

/* A file by what it is, not by what it is called. */
struct known {
    char *path;
    bool there; /* it could be looked at; whoever opens the others says why not */
    dev_t device;
    ino_t inode;
};

static int by_file(const void *left, const void *right)
{
    const struct known *a = left, *b = right;
    if (a->there != b->there)
        return a->there < b->there ? -1 : 1;
    if (a->there && a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->there && a->inode != b->inode)
        return a->inode < b->inode ? -1 : 1;
    return strcmp(a->path, b->path);
}

static int by_path(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static bool same_file(const struct known *a, const struct known *b)
{
    if (a->there && b->there)
        return a->device == b->device && a->inode == b->inode;
    return a->there == b->there && !strcmp(a->path, b->path);
}

/* Keeps of each file the first of its names. */
static int drop_repeated(char **paths, size_t *count, sp_error *error)
{
    struct known *known = calloc(*count + 1, sizeof *known);
    const struct known *last = known;
    size_t kept = 0;
    if (!known)
        return no_memory(NULL, error);
    for (size_t i = 0; i < *count; i++) {
        struct stat s;
        known[i].path = paths[i];
        known[i].there = stat(paths[i], &s) == 0;
        if (known[i].there) {
            known[i].device = s.st_dev;
            known[i].inode = s.st_ino;
        }
    }
    if (*count)
        qsort(known, *count, sizeof *known, by_file);
    for (size_t i = 0; i < *count; i++) {
        if (i && same_file(&known[i], last)) {
            free(known[i].path);
        } else {
            last = &known[i];
            paths[kept++] = known[i].path;
        }
    }
    free(known);
    *count = kept;
    if (kept)
        qsort(paths, kept, sizeof *paths, by_path);
    return 0;
}

int sp__find_is_folder(const char *path, bool *ret, sp_error *error)
{
    struct stat s;
    if (!path || !*path)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "an input has no name");
    if (stat(path, &s))
        return sp__fail(error, errno == ENOENT || errno == ENOTDIR ? SP_ERR_NOT_FOUND : SP_ERR_SYSTEM, errno, path,
                        NULL, "cannot be read");
    *ret = S_ISDIR(s.st_mode);
    return 0;
}

static int add_one(char ***all, size_t *count, const char *path, sp_error *error)
{
    bool is_folder;
    int status = sp__find_is_folder(path, &is_folder, error);
    if (status)
        return status;
    if (!is_folder)
        return sp__texts_add(all, count, path) ? no_memory(path, error) : 0;
    char **found;
    size_t more;
    status = sp__find_in_folder(&found, &more, path, error);
    if (status)
        return status;
    for (size_t i = 0; !status && i < more; i++)
        if (sp__texts_add(all, count, found[i]))
            status = no_memory(path, error);
    sp_traces_free(found, more);
    return status;
}

int sp_find_traces(char ***ret, size_t *ret_count, const char *const *inputs, size_t count, sp_error *error)
{
    char **all = NULL;
    size_t found = 0;
    if (!ret || !ret_count || !inputs || !count)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "no file or folder was given");
    int status = 0;
    for (size_t i = 0; !status && i < count; i++)
        status = add_one(&all, &found, inputs[i], error);
    if (!status)
        status = drop_repeated(all, &found, error);
    if (status) {
        sp_traces_free(all, found);
        return status;
    }
    *ret = all;
    *ret_count = found;
    return 0;
}
