/* sessions.c: what there is, for a list: segments, spools and notes of all sessions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "catalog.h"
#include "env.h"
#include "spool.h"

/* What one spool holds, counted frame by frame. */
struct counting {
    uint64_t next[SP__LANES];  /* one past the last sequence number counted */
    uint64_t floor[SP__LANES]; /* records below were reset */
    uint64_t dropped[SP__LANES];
    uint64_t measured[SP__LANES]; /* calls that the lane's last statistics count */
    uint64_t calls;
    bool risen; /* a floor rose while counting: once more */
    struct sp__record records[SP__FRAME_RECORDS_MOST];
};

static void count_records(struct counting *c, const struct sp__frame *frame, const unsigned char *payload)
{
    if (frame->count > SP__FRAME_RECORDS_MOST || sp__records_decode(payload, frame->length, c->records, frame->count))
        return;
    for (uint32_t i = 0; i < frame->count; i++) {
        uint64_t sequence = frame->first + i;
        if (sequence < c->next[frame->lane] || sequence < c->floor[frame->lane])
            continue;
        c->next[frame->lane] = sequence + 1;
        c->calls += c->records[i].kind == SP__CALL;
    }
}

/* One frame for all lanes; the epochs of one spool ascend, so the last one counts. */
static void count_bases(struct counting *c, const struct sp__frame *frame, const unsigned char *payload)
{
    for (uint32_t lane = 0; lane < frame->count && lane < SP__LANES; lane++) {
        uint64_t base;
        if (frame->length < (lane + 1) * sizeof base)
            return;
        memcpy(&base, payload + lane * sizeof base, sizeof base);
        if (base > c->floor[lane]) {
            c->floor[lane] = base;
            c->risen = true;
        }
    }
}

static void count_stats(struct counting *c, const struct sp__frame *frame, const unsigned char *payload)
{
    c->measured[frame->lane] = 0;
    for (uint32_t i = 0; i < frame->count && frame->length / sizeof(struct sp__stats_entry) > i; i++) {
        struct sp__stats_entry entry;
        memcpy(&entry, payload + i * sizeof entry, sizeof entry);
        c->measured[frame->lane] += entry.stats.calls;
    }
}

static void count_frame(struct counting *c, const struct sp__frame *frame, const unsigned char *payload)
{
    if (frame->lane >= SP__LANES)
        return;
    if (frame->type == SP__FRAME_RECORDS) {
        count_records(c, frame, payload);
    } else if (frame->type == SP__FRAME_BASE) {
        count_bases(c, frame, payload);
    } else if (frame->type == SP__FRAME_STATS) {
        count_stats(c, frame, payload);
    } else if (frame->type == SP__FRAME_COUNTERS && frame->length >= sizeof(struct sp__counters)) {
        struct sp__counters counters;
        memcpy(&counters, payload, sizeof counters);
        c->dropped[frame->lane] = sp__counters_lost(&counters);
    }
}

static void count_spool(const char *path, sp_rank_info *info)
{
    struct counting *c = calloc(1, sizeof *c);
    struct sp__spool_reader reader;
    struct sp__identity id;
    if (!c || sp__spool_reader_open(&reader, path, UINT64_MAX, &id)) {
        free(c);
        return;
    }
    for (int pass = 0; pass == 0 || (pass == 1 && c->risen); pass++) {
        struct sp__frame frame;
        memset(c->next, 0, sizeof c->next);
        c->calls = 0;
        sp__spool_reader_rewind(&reader);
        while (sp__spool_reader_next(&reader, &frame) == 1)
            count_frame(c, &frame, reader.payload);
    }
    info->calls += c->calls;
    for (size_t lane = 0; lane < SP__LANES; lane++) {
        info->calls += c->measured[lane];
        info->dropped += c->dropped[lane];
    }
    sp__spool_reader_close(&reader);
    free(c);
}

