#include "flame.h"

#include <inttypes.h>
#include <stdlib.h>

#include "json.h"
#include "say.h"

#define NO_PATH UINT32_MAX

struct order {
    uint32_t path;
    int64_t total;
};

/* Parents have lower numbers than their children, and at least their time. */
static int by_total(const void *a, const void *b)
{
    const struct order *left = a, *right = b;
    if (left->total != right->total)
        return left->total < right->total ? 1 : -1;
    return left->path < right->path ? -1 : 1;
}

/* The number of each path in the page, NO_PATH where it is not there. */
static uint32_t *choose(const struct page_scope *scope, const struct paths *paths, uint32_t *ret_kept)
{
    struct order *order = need(malloc((paths->count + 1) * sizeof *order));
    uint32_t *number = need(malloc((paths->count + 1) * sizeof *number));
    uint32_t kept = 0, next = 0;
    for (uint32_t i = 0; i < paths->count; ++i) {
        order[i] = (struct order){.path = i, .total = paths->list[i].total};
        number[i] = NO_PATH;
    }
    qsort(order, paths->count, sizeof *order, by_total);
    for (uint32_t i = 0; i < paths->count && kept < PAGE_PATHS; ++i) {
        const struct path *path = &paths->list[order[i].path];
        if (scope->lines[path->region] >= PAGE_REGIONS || (path->above != SIZE_MAX && number[path->above] == NO_PATH))
            continue;
        number[order[i].path] = 0;
        ++kept;
    }
    for (uint32_t i = 0; i < paths->count; ++i)
        if (number[i] != NO_PATH)
            number[i] = next++;
    free(order);
    *ret_kept = kept;
    return number;
}

void flame_json(const struct page_scope *scope, const struct paths *paths, json_t *document)
{
    uint32_t kept;
    uint32_t *number = choose(scope, paths, &kept);
    json_t *object = json_put(document, "flame", json_object());
    json_t *parents = json_put(object, "parent", json_array()), *regions = json_put(object, "region", json_array());
    json_t *calls = json_put(object, "calls", json_array()), *totals = json_put(object, "total_ns", json_array());
    json_t *own = json_put(object, "exclusive_ns", json_array());
    for (uint32_t i = 0; i < paths->count; ++i) {
        const struct path *path = &paths->list[i];
        if (number[i] == NO_PATH)
            continue;
        json_push(parents, json_integer(path->above == SIZE_MAX ? -1 : (json_int_t)number[path->above]));
        json_push(regions, json_count(scope->lines[path->region]));
        json_push(calls, json_count(path->calls));
        json_push(totals, json_integer(path->total));
        json_push(own, json_integer(path->exclusive > 0 ? path->exclusive : 0));
    }
    if (kept < paths->count)
        page_note(document, "The flame graph shows the %" PRIu32 " call paths of most time; %zu are left out.", kept,
                  paths->count - kept);
    if (paths->cut > 0)
        page_note(document,
                  "The flame graph shows the time of %" PRIu64 " calls as that of the path above them: they are nested "
                  "deeper than %zu, or of more than %d different paths.",
                  paths->cut, paths->deepest, PATHS_MOST);
    free(number);
}
