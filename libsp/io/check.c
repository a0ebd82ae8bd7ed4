/* check.c: whether a file is sound. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "format.h"
#include "look.h"
#include "trace_file.h"

enum { TOLD_MOST = 1000, SLICE = 4096 };

void sp__check_found(struct sp__checking *checking, const char *place, const char *text, ...)
{
    if (++checking->result.findings > TOLD_MOST || !checking->found)
        return;
    char words[1024];
    va_list arguments;
    va_start(arguments, text);
    vsnprintf(words, sizeof words, text, arguments);
    va_end(arguments);
    checking->found(checking->context, place, words);
}

int sp__check_error(struct sp__checking *checking, const sp_error *error)
{
    if (error->status == SP_ERR_TRACE_FORMAT || error->status == SP_ERR_CORRUPT_PROFILE ||
        error->status == SP_ERR_SCHEMA) {
        /* The text begins with file and place, which whoever is called has already. */
        size_t before = strnlen(error->file, 600) + (*error->place ? 2 + strlen(error->place) : 0) + 2;
        size_t length = strlen(error->text);
        sp__check_found(checking, error->place, "%s", error->text + (before < length ? before : 0));
        return 0;
    }
    if (checking->error)
        *checking->error = *error;
    return error->status;
}

void sp__check_progress(const struct sp__checking *checking, uint64_t done, uint64_t all)
{
    if (checking->progress && all)
        checking->progress(checking->progress_context, (double)done / (double)all);
}

struct columns {
    int64_t start[SLICE], end[SLICE];
};

/* Every call of one region's block. */
static int check_block(struct sp__checking *c, struct sp__trace_file *file, const struct sp__trace_region *region,
                       struct columns *columns)
{
    sp_error error = {0};
    int64_t last = INT64_MIN;
    char place[32];
    for (uint64_t done = 0; done < region->calls;) {
        size_t n = region->calls - done < SLICE ? (size_t)(region->calls - done) : SLICE;
        uint64_t start_at = region->starts_at + done * 8, end_at = start_at + region->calls * 8;
        if (sp__trace_file_times(file, start_at, columns->start, n, &error) ||
            sp__trace_file_times(file, end_at, columns->end, n, &error))
            return sp__check_error(c, &error);
        for (size_t i = 0; i < n; i++) {
            if (columns->start[i] < last) {
                snprintf(place, sizeof place, "byte %" PRIu64, start_at + i * 8);
                sp__check_found(c, place, "region \"%.200s\": starts do not ascend: %" PRId64 " after %" PRId64,
                                region->name, columns->start[i], last);
            }
            if (columns->end[i] < columns->start[i]) {
                snprintf(place, sizeof place, "byte %" PRIu64, end_at + i * 8);
                sp__check_found(c, place, "region \"%.200s\": a call ends at %" PRId64 ", before its start %" PRId64,
                                region->name, columns->end[i], columns->start[i]);
            } else if (!sp__call_sound(columns->start[i], columns->end[i])) {
                snprintf(place, sizeof place, "byte %" PRIu64, end_at + i * 8);
                sp__check_found(c, place,
                                "region \"%.200s\": a call's duration does not fit into 64 bits: it goes from %" PRId64
                                " to %" PRId64,
                                region->name, columns->start[i], columns->end[i]);
            }
            last = columns->start[i];
        }
        done += n;
        sp__check_progress(c, end_at, file->id.size);
    }
    c->result.calls += region->calls;
    return 0;
}

int sp__check_trace(struct sp__checking *c)
{
    struct sp__trace_file file;
    sp_error error = {0};
    snprintf(c->result.format, sizeof c->result.format, "trace");
    if (sp__trace_file_open(&file, c->path, &error))
        return sp__check_error(c, &error);
    const int one = 1;
    bool little = (*(const char *)&one == 1) != file.swap;
    snprintf(c->result.format, sizeof c->result.format, "trace version %u, %s-endian", file.version,
             little ? "little" : "big");
    c->result.ranks = 1;
    struct columns *columns = malloc(sizeof *columns);
    struct sp__trace_region region;
    int status = columns ? 0 : sp__fail(c->error, SP_ERR_SYSTEM, 0, c->path, NULL, "there is no memory to check it");
    int more = 0;
    while (!status && (more = sp__trace_file_next(&file, &region, &error)) == 1) {
        char place[32];
        snprintf(place, sizeof place, "byte %" PRIu64, region.name_at);
        if (region.mended)
            sp__check_found(c, place, "a region's name is not UTF-8, or holds a NUL");
        c->result.regions++;
        status = check_block(c, &file, &region, columns);
        free(region.name);
        free(region.file);
    }
    if (!status && more < 0)
        status = sp__check_error(c, &error);
    free(columns);
    sp__trace_file_close(&file);
    return status;
}

int sp_check_file(const char *path, void (*found)(void *context, const char *place, const char *text), void *context,
                  sp_check_result *ret, sp_error *error)
{
    return sp_check_file_progress(path, found, context, NULL, NULL, ret, error);
}

int sp_check_file_progress(const char *path, void (*found)(void *context, const char *place, const char *text),
                           void *context, void (*progress)(void *context, double done), void *progress_context,
                           sp_check_result *ret, sp_error *error)
{
    struct sp__checking c = {.path = path,
                             .found = found,
                             .context = context,
                             .progress = progress,
                             .progress_context = progress_context,
                             .error = error};
    const struct sp__file_type *format = NULL;
    sp_error none = {0};
    snprintf(c.result.format, sizeof c.result.format, "unknown");
    int status = sp__file_type_of(&format, path, &none);
    status = status ? sp__check_error(&c, &none) : format->check(&c);
    if (!status && ret)
        *ret = c.result;
    return status;
}
