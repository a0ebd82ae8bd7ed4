/* publication.c: one publication, on a worker thread. Its order: spool on the disk, note on the disk, profile renamed
 * to its place. Spools and segments are removed by the loop afterwards. */
#include "publisher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "durable.h"
#include "env.h"
#include "instant.h"
#include "log.h"
#include "names.h"
#include "node.h"
#include "note.h"
#include "recording.h"
#include "scope_profiler_io.h"
#include "segment.h"
#include "trace.h"

static void fail(struct publication *publication, int error, const char *object, const char *why)
{
    publication->error = error ? error : EIO;
    snprintf(publication->why, sizeof publication->why, "%s: %s", object,
             why && *why ? why : strerror(publication->error));
}

static int open_recording(struct publication *publication, size_t first, size_t count, bool tables,
                          struct sp__recording **ret)
{
    const char *spools[2] = {publication->sources[first].path, count > 1 ? publication->sources[first + 1].path : NULL};
    uint64_t ends[2] = {publication->rank ? publication->end : UINT64_MAX, UINT64_MAX};
    struct sp__recording_source source = {.spools = spools,
                                          .ends = ends,
                                          .spool_count = count,
                                          .scratch_dir = publication->folder,
                                          .trace = publication->trace,
                                          .tables = tables};
    char why[256] = "";
    int status = sp__recording_create(ret, &source, why);
    if (status)
        fail(publication, -status, spools[0], why);
    return status;
}

/* Which kind: an explicit --format insists, else what the program asked, else by the number of threads. */
static bool is_hdf5(const struct publication *publication, const struct sp__recording *recording)
{
    bool stats = recording->identity.mode == SP__MODE_STATS; /* a trace has no place for them */
    if (stats) {
        if (publication->format != OPTIONS_HDF5)
            log_say(publication->format == OPTIONS_TRACE ? LOG_WARNING : LOG_INFO,
                    "%s: publish: statistics without events (SP_MODE=stats) have no place in a trace; this is HDF5",
                    publication->hdf5);
        return true;
    }
    if (publication->format == OPTIONS_TRACE)
        return false;
    if (publication->format == OPTIONS_AUTO && publication->asked != SP__FORMAT_AUTO)
        return publication->asked == SP__FORMAT_HDF5;
    return publication->format == OPTIONS_HDF5 || recording->thread_count > 1;
}

/* A flush of another kind left one; it holds this incarnation's calls only, and the new file has them all. */
static void remove_other_kind(const struct publication *publication, const char *other)
{
    if (!unlink(other))
        log_say(LOG_DEBUG, "%s: removed: %s stands in its place", other, publication->file);
}

static void write_trace(struct publication *publication, const struct sp__recording *recording)
{
    if (recording->thread_count > 1)
        log_say(LOG_WARNING,
                "%s: publish: a trace has no place for %zu threads; their calls are joined; use --format h5",
                publication->trace, recording->thread_count);
    bool last = publication->kind != PUBLISH_FLUSH; /* else the spool stays, for another one */
    int status = sp__trace_write(recording, publication->trace, last);
    if (status) {
        fail(publication, -status, publication->trace, NULL);
        return;
    }
    SP__INSTANT(publish_written);
    publication->written = SP__FORMAT_TRACE;
    snprintf(publication->file, sizeof publication->file, "%s", publication->trace);
    remove_other_kind(publication, publication->hdf5);
}

static void take_figures(struct publication *publication, const struct sp__recording *recording)
{
    publication->ranks += 1;
    publication->calls += recording->calls;
    publication->dropped += sp__counters_lost(&recording->counters);
    publication->lost += recording->gaps + recording->bad_frames;
    if (!publication->facts)
        publication->facts = json_array();
}

/* libspio reads the calls of a profile itself, so that only a trace needs them here. */
static int open_decided(struct publication *publication, struct sp__recording **ret, bool *ret_hdf5)
{
    bool tables = publication->format == OPTIONS_HDF5 || publication->several;
    int status = open_recording(publication, 0, publication->source_count, tables, ret);
    if (status)
        return status;
    *ret_hdf5 = is_hdf5(publication, *ret);
    if (*ret_hdf5 || !tables)
        return 0;
    sp__recording_destroy(*ret);
    return open_recording(publication, 0, publication->source_count, false, ret);
}

