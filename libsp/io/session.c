/* session.c: a session as inputs: of every incarnation its spools where they exist, else its published file. Programs
 * record, spd publishes and removes meanwhile; a look that went stale before its files were open is taken again. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "catalog.h"
#include "consumer.h"
#include "env.h"
#include "inputs.h"
#include "names.h"
#include "segment.h"

enum {
    TRIES = 6,      /* looks taken when files vanish between look and opening */
    WAIT_MS = 5000, /* for somebody who is draining or publishing what has ended */
    STEP_MS = 50
};

/* A profile of several ranks is read once, however many notes name it. */
struct merged {
    char *path;
    sp_inputs *ranks; /* slots of sources that were taken are NULL */
};

struct adding {
    sp_inputs *inputs;
    struct sp__mark before; /* what was there already */
    const sp_session_settings *settings;
    const char *scratch_dir;
    struct merged *merged;
    size_t merged_count;
    char **skipped; /* sentences about lives that could not be read, where nobody else is told of them */
    size_t skipped_count;
    sp_error *bad; /* else these: told of when the look turns out to be the last */
    size_t bad_count;
    bool last_look;
    sp_error *error;
};

sp_session_settings sp_session_settings_default(void)
{
    return (sp_session_settings){.live = true, .recover = true};
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
}

static bool wanted(const struct adding *a, const struct sp__life *life)
{
    return !a->settings->hostname || !*life->hostname || !strcmp(a->settings->hostname, life->hostname);
}

/* ---- recovering what died ------------------------------------------------------------------------------------------
 */

/* Drains a dead program's segment into its spool and removes it. The order makes each instant harmless to be killed at:
 * the END frame stands before the name goes, and whoever comes after a death in between finds both and goes on. */
static int recover(const struct sp__life *life, const char *data_dir, char why[256])
{
    struct sp__consumer *consumer;
    int result = sp__consumer_attach(&consumer, life->segment, data_dir, why);
    if (result)
        return result;
    uint64_t records = 1;
    /* Only now is nobody else able to have done it already. */
    uint32_t state =
        atomic_load_explicit(&consumer->segment.header->state, memory_order_acquire); /* the program's last */
    if (sp__segment_alive(&consumer->segment) != 0 || state >= SP__FINALIZED)
        result = -EBUSY;
    while (!result && records)
        result = sp__consumer_drain(consumer, 0, &records);
    if (!result)
        result = sp__consumer_mark(consumer, state == SP__FINALIZING ? SP__END_FINALIZED : SP__END_DIED);
    if (!result)
        result = sp__spool_sync(&consumer->spool);
    if (!result)
        result = sp__segment_unlink(&consumer->segment);
    else if (result != -EBUSY)
        snprintf(why, 256, "segment %.120s cannot be drained: %s", life->segment, strerror(-result));
    sp__consumer_destroy(consumer);
    return result;
}

/* A segment whose records are published already, or are not to be: its name goes, and a discarded one's spools. */
static void clear_away(const struct sp__life *life, const char *data_dir)
{
    struct sp__segment segment;
    if (sp__segment_open(&segment, life->segment, true, NULL))
        return;
    if (life->state == SP__DISCARDED) {
        char path[SP__PATH_SIZE];
        int n = snprintf(path, sizeof path, "%s/%s/%s%s", data_dir, life->session, life->stem, SP__SPOOL_SUFFIX);
        if (n > 0 && (size_t)n < sizeof path && unlink(path) && errno != ENOENT) {
            sp__segment_close(&segment); /* the segment is what says that the spool counts for nothing */
            return;
        }
    }
    (void)sp__segment_unlink(&segment);
    sp__segment_close(&segment);
}

/* True where something changed, so that another look is due. */
static bool recover_all(const struct adding *a, const struct sp__catalog *catalog, const char *data_dir)
{
    bool changed = false;
    for (size_t i = 0; i < catalog->count; i++) {
        const struct sp__life *life = &catalog->lives[i];
        char why[256] = "";
        if (!*life->segment || !life->state || life->alive || life->consumed || !wanted(a, life))
            continue;
        if (life->state >= SP__FINALIZED)
            clear_away(life, data_dir);
        else
            changed = !recover(life, data_dir, why) || changed;
    }
    return changed;
}

/* Somebody is at what has ended, and will be done soon. */
static bool unsettled(const struct adding *a, const struct sp__catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++) {
        const struct sp__life *life = &catalog->lives[i];
        if (!*life->segment || !life->state || life->state >= SP__FINALIZED || !wanted(a, life))
            continue;
        if (life->state == SP__FINALIZING ? life->alive || life->consumed : !life->alive && life->consumed)
            return true;
    }
    return false;
}

