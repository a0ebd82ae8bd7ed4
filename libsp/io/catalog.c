/* catalog.c: see catalog.h. The segments' side is catalog_segments.c. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog.h"
#include "names.h"
#include "spool.h"

enum { HASH = 16, INCARNATION = 32 };

/* The stem at the beginning of a file's name: "<16 hex>.r<digits>.<32 hex>", then a dot. */
static bool stem_of(const char *file, char ret[96], int32_t *ret_rank, char ret_incarnation[33])
{
    static const char hex[] = "0123456789abcdef";
    if (strspn(file, hex) != HASH || strncmp(file + HASH, ".r", 2) != 0)
        return false;
    const char *number = file + HASH + 2;
    size_t digits = strspn(number, "0123456789");
    const char *incarnation = number + digits + 1;
    if (digits < 1 || digits > 10 || number[digits] != '.' || strspn(incarnation, hex) != INCARNATION ||
        incarnation[INCARNATION] != '.')
        return false;
    unsigned long long rank = strtoull(number, NULL, 10);
    if (rank > INT32_MAX)
        return false;
    *ret_rank = (int32_t)rank;
    snprintf(ret, 96, "%.*s", (int)(incarnation + INCARNATION - file), file);
    snprintf(ret_incarnation, 33, "%.*s", INCARNATION, incarnation);
    return true;
}

struct sp__life *sp__catalog_life(struct sp__catalog *catalog, const char *stem)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (!strcmp(catalog->lives[i].stem, stem))
            return &catalog->lives[i];
    if (catalog->count == catalog->room) {
        size_t room = catalog->room ? catalog->room * 2 : 16;
        struct sp__life *more = realloc(catalog->lives, room * sizeof *more);
        if (!more)
            return NULL;
        catalog->lives = more;
        catalog->room = room;
    }
    struct sp__life *life = &catalog->lives[catalog->count++];
    *life = (struct sp__life){.rank = -1, .birth_realtime_ns = -1, .changed_ns = -1};
    snprintf(life->stem, sizeof life->stem, "%s", stem);
    return life;
}

static void touch(struct sp__life *life, const struct stat *s)
{
    int64_t changed = (int64_t)s->st_mtim.tv_sec * 1000000000 + s->st_mtim.tv_nsec;
    if (changed > life->changed_ns)
        life->changed_ns = changed;
}

int sp__life_add_spool(struct sp__life *life, const char *path)
{
    struct stat s, other;
    if (lstat(path, &s))
        return -errno;
    if (!S_ISREG(s.st_mode) || s.st_uid != geteuid())
        return -EACCES;
    for (size_t i = 0; i < life->spool_count; i++)
        if (!lstat(life->spools[i], &other) && other.st_dev == s.st_dev && other.st_ino == s.st_ino)
            return 0;
    int result = sp__texts_add(&life->spools, &life->spool_count, path);
    if (result)
        return result;
    life->spool_bytes += (uint64_t)s.st_size;
    touch(life, &s);
    return 0;
}

/* What only the first frame of a spool tells. */
static void identify(struct sp__life *life)
{
    for (size_t i = 0; i < life->spool_count && !*life->prefix; i++) {
        struct sp__spool_reader reader;
        struct sp__identity id;
        if (sp__spool_reader_open(&reader, life->spools[i], UINT64_MAX, &id))
            continue;
        sp__spool_reader_close(&reader);
        snprintf(life->hostname, sizeof life->hostname, "%.*s", (int)sizeof id.hostname - 1, id.hostname);
        snprintf(life->prefix, sizeof life->prefix, "%.*s", (int)sizeof id.prefix - 1, id.prefix);
        life->birth_realtime_ns = id.birth_realtime_ns;
        life->pid = id.pid;
    }
}

static int add_note(struct sp__life *life, const char *path)
{
    struct stat s;
    if (!stat(path, &s))
        touch(life, &s);
    sp_error why = {0};
    int status = sp__note_read(&life->note, path, &why);
    if (status == SP_ERR_NOT_FOUND)
        return 0; /* taken away meanwhile */
    if (status) {
        snprintf(life->why, sizeof life->why, "%.255s", why.text);
        return 0;
    }
    const struct sp__note *note = life->note;
    snprintf(life->hostname, sizeof life->hostname, "%s", note->hostname);
    snprintf(life->prefix, sizeof life->prefix, "%s", note->prefix);
    life->birth_realtime_ns = note->birth_realtime_ns;
    life->pid = note->pid;
    return 0;
}

static int add_file(struct sp__catalog *catalog, const char *folder, const char *session, const char *name)
{
    char stem[96], incarnation[33], path[SP__PATH_SIZE];
    int32_t rank;
    size_t length = strlen(name);
    bool spool =
        length > strlen(SP__SPOOL_SUFFIX) && !strcmp(name + length - strlen(SP__SPOOL_SUFFIX), SP__SPOOL_SUFFIX);
    bool note = length > strlen(SP__NOTE_SUFFIX) && !strcmp(name + length - strlen(SP__NOTE_SUFFIX), SP__NOTE_SUFFIX);
    if ((!spool && !note) || !stem_of(name, stem, &rank, incarnation))
        return 0;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return 0;
    struct sp__life *life = sp__catalog_life(catalog, stem);
    if (!life)
        return -ENOMEM;
    snprintf(life->session, sizeof life->session, "%s", session);
    snprintf(life->incarnation, sizeof life->incarnation, "%s", incarnation);
    life->rank = rank;
    int result = spool ? sp__life_add_spool(life, path) : add_note(life, path);
    return result == -ENOMEM ? result : 0;
}