static void prepare_rank(struct publication *publication)
{
    struct sp__recording *recording;
    bool final = publication->kind == PUBLISH_FINAL, hdf5;
    if (open_decided(publication, &recording, &hdf5))
        return;
    const char *target = hdf5 ? publication->hdf5 : publication->trace, *format = hdf5 ? "h5" : "spt";
    take_figures(publication, recording);
    int status = sp__make_dirs(publication->folder);
    if (!status)
        status = sp__note_write(publication->note, recording, target, format, final);
    if (status) {
        fail(publication, -status, publication->note, NULL);
    } else {
        SP__INSTANT(publish_noted);
        json_array_append_new(publication->facts, node_fact(recording, target, format, final));
        if (hdf5)
            publication->wants_hdf5 = true;
        else
            write_trace(publication, recording);
    }
    sp__recording_destroy(recording);
}

/* A spool that nobody is at: its own program may be publishing one that has ended, until its segment's name is gone,
 * and is about to remove it where its last note speaks of another file. */
static bool at_rest(const struct sp__recording *recording, const char *note_path)
{
    char name[256];
    struct sp__segment segment;
    if (!recording->ended || sp__segment_name(&recording->identity, name, sizeof name))
        return false;
    int there = sp__segment_open(&segment, name, false, NULL);
    if (there == 0) {
        /* The rank's next life has the same name, and no claim on this spool. */
        bool mine = !memcmp(segment.identity.incarnation, recording->identity.incarnation, SP__INCARNATION_SIZE);
        sp__segment_close(&segment);
        if (mine)
            return false;
    } else if (there != -ENOENT) {
        return false;
    }
    json_t *note = json_load_file(note_path, 0, NULL); /* NULL gives NULLs below */
    const char *format = json_string_value(json_object_get(note, "format"));
    bool published = json_is_true(json_object_get(note, "final")) && format && strcmp(format, "merged");
    json_decref(note);
    return !published;
}

static bool is_ours(const struct publication *publication, size_t n, const struct sp__recording *recording,
                    const char *note_path)
{
    if (strcmp(recording->identity.hostname, publication->hostname))
        return false; /* its own node merges it */
    return publication->sources[n].attached || at_rest(recording, note_path);
}

/* Notes of everything that the merged file is going to hold. */
static void prepare_session(struct publication *publication)
{
    if (!*publication->hdf5) {
        fail(publication, ENAMETOOLONG, publication->folder, NULL);
        return;
    }
    for (size_t n = 0; n < publication->source_count && !publication->error; ++n) {
        struct sp__recording *recording;
        char stem[96], note[SP__PATH_SIZE];
        if (open_recording(publication, n, 1, true, &recording)) {
            if (publication->error == ENOENT || publication->error == ENODATA) { /* discarded, or just begun */
                publication->error = 0;
                publication->sources[n].left_out = publication->sources[n].at_work = true;
            }
            continue;
        }
        sp__incarnation_stem(&recording->identity, stem);
        int status = -ENAMETOOLONG;
        bool fits =
            (size_t)snprintf(note, sizeof note, "%s/%s" SP__NOTE_SUFFIX, publication->folder, stem) < sizeof note;
        if (fits && !is_ours(publication, n, recording, note)) {
            publication->sources[n].left_out = true;
            publication->sources[n].at_work = !strcmp(recording->identity.hostname, publication->hostname);
            publication->keeps_spools = publication->keeps_spools || publication->add_settled;
            sp__recording_destroy(recording);
            continue;
        }
        publication->sources[n].ended = recording->ended;
        publication->keeps_spools = publication->keeps_spools || !recording->ended;
        if (fits)
            status = sp__note_write(note, recording, publication->hdf5, "merged", recording->ended);
        if (status)
            fail(publication, -status, note, NULL);
        take_figures(publication, recording);
        json_array_append_new(publication->facts, node_fact(recording, publication->hdf5, "merged", recording->ended));
        sp__recording_destroy(recording);
    }
    publication->wants_hdf5 = publication->ranks > 0;
}

