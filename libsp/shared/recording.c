/* recording.c: opening the spools of one incarnation as one recording: the three passes, and reading rows. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "consumer.h"
#include "names.h"
#include "pages.h"
#include "recording_parts.h"

#define PER_REGION (sizeof(struct sp__region_text) + sizeof(uint64_t) + sizeof(uint32_t))

__attribute__((format(printf, 2, 3))) static void word(char why[256], const char *format, ...)
{
    va_list list;
    if (!why)
        return;
    va_start(list, format);
    vsnprintf(why, 256, format, list);
    va_end(list);
}

int64_t sp__making_ns(const struct sp__making *m, uint64_t ticks)
{
    if (m->recording->identity.clock == SP__CLOCK_MONOTONIC)
        return ticks > INT64_MAX ? INT64_MAX : (int64_t)ticks;
    return sp__clock_map_ns(m->map, ticks);
}

/* A further source; all of them must be of one incarnation. */
static int add_reader(struct sp__making *m, const struct sp__spool_reader *reader, const struct sp__identity *identity)
{
    struct sp__identity *known = &m->recording->identity;
    if (m->reader_count && memcmp(known->incarnation, identity->incarnation, sizeof known->incarnation) != 0)
        return -EINVAL;
    if (!m->reader_count)
        *known = *identity;
    m->readers[m->reader_count++] = *reader;
    return 0;
}

/* Is the spool that the header names among those that will be read? One that is gone from a segment that is finished
 * with was published meanwhile; from another one, somebody took it away. */
static bool is_given(const struct sp__recording_source *source, const char *path, uint32_t state)
{
    struct stat wanted, given;
    if (path[0] != '/')
        return true;
    if (stat(path, &wanted) != 0)
        return state < SP__FINALIZED;
    for (size_t i = 0; i < source->spool_count; i++)
        if (stat(source->spools[i], &given) == 0 && given.st_dev == wanted.st_dev && given.st_ino == wanted.st_ino)
            return true;
    return false;
}

static bool is_meant(const struct sp__recording_source *source, const struct sp__identity *identity)
{
    char text[33];
    sp__incarnation_text(identity->incarnation, text);
    return !source->incarnation || strcmp(text, source->incarnation) == 0;
}

/* The segment first: what its consumer moves to the spool while this runs is then in the spool, which is opened later.
 * A segment that vanished, or is none, leaves the spools to speak; so does one whose rank began another life since. */
static int open_live(struct sp__making *m, const struct sp__recording_source *source, char why[256])
{
    struct sp__identity *identity = malloc(sizeof *identity);
    struct sp__spool_reader reader;
    char spool[SP__PATH_SIZE] = "";
    uint32_t state = SP__RECORDING;
    int fd = -1, rc = identity ? 0 : -ENOMEM;
    if (rc == 0)
        rc = sp__consumer_observe(source->live, source->scratch_dir, identity, &fd, spool, &state, why);
    m->live_is_gone = rc == -ENOENT || (rc == 0 && !is_meant(source, identity));
    if (rc == 0 && m->live_is_gone) {
        close(fd);
    } else if (rc == 0) {
        m->live_has_more = !is_given(source, spool, state);
        rc = sp__spool_reader_open_fd(&reader, fd, UINT64_MAX, identity);
        if (rc == 0)
            rc = add_reader(m, &reader, identity);
        m->observed = rc == 0;
    }
    free(identity);
    return rc == -ENOMEM || rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG ? rc : 0;
}

/* What was in the segment has gone elsewhere since somebody looked which spools there are: into one that was begun
 * later, or into a published file. */
static int is_elsewhere(const struct sp__making *m, const struct sp__recording_source *source, char why[256])
{
    bool moved = m->live_is_gone && !m->recording->ended; /* all that a spool with an END lacks is nothing */
    if (!moved && !m->live_has_more)
        return 0;
    word(why, "segment %s was %s meanwhile", source->live, moved ? "given up" : "drained into another spool");
    return -ENOENT;
}