/* A look at a session at rest, as far as it comes to rest in time. */
static int settled_look(const struct adding *a, struct sp__catalog *ret, const char *data_dir, unsigned *waited_ms)
{
    for (;;) {
        int status = sp__catalog_build(ret, data_dir, a->inputs->session, false, a->error);
        if (status || !a->settings->recover)
            return status;
        bool again = recover_all(a, ret, data_dir);
        if (!again && unsettled(a, ret) && *waited_ms < WAIT_MS) {
            nap();
            *waited_ms += STEP_MS;
            again = true;
        }
        if (!again)
            return 0;
        sp__catalog_finish(ret);
    }
}

/* ---- one life -------------------------------------------------------------------------------------------------------
 */

static int open_merged(struct adding *a, const char *path, struct merged **ret)
{
    for (size_t i = 0; i < a->merged_count; i++) {
        if (!strcmp(a->merged[i].path, path)) {
            *ret = &a->merged[i];
            return 0;
        }
    }
    struct merged *more = realloc(a->merged, (a->merged_count + 1) * sizeof *more), fresh = {strdup(path), NULL};
    if (more)
        a->merged = more;
    int status = more && fresh.path ? sp_inputs_create(&fresh.ranks, a->error)
                                    : sp__fail(a->error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "cannot be read");
    if (!status)
        sp_inputs_probe(fresh.ranks, a->inputs->probe);
    if (!status)
        status = sp__open_h5(fresh.ranks, path, -1, a->error);
    if (status) {
        sp_inputs_destroy(fresh.ranks);
        free(fresh.path);
        return status;
    }
    a->merged[a->merged_count] = fresh;
    *ret = &a->merged[a->merged_count++];
    return 0;
}

/* Moves a rank of a merged profile to the inputs; one that has no rows there becomes a source without any. */
static int take_rank(struct adding *a, struct merged *merged, uint32_t rank)
{
    for (size_t i = 0; i < merged->ranks->count; i++) {
        struct sp__source *source = merged->ranks->sources[i];
        if (source && source->rank == rank) {
            merged->ranks->sources[i] = NULL;
            return sp__inputs_append(a->inputs, source, a->error);
        }
    }
    return sp__open_h5(a->inputs, merged->path, rank, a->error);
}

/* 1: the first call of some region began while the life that published the file was going on; 0: it did not. */
static int is_of_life(struct sp__source *source, const struct sp__note *note, sp_error *error)
{
    static const int64_t READING_NS = 1000000; /* by which clocks of a life that ended may be told apart at most */
    int64_t start, end, slack = READING_NS + (note->clock_error_ns > 0 ? note->clock_error_ns : 0);
    const struct sp__calls first = {.start = &start, .end = &end};
    size_t row = 0;
    while (row < source->row_count && !source->rows[row].calls)
        row++;
    /* A clock that stepped back, or went out of range, tells nothing. */
    bool told = note->ended && !note->counters.mended && note->birth_mono_ns >= 0 &&
                note->end_mono_ns < INT64_MAX / 2 && note->birth_mono_ns <= note->end_mono_ns;
    if (!told || source->aggregate || row == source->row_count)
        return 1;
    int status = source->read(source, row, 0, 1, &first, error);
    source->rest(source);
    if (status < 0)
        return status;
    return start >= note->birth_mono_ns - slack && start - slack <= note->end_mono_ns;
}

/* Without spd a profile lies where the program asked for it, and another run with that prefix writes its own there. */
static int added_is_meant(struct adding *a, const struct sp__life *life)
{
    struct sp__source *source = a->inputs->sources[a->inputs->count - 1];
    const struct sp__note *note = life->note;
    uint64_t calls = 0;
    for (size_t row = 0; row < source->row_count; row++)
        calls += source->rows[row].calls;
    int status = calls == note->calls ? is_of_life(source, note, a->error) : 0;
    if (status != 0)
        return status < 0 ? status : 0;
    return sp__fail(
        a->error, SP_ERR_CORRUPT_PROFILE, 0, note->file, NULL,
        "is not what rank %" PRIu32 " of session %s published there: it holds %" PRIu64 " calls where that had "
        "%" PRIu64 ", or calls of another time: another run has written over it; give each run a prefix or a "
        "folder of its own, or remove the note %s%s from the session's folder to go on without it",
        note->rank, note->session, calls, note->calls, life->stem, SP__NOTE_SUFFIX);
}

