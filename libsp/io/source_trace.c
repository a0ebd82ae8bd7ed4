/* source_trace.c: a .spt as a source. Tables are read at opening; calls stay in the file. A region that stands several
 * times in one file is one row whose blocks are merged by start as they are read. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "look.h"
#include "trace_file.h"

enum { JOIN_BUFFER = 64 };

struct block {
    uint64_t starts_at;
    uint64_t calls;
    uint64_t next; /* the call that the last slice stopped at, and the start before it: order holds over slices too */
    int64_t last;
};

/* A block's place in a merge. */
struct runner {
    uint64_t done;
    size_t filled, used;
    int64_t *starts, *ends; /* min(calls, JOIN_BUFFER) each */
};

struct joined {
    uint64_t next; /* the row's call that comes next */
    struct runner *runners;
    size_t *heap; /* numbers of runners, the earliest call on top */
    size_t heap_count;
};

struct place {
    size_t first, count;   /* of blocks */
    struct joined *joined; /* while a row of several blocks is being read */
};

struct trace {
    struct sp__trace_file file;
    struct block *blocks;
    struct place *places; /* a row's blocks */
};

/* What the scan found, before rows of one name are joined. */
struct found {
    struct sp__trace_region region;
    size_t order;
    struct found *row; /* the first of its name */
};

static int no_memory(struct sp__source *source, sp_error *error)
{
    return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, source->path, NULL, "cannot be read");
}

static int out_of_order(struct sp__source *source, const struct block *block, uint64_t first, size_t i,
                        const int64_t *starts, const int64_t *ends, int64_t last, sp_error *error)
{
    uint64_t start_at = block->starts_at + (first + i) * 8, end_at = start_at + block->calls * 8;
    char place[32];
    if (starts[i] < last) {
        snprintf(place, sizeof place, "byte %" PRIu64, start_at);
        return sp__fail(error, SP_ERR_TRACE_FORMAT, 0, source->path, place,
                        "starts do not ascend: %" PRId64 " after %" PRId64, starts[i], last);
    }
    snprintf(place, sizeof place, "byte %" PRIu64, end_at);
    if (ends[i] >= starts[i])
        return sp__fail(error, SP_ERR_TRACE_FORMAT, 0, source->path, place,
                        "a call's duration does not fit into 64 bits: it goes from %" PRId64 " to %" PRId64, starts[i],
                        ends[i]);
    return sp__fail(error, SP_ERR_TRACE_FORMAT, 0, source->path, place,
                    "a call ends at %" PRId64 ", before its start %" PRId64, ends[i], starts[i]);
}

static int read_block(struct sp__source *source, struct block *block, uint64_t first, size_t count, int64_t *starts,
                      int64_t *ends, sp_error *error)
{
    struct trace *trace = source->data;
    uint64_t start_at = block->starts_at + first * 8, end_at = block->starts_at + (block->calls + first) * 8;
    int status = sp__trace_file_times(&trace->file, start_at, starts, count, error);
    if (!status)
        status = sp__trace_file_times(&trace->file, end_at, ends, count, error);
    if (status)
        return status;
    int64_t last = first && first == block->next ? block->last : INT64_MIN;
    bool bad = sp__look(starts, ends, count, last).bad;
    for (size_t i = 0; bad && i < count; i++) {
        if (starts[i] < last || !sp__call_sound(starts[i], ends[i]))
            return out_of_order(source, block, first, i, starts, ends, last, error);
        last = starts[i];
    }
    block->next = first + count;
    block->last = starts[count - 1];
    return 0;
}

static void joined_free(struct place *place)
{
    if (!place->joined)
        return;
    for (size_t i = 0; place->joined->runners && i < place->count; i++)
        free(place->joined->runners[i].starts);
    free(place->joined->runners);
    free(place->joined->heap);
    free(place->joined);
    place->joined = NULL;
}

static int runner_fill(struct sp__source *source, struct block *block, struct runner *runner, sp_error *error)
{
    uint64_t left = block->calls - runner->done;
    size_t count = left < JOIN_BUFFER ? (size_t)left : JOIN_BUFFER;
    int status = count ? read_block(source, block, runner->done, count, runner->starts, runner->ends, error) : 0;
    if (status)
        return status;
    runner->done += count;
    runner->filled = count;
    runner->used = 0;
    return 0;
}

static bool earlier(const struct joined *joined, size_t a, size_t b)
{
    const struct runner *x = &joined->runners[a], *y = &joined->runners[b];
    if (x->starts[x->used] != y->starts[y->used])
        return x->starts[x->used] < y->starts[y->used];
    if (x->ends[x->used] != y->ends[y->used])
        return x->ends[x->used] > y->ends[y->used];
    return a < b;
}