static int open_spools(struct sp__making *m, const struct sp__recording_source *source, char why[256])
{
    struct sp__identity *identity = malloc(sizeof *identity);
    int rc = identity ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < source->spool_count; i++) {
        struct sp__spool_reader reader;
        rc = sp__spool_reader_open(&reader, source->spools[i], source->ends ? source->ends[i] : UINT64_MAX, identity);
        if (rc == -ENODATA) { /* its consumer died before the first frame was whole */
            rc = 0;
            continue;
        }
        if (rc == 0 && (rc = add_reader(m, &reader, identity)) != 0) {
            sp__spool_reader_close(&reader);
            word(why, "%s is of another incarnation than the spools before it", source->spools[i]);
        } else if (rc) {
            word(why, "cannot read spool %s: %s", source->spools[i],
                 rc == -EPROTONOSUPPORT ? "it is of another version than this program reads" : strerror(-rc));
        }
    }
    free(identity);
    return rc;
}

static int open_sources(struct sp__making *m, const struct sp__recording_source *source, char why[256])
{
    word(why, "%s", "");
    m->readers = calloc(source->spool_count + 1, sizeof *m->readers);
    int rc = m->readers ? 0 : -ENOMEM;
    if (rc == 0 && source->live)
        rc = open_live(m, source, why);
    if (rc == 0)
        rc = open_spools(m, source, why);
    if (rc || m->reader_count)
        return rc;
    if (m->live_is_gone)
        return is_elsewhere(m, source, why);
    if (why && !why[0])
        word(why, "no spool holds a sound frame");
    return -ENODATA;
}

static int pass_tables(struct sp__making *m)
{
    struct sp__frame frame;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < m->reader_count; i++) {
        struct sp__spool_reader *reader = &m->readers[i];
        sp__spool_reader_rewind(reader);
        reader->reading = SP__READ_TABLES;
        while ((rc = sp__spool_reader_next(reader, &frame)) == 1) {
            rc = sp__tables_frame(m, &frame, reader->payload);
            if (rc == -EBADMSG)
                m->recording->bad_frames++;
            else if (rc)
                break;
        }
    }
    return rc;
}

/* What a pass over the records does with a piece of a lane that no other frame held before. */
typedef int handle_records(struct sp__making *m, uint16_t lane, int64_t sequence, const struct sp__record *records,
                           size_t count, void *context);

static int new_pieces(struct sp__making *m, const struct sp__frame *frame, handle_records *handle, void *context)
{
    int64_t first = (int64_t)frame->first, to = first + frame->count, from = first, end;
    int rc;
    while ((rc = sp__ranges_take(&m->lanes[frame->lane].ranges, &from, to, &end)) == 1) {
        rc = handle(m, frame->lane, from, m->records + (from - first), (size_t)(end - from), context);
        if (rc)
            return rc;
        from = end;
    }
    return rc;
}

static int pass_records(struct sp__making *m, handle_records *handle, void *context, uint64_t *ret_bad_frames)
{
    struct sp__frame frame;
    int rc = 0;
    for (uint32_t lane = 0; lane < SP__LANES; lane++)
        m->lanes[lane].ranges.count = 0;
    for (size_t i = 0; rc == 0 && i < m->reader_count; i++) {
        struct sp__spool_reader *reader = &m->readers[i];
        sp__spool_reader_rewind(reader);
        reader->reading = SP__READ_ALL;
        while ((rc = sp__spool_reader_next(reader, &frame)) == 1) {
            if (frame.type != SP__FRAME_RECORDS)
                continue;
            if (frame.lane >= SP__LANES || frame.count > SP__FRAME_RECORDS_MOST ||
                (int64_t)frame.first > INT64_MAX - frame.count ||
                sp__records_decode(reader->payload, frame.length, m->records, frame.count) != 0) {
                *ret_bad_frames += 1;
                continue;
            }
            rc = new_pieces(m, &frame, handle, context);
            if (rc)
                return rc;
        }
    }
    return rc;
}

