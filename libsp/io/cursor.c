/* cursor.c: one row of a rank as one stream, whatever number of parts it comes from.
 *
 * Sources promise ascending starts; here equal starts are put in order of descending end, so that a holder comes before
 * what it holds, and what breaks the promise is refused by name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look.h"
#include "parts.h"

enum { LEAST_ROOM = 16, FILES_AT_ONCE = 32 };

/* One part's share of the row. */
struct stream {
    struct sp__source *source;
    struct sp__rank_part *part;
    size_t row;
    uint64_t at, calls;    /* next call to read; how many there are */
    int64_t last;          /* start of the last call read */
    struct sp__calls head; /* several parts: a buffer that lives while the part's turn lasts; else unused */
    size_t pos, have;
    int64_t start, end; /* several parts: its next call */
};

struct sp__cursor {
    struct sp__rank *rank;
    struct sp__rank_row *row;
    unsigned flags;
    size_t room;
    size_t stream_count, stream_room;
    int64_t *memory; /* columns of sp__cursor_next */
    uint64_t summed;
    struct stream streams[];
};

static struct sp__calls lay_out(const struct sp__cursor *cursor, int64_t *memory, size_t room)
{
    struct sp__calls calls = {.start = memory, .end = memory + room};
    memory += 2 * room;
    if (cursor->flags & SP__WITH_THREADS) {
        calls.thread = memory;
        memory += room;
    }
    if (cursor->flags & SP__WITH_IDS) {
        calls.call = memory;
        calls.parent = memory + room;
    }
    return calls;
}

static size_t columns_of(const struct sp__cursor *cursor)
{
    return 2 + (cursor->flags & SP__WITH_THREADS ? 1U : 0U) + (cursor->flags & SP__WITH_IDS ? 2U : 0U);
}

static struct sp__calls at_offset(const struct sp__calls *calls, size_t n)
{
    return (struct sp__calls){.start = calls->start + n,
                              .end = calls->end + n,
                              .thread = calls->thread ? calls->thread + n : NULL,
                              .call = calls->call ? calls->call + n : NULL,
                              .parent = calls->parent ? calls->parent + n : NULL};
}

static void swap(int64_t *column, size_t a, size_t b)
{
    if (column) {
        int64_t value = column[a];
        column[a] = column[b];
        column[b] = value;
    }
}

/* Calls of one start that do not stand by descending end: a stable insertion, since such runs are short. */
static void put_in_order(const struct sp__calls *calls, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k && calls->start[k] == calls->start[k - 1] && calls->end[k] > calls->end[k - 1]; k--) {
            swap(calls->start, k, k - 1);
            swap(calls->end, k, k - 1);
            swap(calls->thread, k, k - 1);
            swap(calls->call, k, k - 1);
            swap(calls->parent, k, k - 1);
        }
}

static int disorder(const struct stream *stream, const struct sp__calls *calls, size_t count, sp_error *error)
{
    int64_t last = stream->at ? stream->last : INT64_MIN;
    size_t n = 0;
    while (n < count && calls->start[n] >= last && sp__call_sound(calls->start[n], calls->end[n]))
        last = calls->start[n++];
    const char *what = n == count || calls->start[n] < last ? "it starts before the call that stands before it"
                       : calls->end[n] < calls->start[n]    ? "it ends before it starts"
                                                            : "its duration does not fit into 64 bits";
    char place[128];
    snprintf(place, sizeof place, "call %llu of region %.64s", (unsigned long long)(stream->at + n),
             stream->source->rows[stream->row].name);
    return sp__fail(error, SP_ERR_TRACE_FORMAT, 0, stream->source->path, place, "the file is damaged: %s", what);
}