static void sift(struct joined *joined, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < joined->heap_count; child++)
            if (earlier(joined, joined->heap[child], joined->heap[least]))
                least = child;
        if (least == at)
            return;
        size_t moved = joined->heap[at];
        joined->heap[at] = joined->heap[least];
        joined->heap[least] = moved;
        at = least;
    }
}

static int joined_begin(struct sp__source *source, struct place *place, sp_error *error)
{
    struct trace *trace = source->data;
    joined_free(place);
    struct joined *joined = place->joined = calloc(1, sizeof *joined);
    if (!joined || !(joined->runners = calloc(place->count, sizeof *joined->runners)) ||
        !(joined->heap = calloc(place->count, sizeof *joined->heap)))
        return no_memory(source, error);
    for (size_t i = 0; i < place->count; i++) {
        struct block *block = &trace->blocks[place->first + i];
        size_t room = block->calls < JOIN_BUFFER ? (size_t)block->calls : JOIN_BUFFER;
        struct runner *runner = &joined->runners[i];
        if (!(runner->starts = calloc(room, 2 * sizeof *runner->starts)))
            return no_memory(source, error);
        runner->ends = runner->starts + room;
        int status = runner_fill(source, block, runner, error);
        if (status)
            return status;
        joined->heap[joined->heap_count++] = i;
    }
    for (size_t i = joined->heap_count; i-- > 0;)
        sift(joined, i);
    return 0;
}

static int joined_read(struct sp__source *source, struct place *place, uint64_t first, size_t count,
                       const struct sp__calls *ret, sp_error *error)
{
    struct trace *trace = source->data;
    int status = 0;
    if (!place->joined || place->joined->next != first)
        status = joined_begin(source, place, error);
    struct joined *joined = place->joined;
    while (!status && joined->next < first + count && joined->heap_count) {
        struct runner *runner = &joined->runners[joined->heap[0]];
        if (joined->next >= first) {
            ret->start[joined->next - first] = runner->starts[runner->used];
            ret->end[joined->next - first] = runner->ends[runner->used];
        }
        joined->next++;
        if (++runner->used == runner->filled) {
            status = runner_fill(source, &trace->blocks[place->first + joined->heap[0]], runner, error);
            if (!status && !runner->filled)
                joined->heap[0] = joined->heap[--joined->heap_count];
        }
        sift(joined, 0);
    }
    if (status || !joined->heap_count)
        joined_free(place);
    return status;
}

static int trace_read(struct sp__source *source, size_t row, uint64_t first, size_t count, const struct sp__calls *ret,
                      sp_error *error)
{
    struct trace *trace = source->data;
    if (row >= source->row_count || count > source->rows[row].calls || first > source->rows[row].calls - count)
        return sp__fail(error, SP_ERR_USAGE, 0, source->path, NULL, "calls that the file does not have were asked for");
    for (size_t i = 0; ret->thread && i < count; i++)
        ret->thread[i] = -1;
    struct place *place = &trace->places[row];
    if (!count)
        return 0;
    if (place->count > 1)
        return joined_read(source, place, first, count, ret, error);
    return read_block(source, &trace->blocks[place->first], first, count, ret->start, ret->end, error);
}

static void trace_rest(struct sp__source *source)
{
    sp__trace_file_close(&((struct trace *)source->data)->file);
}

static void trace_destroy(struct sp__source *source)
{
    struct trace *trace = source->data;
    if (trace) {
        for (size_t i = 0; trace->places && i < source->row_count; i++)
            joined_free(&trace->places[i]);
        sp__trace_file_close(&trace->file);
        free(trace->places);
        free(trace->blocks);
        free(trace);
    }
    sp__source_free(source);
}

static int by_name(const void *a, const void *b)
{
    const struct found *x = *(struct found *const *)a, *y = *(struct found *const *)b;
    int order = strcmp(x->region.name, y->region.name);
    return order ? order : x->order < y->order ? -1 : x->order > y->order;
}

static int scan(struct sp__source *source, struct sp__trace_file *file, struct found **ret, size_t *ret_count,
                sp_error *error)
{
    struct found *found = NULL;
    size_t count = 0, room = 0;
    int status;
    for (;;) {
        struct sp__trace_region region;
        if ((status = sp__trace_file_next(file, &region, error)) <= 0)
            break;
        if (count == room) {
            struct found *more = realloc(found, (room = room ? room * 2 : 64) * sizeof *found);
            if (!more) {
                free(region.name);
                free(region.file);
                status = no_memory(source, error);
                break;
            }
            found = more;
        }
        char text[128];
        snprintf(text, sizeof text, "byte %" PRIu64 ": a region's name is not UTF-8; its bad bytes became U+FFFD",
                 region.name_at);
        if (region.mended && source->warning_count < 20)
            (void)sp__texts_add(&source->warnings, &source->warning_count, text);
        found[count] = (struct found){.region = region, .order = count};
        count++;
    }
    *ret = found;
    *ret_count = count;
    return status;
}

