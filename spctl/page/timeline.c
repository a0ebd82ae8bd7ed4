#include "timeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "pack.h"
#include "say.h"

enum { DEPTHS = 32, MIXED = 4, FIRST_QUANTUM = 64 };

struct block {
    uint64_t start, end; /* of the first and last call, since the profile's start */
    uint64_t busy, calls;
    uint32_t line[MIXED];
    uint64_t time[MIXED]; /* at least so much of each; an empty place has 0 */
};

struct blocks {
    struct block *list;
    size_t count, room;
};

struct lane {
    int64_t thread; /* -1 unknown */
    char *name;     /* of the thread; "" unknown */
    struct blocks depths[DEPTHS];
    uint64_t calls;
};

struct drawn {
    const struct page_rank *rank;
    struct lane *lanes;
    size_t lane_count, lanes_most, lanes_left; /* left: not drawn, as more than the most */
    size_t blocks, budget;
    uint64_t quantum;
    uint64_t too_deep, unplaced; /* calls that are not drawn */
};

struct timeline {
    struct page_scope *scope;
    struct drawn *ranks; /* as many as the scope's, those that are drawn are in use */
    size_t drawn;
};

static bool merges(const struct blocks *blocks, const struct block *block, uint64_t quantum)
{
    if (blocks->count == 0 || quantum == 0)
        return false;
    const struct block *last = &blocks->list[blocks->count - 1];
    return (last->calls > 1 || last->busy < quantum) && (block->calls > 1 || block->busy < quantum) &&
           last->start / quantum == block->start / quantum;
}

/* Adds to the place of the region, else to an empty one, else takes the time off all places, which then hold too little
 * and never too much. */
static void mix(struct block *into, uint32_t line, uint64_t time)
{
    size_t place = MIXED;
    uint64_t least = time;
    for (size_t i = 0; i < MIXED; ++i) {
        if (into->time[i] > 0 && into->line[i] == line) {
            into->time[i] += time;
            return;
        }
        place = into->time[i] == 0 ? i : place;
        least = into->time[i] < least ? into->time[i] : least;
    }
    if (place < MIXED) {
        into->line[place] = line;
        into->time[place] = time;
        return;
    }
    for (size_t i = 0; i < MIXED; ++i)
        into->time[i] -= least;
    if (time > least)
        mix(into, line, time - least);
}

static bool push(struct blocks *blocks, const struct block *block, uint64_t quantum)
{
    if (merges(blocks, block, quantum)) {
        struct block *last = &blocks->list[blocks->count - 1];
        last->end = block->end > last->end ? block->end : last->end;
        last->busy += block->busy;
        last->calls += block->calls;
        for (size_t i = 0; i < MIXED; ++i)
            if (block->time[i] > 0)
                mix(last, block->line[i], block->time[i]);
        return false;
    }
    if (blocks->count == blocks->room) {
        blocks->room = blocks->room ? 2 * blocks->room : 16;
        blocks->list = need(realloc(blocks->list, blocks->room * sizeof *blocks->list));
    }
    blocks->list[blocks->count++] = *block;
    return true;
}

/* By a quarter, so that no more joins than must. */
static void widen(struct drawn *drawn)
{
    drawn->quantum = drawn->quantum ? drawn->quantum + drawn->quantum / 4 : FIRST_QUANTUM;
    drawn->blocks = 0;
    for (size_t i = 0; i < drawn->lane_count; ++i)
        for (size_t depth = 0; depth < DEPTHS; ++depth) {
            struct blocks *blocks = &drawn->lanes[i].depths[depth];
            size_t count = blocks->count;
            blocks->count = 0;
            for (size_t k = 0; k < count; ++k) {
                struct block block = blocks->list[k];
                push(blocks, &block, drawn->quantum);
            }
            drawn->blocks += blocks->count;
        }
}

static void fit(struct drawn *drawn, size_t budget, uint64_t span)
{
    while (drawn->blocks > budget && drawn->quantum <= 2 * span)
        widen(drawn);
}