static bool forgotten(const struct sp__making *m, uint16_t lane, int64_t sequence)
{
    return lane < m->base_count && sequence < (int64_t)m->bases[lane];
}

static int add_marker(struct sp__making *m, uint16_t lane, int64_t sequence, const struct sp__record *record)
{
    if (record->kind == SP__ANCHOR)
        return sp__making_anchor(m, record->start, (int64_t)record->end);
    if (record->kind > SP__ANCHOR)
        return 0; /* of a later version */
    void *list = m->markers;
    int rc = sp__grow(&list, &m->marker_room, m->marker_count, sizeof *m->markers);
    m->markers = list;
    if (rc == 0)
        m->markers[m->marker_count++] =
            (struct sp__marker){sequence, record->start, record->end, record->region, lane, record->kind};
    return rc;
}

/* First look at records: counts, markers, and which open calls have ended since they were seen. */
static int count_records(struct sp__making *m, uint16_t number, int64_t sequence, const struct sp__record *records,
                         size_t count, void *context)
{
    struct sp__part_lane *lane = &m->lanes[number];
    (void)context;
    for (size_t i = 0; i < count; i++, sequence++) {
        const struct sp__record *record = &records[i];
        if (record->kind != SP__CALL) {
            int rc = add_marker(m, number, sequence, record);
            if (rc)
                return rc;
            continue;
        }
        if (lane->open_count)
            sp__tables_ended(lane, record);
        if (forgotten(m, number, sequence))
            continue;
        if (record->region >= SP__REGIONS) {
            m->strange++;
            continue;
        }
        if (!lane->called || sequence < lane->first_call)
            lane->first_call = sequence;
        lane->called = true;
        m->calls[record->region]++;
        m->recording->calls++;
        if (record->region >= m->region_count)
            m->region_count = record->region + 1;
    }
    return 0;
}

/* Second look: calls go to their rows. */
static int store_records(struct sp__making *m, uint16_t number, int64_t sequence, const struct sp__record *records,
                         size_t count, void *context)
{
    const struct sp__part_lane *lane = &m->lanes[number];
    size_t owner = sp__threads_owner(lane, sequence);
    for (size_t i = 0; i < count; i++, sequence++) {
        const struct sp__record *record = &records[i];
        if (record->kind != SP__CALL || record->region >= SP__REGIONS || forgotten(m, number, sequence))
            continue;
        if (owner >= lane->owner_count ||
            (owner + 1 < lane->owner_count && lane->owners[owner + 1].sequence <= sequence))
            owner = sp__threads_owner(lane, sequence);
        int32_t thread = owner < lane->owner_count ? (int32_t)lane->owners[owner].thread : -1;
        int rc = sp__rows_add(context, record, thread);
        if (rc)
            return rc;
    }
    return 0;
}

/* What the ranges of the first look say: gaps, and where each lane ends. */
static void look_at_ranges(struct sp__making *m)
{
    struct sp__recording *r = m->recording;
    r->gaps = m->strange;
    for (uint32_t lane = 0; lane < SP__LANES; lane++) {
        const struct sp__ranges *ranges = &m->lanes[lane].ranges;
        int64_t reached = m->lanes[lane].reached, first = ranges->count ? ranges->list[0].from : reached;
        int64_t low = lane < m->base_count ? (int64_t)m->bases[lane] : first < 0 ? first : 0;
        int64_t end =
            ranges->count && ranges->list[ranges->count - 1].to > low ? ranges->list[ranges->count - 1].to : low;
        if (reached > end) /* drained into a spool that is not here */
            r->gaps += (uint64_t)reached - (uint64_t)end;
        if (!ranges->count)
            continue;
        r->gaps += sp__ranges_missing(ranges, low);
        r->last[lane] = (uint64_t)ranges->list[ranges->count - 1].to;
    }
}

