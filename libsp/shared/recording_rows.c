/* recording_rows.c: calls into rows. Records come lane by lane in the order in which calls ended; rows hold them by
 * start, outer ones first. A batch is scattered to its rows, each row's part is put in order (it mostly is already) and
 * appended to the row's place in the scratch file. Rows whose parts overlap are merged afterwards. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "recording_parts.h"

enum { BATCH = 1 << 19, SMALL_BATCH = 1 << 15, BATCHES = 64, PART = 1 << 10, COLUMN = 8192, RUN_LEAST = 64 };

struct call {
    int64_t start, end;
    uint32_t row;
    int32_t thread;
};

/* A piece of a row on its way between structs and columns. */
struct columns {
    int64_t start[COLUMN], end[COLUMN];
    int32_t thread[COLUMN];
};

struct sp__rows {
    struct sp__making *making;
    const uint32_t *row_of; /* per region */
    size_t row_count;
    struct call *batch, *sorted;
    size_t room, used;
    uint64_t *places; /* per row: where its part of the batch goes */
    struct columns columns;
};

static bool before(const struct call *a, const struct call *b)
{
    return a->start < b->start || (a->start == b->start && a->end > b->end);
}

static struct sp__extent set_aside(struct sp__recording_file *file, uint64_t calls)
{
    uint64_t at = file->size;
    file->size += (calls * 20 + 7) & ~UINT64_C(7);
    return (struct sp__extent){.starts = at, .ends = at + calls * 8, .threads = at + calls * 16, .capacity = calls};
}

/* A small batch stays in the cache, and its pages need not be asked for again and again; but a row whose threads overlap
 * has as many runs as there are batches, and each row's part of one is a write. */
static size_t batch_of(uint64_t calls, size_t rows)
{
    uint64_t wanted = calls / BATCHES > rows * PART ? calls / BATCHES : rows * PART;
    wanted = wanted < SMALL_BATCH ? SMALL_BATCH : wanted < BATCH ? wanted : BATCH;
    return (size_t)(calls < wanted ? calls + 1 : wanted);
}

int sp__rows_create(struct sp__rows **ret, struct sp__making *m, const uint32_t *row_of)
{
    struct sp__recording_file *file = m->recording->private_file;
    struct sp__rows *rows = malloc(sizeof *rows);
    if (!rows)
        return -ENOMEM;
    *rows = (struct sp__rows){.making = m, .row_of = row_of, .row_count = m->recording->row_count};
    rows->room = batch_of(m->recording->calls, rows->row_count);
    rows->batch = malloc(rows->room * sizeof *rows->batch);
    rows->sorted = malloc(rows->room * sizeof *rows->sorted);
    rows->places = malloc((rows->row_count + 1) * sizeof *rows->places);
    file->extents = calloc(rows->row_count + 1, sizeof *file->extents);
    if (!rows->batch || !rows->sorted || !rows->places || !file->extents) {
        sp__rows_destroy(rows);
        return -ENOMEM;
    }
    for (size_t row = 0; row < rows->row_count && !file->trace; row++)
        file->extents[row] = set_aside(file, m->recording->rows[row].calls);
    int rc = file->trace ? sp__trace_lay_out(m->recording) : 0;
    if (rc)
        sp__rows_destroy(rows);
    else
        *ret = rows;
    return rc;
}

void sp__rows_destroy(struct sp__rows *rows)
{
    if (!rows)
        return;
    free(rows->batch);
    free(rows->sorted);
    free(rows->places);
    free(rows);
}

static int write_columns(int fd, const struct sp__extent *e, uint64_t at, const struct columns *c, size_t count)
{
    int rc = sp__write_at(fd, c->start, count * 8, e->starts + at * 8);
    if (rc == 0)
        rc = sp__write_at(fd, c->end, count * 8, e->ends + at * 8);
    if (rc == 0 && e->threads)
        rc = sp__write_at(fd, c->thread, count * 4, e->threads + at * 4);
    return rc;
}

static int read_columns(int fd, const struct sp__extent *e, uint64_t at, struct columns *c, size_t count)
{
    int rc = sp__read_at(fd, c->start, count * 8, e->starts + at * 8);
    if (rc == 0)
        rc = sp__read_at(fd, c->end, count * 8, e->ends + at * 8);
    if (rc == 0)
        rc = sp__read_at(fd, c->thread, count * 4, e->threads + at * 4);
    return rc;
}

/* The end of the run that begins at `at`. One that falls (inner calls of a recursion end first) is turned round. */
static size_t run_end(struct call *calls, size_t at, size_t count)
{
    size_t end = at + 1;
    if (end < count && before(&calls[end], &calls[at])) {
        while (end < count && before(&calls[end], &calls[end - 1]))
            end++;
        for (size_t low = at, high = end - 1; low < high; low++, high--) {
            struct call swap = calls[low];
            calls[low] = calls[high];
            calls[high] = swap;
        }
    }
    while (end < count && !before(&calls[end], &calls[end - 1]))
        end++;
    return end;
}