void publication_prepare(struct publication *publication)
{
    SP__INSTANT(publish_begin);
    if (publication->sync >= 0 && fdatasync(publication->sync)) {
        fail(publication, errno, publication->sources[0].path, NULL);
        return;
    }
    SP__INSTANT(publish_synced);
    if (publication->spooled)
        atomic_store_explicit(publication->spooled, 1,
                              memory_order_release); /* pairs with sp_finalize's acquire load */
    SP__INSTANT(publish_spooled);
    if (!publication->rank)
        prepare_session(publication);
    else if (publication->format == OPTIONS_MERGED)
        publication->written = SP__FORMAT_HDF5; /* the session's file takes it from the spool */
    else
        prepare_rank(publication);
}

static void on_warning(void *context, const char *text)
{
    const struct publication *publication = context;
    log_say(LOG_WARNING, "%s: publish: %s", publication->hdf5, text);
}

static bool in_folder(const struct publication *publication, const char *path)
{
    size_t length = strlen(publication->folder);
    return !strncmp(path, publication->folder, length) && path[length] == '/' && !strchr(path + length + 1, '/');
}

enum { SPOOLS_MOST = 16 }; /* a consumer makes no more than nine in one folder, and the header names one elsewhere */

/* "<16 hex>.r<NNNNN>.<32 hex>" at the beginning of both names. */
static bool same_incarnation(const char *a, const char *b)
{
    a = sp__base_name(a);
    b = sp__base_name(b);
    const char *dot = strchr(a, '.');
    dot = dot ? strchr(dot + 1, '.') : NULL;
    return dot && !strncmp(a, b, (size_t)(dot - a) + 33);
}

static bool taken(const struct publication *publication, size_t n)
{
    const struct publication_source *source = &publication->sources[n];
    return !source->left_out && !(publication->add_settled && in_folder(publication, source->path));
}

/* All spools of the incarnation whose first one is source n, as one recording. */
static int add_incarnation(struct publication *publication, size_t n, sp_inputs *inputs, sp_error *error)
{
    const char *paths[SPOOLS_MOST];
    uint64_t ends[SPOOLS_MOST];
    size_t count = 0;
    if (!taken(publication, n))
        return 0;
    for (size_t other = 0; other < n; ++other)
        if (taken(publication, other) &&
            same_incarnation(publication->sources[other].path, publication->sources[n].path))
            return 0;
    for (size_t other = n; other < publication->source_count && count < SPOOLS_MOST; ++other)
        if (taken(publication, other) &&
            same_incarnation(publication->sources[other].path, publication->sources[n].path)) {
            ends[count] = other ? UINT64_MAX : publication->end;
            paths[count++] = publication->sources[other].path;
        }
    return sp_inputs_add_spools(inputs, paths, ends, count, publication->folder, error);
}

/* "r<NNNNN>" of a spool's name; -1: it has none. */
static int rank_of(const char *path)
{
    int rank;
    return sscanf(sp__base_name(path), "%*16[0-9a-f].r%9d.", &rank) == 1 ? rank : -1;
}

/* Another life of that rank is going to stand in the file, by its note. */
static bool rank_is_taken(const struct publication *publication, int rank)
{
    for (size_t n = 0; n < publication->source_count; ++n)
        if (!publication->sources[n].left_out && rank_of(publication->sources[n].path) == rank)
            return true;
    return false;
}

bool publication_rank_twice(const struct publication *publication, size_t n)
{
    const struct publication_source *source = &publication->sources[n];
    for (size_t other = 0; other < publication->source_count; ++other)
        if (!publication->sources[other].left_out &&
            rank_of(publication->sources[other].path) == rank_of(source->path) &&
            !same_incarnation(publication->sources[other].path, source->path))
            return true;
    return false;
}

/* A spool that nobody knew of when the file's name was chosen, or that somebody is at beside another life of its rank:
 * a program that drains itself. */
static bool in_the_way(const struct publication *publication, const char *name)
{
    for (size_t n = 0; n < publication->source_count; ++n) {
        const struct publication_source *source = &publication->sources[n];
        if (in_folder(publication, source->path) && !strcmp(sp__base_name(source->path), name))
            return source->at_work && rank_is_taken(publication, rank_of(name));
    }
    return true;
}

