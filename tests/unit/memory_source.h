/* memory_source.h: a part of a rank held in memory, for tests of what is made of parts. */
#ifndef SP__MEMORY_SOURCE_H
#define SP__MEMORY_SOURCE_H

#include <stdlib.h>
#include <string.h>

#include "io/source.h"

struct memory_row {
    int64_t *start, *end, *thread, *call, *parent;
    size_t room;
};

static int memory_read(struct sp__source *source, size_t row, uint64_t first, size_t count, const struct sp__calls *ret,
                       sp_error *error)
{
    const struct memory_row *from = &((struct memory_row *)source->data)[row];
    (void)error;
    if (first + count > source->rows[row].calls)
        abort();
    memcpy(ret->start, from->start + first, count * sizeof(int64_t));
    memcpy(ret->end, from->end + first, count * sizeof(int64_t));
    if (ret->thread)
        memcpy(ret->thread, from->thread + first, count * sizeof(int64_t));
    if (ret->call)
        memcpy(ret->call, from->call + first, count * sizeof(int64_t));
    if (ret->parent)
        memcpy(ret->parent, from->parent + first, count * sizeof(int64_t));
    return 0;
}

static void memory_destroy(struct sp__source *source)
{
    struct memory_row *rows = source->data;
    for (size_t r = 0; r < source->row_count; r++) {
        free(rows[r].start);
        free(rows[r].end);
        free(rows[r].thread);
        free(rows[r].call);
        free(rows[r].parent);
    }
    free(rows);
    free(source->rows);
    free(source->threads);
    free(source);
}

/* Rows "region0", "region1", ...; threads 0 .. threads-1, none: lanes unknown. Names are not copied. */
static struct sp__source *memory_source(const char *path, uint32_t rank, const char *const *names, size_t rows,
                                        size_t threads)
{
    struct sp__source *source = calloc(1, sizeof *source);
    source->path = path;
    source->rank = rank;
    source->row_count = rows;
    source->rows = calloc(rows + 1, sizeof *source->rows);
    source->data = calloc(rows + 1, sizeof(struct memory_row));
    for (size_t r = 0; r < rows; r++)
        source->rows[r] = (struct sp__source_row){
            .name = names[r], .file = "solver.c", .text = "", .tags = "[]", .line = 10 + (int64_t)r, .exclusive = -1};
    source->threads = threads ? calloc(threads, sizeof *source->threads) : NULL;
    source->thread_count = threads;
    source->lanes = threads > 0;
    for (size_t t = 0; t < threads; t++)
        source->threads[t] = (struct sp__thread){.index = (int64_t)t,
                                                 .ident = 100 + (int64_t)t,
                                                 .native_id = 200 + (int64_t)t,
                                                 .start_ns = -1,
                                                 .end_ns = -1,
                                                 .cpu_ns = -1};
    source->clock_error_ns = source->birth_mono_ns = source->birth_realtime_ns = source->end_mono_ns = -1;
    source->read = memory_read;
    source->destroy = memory_destroy;
    return source;
}

static void memory_add(struct sp__source *source, size_t row, int64_t start, int64_t end, int64_t thread)
{
    struct memory_row *to = &((struct memory_row *)source->data)[row];
    size_t n = (size_t)source->rows[row].calls++;
    if (n == to->room) {
        to->room = to->room ? to->room * 2 : 16;
        to->start = realloc(to->start, to->room * sizeof(int64_t));
        to->end = realloc(to->end, to->room * sizeof(int64_t));
        to->thread = realloc(to->thread, to->room * sizeof(int64_t));
        to->call = realloc(to->call, to->room * sizeof(int64_t));
        to->parent = realloc(to->parent, to->room * sizeof(int64_t));
    }
    to->start[n] = start;
    to->end[n] = end;
    to->thread[n] = thread;
    to->call[n] = to->parent[n] = -1;
}

#endif
