#include "scope.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "paths.h"
#include "say.h"

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct page_region *)a)->name, ((const struct page_region *)b)->name);
}

const struct page_region *page_region_find(const struct page_scope *scope, const char *name)
{
    const struct page_region wanted = {.name = name};
    return bsearch(&wanted, scope->by_name, scope->table.count, sizeof wanted, by_name);
}

static void name_regions(struct page_scope *scope)
{
    size_t count = scope->table.count;
    scope->by_name = need(calloc(count ? count : 1, sizeof *scope->by_name));
    for (size_t i = 0; i < count; ++i)
        scope->by_name[i] = (struct page_region){.name = scope->table.lines[i].region, .line = i};
    qsort(scope->by_name, count, sizeof *scope->by_name, by_name);
    size_t regions = sp_results_region_count(scope->results);
    scope->lines = need(calloc(regions + 1, sizeof *scope->lines));
    for (size_t i = 0; i < regions; ++i) {
        const struct page_region *found = page_region_find(scope, sp_results_region(scope->results, i));
        scope->lines[i] = found ? (uint32_t)found->line : UINT32_MAX;
    }
}

static void add_row(struct page_rank *rank, const sp_result *row)
{
    rank->busy = row->exclusive < 0 || rank->busy < 0 ? -1 : paths_add(rank->busy, row->exclusive);
    ++rank->rows;
    if (row->calls == 0)
        return;
    rank->calls += row->calls;
    rank->start = row->start_minimum < rank->start ? row->start_minimum : rank->start;
    rank->end = row->end_maximum > rank->end ? row->end_maximum : rank->end;
}

static void load_ranks(struct page_scope *scope)
{
    size_t room = sp_results_rank_count(scope->results);
    scope->ranks = need(calloc(room ? room : 1, sizeof *scope->ranks));
    scope->places = need(calloc(scope->table.count + 1, sizeof *scope->places));
    for (size_t i = 0; i < sp_results_count(scope->results); ++i) {
        sp_result row;
        if (sp_results_row(scope->results, i, &row) < 0)
            continue;
        struct page_rank *last = scope->rank_count ? &scope->ranks[scope->rank_count - 1] : NULL;
        if (!last || last->rank != row.rank) {
            if (scope->rank_count == room)
                return;
            last = &scope->ranks[scope->rank_count++];
            *last = (struct page_rank){.rank = row.rank, .start = INT64_MAX, .end = INT64_MIN, .row = i};
        }
        add_row(last, &row);
        const struct page_region *region = *row.source_file ? page_region_find(scope, row.region) : NULL;
        if (region && !scope->places[region->line].file)
            scope->places[region->line] = (struct page_place){.file = row.source_file, .line = row.source_line};
    }
}

int page_scope_init(struct page_scope *ret, sp_results *results, sp_error *error)
{
    const struct table_wanted wanted = {.by = BY_REGION};
    struct page_scope scope = {.results = results};
    int status = region_table_make(&scope.table, results, &wanted, error);
    if (status < 0)
        return status;
    name_regions(&scope);
    load_ranks(&scope);
    scope.timed = scope.table.calls > 0 && scope.table.start <= scope.table.end;
    scope.start = scope.table.start;
    scope.span = scope.timed ? (uint64_t)scope.table.end - (uint64_t)scope.table.start : 0;
    scope.span += scope.span == 0;
    scope.exclusive = true;
    for (size_t i = 0; i < scope.table.count; ++i)
        scope.exclusive = scope.exclusive && scope.table.lines[i].exclusive >= 0;
    *ret = scope;
    return 0;
}

void page_scope_finish(struct page_scope *scope)
{
    region_table_finish(&scope->table);
    free(scope->by_name);
    free(scope->lines);
    free(scope->ranks);
    free(scope->places);
}

int64_t page_weight(const struct page_scope *scope, int64_t total, int64_t exclusive)
{
    return scope->exclusive ? exclusive : total;
}

uint64_t page_offset(const struct page_scope *scope, int64_t time)
{
    uint64_t offset = time > scope->start ? (uint64_t)time - (uint64_t)scope->start : 0;
    return offset < scope->span ? offset : scope->span;
}

void page_note(json_t *document, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_push(json_object_get(document, "notes"), json_text(text));
}