/* Threads as positions in the rank's table. */
static void renumber(const struct sp__rank_part *part, int64_t *thread, size_t count)
{
    if (!part->threaded) {
        for (size_t i = 0; i < count; i++)
            thread[i] = part->alone ? part->base : -1;
        return;
    }
    if (part->dense) {
        uint64_t limit = part->count;
        for (size_t i = 0; i < count; i++)
            thread[i] = (uint64_t)thread[i] < limit ? thread[i] + part->base : -1;
        return;
    }
    int64_t index = -1, position = -1;
    for (size_t i = 0; i < count; i++) {
        if (thread[i] != index) {
            size_t low = 0, high = part->count;
            index = thread[i];
            while (low < high) {
                size_t middle = low + (high - low) / 2;
                if (part->sorted[middle].index < index)
                    low = middle + 1;
                else
                    high = middle;
            }
            position = low < part->count && part->sorted[low].index == index ? part->sorted[low].position : -1;
        }
        thread[i] = position;
    }
}

/* Reads the stream's next calls into the columns, checked and in order. A run of equal starts that may go on beyond the
 * block is left for the next one, unless it fills the whole block. */
static int read_block(struct stream *stream, const struct sp__calls *into, size_t room, size_t *ret_count,
                      struct sp__sums *ret_sums, sp_error *error)
{
    uint64_t left = stream->calls - stream->at;
    size_t count = left < room ? (size_t)left : room;
    struct sp__calls want = *into;
    if (!stream->part->threaded)
        want.thread = NULL;
    *ret_count = 0;
    if (!count)
        return 0;
    int result = stream->source->read(stream->source, stream->row, stream->at, count, &want, error);
    if (result < 0)
        return result;
    if (count < left) {
        size_t keep = count - 1;
        while (keep && into->start[keep - 1] == into->start[keep])
            keep--;
        count = keep ? keep : count;
    }
    *ret_sums = sp__look(into->start, into->end, count, stream->at ? stream->last : INT64_MIN);
    if (ret_sums->bad)
        return disorder(stream, into, count, error);
    if (into->thread)
        renumber(stream->part, into->thread, count);
    if (ret_sums->ties)
        put_in_order(into, count);
    stream->last = into->start[count - 1];
    stream->at += count;
    if (stream->at == stream->calls && !--stream->part->left && stream->source->rest)
        stream->source->rest(stream->source);
    *ret_count = count;
    return 0;
}

/* A sum of many long calls has more digits than a double: the whole part of the mean is found without one. */
static double mean_of(uint64_t total, uint64_t count)
{
    return (double)(total / count) + (double)(total % count) / (double)count;
}

/* Count, mean and squares of a block, joined to those of the blocks before it (Chan, Golub and LeVeque): sound for any
 * size and offset of the durations. */
static void summarize(struct sp__cursor *cursor, const struct sp__calls *calls, size_t count,
                      const struct sp__sums *sums)
{
    struct sp__summary *summary = &cursor->row->summary;
    const int64_t *start = calls->start, *end = calls->end;
    double n = (double)count, mean = mean_of(sums->total, count), squares[4] = {0};
    for (size_t i = 0; i < count; i++) {
        double off = (double)(end[i] - start[i]) - mean;
        squares[i & 3] += off * off;
    }
    double m2 = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    int64_t first = end[0] - start[0], final = end[count - 1] - start[count - 1];
    if (!cursor->summed) {
        *summary = (struct sp__summary){.total = (int64_t)sums->total,
                                        .minimum = sums->least,
                                        .maximum = sums->most,
                                        .first = first,
                                        .last = final,
                                        .start_minimum = start[0],
                                        .end_maximum = sums->last,
                                        .mean = mean,
                                        .m2 = m2};
    } else {
        double before = (double)cursor->summed, apart = mean - summary->mean;
        summary->m2 += m2 + apart * apart * (before * n / (before + n));
        summary->total = (int64_t)((uint64_t)summary->total + sums->total);
        summary->mean = mean_of((uint64_t)summary->total, cursor->summed + count);
        summary->minimum = sums->least < summary->minimum ? sums->least : summary->minimum;
        summary->maximum = sums->most > summary->maximum ? sums->most : summary->maximum;
        summary->end_maximum = sums->last > summary->end_maximum ? sums->last : summary->end_maximum;
        summary->last = final;
    }
    cursor->summed += count;
}