static int add_published(struct adding *a, const struct sp__life *life)
{
    const struct sp__note *note = life->note;
    if (access(note->file, F_OK))
        return sp__fail(a->error, SP_ERR_NOT_FOUND, errno, note->file, NULL,
                        "rank %" PRIu32
                        " of session %s was published there, and its spool is gone: put the file back, or "
                        "remove the note %s%s from the session's folder to go on without it",
                        note->rank, note->session, life->stem, SP__NOTE_SUFFIX);
    bool again;
    int status = sp__inputs_take(a->inputs, note->file, a->before.taken, &again, a->error);
    if (status || again)
        return status;
    if (!strcmp(note->format, "spt")) {
        status = sp__open_trace(a->inputs, note->file, a->error);
        if (!status)
            status = added_is_meant(a, life);
        return status ? status : sp__note_annotate(a->inputs->sources[a->inputs->count - 1], note, false, a->error);
    }
    for (size_t i = a->before.sources; i < a->inputs->count; i++) {
        struct sp__source *source = a->inputs->sources[i];
        if (source->rank == note->rank && !strcmp(source->path, note->file))
            return sp__note_annotate(source, note, true, a->error);
    }
    struct merged *merged = NULL;
    status = open_merged(a, note->file, &merged);
    if (!status)
        status = take_rank(a, merged, note->rank);
    if (!status && !strcmp(note->format, "h5"))
        status = added_is_meant(a, life);
    return status ? status : sp__note_annotate(a->inputs->sources[a->inputs->count - 1], note, false, a->error);
}

/* What a->error says, once a file. */
static int remember(struct adding *a)
{
    for (size_t i = 0; i < a->bad_count; i++)
        if (!strcmp(a->bad[i].file, a->error->file))
            return 0;
    sp_error *more = realloc(a->bad, (a->bad_count + 1) * sizeof *more);
    if (!more)
        return sp__fail(a->error, SP_ERR_SYSTEM, ENOMEM, NULL, NULL, "the session cannot be read");
    a->bad = more;
    a->bad[a->bad_count++] = *a->error;
    return 0;
}

/* Nothing can be made of what a life left. */
static int skip(struct adding *a, const struct sp__life *life, const char *text)
{
    char sentence[512];
    const char *name = *life->stem == '?' ? life->segment : life->stem;
    if (a->inputs->bad) {
        sp__fail(a->error, SP_ERR_CORRUPT_PROFILE, 0, name, NULL, "rank %" PRId32 " cannot be read: %.700s", life->rank,
                 text);
        return remember(a);
    }
    snprintf(sentence, sizeof sentence, "rank %" PRId32 " (%.100s) is left out: %.300s", life->rank, name, text);
    return sp__texts_add(&a->skipped, &a->skipped_count, sentence)
               ? sp__fail(a->error, SP_ERR_SYSTEM, ENOMEM, NULL, NULL, "the session cannot be read")
               : 0;
}

static int add_recording(struct adding *a, const struct sp__life *life, bool live)
{
    const struct sp__recording_source from = {.spools = (const char *const *)life->spools,
                                              .spool_count = life->spool_count,
                                              .live = live ? life->segment : NULL,
                                              .incarnation = live ? life->incarnation : NULL,
                                              .scratch_dir = a->scratch_dir};
    if (!life->spool_bytes && !live)
        return 0; /* made, and nothing written before the end */
    bool again = false;
    int status = 0;
    for (size_t i = 0; !status && i < life->spool_count; i++)
        status = sp__inputs_take(a->inputs, life->spools[i], a->before.taken, &again, a->error);
    if (!status && again && !live)
        return 0;
    if (!status)
        status = sp__open_recording(a->inputs, &from, a->error);
    if (status != SP_ERR_CORRUPT_PROFILE)
        return status;
    const sp_error why = *a->error;
    return skip(a, life, why.text);
}

/* Once a merged file is whole, the spools it was made from are removed one by one. As soon as one of a rank is gone, the
 * file speaks for all lives of the rank that it names, and what is still left of their spools would count twice. */
static bool speaks_for(const struct sp__catalog *catalog, const struct sp__life *life)
{
    if (!life->note || !life->note->final || *life->segment || strcmp(life->note->format, "merged") != 0)
        return false;
    for (size_t i = 0; i < catalog->count; i++) {
        const struct sp__note *other = catalog->lives[i].note;
        if (other && !catalog->lives[i].spool_count && other->rank == life->note->rank &&
            !strcmp(other->file, life->note->file))
            return true;
    }
    return false;
}

static int add_life(struct adding *a, const struct sp__catalog *catalog, const struct sp__life *life)
{
    bool live = a->settings->live && *life->segment && life->state && life->state != SP__DISCARDED;
    int status = 0;
    if (!wanted(a, life) || (a->settings->ended && *life->segment && life->state != SP__DISCARDED))
        return 0;
    if (speaks_for(catalog, life))
        status = add_published(a, life);
    else if (life->spool_count || (live && !life->note))
        status = add_recording(a, life, live);
    else if (life->note)
        status = add_published(a, life);
    else if (*life->why)
        status = skip(a, life, life->why);
    /* What is not there, or is just being written, may be somewhere else at the next look. */
    bool passing = (status == SP_ERR_NOT_FOUND || status == SP_ERR_BUSY) && !a->last_look;
    return status && a->inputs->bad && !passing && sp__error_of_input(a->error) ? remember(a) : status;
}

