#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "consumer.h"
#include "daemon.h"
#include "json.h"
#include "litter.h"
#include "names.h"
#include "published.h"
#include "say.h"
#include "sessions.h"
#include "table.h"
#include "verbs.h"

static bool act, as_json;

struct collection {
    const char *data_dir;
    const char *session; /* NULL: all */
    struct table *table; /* NULL: JSON is wanted */
    json_t *items;
    char (*present)[33]; /* incarnations whose segments stay: their spools are in use */
    size_t present_count;
    uint64_t removed, unreadable, failed;
};

static const struct column columns[] = {{"what", false}, {"action", false}, {"where", false}, {"why", false}};

enum action { KEEP, REMOVE, DRAIN, FAILED };

/* "remove" is what would happen, "removed" what did. */
static void note(struct collection *c, const char *what, enum action action, const char *path, const char *why)
{
    static const char *const would[] = {"keep", "remove", "drain, then remove", "keep"};
    static const char *const did[] = {"kept", "removed", "drained and removed", "failed"};
    const char *word = (act ? did : would)[action];
    c->removed += action == REMOVE || action == DRAIN;
    if (c->table) {
        table_cell(c->table, "%s", what);
        table_cell(c->table, "%s", word);
        table_cell(c->table, "%s", path);
        table_cell(c->table, "%s", why);
        return;
    }
    json_t *item = json_push(c->items, json_object());
    json_put(item, "what", json_text(what));
    json_put(item, "action", json_text(word));
    json_put(item, "path", json_text(path));
    json_put(item, "why", json_text(why));
}

static void failed(struct collection *c, const char *what, const char *path, const char *why)
{
    say("cannot remove %s: %s", path, why);
    note(c, what, FAILED, path, why);
    c->failed++;
}

static void remember(struct collection *c, const struct sp__identity *identity)
{
    c->present = need(realloc(c->present, (c->present_count + 1) * sizeof *c->present));
    sp__incarnation_text(identity->incarnation, c->present[c->present_count++]);
}

static uint32_t state_of(const struct sp__segment *segment)
{
    /* Acquire pairs with the release store of whoever changed the state, so that what came before it is seen. */
    return atomic_load_explicit(&segment->header->state, memory_order_acquire);
}

/* Moves what a dead program's segment still holds into its spool and removes the name. Holding byte 1, so that no spd
 * is at it; 0, -EBUSY where somebody is or where the name went to a living program meanwhile, or -errno, worded. */
static int drain(const char *name, const char *data_dir, char why[256])
{
    struct sp__consumer *consumer;
    snprintf(why, 256, "its records cannot be drained");
    int status = sp__consumer_attach(&consumer, name, data_dir, why);
    if (status < 0)
        return status;
    if (sp__segment_alive(&consumer->segment) != 0) {
        sp__consumer_destroy(consumer);
        return -EBUSY;
    }
    enum sp__end end = state_of(&consumer->segment) == SP__FINALIZING ? SP__END_FINALIZED : SP__END_DIED;
    status = 0;
    for (uint64_t records = 1; status == 0 && records > 0;)
        status = sp__consumer_drain(consumer, 0, &records);
    if (status == 0)
        status = sp__consumer_mark(consumer, end);
    if (status == 0)
        status = sp__spool_sync(&consumer->spool);
    if (status == 0)
        status = sp__segment_unlink(&consumer->segment);
    if (status < 0)
        snprintf(why, 256, "%s (its spool is %.180s)", strerror(-status), consumer->spool.path);
    sp__consumer_destroy(consumer);
    return status;
}

/* The spool of a program that destroyed its profiler on purpose: nothing in it is to be published. */
static void remove_discarded_spool(const struct sp__segment *segment)
{
    struct sp__spool_reader reader;
    struct sp__identity identity;
    char path[SP__PATH_SIZE];
    /* Acquire pairs with the consumer's release store after it wrote the path. */
    if (!atomic_load_explicit(&segment->header->spool_chosen, memory_order_acquire))
        return;
    memcpy(path, segment->header->spool, sizeof path);
    path[sizeof path - 1] = 0;
    if (sp__spool_reader_open(&reader, path, UINT64_MAX, &identity) < 0)
        return;
    sp__spool_reader_close(&reader);
    if (memcmp(identity.incarnation, segment->identity.incarnation, sizeof identity.incarnation) == 0)
        unlink(path);
}