static int make_map(struct sp__making *m)
{
    struct sp__recording *r = m->recording;
    int rc = sp__making_anchor(m, r->identity.birth.ticks, r->identity.birth.mono_ns);
    if (rc == 0)
        rc = sp__clock_map_create(&m->map, r->identity.clock, m->anchors, m->anchor_count);
    if (rc)
        return rc;
    r->clock_error_ns = sp__clock_map_error_ns(m->map);
    r->clock_breaks = sp__clock_map_breaks(m->map);
    return 0;
}

/* A region whose name was lost with a damaged frame keeps its calls under its number. */
static int name_lost(struct sp__region_text *region, uint32_t number)
{
    char name[32];
    int length = snprintf(name, sizeof name, "(region %u)", number);
    region->name = strdup(name);
    region->name_length = (uint32_t)length;
    return region->name ? 0 : -ENOMEM;
}

/* Rows in the order of registration; they take the texts over. */
static int make_rows(struct sp__making *m)
{
    struct sp__recording *r = m->recording;
    r->rows = calloc(m->region_count + 1U, sizeof *r->rows);
    if (!r->rows)
        return -ENOMEM;
    for (uint32_t number = 0; number < m->region_count; number++) {
        struct sp__region_text *region = &m->regions[number];
        if (!region->name && !m->calls[number])
            continue;
        if (!region->name && name_lost(region, number) != 0)
            return -ENOMEM;
        if (!region->file && !(region->file = strdup("")))
            return -ENOMEM;
        m->row_of[number] = (uint32_t)r->row_count;
        r->rows[r->row_count++] = (struct sp__row){.region = number,
                                                   .name = region->name,
                                                   .name_length = region->name_length,
                                                   .file = region->file,
                                                   .file_length = region->file_length,
                                                   .line = region->file_length ? region->line : -1,
                                                   .calls = m->calls[number]};
        region->name = region->file = NULL;
    }
    return 0;
}

static int fill_rows(struct sp__making *m)
{
    struct sp__rows *rows = NULL;
    uint64_t ignored = 0;
    int rc = sp__rows_create(&rows, m, m->row_of);
    if (rc == 0)
        rc = pass_records(m, store_records, rows, &ignored);
    if (rc == 0)
        rc = sp__rows_finish(rows);
    sp__rows_destroy(rows);
    return rc;
}

static int store_calls(struct sp__making *m, const struct sp__recording_source *source, char why[256])
{
    struct sp__recording *r = m->recording;
    struct sp__recording_file *file = r->private_file;
    uint64_t mended = r->counters.mended;
    int rc = SP__UNSORTED;
    if (!r->calls || r->identity.mode == SP__MODE_STATS || source->tables)
        return 0;
    if (source->trace && r->thread_count <= 1) {
        rc = sp__trace_begin(file, source->trace);
        if (rc == 0)
            rc = fill_rows(m);
    }
    if (rc == SP__UNSORTED) {
        sp__recording_file_close(file);
        r->counters.mended = mended;
        file->fd = sp__unnamed_file(source->scratch_dir);
        rc = file->fd < 0 ? file->fd : fill_rows(m);
    }
    if (rc)
        word(why, "cannot put %llu calls in order in a file in %.120s: %s", (unsigned long long)r->calls,
             source->scratch_dir, strerror(-rc));
    return rc;
}

static int make(struct sp__making *m, const struct sp__recording_source *source, char why[256])
{
    struct sp__recording *r = m->recording;
    int rc = open_sources(m, source, why);
    if (rc)
        return rc;
    if ((rc = pass_tables(m)) != 0 || (rc = pass_records(m, count_records, NULL, &r->bad_frames)) != 0) {
        word(why, "cannot read the spools: %s", strerror(-rc));
        return rc;
    }
    rc = is_elsewhere(m, source, why);
    if (rc)
        return rc;
    for (size_t i = 0; i < m->reader_count; i++) {
        r->bad_frames += m->readers[i].bad_frames;
        /* A torn end under a live segment is a frame being written: its records were still in the ring. */
        r->bad_bytes += m->readers[i].bad_bytes + (m->observed ? 0 : m->readers[i].torn);
    }
    look_at_ranges(m);
    rc = make_map(m);
    if (rc == 0)
        rc = sp__threads_finish(m);
    if (rc == 0)
        rc = sp__tables_finish(m);
    if (rc == 0)
        rc = make_rows(m);
    if (rc)
        word(why, "cannot make sense of the spools: %s", strerror(-rc));
    else
        rc = store_calls(m, source, why);
    return rc;
}