static int no_memory(const struct sp__cursor *cursor, sp_error *error)
{
    return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, cursor->rank->parts[0]->path, NULL, "cannot be read");
}

/* The next call of a part, before its turn: read alone, so that parts that follow one another need one buffer. */
static int peek(struct sp__cursor *cursor, struct stream *stream, sp_error *error)
{
    struct sp__calls head = {.start = &stream->start, .end = &stream->end};
    int result = stream->source->read(stream->source, stream->row, 0, 1, &head, error);
    if (cursor->rank->part_count > FILES_AT_ONCE && stream->source->rest)
        stream->source->rest(stream->source);
    return result;
}

/* Its buffer filled anew, or freed at its end. */
static int refill(struct sp__cursor *cursor, struct stream *stream, sp_error *error)
{
    stream->pos = stream->have = 0;
    if (stream->at == stream->calls) {
        free(stream->head.start);
        stream->head.start = NULL;
        return 0;
    }
    if (!stream->head.start) {
        int64_t *memory = malloc(cursor->stream_room * columns_of(cursor) * sizeof *memory);
        if (!memory)
            return no_memory(cursor, error);
        stream->head = lay_out(cursor, memory, cursor->stream_room);
    }
    struct sp__sums unused;
    int result = read_block(stream, &stream->head, cursor->stream_room, &stream->have, &unused, error);
    if (result == 0) {
        stream->start = stream->head.start[0];
        stream->end = stream->head.end[0];
    }
    return result;
}

static bool exhausted(const struct stream *stream)
{
    return stream->pos == stream->have && stream->at == stream->calls;
}

static bool before(int64_t start, int64_t end, const struct stream *other, bool ties)
{
    if (start != other->start)
        return start < other->start;
    return end != other->end ? end > other->end : ties;
}

/* The part whose call is next, and the one after it. */
static void choose(struct sp__cursor *cursor, struct stream **ret_first, struct stream **ret_second)
{
    *ret_first = *ret_second = NULL;
    for (size_t i = 0; i < cursor->stream_count; i++) {
        struct stream *stream = &cursor->streams[i];
        if (exhausted(stream))
            continue;
        if (!*ret_first || before(stream->start, stream->end, *ret_first, false)) {
            *ret_second = *ret_first;
            *ret_first = stream;
        } else if (!*ret_second || before(stream->start, stream->end, *ret_second, false)) {
            *ret_second = stream;
        }
    }
}

static void copy(const struct sp__calls *to, const struct sp__calls *from, size_t count)
{
    memcpy(to->start, from->start, count * sizeof(int64_t));
    memcpy(to->end, from->end, count * sizeof(int64_t));
    if (to->thread && from->thread)
        memcpy(to->thread, from->thread, count * sizeof(int64_t));
    if (to->call && from->call) {
        memcpy(to->call, from->call, count * sizeof(int64_t));
        memcpy(to->parent, from->parent, count * sizeof(int64_t));
    }
}

/* As much of one part as comes before the next part's call, again and again. */
static int merge(struct sp__cursor *cursor, const struct sp__calls *into, size_t room, size_t *ret_count,
                 sp_error *error)
{
    size_t count = 0;
    while (count < room) {
        struct stream *first, *second;
        choose(cursor, &first, &second);
        if (!first)
            break;
        if (first->pos == first->have) {
            int result = refill(cursor, first, error);
            if (result < 0)
                return result;
        }
        size_t most = first->have - first->pos < room - count ? first->have - first->pos : room - count, run = 1;
        struct sp__calls from = at_offset(&first->head, first->pos), to = at_offset(into, count);
        while (run < most && (!second || before(from.start[run], from.end[run], second, first < second)))
            run++;
        copy(&to, &from, run);
        count += run;
        first->pos += run;
        if (first->pos < first->have) {
            first->start = first->head.start[first->pos];
            first->end = first->head.end[first->pos];
        } else {
            int result = refill(cursor, first, error);
            if (result < 0)
                return result;
        }
    }
    *ret_count = count;
    return 0;
}