static int nothing_found(const struct adding *a, const char *data_dir)
{
    if (a->skipped_count)
        return sp__fail(a->error, SP_ERR_NOT_FOUND, 0, a->inputs->session, NULL, "%s", a->skipped[0]);
    const char *host = a->settings->hostname;
    return sp__fail(a->error, SP_ERR_NOT_FOUND, 0, a->inputs->session, NULL, "nothing of it is left in %s and %s%s%s",
                    data_dir, SP__SHM_DIR, host ? " for host " : "", host ? host : "");
}

static void close_merged(struct adding *a)
{
    for (size_t i = 0; i < a->merged_count; i++) {
        /* The slots that were taken close up, so that destroying the list destroys the rest. */
        sp_inputs *ranks = a->merged[i].ranks;
        size_t kept = 0;
        for (size_t j = 0; j < ranks->count; j++)
            if (ranks->sources[j])
                ranks->sources[kept++] = ranks->sources[j];
        ranks->count = kept;
        sp_inputs_destroy(ranks);
        free(a->merged[i].path);
    }
    free(a->merged);
    a->merged = NULL;
    a->merged_count = 0;
}

static int add_all(struct adding *a, const struct sp__catalog *catalog, const char *data_dir)
{
    int status = 0;
    for (size_t i = 0; !status && i < catalog->count; i++)
        status = add_life(a, catalog, &catalog->lives[i]);
    close_merged(a);
    bool none = a->inputs->count == a->before.sources;
    if (!status && none && !a->bad_count && a->inputs->repeated_count == a->before.repeated)
        status = nothing_found(a, data_dir);
    struct sp__source *first = status || none ? NULL : a->inputs->sources[a->before.sources];
    for (size_t i = 0; first && !status && i < a->skipped_count; i++)
        if (sp__texts_add(&first->warnings, &first->warning_count, a->skipped[i]))
            status = sp__fail(a->error, SP_ERR_SYSTEM, ENOMEM, NULL, NULL, "the session cannot be read");
    for (size_t i = 0; !status && i < a->bad_count; i++)
        (void)sp__inputs_bad(a->inputs, &a->bad[i], NULL);
    while (a->skipped_count)
        free(a->skipped[--a->skipped_count]);
    free(a->skipped);
    free(a->bad);
    a->skipped = NULL;
    a->bad = NULL;
    a->bad_count = 0;
    if (status)
        sp__inputs_cut(a->inputs, a->before);
    return status;
}

int sp_inputs_add_session(sp_inputs *inputs, const sp_session_settings *settings, sp_error *error)
{
    char given[SP__PATH_SIZE], data_dir[SP__PATH_SIZE], folder[SP__PATH_SIZE], session[SP__SESSION_SIZE];
    if (!settings->session)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "no session was named");
    int result = sp__data_dir(settings->data_dir, given, sizeof given);
    if (!result)
        result = sp__prefix_absolute(given, data_dir); /* a segment that is recovered here will name it */
    if (result)
        return sp__fail(error, SP_ERR_SYSTEM, -result, NULL, NULL, "there is no data folder; set SP_DATA_DIR");
    int status = sp__catalog_resolve(data_dir, settings->session, session, error);
    if (status)
        return status;
    snprintf(inputs->session, sizeof inputs->session, "%s", session);
    int n = snprintf(folder, sizeof folder, "%s/%s", data_dir, session);
    bool folder_good = n > 0 && (size_t)n < sizeof folder && !access(folder, W_OK);
    sp_error why = {0};
    struct adding a = {.inputs = inputs, .before = sp__inputs_mark(inputs), .settings = settings, .error = &why};
    a.scratch_dir = settings->scratch_dir ? settings->scratch_dir : folder_good ? folder : "/tmp";
    unsigned waited_ms = 0;
    for (unsigned attempt = 1;; attempt++) {
        struct sp__catalog catalog;
        a.last_look = attempt == TRIES;
        status = settled_look(&a, &catalog, data_dir, &waited_ms);
        if (!status) {
            status = add_all(&a, &catalog, data_dir);
            sp__catalog_finish(&catalog);
        }
        /* Published and removed, or published anew, between the look and the opening: look again. */
        if ((status != SP_ERR_NOT_FOUND && status != SP_ERR_BUSY) || a.last_look)
            break;
        nap();
    }
    if (status && error)
        *error = why;
    return status;
}
