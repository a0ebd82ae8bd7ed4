/* publish_own.c: a program without spd writes its own .spt, from its own spool. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "instant.h"
#include "message.h"
#include "names.h"
#include "note.h"
#include "own.h"
#include "publish.h"
#include "recording.h"
#include "trace.h"

static void say_failed(const struct sp_profiler *p, int error, const char *why)
{
    sp__say(SP__SAY_PUBLISH,
            "cannot write %s: %s%s%s; make its folder writable and call sp_finalize again, or get the "
            "profile with \"spctl merge %s\"; nothing is lost",
            p->path, strerror(-error), why[0] ? ", " : "", why, p->settings.session);
}

/* The spool of the first consumer, where that is another than ours. */
static bool other_spool(const struct sp_profiler *p, char ret[SP__PATH_SIZE])
{
    memcpy(ret, p->header->spool, SP__PATH_SIZE);
    ret[SP__PATH_SIZE - 1] = '\0';
    return ret[0] == '/' && strcmp(ret, p->own.consumer->spool.path) != 0 && access(ret, R_OK) == 0;
}

static int open_recording(struct sp_profiler *p, struct sp__recording **ret, char why[256])
{
    char folder[SP__PATH_SIZE], named[SP__PATH_SIZE];
    const char *spools[2] = {p->own.consumer->spool.path, named};
    memcpy(folder, p->path, sizeof folder);
    folder[sp__base_name(p->path) - p->path] = '\0';
    struct sp__recording_source source = {
        .spools = spools, .spool_count = other_spool(p, named) ? 2 : 1, .scratch_dir = folder, .trace = p->path};
    return sp__recording_create(ret, &source, why);
}

static void write_note(struct sp_profiler *p, const struct sp__recording *recording, const char *file,
                       const char *format, bool final)
{
    char path[SP__PATH_SIZE + 256], stem[96];
    if (p->own.beside_output)
        return; /* there is no data folder to look in */
    sp__incarnation_stem(&p->identity, stem);
    (void)snprintf(path, sizeof path, "%s/%s/%s" SP__NOTE_SUFFIX, p->own.folder, p->settings.session, stem);
    int error = sp__note_write(path, recording, file, format, final);
    if (error)
        sp__say(SP__SAY_NOTE,
                "cannot write %s: %s; \"spctl merge %s\" will not find rank %d, merge its file %s by name", path,
                strerror(-error), p->settings.session, p->settings.rank, file);
}

/* The note is durable before the profile gets its name: whoever finds the file knows whose it is, and what it holds. */
static int write_files(struct sp_profiler *p, bool final, bool *ret_keep)
{
    struct sp__recording *recording;
    char why[256] = "";
    int error = open_recording(p, &recording, why);
    if (!error) {
        if (final)
            recording->ended = true; /* its END frame comes when this has succeeded */
        write_note(p, recording, p->path, "spt", final);
        SP__INSTANT(own_noted);
        error = sp__trace_write(recording, p->path, final);
        SP__INSTANT(own_written);
        *ret_keep = recording->thread_count > 1;
        if (error && final) { /* a later try, or somebody else's, is the final one */
            recording->ended = false;
            write_note(p, recording, p->path, "spt", false);
        }
        if (!error) /* an spd before us may have answered with a file of its own */
            sp__consumer_answer(p->own.consumer, SP_OK, 0, SP__FORMAT_TRACE, p->path);
        if (!error && *ret_keep && final)
            sp__say(SP__SAY_THREADS, "%s holds the joined calls of %zu threads; \"spctl merge %s\" gives each its lane",
                    p->path, recording->thread_count, p->settings.session);
        sp__recording_destroy(recording);
    }
    if (error)
        say_failed(p, error, why);
    return error;
}

/* A .spt has no place for statistics: what is kept is the spool. */
static int keep_statistics(struct sp_profiler *p, bool final)
{
    struct sp__consumer *c = p->own.consumer;
    struct sp__recording *recording;
    char why[256] = "";
    int error = open_recording(p, &recording, why);
    if (error) {
        say_failed(p, error, why);
        return error;
    }
    if (final)
        recording->ended = true; /* its END frame follows */
    write_note(p, recording, c->spool.path, "spool", false);
    sp__recording_destroy(recording);
    sp__consumer_answer(c, SP_OK, 0, p->written, c->spool.path);
    if (final)
        sp__say(SP__SAY_STATS, "the statistics of rank %d are in %s; \"spctl report %s\" shows them", p->settings.rank,
                c->spool.path, p->own.beside_output ? c->spool.path : p->settings.session);
    return 0;
}

/* State first: whoever finds the segment from here on has nothing to do but to remove its name. Killed before that, it
 * is a dead segment whose spool has everything; killed after it, a spool of what is published stands beside its note.
 */
static void close_books(struct sp_profiler *p, bool keep)
{
    struct sp__consumer *c = p->own.consumer;
    struct sp__header *header = p->header;
    if (keep) {
        (void)sp__consumer_mark(c, SP__END_FINALIZED);
        (void)sp__spool_sync(&c->spool);
        SP__INSTANT(books_marked);
    }
    atomic_store_explicit(&header->spooled, 1, memory_order_release);
    atomic_store_explicit(&header->published, 1, memory_order_release);
    atomic_store_explicit(&header->state, SP__FINALIZED, memory_order_release);
    SP__INSTANT(books_state);
    if (!keep) {
        char named[SP__PATH_SIZE];
        if (other_spool(p, named)) /* the recording took it in: it is of this incarnation */
            unlink(named);
        unlink(c->spool.path);
        sp__own_tidy(p);
        SP__INSTANT(books_spool);
    }
    (void)sp__segment_unlink(&c->segment);
    SP__INSTANT(books_name);
    sp__own_rest(p);
    sp__own_forget(p);
}

/* A consumer published and was killed before it could say so; its spool may be gone already. What it did is read from
 * its answer. Pairs with its release store, after that. */
static bool is_finalized(struct sp_profiler *p)
{
    if (atomic_load_explicit(&p->header->state, memory_order_acquire) != SP__FINALIZED)
        return false;
    sp__take_final_answer(p);
    return true;
}

/* With byte 1: a spool that was only just made must not stand in for what was published from another. */
static void leave_finalized(struct sp_profiler *p)
{
    const struct sp__spool *spool = &p->own.consumer->spool;
    if (spool->size <= sizeof(struct sp__frame) + sizeof(struct sp__identity))
        unlink(spool->path);
    sp__own_rest(p);
    sp__own_forget(p);
}

int sp__publish_own(struct sp_profiler *p, bool final)
{
    bool keep = false;
    if (final && is_finalized(p))
        return 0;
    int error = sp__own_take(p);
    if (error)
        return error;
    if (final && is_finalized(p)) { /* by a consumer that came and went since */
        leave_finalized(p);
        return 0;
    }
    struct sp__consumer *c = p->own.consumer;
    error = sp__consumer_drain(c, 0, NULL);
    if (!error)
        error = sp__consumer_mark(c, 0);
    SP__INSTANT(own_marked);
    if (error) {
        say_failed(p, error, c->spool.path);
    } else if (p->settings.mode == SP__MODE_STATS) {
        keep = true;
        error = keep_statistics(p, final);
    } else {
        error = write_files(p, final, &keep);
        p->written = error ? p->written : SP__FORMAT_TRACE;
    }
    if (!error && final)
        close_books(p, keep);
    else
        sp__own_rest(p);
    return error;
}