/* A segment without a program: removed at once where it holds nothing more, else drained first. */
static void collect_dead(struct collection *c, const struct sp__segment *segment, const char *path)
{
    uint32_t state = state_of(segment);
    bool done = state == SP__FINALIZED || state == SP__DISCARDED;
    const char *because = state == SP__FINALIZED   ? "published"
                          : state == SP__DISCARDED ? "discarded by its program"
                                                   : "its program died; the spool keeps its calls";
    char why[256];
    int status = 0;
    if (sp__lock_held(segment->fd, SP__BYTE_CONSUMER) == 1)
        status = -EBUSY;
    else if (act && done) {
        if (state == SP__DISCARDED)
            remove_discarded_spool(segment);
        status = sp__segment_unlink(segment);
        snprintf(why, sizeof why, "%s", status < 0 ? strerror(-status) : "");
    } else if (act)
        status = drain(segment->name, c->data_dir, why);

    if (status == -EBUSY || status == -EAGAIN || (status < 0 && !act)) {
        note(c, "segment", KEEP, path, "somebody drains it now");
        remember(c, &segment->identity);
    } else if (status < 0) {
        failed(c, "segment", path, why);
        remember(c, &segment->identity);
    } else {
        note(c, "segment", done ? REMOVE : DRAIN, path, because);
        if (!act)
            remember(c, &segment->identity);
    }
}

static int collect_segment(const char *name, void *context)
{
    struct collection *c = context;
    struct sp__segment segment;
    char why[256] = "", path[sizeof segment.name + sizeof SP__SHM_DIR + 1];
    snprintf(path, sizeof path, "%s/%.255s", SP__SHM_DIR, name);
    int status = sp__segment_open(&segment, name, true, why);
    if (status == -ENOENT || status == -EACCES)
        return 0;
    if (status < 0) {
        bool other = c->session && !strstr(name, c->session);
        if (!other) {
            note(c, "segment", KEEP, path, *why ? why : strerror(-status));
            say("%s cannot be read and stays: %s", path, *why ? why : strerror(-status));
            c->unreadable++;
        }
        return 0;
    }
    int alive = sp__segment_alive(&segment);
    if (c->session && strcmp(c->session, segment.identity.session) != 0) {
        remember(c, &segment.identity);
    } else if (alive == 0) {
        collect_dead(c, &segment, path);
    } else {
        note(c, "segment", KEEP, path, alive == 1 ? "its program lives" : strerror(-alive));
        remember(c, &segment.identity);
    }
    sp__segment_close(&segment);
    return 0;
}

static bool in_use(const struct collection *c, const char *spool)
{
    for (size_t i = 0; i < c->present_count; ++i)
        if (strstr(spool, c->present[i]))
            return true;
    return false;
}

static void collect_file(struct collection *c, int fd, const char *folder, const char *name)
{
    char path[SP__PATH_SIZE], why[256] = "";
    size_t length = strlen(name), suffix = sizeof SP__SPOOL_SUFFIX - 1;
    const char *what = "temporary";
    bool garbage = litter_is(fd, name);
    if (garbage) {
        snprintf(why, sizeof why, "left by a process that was killed");
    } else if (length > suffix && strcmp(name + length - suffix, SP__SPOOL_SUFFIX) == 0) {
        what = "spool";
        garbage = !in_use(c, name) && spool_published(folder, name, why);
    } else {
        return;
    }
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return;
    if (!garbage)
        note(c, what, KEEP, path, *why ? why : "its segment is there");
    else if (act && unlinkat(fd, name, 0) != 0 && errno != ENOENT)
        failed(c, what, path, strerror(errno));
    else
        note(c, what, REMOVE, path, why);
}