int sp__cursor_open_with(struct sp__cursor **ret, struct sp__rank *rank, size_t row, size_t room, unsigned flags,
                         sp_error *error)
{
    struct sp__rank_row *from = &rank->rows[row];
    struct sp__cursor *cursor = calloc(1, sizeof *cursor + from->links * sizeof cursor->streams[0]);
    if (!cursor)
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, rank->parts[0]->path, NULL, "cannot be read");
    cursor->rank = rank;
    cursor->row = from;
    cursor->flags =
        flags & (SP__SUMMARIZE | (rank->threaded ? SP__WITH_THREADS : 0U) | (rank->ids ? SP__WITH_IDS : 0U));
    cursor->room = room < LEAST_ROOM ? LEAST_ROOM : room;
    cursor->stream_count = from->links;
    cursor->stream_room = cursor->room / from->links < LEAST_ROOM ? LEAST_ROOM : cursor->room / from->links;
    for (size_t i = 0; i < from->links; i++) {
        struct sp__rank_link *link = &rank->links[from->link + i];
        struct stream *stream = &cursor->streams[i];
        stream->source = rank->parts[link->part];
        stream->part = &rank->numbers[link->part];
        stream->row = link->row;
        stream->calls = stream->source->rows[link->row].calls;
        stream->part->left++;
        int result = from->links > 1 ? peek(cursor, stream, error) : 0;
        if (result < 0) {
            sp__cursor_close(cursor);
            return result;
        }
    }
    *ret = cursor;
    return 0;
}

int sp__cursor_open(struct sp__cursor **ret, struct sp__rank *rank, size_t row, size_t room, sp_error *error)
{
    return sp__cursor_open_with(ret, rank, row, room, SP__WITH_THREADS | SP__WITH_IDS | SP__SUMMARIZE, error);
}

int sp__cursor_fill(struct sp__cursor *cursor, const struct sp__calls *into, size_t room, size_t *ret_count,
                    sp_error *error)
{
    struct sp__sums sums;
    int result = cursor->stream_count == 1 ? read_block(&cursor->streams[0], into, room, ret_count, &sums, error)
                                           : merge(cursor, into, room, ret_count, error);
    if (result < 0 || !*ret_count || !(cursor->flags & SP__SUMMARIZE))
        return result;
    if (cursor->stream_count > 1) /* which is summed up as it is merged */
        sums = sp__look(into->start, into->end, *ret_count, INT64_MIN);
    summarize(cursor, into, *ret_count, &sums);
    return 0;
}

int sp__cursor_next(struct sp__cursor *cursor, struct sp__calls *ret, size_t *ret_count, sp_error *error)
{
    if (!cursor->memory) {
        cursor->memory = malloc(cursor->room * columns_of(cursor) * sizeof *cursor->memory);
        if (!cursor->memory)
            return no_memory(cursor, error);
    }
    struct sp__calls calls = lay_out(cursor, cursor->memory, cursor->room);
    int result = sp__cursor_fill(cursor, &calls, cursor->room, ret_count, error);
    if (result == 0)
        *ret = calls;
    return result;
}

void sp__cursor_close(struct sp__cursor *cursor)
{
    if (!cursor)
        return;
    for (size_t i = 0; i < cursor->stream_count; i++) {
        struct stream *stream = &cursor->streams[i];
        if (stream->part && stream->at < stream->calls)
            stream->part->left--;
        free(stream->head.start);
    }
    free(cursor->memory);
    free(cursor);
}