static void merge_two(const struct call *a, size_t a_count, const struct call *b, size_t b_count, struct call *to)
{
    while (a_count && b_count) {
        if (before(b, a)) {
            *to++ = *b++;
            b_count--;
        } else {
            *to++ = *a++;
            a_count--;
        }
    }
    memcpy(to, a, a_count * sizeof *to);
    memcpy(to + a_count, b, b_count * sizeof *to);
}

/* One pass of a natural merge sort: pairs of neighbouring runs of `from` become one in `to`. True when one is left. */
static bool merge_pass(struct call *from, struct call *to, size_t count)
{
    size_t runs = 0;
    for (size_t at = 0; at < count;) {
        size_t middle = run_end(from, at, count);
        size_t end = middle < count ? run_end(from, middle, count) : count;
        merge_two(from + at, middle - at, from + middle, end - middle, to + at);
        at = end;
        runs++;
    }
    return runs <= 1;
}

/* Sorts `calls`; the result stands there or in `spare`: which one is returned. */
static struct call *sort(struct call *calls, struct call *spare, size_t count)
{
    if (run_end(calls, 0, count) == count)
        return calls;
    for (;;) {
        bool done = merge_pass(calls, spare, count);
        struct call *swap = calls;
        calls = spare;
        spare = swap;
        if (done)
            return calls;
    }
}

/* Appends sorted calls to their row. */
static int append(struct sp__rows *rows, size_t row, const struct call *calls, size_t count)
{
    struct sp__recording_file *file = rows->making->recording->private_file;
    struct sp__extent *e = &file->extents[row];
    if (count > e->capacity - e->filled)
        return -EBADMSG; /* the spool changed between two passes */
    const struct call last = {.start = e->last_start, .end = e->last_end};
    if (e->filled && before(&calls[0], &last))
        e->unsorted = true;
    if (e->unsorted && file->trace)
        return SP__UNSORTED;
    for (size_t at = 0; at < count; at += COLUMN) {
        size_t n = count - at < COLUMN ? count - at : COLUMN;
        for (size_t i = 0; i < n; i++) {
            rows->columns.start[i] = calls[at + i].start;
            rows->columns.end[i] = calls[at + i].end;
            rows->columns.thread[i] = calls[at + i].thread;
        }
        int rc = write_columns(file->fd, e, e->filled, &rows->columns, n);
        if (rc)
            return rc;
        e->filled += n;
    }
    e->last_start = calls[count - 1].start;
    e->last_end = calls[count - 1].end;
    return 0;
}

static int flush(struct sp__rows *rows)
{
    memset(rows->places, 0, (rows->row_count + 1) * sizeof *rows->places);
    for (size_t i = 0; i < rows->used; i++)
        rows->places[rows->batch[i].row + 1]++;
    for (size_t row = 0; row < rows->row_count; row++)
        rows->places[row + 1] += rows->places[row];
    for (size_t i = 0; i < rows->used; i++)
        rows->sorted[rows->places[rows->batch[i].row]++] = rows->batch[i];
    /* Each place now is where its row's part ends; the batch itself is free to sort in. */
    size_t at = 0;
    for (size_t row = 0; row < rows->row_count; row++) {
        size_t end = (size_t)rows->places[row];
        if (at == end)
            continue;
        int rc = append(rows, row, sort(rows->sorted + at, rows->batch + at, end - at), end - at);
        if (rc)
            return rc;
        at = end;
    }
    rows->used = 0;
    return 0;
}

int sp__rows_add(struct sp__rows *rows, const struct sp__record *record, int32_t thread)
{
    struct sp__recording *r = rows->making->recording;
    struct call call = {.start = sp__making_ns(rows->making, record->start),
                        .end = sp__making_ns(rows->making, record->end),
                        .row = rows->row_of[record->region],
                        .thread = thread};
    if (call.end < call.start) {
        call.end = call.start;
        r->counters.mended++;
    }
    if (r->start_ns < 0 || call.start < r->start_ns)
        r->start_ns = call.start;
    rows->batch[rows->used++] = call;
    return rows->used == rows->room ? flush(rows) : 0;
}

/* A run of an unsorted row while it is merged. */
struct run {
    uint64_t next, end; /* in the row: what is not in the buffer yet */
    struct call *buffer;
    size_t at, count;
};

struct merge {
    struct run *runs; /* the first `live` form a heap, smallest call on top */
    size_t live;
    size_t buffer_room;
    const struct sp__extent *from;
    int fd;
    struct columns *columns;
};

static int refill(struct merge *merge, struct run *run)
{
    size_t n = run->end - run->next < merge->buffer_room ? (size_t)(run->end - run->next) : merge->buffer_room;
    int rc = read_columns(merge->fd, merge->from, run->next, merge->columns, n);
    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++)
        run->buffer[i] = (struct call){merge->columns->start[i], merge->columns->end[i], 0, merge->columns->thread[i]};
    run->next += n;
    run->at = 0;
    run->count = n;
    return 0;
}

