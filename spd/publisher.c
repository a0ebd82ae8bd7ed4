#include "publisher.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "aside.h"
#include "daemon.h"
#include "flush.h"
#include "log.h"
#include "names.h"
#include "rank.h"
#include "session.h"

enum { RUNNING_MOST = 2 }; /* besides the HDF5 one; libuv's pool has four threads */

void publisher_init(struct publisher *publisher, struct daemon *daemon)
{
    *publisher = (struct publisher){.daemon = daemon};
    publisher->end = &publisher->first;
    publisher->hdf5_end = &publisher->hdf5_first;
}

bool publisher_busy(const struct publisher *publisher)
{
    return publisher->running || publisher->hdf5_running || publisher->first || publisher->hdf5_first;
}

static void finish(struct publication *publication)
{
    struct daemon *daemon = publication->daemon;
    struct flush_part part = {.error = publication->error,
                              .why = publication->why,
                              .file = publication->file,
                              .ranks = publication->ranks,
                              .dropped = publication->dropped};
    flush_complete(&publication->flushes, &part);
    if (publication->rank)
        rank_published(publication->rank, publication);
    else
        session_merged(publication->session, publication);
    json_decref(publication->facts);
    free(publication->sources);
    free(publication);
    daemon_check_stopped(daemon);
}

static void start(struct publisher *publisher);

/* A thread's nice value and processors are its own, and it inherited the loop's. */
static void take_ordinary_turn(const struct daemon *daemon)
{
    aside_forget();
    if (!daemon->options->niced)
        (void)setpriority(PRIO_PROCESS, (id_t)gettid(), 0);
}

static void on_prepare(uv_work_t *work)
{
    struct publication *publication = work->data;
    take_ordinary_turn(publication->daemon);
    publication_prepare(publication);
}

static void on_hdf5(uv_work_t *work)
{
    struct publication *publication = work->data;
    take_ordinary_turn(publication->daemon);
    publication_hdf5(publication);
}

static void on_prepared(uv_work_t *work, int status)
{
    struct publication *publication = work->data;
    struct publisher *publisher = &publication->daemon->publisher;
    (void)status;
    --publisher->running;
    if (publication->wants_hdf5 && !publication->error) {
        publication->next = NULL;
        *publisher->hdf5_end = publication;
        publisher->hdf5_end = &publication->next;
    } else {
        finish(publication);
    }
    start(publisher);
}

static void on_hdf5_done(uv_work_t *work, int status)
{
    struct publication *publication = work->data;
    struct publisher *publisher = &publication->daemon->publisher;
    (void)status;
    publisher->hdf5_running = false;
    finish(publication);
    start(publisher);
}

static struct publication *take(struct publication **first, struct publication ***end)
{
    struct publication *publication = *first;
    *first = publication->next;
    if (!*first)
        *end = first;
    return publication;
}

static void start(struct publisher *publisher)
{
    uv_loop_t *loop = &publisher->daemon->loop;
    while (publisher->first && publisher->running < RUNNING_MOST) {
        struct publication *publication = take(&publisher->first, &publisher->end);
        ++publisher->running;
        uv_queue_work(loop, &publication->work, on_prepare, on_prepared);
    }
    if (publisher->hdf5_first && !publisher->hdf5_running) {
        struct publication *publication = take(&publisher->hdf5_first, &publisher->hdf5_end);
        publisher->hdf5_running = true;
        uv_queue_work(loop, &publication->work, on_hdf5, on_hdf5_done);
    }
}

static int add_source(struct publication *publication, const char *path, bool attached)
{
    for (size_t n = 0; n < publication->source_count; ++n)
        if (!strcmp(publication->sources[n].path, path))
            return 0;
    struct publication_source *sources =
        realloc(publication->sources, (publication->source_count + 1) * sizeof *sources);
    if (!sources)
        return -ENOMEM;
    publication->sources = sources;
    struct publication_source *source = &sources[publication->source_count];
    if ((size_t)snprintf(source->path, sizeof source->path, "%s", path) >= sizeof source->path)
        return -ENAMETOOLONG;
    source->attached = attached;
    source->ended = source->left_out = source->at_work = false;
    ++publication->source_count;
    return 0;
}

static struct publication *create(struct publisher *publisher, struct session *session, enum publication_kind kind)
{
    struct daemon *daemon = publisher->daemon;
    struct publication *publication = calloc(1, sizeof *publication);
    if (!publication)
        return NULL;
    publication->work.data = publication;
    publication->daemon = daemon;
    publication->session = session;
    publication->kind = kind;
    publication->end = UINT64_MAX;
    publication->sync = -1;
    publication->format = daemon->options->format;
    snprintf(publication->folder, sizeof publication->folder, "%s", session->folder);
    snprintf(publication->data_dir, sizeof publication->data_dir, "%s", daemon->data_dir);
    snprintf(publication->name, sizeof publication->name, "%s", session->name);
    snprintf(publication->hostname, sizeof publication->hostname, "%s", daemon->hostname);
    return publication;
}