static void making_destroy(struct sp__making *m)
{
    for (size_t i = 0; i < m->reader_count; i++)
        sp__spool_reader_close(&m->readers[i]);
    for (uint32_t lane = 0; lane < SP__LANES; lane++) {
        free(m->lanes[lane].ranges.list);
        free(m->lanes[lane].owners);
        free(m->lanes[lane].open);
        free(m->lanes[lane].stats);
    }
    for (uint32_t i = 0; m->regions && i < m->region_count; i++) {
        free(m->regions[i].name);
        free(m->regions[i].file);
    }
    sp__clock_map_destroy(m->map);
    free(m->readers);
    sp__pages_give(m->regions, SP__REGIONS * PER_REGION);
    free(m->anchors);
    free(m->markers);
    free(m->records);
    free(m);
}

static struct sp__recording *new_recording(void)
{
    struct sp__recording *r = calloc(1, sizeof *r);
    if (r && !(r->private_file = calloc(1, sizeof *r->private_file))) {
        free(r);
        return NULL;
    }
    if (r) {
        r->private_file->fd = -1;
        r->start_ns = -1;
        r->end_ns = -1;
    }
    return r;
}

int sp__recording_create(struct sp__recording **ret, const struct sp__recording_source *source, char ret_why[256])
{
    struct sp__making *m = calloc(1, sizeof *m);
    struct sp__recording *r = m ? new_recording() : NULL;
    if (!r) {
        free(m);
        return -ENOMEM;
    }
    m->recording = r;
    if ((m->regions = sp__pages_take(SP__REGIONS * PER_REGION)) != NULL) {
        m->calls = (uint64_t *)(void *)(m->regions + SP__REGIONS);
        m->row_of = (uint32_t *)(void *)(m->calls + SP__REGIONS);
    }
    m->records = malloc(SP__FRAME_RECORDS_MOST * sizeof *m->records);
    int rc = m->regions && m->records ? make(m, source, ret_why) : -ENOMEM;
    making_destroy(m);
    if (rc)
        sp__recording_destroy(r);
    else
        *ret = r;
    return rc;
}

void sp__recording_destroy(struct sp__recording *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->row_count; i++) {
        free((char *)(uintptr_t)r->rows[i].name);
        free((char *)(uintptr_t)r->rows[i].file);
    }
    sp__recording_file_close(r->private_file);
    free(r->private_file);
    free(r->rows);
    free(r->threads);
    free(r->open_calls);
    free(r->stats);
    free(r);
}

int sp__recording_read(const struct sp__recording *r, size_t row, uint64_t first, size_t count, int64_t *starts,
                       int64_t *ends, int32_t *threads)
{
    if (row >= r->row_count || first > r->rows[row].calls || count > r->rows[row].calls - first)
        return -EINVAL;
    if (!count)
        return 0;
    if (!r->private_file->extents) /* stats mode, or tables only */
        return -EINVAL;
    const struct sp__extent *e = &r->private_file->extents[row];
    int fd = r->private_file->fd, rc = 0;
    if (starts)
        rc = sp__read_at(fd, starts, count * sizeof *starts, e->starts + first * 8);
    if (rc == 0 && ends)
        rc = sp__read_at(fd, ends, count * sizeof *ends, e->ends + first * 8);
    if (rc == 0 && threads)
        rc = e->threads || !count ? sp__read_at(fd, threads, count * sizeof *threads, e->threads + first * 4) : -EINVAL;
    return rc;
}