static bool any_in_the_way(const struct publication *publication)
{
    DIR *dir = opendir(publication->folder);
    bool found = false;
    for (const struct dirent *entry; dir && !found && (entry = readdir(dir)) != NULL;) {
        size_t length = strlen(entry->d_name), suffix = strlen(SP__SPOOL_SUFFIX);
        found = length > suffix && entry->d_name[0] != '.' &&
                !strcmp(entry->d_name + length - suffix, SP__SPOOL_SUFFIX) && in_the_way(publication, entry->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* Ranks that only published files hold by now, and with them all of the folder's spools. One of them without a note
 * that names this file would come again with a later file of its own, and its calls twice to whoever merges the session
 * by its notes. */
static int add_settled(struct publication *publication, sp_inputs *inputs, sp_error *error)
{
    sp_session_settings settings = sp_session_settings_default();
    settings.data_dir = publication->data_dir;
    settings.session = publication->name;
    settings.hostname = publication->hostname;
    settings.live = false;
    settings.recover = false;
    settings.scratch_dir = publication->folder;
    publication->busy = any_in_the_way(publication);
    int status = publication->busy ? SP_ERR_BUSY : sp_inputs_add_session(inputs, &settings, error);
    publication->busy = publication->busy || any_in_the_way(publication);
    if (!publication->busy)
        return status;
    *error = (sp_error){.status = SP_ERR_BUSY, .system = EBUSY};
    snprintf(error->text, sizeof error->text, "a program of session %s is draining itself", publication->name);
    return SP_ERR_BUSY;
}

static int add_inputs(struct publication *publication, sp_inputs *inputs, sp_error *error)
{
    int status = 0;
    if (publication->add_settled)
        status = add_settled(publication, inputs, error);
    for (size_t n = 0; n < publication->source_count && !status; ++n)
        status = add_incarnation(publication, n, inputs, error);
    return status;
}

static int write_inputs(struct publication *publication, const char *path, sp_write_report *ret, sp_error *error)
{
    sp_inputs *inputs;
    sp_write_settings settings = sp_write_settings_default();
    settings.format = SP_FILE_HDF5;
    settings.session = publication->name;
    settings.nesting = true;
    settings.sync = publication->kind != PUBLISH_FLUSH;
    settings.warn = on_warning;
    settings.warn_context = publication;
    int status = sp_inputs_create(&inputs, error);
    if (status)
        return status;
    status = add_inputs(publication, inputs, error);
    if (!status)
        status = sp_inputs_write(inputs, path, &settings, ret, error);
    sp_inputs_destroy(inputs);
    return status;
}

static int rename_durably(struct publication *publication, const char *from)
{
    int folder = open(publication->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = 0;
    SP__INSTANT(merged_written);
    if (rename(from, publication->hdf5) || (folder >= 0 && fsync(folder)))
        status = -errno;
    SP__INSTANT(merged_renamed);
    if (folder >= 0)
        close(folder);
    return status;
}

void publication_hdf5(struct publication *publication)
{
    sp_error error = {0};
    sp_write_report report = {0};
    char temporary[SP__PATH_SIZE + 32];
    bool session = !publication->rank;
    /* The merged file may be an input of its successor, so that one is written beside it. The name is that of all
     * temporaries; it ends in ".tmp". */
    if (session)
        snprintf(temporary, sizeof temporary, "%s/.%s.%ld-m.tmp", publication->folder, sp__base_name(publication->hdf5),
                 (long)getpid());
    int status = write_inputs(publication, session ? temporary : publication->hdf5, &report, &error);
    if (status) {
        fail(publication, error.system, *error.file ? error.file : publication->hdf5, error.text);
    } else if (session && (status = rename_durably(publication, temporary))) {
        fail(publication, -status, publication->hdf5, NULL);
    }
    if (status) {
        if (session)
            unlink(temporary);
        return;
    }
    SP__INSTANT(publish_written);
    publication->written = SP__FORMAT_HDF5;
    snprintf(publication->file, sizeof publication->file, "%s", publication->hdf5);
    if (session) {
        publication->ranks = report.ranks;
        publication->calls = report.calls;
        publication->dropped = report.dropped;
        publication->lost = report.lost;
    } else {
        remove_other_kind(publication, publication->trace);
    }
}