static void collect_folder(struct collection *c, int parent, const char *session)
{
    char path[SP__PATH_SIZE];
    int fd = openat(parent, session, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder || snprintf(path, sizeof path, "%s/%s", c->data_dir, session) >= (int)sizeof path) {
        if (folder)
            closedir(folder);
        else if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        collect_file(c, fd, path, entry->d_name);
    closedir(folder);
}

/* Folders of sessions below the data folder; false after a line. */
static bool collect_folders(struct collection *c)
{
    DIR *folder = opendir(c->data_dir);
    if (!folder && errno == ENOENT)
        return true;
    if (!folder) {
        say("cannot read the data folder %s: %s; give another --data-dir", c->data_dir, strerror(errno));
        return false;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (sp__session_valid(entry->d_name) && (!c->session || strcmp(c->session, entry->d_name) == 0))
            collect_folder(c, dirfd(folder), entry->d_name);
    closedir(folder);
    return true;
}

/* Profiles and traces that were being written to the working folder. */
static void collect_here(struct collection *c)
{
    char here[SP__PATH_SIZE];
    size_t length = strlen(c->data_dir);
    DIR *folder = getcwd(here, sizeof here) ? opendir(".") : NULL;
    if (!folder)
        return;
    bool below = strncmp(here, c->data_dir, length) == 0; /* has been looked at */
    for (struct dirent *entry; !below && (entry = readdir(folder)) != NULL;) {
        bool output = strstr(entry->d_name, SP_HDF5_SUFFIX ".") || strstr(entry->d_name, SP_TRACE_SUFFIX ".");
        if (output && litter_is(dirfd(folder), entry->d_name))
            collect_file(c, dirfd(folder), here, entry->d_name);
    }
    closedir(folder);
}

/* What "spctl run" made for a daemon of its own and could not remove. */
static void collect_runtime(struct collection *c, const char *runtime_dir)
{
    char path[2 * SP__PATH_SIZE];
    DIR *folder = opendir(runtime_dir);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (!daemon_folder_stale(runtime_dir, entry->d_name))
            continue;
        snprintf(path, sizeof path, "%s/%s", runtime_dir, entry->d_name);
        int status = act ? daemon_folder_remove(path) : 0;
        if (status < 0)
            failed(c, "folder", path, strerror(-status));
        else
            note(c, "folder", REMOVE, path, "left by a \"spctl run\" that was killed");
    }
    closedir(folder);
}

static void print(struct collection *c)
{
    if (c->items) {
        json_t *document = json_document();
        json_put(document, "acted", json_boolean(act));
        json_put(document, "items", json_incref(c->items));
        json_print(document);
        return;
    }
    if (table_rows(c->table) > 0)
        table_print(c->table, stdout);
    if (c->removed == 0)
        puts("nothing to remove");
    else if (!act)
        printf("%" PRIu64 " to remove; \"spctl gc --yes\" does it\n", c->removed);
}

static int run(const struct arguments *arguments)
{
    char data_dir[SP__PATH_SIZE], runtime_dir[SP__PATH_SIZE], session[128];
    struct collection c = {.data_dir = data_dir};
    if (!data_dir_of(arguments, data_dir) || !runtime_dir_of(arguments, runtime_dir))
        return END_FAILED;
    if (arguments->count > 0) {
        int found = session_resolve(data_dir, arguments->operands[0], session);
        if (found <= 0) {
            if (found == 0)
                say("%s: there is no such session in %s, and no program records it", session, data_dir);
            return END_FAILED;
        }
        c.session = session;
    }
    if (as_json)
        c.items = need(json_array());
    else
        c.table = table_create(columns, sizeof columns / sizeof *columns);

    /* Segments first: what is drained from them makes spools, which are then in use or not. */
    int status = sp__segment_each((uint32_t)geteuid(), collect_segment, &c);
    if (status < 0)
        say("cannot read %s: %s", SP__SHM_DIR, strerror(-status));
    bool read = collect_folders(&c) && status == 0;
    if (!c.session) {
        collect_here(&c);
        collect_runtime(&c, runtime_dir);
    }
    print(&c);
    json_decref(c.items);
    table_destroy(c.table);
    free(c.present);
    return c.failed || !read ? END_FAILED : c.unreadable ? END_LOSS : END_DONE;
}

static const struct option options[] = {
    {'y', "yes", NULL, "remove it", &act}, {'j', "json", NULL, "print JSON", &as_json}, {0, NULL, NULL, NULL, NULL}};

const struct verb verb_gc = {
    .name = "gc",
    .operands = "[SESSION]",
    .summary = "remove segments and spools that hold nothing unpublished",
    .about = "Shows what would be removed, and removes it with --yes: segments whose program is gone (what they still\n"
             "hold goes into their spool first), spools whose calls all stand in a published file, and temporaries of\n"
             "killed processes, also in the working folder, and their private runtime folders. A living program's\n"
             "segment and a spool that was not published stay.",
    .options = options,
    .most = 1,
    .run = run,
};