static enum sp_rank_state state_of(const struct sp__life *life)
{
    if (*life->segment && !life->state)
        return SP_RANK_UNREADABLE;
    if (*life->segment && life->state != SP__DISCARDED) {
        if (life->state == SP__FINALIZED)
            return SP_RANK_PUBLISHED;
        if (!life->alive && life->state != SP__FINALIZING) /* that one ended well; its consumer is late */
            return SP_RANK_DEAD;
        return life->state == SP__FINALIZING ? SP_RANK_FINALIZING
               : life->state == SP__PAUSED   ? SP_RANK_PAUSED
                                             : SP_RANK_RECORDING;
    }
    if (life->spool_count)
        return SP_RANK_SPOOLED;
    return life->note ? SP_RANK_PUBLISHED : SP_RANK_UNREADABLE;
}

static void copy(char *ret, size_t size, const char *text)
{
    snprintf(ret, size, "%.*s", (int)size - 1, text);
}

static void fill_figures(sp_rank_info *info, const struct sp__life *life)
{
    if (*life->segment && life->state) {
        info->calls = life->segment_calls;
        info->undrained = life->undrained;
        info->dropped = life->dropped;
    } else if (life->spool_count) {
        for (size_t i = 0; i < life->spool_count; i++)
            count_spool(life->spools[i], info);
    } else if (life->note) {
        info->calls = life->note->calls;
        info->dropped = sp__counters_lost(&life->note->counters);
    }
    info->bytes = life->segment_bytes + life->spool_bytes;
    struct stat s;
    if (life->note && !stat(life->note->file, &s) && S_ISREG(s.st_mode)) {
        info->bytes += (uint64_t)s.st_size;
        int64_t changed = (int64_t)s.st_mtim.tv_sec * 1000000000 + s.st_mtim.tv_nsec;
        if (changed > info->changed_ns)
            info->changed_ns = changed;
    }
}

/* One a line, on the heap, NULL without memory. */
static char *joined(char *const *texts, size_t count)
{
    size_t length = 1, used = 0;
    for (size_t i = 0; i < count; i++)
        length += strlen(texts[i]) + 1;
    char *ret = calloc(1, length);
    for (size_t i = 0; ret && i < count; i++)
        used += (size_t)snprintf(ret + used, length - used, "%s%s", i ? "\n" : "", texts[i]);
    return ret;
}

static void fill(sp_rank_info *info, const struct sp__life *life)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *info = (sp_rank_info){.rank = life->rank,
                           .pid = life->pid,
                           .state = state_of(life),
                           .consumed = life->consumed,
                           .age_ns = -1,
                           .changed_ns = life->changed_ns};
    copy(info->session, sizeof info->session, life->session);
    copy(info->prefix, sizeof info->prefix, life->prefix);
    copy(info->hostname, sizeof info->hostname, life->hostname);
    copy(info->incarnation, sizeof info->incarnation, life->incarnation);
    copy(info->why, sizeof info->why, life->why);
    if (life->note)
        copy(info->file, sizeof info->file, life->note->file);
    int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    if (life->birth_realtime_ns >= 0)
        info->age_ns = now_ns > life->birth_realtime_ns ? now_ns - life->birth_realtime_ns : 0;
    fill_figures(info, life);
}

int sp_sessions_each(const char *data_dir, const char *session, int (*each)(void *context, const sp_rank_info *info),
                     void *context, sp_error *error)
{
    char folder[SP__PATH_SIZE], name[SP__SESSION_SIZE];
    int result = sp__data_dir(data_dir, folder, sizeof folder);
    if (result)
        return sp__fail(error, SP_ERR_SYSTEM, -result, NULL, NULL, "there is no data folder; set SP_DATA_DIR");
    int status = session ? sp__catalog_resolve(folder, session, name, error) : 0;
    struct sp__catalog catalog;
    if (!status)
        status = sp__catalog_build(&catalog, folder, session ? name : NULL, true, error);
    if (status)
        return status;
    for (size_t i = 0; !status && i < catalog.count; i++) {
        const struct sp__life *life = &catalog.lives[i];
        /* Destroyed on purpose: only what was flushed before is left of it. */
        if (*life->segment && life->state == SP__DISCARDED && !life->note)
            continue;
        sp_rank_info info;
        fill(&info, life);
        char *open_calls = life->note ? joined(life->note->open_calls, life->note->open_call_count) : NULL;
        info.open_calls = open_calls ? open_calls : "";
        info.died = life->note && life->note->died;
        status = each(context, &info);
        free(open_calls);
    }
    sp__catalog_finish(&catalog);
    return status;
}