static int add_session(struct sp__catalog *catalog, const char *data_dir, const char *session, sp_error *error)
{
    char folder[SP__PATH_SIZE];
    if ((size_t)snprintf(folder, sizeof folder, "%s/%s", data_dir, session) >= sizeof folder)
        return sp__fail(error, SP_ERR_USAGE, ENAMETOOLONG, session, NULL, "its data folder's name is too long");
    DIR *dir = opendir(folder);
    if (!dir)
        return errno == ENOENT || errno == ENOTDIR
                   ? 0
                   : sp__fail(error, SP_ERR_SYSTEM, errno, folder, NULL, "the session's folder cannot be listed");
    int result = 0;
    for (const struct dirent *entry; !result && (entry = readdir(dir));)
        result = add_file(catalog, folder, session, entry->d_name);
    closedir(dir);
    return result ? sp__fail(error, SP_ERR_SYSTEM, -result, folder, NULL, "the session cannot be read") : 0;
}

static int by_age(const void *a, const void *b)
{
    const struct sp__life *x = a, *y = b;
    int order = strcmp(x->session, y->session);
    if (!order)
        order = x->rank < y->rank ? -1 : x->rank > y->rank;
    if (!order)
        order = x->birth_realtime_ns < y->birth_realtime_ns ? -1 : x->birth_realtime_ns > y->birth_realtime_ns;
    return order ? order : strcmp(x->stem, y->stem);
}

static int add_folders(struct sp__catalog *catalog, const char *data_dir, const char *session, sp_error *error)
{
    if (session)
        return add_session(catalog, data_dir, session, error);
    DIR *dir = opendir(data_dir);
    if (!dir)
        return errno == ENOENT
                   ? 0
                   : sp__fail(error, SP_ERR_SYSTEM, errno, data_dir, NULL, "the data folder cannot be listed");
    int status = 0;
    for (const struct dirent *entry; !status && (entry = readdir(dir));)
        if (sp__session_valid(entry->d_name))
            status = add_session(catalog, data_dir, entry->d_name, error);
    closedir(dir);
    return status;
}

int sp__catalog_build(struct sp__catalog *ret, const char *data_dir, const char *session, bool figures, sp_error *error)
{
    struct sp__catalog catalog = {0};
    /* Segments before folders: one that is published and removed in between is then found by its note. */
    int status = sp__catalog_segments(&catalog, session, figures, error);
    if (!status)
        status = add_folders(&catalog, data_dir, session, error);
    for (size_t i = 0; !status && i < catalog.count; i++) {
        struct sp__life *life = &catalog.lives[i];
        if (*life->segment && life->state == SP__DISCARDED) {
            /* Nothing of it is to be published; what was flushed before stays. */
            while (life->spool_count)
                free(life->spools[--life->spool_count]);
            life->spool_bytes = 0;
        }
        identify(life);
    }
    if (status) {
        sp__catalog_finish(&catalog);
        return status;
    }
    if (catalog.count)
        qsort(catalog.lives, catalog.count, sizeof *catalog.lives, by_age);
    *ret = catalog;
    return 0;
}

void sp__catalog_finish(struct sp__catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++) {
        struct sp__life *life = &catalog->lives[i];
        while (life->spool_count)
            free(life->spools[--life->spool_count]);
        free(life->spools);
        sp__note_destroy(life->note);
    }
    free(catalog->lives);
    *catalog = (struct sp__catalog){0};
}

int sp__catalog_resolve(const char *data_dir, const char *name, char ret[SP__SESSION_SIZE], sp_error *error)
{
    if (!sp__session_valid(name))
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL,
                        "\"%.100s\" is no session name: 1 to 64 of A-Z a-z 0-9 . _ - , "
                        "not beginning with . or -",
                        name);
    char folder[SP__PATH_SIZE];
    struct stat s;
    snprintf(folder, sizeof folder, "%s/%s", data_dir, name);
    if (!stat(folder, &s) && S_ISDIR(s.st_mode)) {
        snprintf(ret, SP__SESSION_SIZE, "%s", name);
        return 0;
    }
    struct sp__catalog all;
    int status = sp__catalog_build(&all, data_dir, NULL, false, error);
    if (status)
        return status;
    const struct sp__life *newest = NULL;
    size_t length = strlen(name);
    for (size_t i = 0; i < all.count; i++) {
        const struct sp__life *life = &all.lives[i];
        if (!strcmp(life->session, name)) {
            newest = life;
            break;
        }
        if (!strncmp(life->session, name, length) && life->session[length] == '@' &&
            (!newest || life->birth_realtime_ns > newest->birth_realtime_ns))
            newest = life;
    }
    if (newest)
        snprintf(ret, SP__SESSION_SIZE, "%s", newest->session);
    else
        status = sp__fail(error, SP_ERR_NOT_FOUND, 0, name, NULL,
                          "no such session, neither below %s nor in %s; spctl list shows those there are", data_dir,
                          SP__SHM_DIR);
    sp__catalog_finish(&all);
    return status;
}
