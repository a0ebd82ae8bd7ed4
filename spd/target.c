#include "target.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "daemon.h"
#include "log.h"
#include "names.h"
#include "rank.h"
#include "session.h"

enum { LIVES_MOST = 100000, LIVES_LOOKED_AT = 1000 };

int target_base(struct daemon *daemon, const struct sp__identity *id, const char *folder, char *ret, size_t size)
{
    int length = snprintf(ret, size, "%s/%s", folder, sp__base_name(id->prefix));
    if (length < 0 || (size_t)length + 32 > size)
        return -ENAMETOOLONG;
    if (!daemon->options->publish_prefix)
        return 0;
    const char *slash = strrchr(id->prefix, '/');
    char parent[SP__PATH_SIZE];
    struct stat stat_of;
    snprintf(parent, sizeof parent, "%.*s/", (int)(slash ? slash - id->prefix : 0), id->prefix);
    if (id->prefix[0] != '/' || strlen(id->prefix) + 32 > size || stat(parent, &stat_of) || stat_of.st_uid != id->uid ||
        access(parent, W_OK)) {
        log_say(LOG_WARNING, "session %s rank %d: publish: %s is no folder of uid %u; published below %s instead",
                id->session, (int)id->rank, parent, (unsigned)id->uid, folder);
        return 0;
    }
    snprintf(ret, size, "%s", id->prefix);
    return 0;
}

/* Calls `each` with every note of the folder that `part` (NULL: any) stands in the name of. */
static void each_note(const char *folder, const char *part, void (*each)(void *context, const char *name, json_t *note),
                      void *context)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return; /* not made yet: nobody has published there */
    const struct dirent *entry;
    while ((entry = readdir(dir))) {
        size_t length = strlen(entry->d_name), suffix = strlen(SP__NOTE_SUFFIX);
        if (length <= suffix || strcmp(entry->d_name + length - suffix, SP__NOTE_SUFFIX) || entry->d_name[0] == '.')
            continue;
        char path[SP__PATH_SIZE];
        if ((part && !strstr(entry->d_name, part)) ||
            (size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= sizeof path)
            continue;
        json_t *note = json_load_file(path, 0, NULL);
        if (json_is_object(note))
            each(context, entry->d_name, note);
        json_decref(note);
    }
    closedir(dir);
}

static const char *note_text(const json_t *note, const char *key)
{
    const char *text = json_string_value(json_object_get(note, key));
    return text ? text : "";
}

/* What the notes of one rank number say. */
struct claims {
    const char *own; /* base name of this incarnation's note */
    char own_file[SP__PATH_SIZE];
    json_t *others; /* object whose keys are the files */
};

static void add_claim(void *context, const char *name, json_t *note)
{
    struct claims *claims = context;
    const char *file = note_text(note, "file");
    if (!strcmp(name, claims->own))
        snprintf(claims->own_file, sizeof claims->own_file, "%s", file);
    else if (*file)
        json_object_set_new(claims->others, file, json_true());
}

static bool running_rank_has(const struct daemon *daemon, const struct rank *rank, unsigned life)
{
    for (const struct rank *other = daemon->ranks; other; other = other->next)
        if (other != rank && other->life == life && rank_identity(other)->rank == rank_identity(rank)->rank &&
            !strcmp(other->base, rank->base))
            return true;
    return false;
}

static bool is_free(const struct daemon *daemon, const struct rank *rank, const struct claims *claims, unsigned life)
{
    for (int hdf5 = 0; hdf5 < 2; ++hdf5) { /* a flush may change the kind: a life has both names or neither */
        char path[SP__PATH_SIZE];
        if (sp__profile_name(rank->base, rank_identity(rank)->rank, life, hdf5, path, sizeof path) ||
            json_object_get(claims->others, path) || !access(path, F_OK))
            return false;
    }
    return !running_rank_has(daemon, rank, life);
}

/* The life that this incarnation's note names, published before spd was restarted. */
static bool own_life(const struct daemon *daemon, const struct rank *rank, const struct claims *claims, unsigned *ret)
{
    char path[SP__PATH_SIZE];
    if (!*claims->own_file || json_object_get(claims->others, claims->own_file))
        return false; /* noted, but never renamed there, and somebody else came first */
    for (unsigned life = 0; life < LIVES_LOOKED_AT; ++life) {
        for (int hdf5 = 0; hdf5 < 2; ++hdf5) {
            if (sp__profile_name(rank->base, rank_identity(rank)->rank, life, hdf5, path, sizeof path) ||
                strcmp(path, claims->own_file))
                continue;
            *ret = life;
            return !running_rank_has(daemon, rank, life);
        }
    }
    return false;
}

int target_life(struct daemon *daemon, struct rank *rank)
{
    char part[32];
    struct claims claims = {.own = sp__base_name(rank->note), .others = json_object()};
    snprintf(part, sizeof part, ".r%05d.", (int)rank_identity(rank)->rank);
    each_note(rank->session->folder, part, add_claim, &claims);
    unsigned life = 0;
    if (!own_life(daemon, rank, &claims, &life))
        for (life = 0; life < LIVES_MOST && !is_free(daemon, rank, &claims, life);)
            ++life;
    rank->life = life;
    json_decref(claims.others);
    return life < LIVES_MOST ? 0 : -EMFILE;
}

