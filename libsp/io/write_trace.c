/* write_trace.c: one rank as a .spt, version 2. Both columns of a region are written as its calls come, each at its own
 * place, since how many there are is known. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/durable.h"
#include "write.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "traces and event columns are written as they lie in memory");

enum { ROOM = 131072 };

struct trace {
    struct sp__writing *writing;
    struct sp__durable file;
    uint64_t at;
};

static int system_failure(struct trace *trace, int code)
{
    return sp__fail(trace->writing->error, SP_ERR_SYSTEM, -code, trace->writing->output, NULL, "cannot be written");
}

static int put(struct trace *trace, const void *data, size_t size)
{
    int result = sp__write_at(trace->file.fd, data, size, trace->at);
    trace->at += size;
    return result < 0 ? system_failure(trace, result) : 0;
}

static int put_head(struct trace *trace, const struct sp__rank_row *row)
{
    size_t name = strlen(row->name), file = strlen(row->file);
    char *head = malloc(4 + name + 4 + file + 4 + 8), *to = head;
    if (!head)
        return system_failure(trace, -ENOMEM);
    int32_t name_length = (int32_t)name, file_length = (int32_t)file;
    int32_t line = row->line < 0 || row->line > INT32_MAX ? -1 : (int32_t)row->line;
    int64_t calls = (int64_t)row->calls;
    to = (char *)mempcpy(to, &name_length, 4);
    to = (char *)mempcpy(to, row->name, name);
    to = (char *)mempcpy(to, &file_length, 4);
    to = (char *)mempcpy(to, row->file, file);
    to = (char *)mempcpy(to, &line, 4);
    to = (char *)mempcpy(to, &calls, 8);
    int result = put(trace, head, (size_t)(to - head));
    free(head);
    return result;
}

static int put_row(struct trace *trace, struct sp__rank *rank, size_t r)
{
    const struct sp__rank_row *row = &rank->rows[r];
    sp_error *error = trace->writing->error;
    struct sp__cursor *cursor;
    uint64_t ends = 8 * row->calls, written = 0;
    int result = put_head(trace, row);
    if (result < 0)
        return result;
    result = sp__cursor_open_with(&cursor, rank, r, row->calls < ROOM ? (size_t)row->calls : ROOM, 0, error);
    if (result < 0)
        return result;
    for (;;) {
        struct sp__calls calls;
        size_t count;
        result = sp__cursor_next(cursor, &calls, &count, error);
        if (result < 0 || !count)
            break;
        uint64_t at = trace->at + 8 * written;
        int failure = sp__write_at(trace->file.fd, calls.start, count * 8, at);
        if (failure == 0)
            failure = sp__write_at(trace->file.fd, calls.end, count * 8, at + ends);
        if (failure < 0) {
            result = system_failure(trace, failure);
            break;
        }
        written += count;
        sp__writing_progress(trace->writing, count);
    }
    sp__cursor_close(cursor);
    trace->at += 2 * ends;
    return result;
}

/* Said once for all of it: what the input knows and a trace cannot say. */
static void warn_of_rest(struct sp__writing *writing, const struct sp__rank *rank)
{
    size_t texts = 0, tags = 0, lines = 0, deaths = 0, open_calls = 0;
    for (size_t r = 0; r < rank->row_count; r++) {
        const struct sp__rank_row *row = &rank->rows[r];
        texts += row->text[0] != 0;
        tags += row->tags[0] && strcmp(row->tags, "[]") != 0;
        lines += row->line > INT32_MAX;
    }
    for (size_t p = 0; p < rank->part_count; p++) {
        const struct sp__source *part = rank->parts[p];
        deaths += part->death_count;
        open_calls += part->open_call_count;
        for (size_t i = 0; i < part->group_count; i++)
            sp__writing_warn(writing, "%s: %s is left out, since a trace has no place for it: write a profile (.h5)",
                             part->path, part->groups[i]);
    }
    const struct {
        size_t count;
        const char *what;
    } rest[] = {{texts, "regions' source texts"},
                {tags, "regions' tags"},
                {lines, "source lines above 2147483647"},
                {deaths, "deaths"},
                {open_calls, "open calls"}};
    char text[256] = "";
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        if (rest[i].count) {
            size_t length = strlen(text);
            snprintf(text + length, sizeof text - length, "%s%s", length ? ", " : "", rest[i].what);
        }
    if (text[0])
        sp__writing_warn(writing, "%s: left out, since a trace has no place for them: %s: write a profile (.h5)",
                         writing->output, text);
    if (rank->thread_count > 1)
        sp__writing_warn(writing, "%s: the calls of %zu threads are joined, since a trace has no place for threads",
                         writing->output, rank->thread_count);
}

int sp__write_trace(struct sp__writing *writing)
{
    struct trace trace = {.writing = writing};
    if (writing->settings->schema || writing->settings->gzip)
        return sp__fail(writing->error, SP_ERR_USAGE, 0, writing->output, NULL,
                        "a trace has no %s: write a profile (.h5)",
                        writing->settings->schema ? "schema" : "compression");
    if (writing->rank_count != 1)
        return sp__fail(writing->error, SP_ERR_USAGE, 0, writing->output, NULL,
                        "a trace holds one rank, and the inputs hold %zu: write a profile (.h5)", writing->rank_count);
    struct sp__rank *rank = writing->ranks[0];
    if (writing->aggregate)
        return sp__fail(writing->error, SP_ERR_USAGE, 0, writing->output, NULL,
                        "a trace has no place for statistics without events, which %s holds: write a profile (.h5)",
                        rank->parts[0]->path);
    if (rank->rank > INT32_MAX)
        return sp__fail(writing->error, SP_ERR_USAGE, 0, writing->output, NULL, "a trace has no place for rank %u",
                        (unsigned)rank->rank);
    int result = sp__durable_begin(&trace.file, writing->output, 0600);
    if (result < 0)
        return system_failure(&trace, result);
    struct {
        char magic[8];
        int32_t version, rank;
        int64_t regions;
    } head = {.magic = {'S', 'C', 'O', 'P', 'E', 'P', 'R', 'F'},
              .version = 2,
              .rank = (int32_t)rank->rank,
              .regions = (int64_t)rank->row_count};
    result = put(&trace, &head, sizeof head);
    for (size_t r = 0; result == 0 && r < rank->row_count; r++)
        result = put_row(&trace, rank, r);
    if (result < 0) {
        sp__durable_abandon(&trace.file);
        return result;
    }
    result = sp__durable_commit(&trace.file);
    if (result < 0)
        return system_failure(&trace, result);
    warn_of_rest(writing, rank);
    writing->report.threads = rank->thread_count;
    return 0;
}
