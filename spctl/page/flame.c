#include "flame.h"

#include <inttypes.h>
#include <stdlib.h>

#include "json.h"
#include "say.h"

enum {
    PATHS = 1 << 16, /* in memory; the page shows those of most time */
    SLOTS = 2 * PATHS,
    DEEPEST = 256
};
#define NO_PATH  UINT32_MAX
#define LEFT_OUT (UINT32_MAX - 1)

struct path {
    uint32_t parent, line, depth;
    uint64_t calls;
    int64_t total, inside; /* inside: time of the paths below it */
};

struct flame {
    struct path *paths;
    uint32_t count;
    uint32_t *slots; /* path + 1, 0 free */
    uint64_t left;   /* calls */
};

struct flame *flame_create(void)
{
    struct flame *flame = need(calloc(1, sizeof *flame));
    flame->paths = need(calloc(PATHS, sizeof *flame->paths));
    flame->slots = need(calloc(SLOTS, sizeof *flame->slots));
    return flame;
}

void flame_destroy(struct flame *flame)
{
    free(flame->paths);
    free(flame->slots);
    free(flame);
}

static uint32_t path_of(struct flame *flame, uint32_t parent, uint32_t line)
{
    uint64_t hash = ((uint64_t)parent << 32 | line) * 0x9E3779B97F4A7C15U;
    size_t slot = (size_t)(hash >> 40) % SLOTS;
    for (; flame->slots[slot]; slot = (slot + 1) % SLOTS) {
        const struct path *path = &flame->paths[flame->slots[slot] - 1];
        if (path->parent == parent && path->line == line)
            return flame->slots[slot] - 1;
    }
    uint32_t depth = parent == NO_PATH ? 0 : flame->paths[parent].depth + 1;
    if (flame->count == PATHS || depth == DEEPEST)
        return LEFT_OUT;
    flame->paths[flame->count] = (struct path){.parent = parent, .line = line, .depth = depth};
    flame->slots[slot] = ++flame->count;
    return flame->count - 1;
}

uint32_t flame_add(struct flame *flame, const struct stream_call *call)
{
    uint32_t path =
        call->parent == LEFT_OUT || call->lane == UINT32_MAX ? LEFT_OUT : path_of(flame, call->parent, call->line);
    if (path == LEFT_OUT) {
        ++flame->left;
        return LEFT_OUT;
    }
    int64_t duration = call->duration < INT64_MAX ? (int64_t)call->duration : INT64_MAX;
    struct path *found = &flame->paths[path];
    ++found->calls;
    found->total = page_add(found->total, duration);
    if (found->parent != NO_PATH)
        flame->paths[found->parent].inside = page_add(flame->paths[found->parent].inside, duration);
    return path;
}

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
static uint32_t *choose(const struct flame *flame, uint32_t *ret_kept)
{
    struct order *order = need(malloc((flame->count + 1) * sizeof *order));
    uint32_t *number = need(malloc((flame->count + 1) * sizeof *number));
    uint32_t kept = 0, next = 0;
    for (uint32_t i = 0; i < flame->count; ++i) {
        order[i] = (struct order){.path = i, .total = flame->paths[i].total};
        number[i] = NO_PATH;
    }
    qsort(order, flame->count, sizeof *order, by_total);
    for (uint32_t i = 0; i < flame->count && kept < PAGE_PATHS; ++i) {
        uint32_t parent = flame->paths[order[i].path].parent;
        if (flame->paths[order[i].path].line >= PAGE_REGIONS || (parent != NO_PATH && number[parent] == NO_PATH))
            continue;
        number[order[i].path] = 0;
        ++kept;
    }
    for (uint32_t i = 0; i < flame->count; ++i)
        if (number[i] != NO_PATH)
            number[i] = next++;
    free(order);
    *ret_kept = kept;
    return number;
}

void flame_json(const struct flame *flame, json_t *document)
{
    uint32_t kept;
    uint32_t *number = choose(flame, &kept);
    json_t *object = json_put(document, "flame", json_object());
    json_t *parents = json_put(object, "parent", json_array()), *regions = json_put(object, "region", json_array());
    json_t *calls = json_put(object, "calls", json_array()), *totals = json_put(object, "total_ns", json_array());
    json_t *own = json_put(object, "exclusive_ns", json_array());
    for (uint32_t i = 0; i < flame->count; ++i) {
        const struct path *path = &flame->paths[i];
        if (number[i] == NO_PATH)
            continue;
        json_push(parents, json_integer(path->parent == NO_PATH ? -1 : (json_int_t)number[path->parent]));
        json_push(regions, json_count(path->line));
        json_push(calls, json_count(path->calls));
        json_push(totals, json_integer(path->total));
        json_push(own, json_integer(path->total > path->inside ? path->total - path->inside : 0));
    }
    if (kept < flame->count)
        page_note(document, "The flame graph shows the %" PRIu32 " call paths of most time; %" PRIu32 " are left out.",
                  kept, flame->count - kept);
    if (flame->left > 0)
        page_note(document,
                  "The flame graph leaves out %" PRIu64 " calls: nested deeper than %d, or of more than %d different "
                  "paths.",
                  flame->left, DEEPEST, PATHS);
    free(number);
}