void timeline_add(struct timeline *timeline, size_t rank, const sp_walk_call *call)
{
    struct drawn *drawn = &timeline->ranks[rank];
    if (!drawn->rank)
        return;
    if (call->lane >= drawn->lanes_most) {
        drawn->lanes_left = call->lane + 1 - drawn->lanes_most > drawn->lanes_left ? call->lane + 1 - drawn->lanes_most
                                                                                   : drawn->lanes_left;
        ++drawn->unplaced;
        return;
    }
    if (call->lane == drawn->lane_count) { /* lanes are numbered as they come */
        drawn->lanes = need(realloc(drawn->lanes, (call->lane + 1) * sizeof *drawn->lanes));
        drawn->lanes[drawn->lane_count++] =
            (struct lane){.thread = call->thread, .name = need(strdup(call->thread_name))};
    }
    struct lane *lane = &drawn->lanes[call->lane];
    ++lane->calls;
    if (call->depth >= DEPTHS) {
        ++drawn->too_deep;
        return;
    }
    uint64_t start = page_offset(timeline->scope, call->start), duration = (uint64_t)call->end - (uint64_t)call->start;
    const struct block block = {.start = start,
                                .end = start + duration,
                                .busy = duration,
                                .calls = 1,
                                .line = {timeline->scope->lines[call->region]},
                                .time = {duration + 1}};
    drawn->blocks += push(&lane->depths[call->depth], &block, drawn->quantum);
    if (drawn->blocks > 2 * drawn->budget)
        fit(drawn, drawn->budget, timeline->scope->span);
}

/* So many blocks for each rank that none with fewer calls is cut for the sake of another. */
static size_t level_of(const struct page_scope *scope, size_t drawn)
{
    uint64_t low = PAGE_BLOCKS / drawn, high = PAGE_BLOCKS;
    while (low < high) {
        uint64_t middle = (low + high + 1) / 2, sum = 0;
        for (size_t i = 0; i < scope->rank_count; ++i)
            if (scope->ranks[i].drawn)
                sum += scope->ranks[i].calls < middle ? scope->ranks[i].calls : middle;
        if (sum <= PAGE_BLOCKS)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static size_t draw(struct page_scope *scope, size_t rank)
{
    bool before = scope->ranks[rank].drawn;
    scope->ranks[rank].drawn = true;
    return !before;
}

/* All, or those that do most and least and start and end at the far ends, and others evenly spread. */
static size_t choose(struct page_scope *scope)
{
    size_t count = scope->rank_count, chosen = 0, most = 0, least = 0, last = 0, first_end = 0;
    for (size_t i = 0; i < count && count > PAGE_RANKS; ++i) {
        const struct page_rank *ranks = scope->ranks;
        most = ranks[i].busy > ranks[most].busy ? i : most;
        least = ranks[i].busy < ranks[least].busy ? i : least;
        last = ranks[i].start > ranks[last].start ? i : last;
        first_end = ranks[i].end < ranks[first_end].end ? i : first_end;
    }
    if (count > PAGE_RANKS)
        chosen = draw(scope, most) + draw(scope, least) + draw(scope, last) + draw(scope, first_end);
    size_t wanted = count > PAGE_RANKS ? PAGE_RANKS - 4 : count;
    for (size_t i = 0; i < wanted; ++i)
        chosen += draw(scope, i * count / wanted);
    return chosen;
}

struct timeline *timeline_create(struct page_scope *scope)
{
    struct timeline *timeline = need(calloc(1, sizeof *timeline));
    timeline->scope = scope;
    timeline->ranks = need(calloc(scope->rank_count ? scope->rank_count : 1, sizeof *timeline->ranks));
    timeline->drawn = choose(scope);
    size_t level = timeline->drawn ? level_of(scope, timeline->drawn) : 0;
    for (size_t i = 0; i < scope->rank_count; ++i) {
        if (!scope->ranks[i].drawn)
            continue;
        timeline->ranks[i].rank = &scope->ranks[i];
        timeline->ranks[i].budget = level;
        timeline->ranks[i].lanes_most = PAGE_LANES / timeline->drawn;
    }
    return timeline;
}

void timeline_destroy(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->scope->rank_count; ++i) {
        struct drawn *drawn = &timeline->ranks[i];
        for (size_t lane = 0; lane < drawn->lane_count; ++lane) {
            free(drawn->lanes[lane].name);
            for (size_t depth = 0; depth < DEPTHS; ++depth)
                free(drawn->lanes[lane].depths[depth].list);
        }
        free(drawn->lanes);
    }
    free(timeline->ranks);
    free(timeline);
}

void timeline_finish(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->scope->rank_count; ++i)
        fit(&timeline->ranks[i], timeline->ranks[i].budget, timeline->scope->span);
}