/* Settled: noted, of this host, and its spool is gone: only the file has it. */
struct settled {
    struct session *session;
    json_t *ranks;   /* of settled notes */
    json_t *spooled; /* of running ranks and of spools */
    json_t *spools;  /* their stems */
    json_t *files;   /* that settled notes name */
    json_t *named;   /* that any note names */
};

static void set_rank(json_t *set, json_int_t rank)
{
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)rank);
    json_object_set_new(set, key, json_true());
}

/* "<16 hex>.r<NNNNN>.<32 hex>": what the name of each file of an incarnation begins with. */
static bool take_stem(const char *name, char ret[96], int *ret_rank)
{
    char hash[17], incarnation[33];
    int end = 0;
    if (sscanf(name, "%16[0-9a-f].r%9d.%32[0-9a-f]%n", hash, ret_rank, incarnation, &end) != 3 || end >= 96)
        return false;
    snprintf(ret, 96, "%.*s", end, name);
    return true;
}

static void add_settled(void *context, const char *name, json_t *note)
{
    struct settled *settled = context;
    char stem[96];
    int rank;
    if (strcmp(note_text(note, "hostname"), settled->session->daemon->hostname) || !take_stem(name, stem, &rank))
        return;
    json_object_set_new(settled->named, note_text(note, "file"), json_true());
    if (json_object_get(settled->spools, stem))
        return;
    set_rank(settled->ranks, rank);
    json_object_set_new(settled->files, note_text(note, "file"), json_true());
}

static void add_spooled(struct settled *settled)
{
    DIR *dir = opendir(settled->session->folder);
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char stem[96];
        int rank;
        size_t length = strlen(entry->d_name), suffix = strlen(SP__SPOOL_SUFFIX);
        if (length <= suffix || strcmp(entry->d_name + length - suffix, SP__SPOOL_SUFFIX) ||
            !take_stem(entry->d_name, stem, &rank))
            continue;
        json_object_set_new(settled->spools, stem, json_true());
        set_rank(settled->spooled, rank);
    }
    if (dir)
        closedir(dir);
}

/* "<folder>/<session>.<host>[.i<life>].h5", and never "_rank<digit>" in it: that is what a rank's own file is called.
 */
static void merged_name(const struct session *session, unsigned life, char *ret, size_t size)
{
    char base[SP__SESSION_SIZE + SP__HOST_SIZE + 2], number[16] = "";
    snprintf(base, sizeof base, "%s.%s", session->name, session->daemon->hostname);
    for (char *at = strstr(base, "_rank"); at; at = strstr(at + 1, "_rank"))
        if (at[5] >= '0' && at[5] <= '9')
            *at = '-';
    if (life)
        snprintf(number, sizeof number, ".i%u", life);
    if ((size_t)snprintf(ret, size, "%s/%s%s.h5", session->folder, base, number) >= size)
        *ret = '\0'; /* refused when it is written */
}

static bool plain_name_serves(const struct settled *settled, const char *plain)
{
    const char *key;
    json_t *value;
    json_object_foreach(settled->ranks, key, value)
    {
        if (json_object_get(settled->spooled, key))
            return false; /* the file has an earlier life of that rank, and one rank of a file is read as one */
    }
    json_object_foreach(settled->files, key, value)
    {
        size_t length = strlen(key);
        bool trace = length > 4 && !strcmp(key + length - 4, ".spt");
        if (!trace && strcmp(key, plain) && !strstr(sp__base_name(key), "_rank"))
            return false; /* a further merged file exists */
    }
    return access(plain, F_OK) || json_object_get(settled->named, plain);
}

void target_merged(struct session *session)
{
    struct settled settled = {session, json_object(), json_object(), json_object(), json_object(), json_object()};
    add_spooled(&settled);
    each_note(session->folder, NULL, add_settled, &settled);
    for (const struct rank *rank = session->daemon->ranks; rank; rank = rank->next)
        if (rank->session == session)
            set_rank(settled.spooled, rank_identity(rank)->rank);
    merged_name(session, 0, session->merged, sizeof session->merged);
    session->merged_settled = json_object_size(settled.ranks) > 0;
    session->merged_plain = session->merge_busy < SESSION_BUSY_MOST && plain_name_serves(&settled, session->merged);
    if (!session->merged_plain) {
        unsigned life = 1;
        do
            merged_name(session, life, session->merged, sizeof session->merged);
        while (++life < LIVES_MOST &&
               (json_object_get(settled.files, session->merged) ||
                (!access(session->merged, F_OK) && !json_object_get(settled.named, session->merged))));
    }
    json_decref(settled.ranks);
    json_decref(settled.spooled);
    json_decref(settled.spools);
    json_decref(settled.files);
    json_decref(settled.named);
}
