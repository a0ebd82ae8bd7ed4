#include "balance.h"

#include <stdlib.h>

#include "json.h"
#include "paths.h"
#include "say.h"

struct cell {
    int64_t time, most; /* most: of one rank */
    uint64_t calls;
};

struct balance {
    const struct page_scope *scope;
    struct balance_region *regions;
    struct cell *cells; /* by region, then group */
    size_t shown, groups, group_size;
};

static void add_row(struct balance *balance, size_t rank, const sp_result *row)
{
    const struct page_region *region = page_region_find(balance->scope, row->region);
    int64_t time = page_weight(balance->scope, row->total, row->exclusive);
    if (!region)
        return;
    struct balance_region *found = &balance->regions[region->line];
    if (time > found->most) {
        found->most = time;
        found->slowest = row->rank;
    }
    if (region->line >= balance->shown)
        return;
    struct cell *cell = &balance->cells[region->line * balance->groups + rank / balance->group_size];
    cell->time = paths_add(cell->time, time);
    cell->most = time > cell->most ? time : cell->most;
    cell->calls += row->calls;
}

struct balance *balance_create(const struct page_scope *scope)
{
    struct balance *balance = need(calloc(1, sizeof *balance));
    const struct region_table *table = &scope->table;
    balance->scope = scope;
    balance->shown = table->count < PAGE_HEAT_REGIONS ? table->count : PAGE_HEAT_REGIONS;
    balance->group_size = scope->rank_count / PAGE_HEAT_GROUPS + (scope->rank_count % PAGE_HEAT_GROUPS > 0);
    balance->group_size += balance->group_size == 0;
    balance->groups = (scope->rank_count + balance->group_size - 1) / balance->group_size;
    balance->regions = need(calloc(table->count ? table->count : 1, sizeof *balance->regions));
    balance->cells = need(calloc(balance->shown * balance->groups + 1, sizeof *balance->cells));
    for (size_t i = 0; i < scope->rank_count; ++i)
        for (size_t k = 0; k < scope->ranks[i].rows; ++k) {
            sp_result row;
            if (sp_results_row(scope->results, scope->ranks[i].row + k, &row) == 0)
                add_row(balance, i, &row);
        }
    for (size_t i = 0; i < table->count; ++i) {
        int64_t time = page_weight(scope, table->lines[i].total, table->lines[i].exclusive);
        balance->regions[i].ratio =
            time > 0 ? (double)balance->regions[i].most * (double)scope->rank_count / (double)time : 1;
    }
    return balance;
}

void balance_destroy(struct balance *balance)
{
    free(balance->regions);
    free(balance->cells);
    free(balance);
}

const struct balance_region *balance_of(const struct balance *balance, size_t line)
{
    return &balance->regions[line];
}

static json_t *region_json(const struct balance *balance, size_t line)
{
    json_t *object = need(json_object());
    json_t *time = json_put(object, "time_ns", json_array()), *calls = json_put(object, "calls", json_array());
    json_t *most = balance->group_size > 1 ? json_put(object, "most_ns", json_array()) : NULL;
    for (size_t i = 0; i < balance->groups; ++i) {
        const struct cell *cell = &balance->cells[line * balance->groups + i];
        json_push(time, json_integer(cell->time));
        json_push(calls, json_count(cell->calls));
        if (most)
            json_push(most, json_integer(cell->most));
    }
    return object;
}

void balance_json(const struct balance *balance, json_t *document)
{
    const struct page_scope *scope = balance->scope;
    json_t *object = json_put(document, "heat", json_object());
    json_put(object, "exclusive", json_boolean(scope->exclusive));
    /* Groups as pairs of their first and last rank. */
    json_t *groups = json_put(object, "groups", json_array());
    for (size_t i = 0; i < scope->rank_count; i += balance->group_size) {
        size_t last = i + balance->group_size < scope->rank_count ? i + balance->group_size : scope->rank_count;
        json_t *pair = json_push(groups, json_array());
        json_push(pair, json_count(scope->ranks[i].rank));
        json_push(pair, json_count(scope->ranks[last - 1].rank));
    }
    json_t *regions = json_put(object, "regions", json_array());
    for (size_t i = 0; i < balance->shown; ++i)
        json_push(regions, region_json(balance, i));
    if (balance->group_size > 1)
        page_note(document, "The heat map joins %zu neighbouring ranks of %zu in a column.", balance->group_size,
                  scope->rank_count);
    if (balance->shown < scope->table.count)
        page_note(document, "The heat map shows the %zu regions of most time, of %zu.", balance->shown,
                  scope->table.count);
}