/* Equal calls leave in order of their runs, so that the outcome depends on nothing else. */
static bool run_before(const struct run *a, const struct run *b)
{
    const struct call *x = &a->buffer[a->at], *y = &b->buffer[b->at];
    return before(x, y) || (!before(y, x) && a->end < b->end);
}

static void sink(struct merge *merge, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= merge->live)
            return;
        if (child + 1 < merge->live && run_before(&merge->runs[child + 1], &merge->runs[child]))
            child++;
        if (!run_before(&merge->runs[child], &merge->runs[at]))
            return;
        struct run swap = merge->runs[at];
        merge->runs[at] = merge->runs[child];
        merge->runs[child] = swap;
        at = child;
    }
}

/* Finds the runs of a row: it falls only where a batch's part was appended. */
static int find_runs(struct sp__rows *rows, const struct sp__extent *e, struct merge *merge)
{
    struct call last = {.start = INT64_MIN, .end = INT64_MAX};
    size_t room = 0, count = 0;
    for (uint64_t at = 0; at < e->filled; at += COLUMN) {
        size_t n = e->filled - at < COLUMN ? (size_t)(e->filled - at) : COLUMN;
        int rc = read_columns(merge->fd, e, at, &rows->columns, n);
        for (size_t i = 0; rc == 0 && i < n; i++) {
            struct call call = {.start = rows->columns.start[i], .end = rows->columns.end[i]};
            if (count == 0 || before(&call, &last)) {
                void *list = merge->runs;
                rc = sp__grow(&list, &room, count, sizeof *merge->runs);
                merge->runs = list;
                if (rc)
                    break;
                if (count)
                    merge->runs[count - 1].end = at + i;
                merge->runs[count++] = (struct run){.next = at + i, .end = e->filled};
            }
            last = call;
        }
        if (rc)
            return rc;
    }
    merge->live = count;
    return 0;
}

static int merge_runs(struct merge *merge, const struct sp__extent *to, struct columns *out)
{
    uint64_t written = 0;
    size_t used = 0;
    while (merge->live) {
        struct run *top = &merge->runs[0];
        const struct call *call = &top->buffer[top->at++];
        out->start[used] = call->start;
        out->end[used] = call->end;
        out->thread[used++] = call->thread;
        int rc = 0;
        if (top->at == top->count) {
            if (top->next < top->end)
                rc = refill(merge, top);
            else
                *top = merge->runs[--merge->live];
        }
        if (rc == 0 && (used == COLUMN || !merge->live)) {
            rc = write_columns(merge->fd, to, written, out, used);
            written += used;
            used = 0;
        }
        if (rc)
            return rc;
        sink(merge, 0);
    }
    return 0;
}

/* Into a second place, whose first one's blocks are given back. */
static int order_row(struct sp__rows *rows, struct sp__extent *e, struct columns *out)
{
    struct sp__recording_file *file = rows->making->recording->private_file;
    struct merge merge = {.from = e, .fd = file->fd, .columns = &rows->columns};
    struct call *buffers = NULL;
    int rc = find_runs(rows, e, &merge);
    if (rc == 0) {
        size_t share = BATCH / merge.live;
        merge.buffer_room = share > COLUMN ? COLUMN : share < RUN_LEAST ? RUN_LEAST : share;
        buffers = malloc(merge.live * merge.buffer_room * sizeof *buffers);
        rc = buffers ? 0 : -ENOMEM;
    }
    for (size_t i = 0; rc == 0 && i < merge.live; i++) {
        merge.runs[i].buffer = buffers + i * merge.buffer_room;
        rc = refill(&merge, &merge.runs[i]);
    }
    uint64_t from = e->starts;
    struct sp__extent to = set_aside(file, e->filled);
    to.filled = e->filled;
    if (rc == 0) {
        for (size_t i = merge.live; i-- > 0;)
            sink(&merge, i);
        rc = merge_runs(&merge, &to, out);
    }
    free(buffers);
    free(merge.runs);
    if (rc)
        return rc;
    /* Where holes are not to be had the blocks just stay until the file goes. */
    (void)fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(e->capacity * 20));
    *e = to;
    return 0;
}

int sp__rows_finish(struct sp__rows *rows)
{
    int rc = rows->used ? flush(rows) : 0;
    struct sp__extent *extents = rows->making->recording->private_file->extents;
    free(rows->batch);
    free(rows->sorted);
    rows->batch = rows->sorted = NULL;
    struct columns *out = rc ? NULL : malloc(sizeof *out);
    if (rc == 0 && !out)
        rc = -ENOMEM;
    for (size_t row = 0; rc == 0 && row < rows->row_count; row++) {
        if (extents[row].unsorted)
            rc = order_row(rows, &extents[row], out);
        if (rc == 0 && extents[row].filled != rows->making->recording->rows[row].calls)
            rc = -EBADMSG; /* the spool changed between two passes */
    }
    free(out);
    return rc;
}