void timeline_coarsen(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->scope->rank_count; ++i) {
        struct drawn *drawn = &timeline->ranks[i];
        drawn->budget = drawn->blocks / 2;
        fit(drawn, drawn->budget, timeline->scope->span);
    }
}

/* The regions of a block by their time, each with how many percent of it they have at least. */
static void mix_pack(struct pack *pack, const struct block *block)
{
    size_t order[MIXED], count = 0;
    double weight = (double)block->busy + (double)block->calls;
    for (size_t i = 0; i < MIXED; ++i) {
        size_t at = count;
        if (block->time[i] == 0 || (count > 0 && 100 * (double)block->time[i] < weight))
            continue;
        for (; at > 0 && block->time[order[at - 1]] < block->time[i]; --at)
            order[at] = order[at - 1];
        order[at] = i;
        ++count;
    }
    pack_number(pack, count);
    for (size_t i = 0; i < count; ++i) {
        uint32_t line = block->line[order[i]];
        pack_number(pack, line < PAGE_REGIONS ? line : PAGE_REGIONS);
        pack_number(pack, (uint64_t)(100 * (double)block->time[order[i]] / weight));
    }
}

/* How many there are; of each block the gap before it, its length, its calls; then the region of the one call, or how much of the length no
 * call fills, and the regions. */
static json_t *blocks_json(const struct blocks *blocks)
{
    struct pack pack = {0};
    uint64_t end = 0;
    pack_number(&pack, blocks->count);
    for (size_t i = 0; i < blocks->count; ++i) {
        const struct block *block = &blocks->list[i];
        uint64_t length = block->end - block->start;
        pack_number(&pack, block->start > end ? block->start - end : 0);
        pack_number(&pack, length);
        pack_number(&pack, block->calls);
        if (block->calls == 1) {
            pack_number(&pack, block->line[0] < PAGE_REGIONS ? block->line[0] : PAGE_REGIONS);
        } else {
            pack_number(&pack, length > block->busy ? length - block->busy : 0);
            mix_pack(&pack, block);
        }
        end = block->end;
    }
    return pack_json(&pack);
}

static json_t *rank_json(const struct drawn *drawn)
{
    json_t *rank = need(json_object());
    json_put(rank, "rank", json_count(drawn->rank->rank));
    json_put(rank, "quantum_ns", json_count(drawn->quantum));
    json_t *lanes = json_put(rank, "lanes", json_array());
    for (size_t i = 0; i < drawn->lane_count; ++i) {
        const struct lane *lane = &drawn->lanes[i];
        size_t depths = DEPTHS;
        while (depths > 0 && lane->depths[depths - 1].count == 0)
            --depths;
        json_t *object = json_push(lanes, json_object());
        json_put(object, "thread", json_integer(lane->thread));
        json_put(object, "name", json_text(lane->name));
        json_put(object, "calls", json_count(lane->calls));
        json_t *rows = json_put(object, "depths", json_array());
        for (size_t depth = 0; depth < depths; ++depth)
            json_push(rows, blocks_json(&lane->depths[depth]));
    }
    return rank;
}

static void notes_json(const struct timeline *timeline, json_t *document)
{
    uint64_t lanes = 0, unplaced = 0, deep = 0;
    for (size_t i = 0; i < timeline->scope->rank_count; ++i) {
        lanes += timeline->ranks[i].lanes_left;
        unplaced += timeline->ranks[i].unplaced;
        deep += timeline->ranks[i].too_deep;
    }
    if (timeline->drawn < timeline->scope->rank_count)
        page_note(document,
                  "The timeline shows %zu of %zu ranks: those with the most and the least time in regions, the last to "
                  "start, the first to end, and others evenly spread.",
                  timeline->drawn, timeline->scope->rank_count);
    if (unplaced > 0)
        page_note(document, "The timeline leaves out %" PRIu64 " lanes of threads, with %" PRIu64 " calls.", lanes,
                  unplaced);
    if (deep > 0)
        page_note(document, "The timeline leaves out %" PRIu64 " calls nested deeper than %d.", deep, DEPTHS);
}

void timeline_json(const struct timeline *timeline, json_t *document)
{
    json_t *object = json_put(document, "timeline", json_object());
    json_t *ranks = json_put(object, "ranks", json_array());
    for (size_t i = 0; i < timeline->scope->rank_count; ++i)
        if (timeline->ranks[i].rank)
            json_push(ranks, rank_json(&timeline->ranks[i]));
    notes_json(timeline, document);
}