static void enqueue(struct publisher *publisher, struct publication *publication)
{
    *publisher->end = publication;
    publisher->end = &publication->next;
    start(publisher);
}

static int fill_rank(struct publication *publication, struct rank *rank)
{
    struct sp__header *header = rank->consumer->segment.header;
    int number = (int)rank_identity(rank)->rank;
    publication->end = rank->consumer->spool.size;
    publication->asked = atomic_load_explicit(&header->format, memory_order_relaxed);
    publication->request = rank->flush_taken;
    publication->several =
        atomic_load_explicit(&header->lanes_used, memory_order_relaxed) > 1; /* a guess may be wrong */
    snprintf(publication->note, sizeof publication->note, "%s", rank->note);
    int status = sp__profile_name(rank->base, number, rank->life, false, publication->trace, sizeof publication->trace);
    if (!status)
        status = sp__profile_name(rank->base, number, rank->life, true, publication->hdf5, sizeof publication->hdf5);
    if (!status)
        status = add_source(publication, rank->consumer->spool.path, true);
    if (!status && *rank->other_spool)
        status = add_source(publication, rank->other_spool, true);
    if (publication->kind == PUBLISH_FINAL) {
        publication->sync = rank->consumer->spool.fd;
        if (rank->ended == SP__END_FINALIZED)
            publication->spooled = &header->spooled;
    }
    return status;
}

void publisher_rank(struct publisher *publisher, struct rank *rank, enum publication_kind kind)
{
    struct publication *publication = create(publisher, rank->session, kind);
    int status = publication ? fill_rank(publication, rank) : -ENOMEM;
    if (status) {
        log_say(LOG_ERROR, RANK_SAYS ": publish: %s; tried again", RANK_NAMES(rank), strerror(-status));
        if (publication)
            free(publication->sources);
        free(publication);
        return; /* the tick finds the rank as it was */
    }
    publication->rank = rank;
    publication->flushes = rank->waiting;
    rank->waiting = NULL;
    rank->publication = publication;
    enqueue(publisher, publication);
}

static int add_folder(struct publication *publication)
{
    DIR *dir = opendir(publication->folder);
    if (!dir)
        return errno == ENOENT ? 0 : -errno;
    int status = 0;
    const struct dirent *entry;
    while (!status && (entry = readdir(dir))) {
        size_t length = strlen(entry->d_name), suffix = strlen(SP__SPOOL_SUFFIX);
        char path[SP__PATH_SIZE];
        if (length > suffix && entry->d_name[0] != '.' && !strcmp(entry->d_name + length - suffix, SP__SPOOL_SUFFIX) &&
            (size_t)snprintf(path, sizeof path, "%s/%s", publication->folder, entry->d_name) < sizeof path)
            status = add_source(publication, path, false);
    }
    closedir(dir);
    return status;
}

static int fill_session(struct publication *publication, struct session *session)
{
    int status = 0;
    for (struct rank *rank = session->daemon->ranks; rank && !status; rank = rank->next) {
        if (rank->session != session)
            continue;
        status = add_source(publication, rank->consumer->spool.path, true);
        if (!status && *rank->other_spool)
            status = add_source(publication, rank->other_spool, true);
    }
    if (!status)
        status = add_folder(publication); /* ranks that have ended */
    snprintf(publication->hdf5, sizeof publication->hdf5, "%s", session->merged);
    publication->add_settled = session->merged_plain && session->merged_settled;
    return status;
}

void publisher_session(struct publisher *publisher, struct session *session)
{
    struct publication *publication = create(publisher, session, PUBLISH_SESSION);
    int status = publication ? fill_session(publication, session) : -ENOMEM;
    if (status) {
        log_say(LOG_ERROR, "session %s: publish: %s; tried again", session->name, strerror(-status));
        if (publication)
            free(publication->sources);
        free(publication);
        session->merge_ended = true;
        return;
    }
    publication->flushes = session->waiting;
    session->waiting = NULL;
    session->publication = publication;
    enqueue(publisher, publication);
}

struct closing {
    uv_work_t work;
    const struct daemon *daemon;
    int fd;
};

static void on_close(uv_work_t *work)
{
    const struct closing *closing = work->data;
    take_ordinary_turn(closing->daemon);
    close(closing->fd);
}

static void on_close_done(uv_work_t *work, int status)
{
    (void)status;
    free(work->data);
}

void publisher_close(struct publisher *publisher, int fd)
{
    struct closing *closing = fd >= 0 ? calloc(1, sizeof *closing) : NULL;
    if (!closing) {
        if (fd >= 0)
            close(fd);
        return;
    }
    closing->work.data = closing;
    closing->daemon = publisher->daemon;
    closing->fd = fd;
    uv_queue_work(&publisher->daemon->loop, &closing->work, on_close, on_close_done);
}