struct joining {
    struct found *found;
    size_t count;
    size_t *row_of; /* per region found first under its name: its row */
    size_t *filled; /* per row: blocks in place */
};

/* Points every region at the first of its name. */
static bool group(const struct joining *j)
{
    struct found **sorted = calloc(j->count + 1, sizeof *sorted);
    if (!sorted)
        return false;
    for (size_t i = 0; i < j->count; i++)
        sorted[i] = &j->found[i];
    qsort(sorted, j->count, sizeof(struct found *), by_name);
    for (size_t i = 0; i < j->count; i++)
        sorted[i]->row =
            i && !strcmp(sorted[i]->region.name, sorted[i - 1]->region.name) ? sorted[i - 1]->row : sorted[i];
    free(sorted);
    return true;
}

/* Rows in order of first appearance, with how many calls and blocks each has. */
static bool count_rows(struct sp__source *source, struct trace *trace, const struct joining *j)
{
    for (size_t i = 0; i < j->count; i++) {
        const struct found *first = j->found[i].row;
        if (first == &j->found[i]) {
            struct sp__source_row *row = &source->rows[j->row_of[i] = source->row_count++];
            *row = (struct sp__source_row){.tags = strdup("[]"), .text = strdup(""), .line = -1, .exclusive = -1};
            if (!row->tags || !row->text)
                return false;
        }
        size_t r = j->row_of[first->order];
        source->rows[r].calls += j->found[i].region.calls;
        trace->places[r].count += j->found[i].region.calls > 0;
    }
    for (size_t r = 0, at = 0; r < source->row_count; at += trace->places[r++].count)
        trace->places[r].first = at;
    return true;
}

/* Every row's blocks side by side, its strings taken out of `found`. The first location that is known wins. */
static void fill_rows(struct sp__source *source, struct trace *trace, const struct joining *j)
{
    for (size_t i = 0; i < j->count; i++) {
        struct found *found = &j->found[i];
        size_t r = j->row_of[found->row->order];
        struct sp__source_row *row = &source->rows[r];
        if (found->region.calls)
            trace->blocks[trace->places[r].first + j->filled[r]++] =
                (struct block){.starts_at = found->region.starts_at, .calls = found->region.calls};
        if (!row->file || (!*row->file && *found->region.file)) {
            free((void *)(uintptr_t)row->file);
            row->file = found->region.file;
            row->line = found->region.line;
            found->region.file = NULL;
        }
        if (found->row == found) {
            row->name = found->region.name;
            found->region.name = NULL;
        }
    }
}

static int make_rows(struct sp__source *source, struct trace *trace, struct found *found, size_t count, sp_error *error)
{
    struct joining j = {found, count, calloc(count + 1, sizeof(size_t)), calloc(count + 1, sizeof(size_t))};
    source->rows = calloc(count + 1, sizeof *source->rows);
    trace->places = calloc(count + 1, sizeof *trace->places);
    trace->blocks = calloc(count + 1, sizeof *trace->blocks);
    bool good = j.row_of && j.filled && source->rows && trace->places && trace->blocks && group(&j) &&
                count_rows(source, trace, &j);
    if (good)
        fill_rows(source, trace, &j);
    free(j.row_of);
    free(j.filled);
    return good ? 0 : no_memory(source, error);
}

int sp__open_trace(sp_inputs *inputs, const char *path, sp_error *error)
{
    struct sp__source *source = sp__source_create(path);
    struct trace *trace = source ? calloc(1, sizeof *trace) : NULL;
    if (!trace) {
        sp__source_free(source);
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "cannot be read");
    }
    source->data = trace;
    source->read = trace_read;
    source->rest = trace_rest;
    source->destroy = trace_destroy;
    struct found *found = NULL;
    size_t count = 0;
    int status = sp__trace_file_open(&trace->file, source->path, error);
    if (!status) {
        source->rank = trace->file.rank;
        status = scan(source, &trace->file, &found, &count, error);
    }
    if (!status)
        status = make_rows(source, trace, found, count, error);
    for (size_t i = 0; i < count; i++) {
        free(found[i].region.name);
        free(found[i].region.file);
    }
    free(found);
    if (status) {
        trace_destroy(source);
        return status;
    }
    trace_rest(source);
    return sp__inputs_append(inputs, source, error);
}
