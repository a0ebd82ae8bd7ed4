/* rank.c: the parts of one rank joined by region name. Reading their rows is in cursor.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325U; /* FNV-1a */
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        hash = (hash ^ *p) * 0x100000001b3U;
    return hash ^ hash >> 29;
}

static int grow_slots(struct sp__name_set *set)
{
    size_t count = set->slot_count ? set->slot_count * 2 : 64;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    for (size_t i = 0; i < set->count; i++) {
        size_t at = (size_t)hash_of(set->names[i]) & (count - 1);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = (uint32_t)i + 1;
    }
    free(set->slots);
    set->slots = slots;
    set->slot_count = count;
    return 0;
}

/* The slot of the name, or a free one. */
static size_t slot_of(const struct sp__name_set *set, const char *name)
{
    size_t at = (size_t)hash_of(name) & (set->slot_count - 1);
    while (set->slots[at] && strcmp(set->names[set->slots[at] - 1], name))
        at = (at + 1) & (set->slot_count - 1);
    return at;
}

int64_t sp__name_set_find(const struct sp__name_set *set, const char *name)
{
    return set->slot_count ? (int64_t)set->slots[slot_of(set, name)] - 1 : -1;
}

int64_t sp__name_set_add(struct sp__name_set *set, const char *name)
{
    if (set->count * 2 >= set->slot_count && grow_slots(set) < 0)
        return -1;
    size_t at = slot_of(set, name);
    if (set->slots[at])
        return (int64_t)set->slots[at] - 1;
    if (set->count == set->room) {
        size_t room = set->room ? set->room * 2 : 32;
        const char **names = realloc(set->names, room * sizeof *names);
        if (!names)
            return -1;
        set->names = names;
        set->room = room;
    }
    set->names[set->count++] = name;
    set->slots[at] = (uint32_t)set->count;
    return (int64_t)set->count - 1;
}

void sp__name_set_finish(struct sp__name_set *set)
{
    free(set->names);
    free(set->slots);
    *set = (struct sp__name_set){0};
}

static int no_memory(sp_error *error, const struct sp__source *source)
{
    return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, source->path, NULL, "cannot be read");
}

static int claims(struct sp__source *const *parts, size_t count, sp_error *error)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct sp__source *a = parts[k], *b = parts[i];
            if (!a->session[0] || strcmp(a->session, b->session) != 0 || !a->incarnation[0] || !b->incarnation[0])
                return sp__fail(error, SP_ERR_TRACE_FORMAT, 0, b->path, NULL,
                                "holds rank %u, and so does %s: give only one of them", (unsigned)b->rank, a->path);
            if (!strcmp(a->incarnation, b->incarnation))
                return sp__fail(error, SP_ERR_TRACE_FORMAT, 0, b->path, NULL,
                                "holds rank %u of session %s, and so does %s, recorded by the same process: give only "
                                "one of them",
                                (unsigned)b->rank, b->session, a->path);
        }
    return 0;
}

/* Events and statistics have no common layout. */
static int one_kind(struct sp__source *const *parts, size_t count, sp_error *error)
{
    for (size_t i = 1; i < count; i++)
        if (parts[i]->aggregate != parts[0]->aggregate)
            return sp__fail_mixed(parts[0], parts[i], error);
    return 0;
}

/* The rows of all parts by name: how many links each has, then the links themselves. */
static int join_rows(struct sp__rank *rank)
{
    struct sp__name_set names = {0};
    size_t links = 0, at = 0, result = 0;
    for (size_t p = 0; p < rank->part_count; p++)
        links += rank->parts[p]->row_count;
    uint32_t *row_of = calloc(links + 1, sizeof *row_of);
    rank->rows = calloc(links + 1, sizeof *rank->rows);
    rank->links = calloc(links + 1, sizeof *rank->links);
    if (!row_of || !rank->rows || !rank->links)
        goto out;
    for (size_t p = 0; p < rank->part_count; p++)
        for (size_t r = 0; r < rank->parts[p]->row_count; r++, at++) {
            const struct sp__source_row *from = &rank->parts[p]->rows[r];
            if (!from->calls)
                continue;
            int64_t number = sp__name_set_add(&names, from->name);
            if (number < 0)
                goto out;
            struct sp__rank_row *row = &rank->rows[number];
            if (!row->links++)
                *row = (struct sp__rank_row){.name = from->name, .line = -1, .exclusive = -1, .links = 1};
            if (!row->file || !row->file[0]) { /* the first location wins, a missing one is filled in */
                row->file = from->file;
                row->line = from->line;
            }
            row->text = row->text && row->text[0] ? row->text : from->text;
            row->tags = row->tags && strcmp(row->tags, "[]") != 0 ? row->tags : from->tags;
            row->calls += from->calls;
            rank->calls += from->calls;
            row_of[at] = (uint32_t)number + 1;
        }
    rank->row_count = names.count;
    size_t next = 0;
    uint64_t first = 0;
    for (size_t r = 0; r < rank->row_count; r++) {
        rank->rows[r].link = next;
        next += rank->rows[r].links;
        rank->rows[r].links = 0;
        rank->rows[r].first = first;
        first += rank->rows[r].calls;
    }
    at = 0;
    for (size_t p = 0; p < rank->part_count; p++)
        for (size_t r = 0; r < rank->parts[p]->row_count; r++, at++)
            if (row_of[at]) {
                struct sp__rank_row *row = &rank->rows[row_of[at] - 1];
                rank->links[row->link + row->links++] = (struct sp__rank_link){.part = p, .row = r};
            }
    result = 1;
out:
    free(row_of);
    sp__name_set_finish(&names);
    return result ? 0 : -ENOMEM;
}

static int by_index(const void *left, const void *right)
{
    const struct sp__thread_number *a = left, *b = right;
    return (a->index > b->index) - (a->index < b->index);
}

static int number_threads(struct sp__rank *rank, size_t p)
{
    const struct sp__source *part = rank->parts[p];
    struct sp__rank_part *numbers = &rank->numbers[p];
    size_t count = part->threads ? part->thread_count : 0;
    bool alone = !count && part->nested_alone;
    numbers->base = (int64_t)rank->thread_count;
    numbers->alone = alone;
    numbers->threaded = count > 0;
    if (alone) /* a trace says nothing of its one thread, but a crossed call needs one to be a further lane of */
        rank->threads[rank->thread_count++] = (struct sp__thread){
            .index = numbers->base, .ident = -1, .native_id = -1, .start_ns = -1, .end_ns = -1, .cpu_ns = -1};
    if (!count)
        return 0;
    numbers->dense = true;
    for (size_t i = 0; i < count; i++) {
        struct sp__thread *thread = &rank->threads[rank->thread_count++];
        *thread = part->threads[i];
        numbers->dense = numbers->dense && thread->index == (int64_t)i;
        if (rank->part_count > 1)
            thread->index = numbers->base + (int64_t)i;
    }
    numbers->count = count;
    if (numbers->dense)
        return 0;
    numbers->sorted = calloc(count, sizeof *numbers->sorted);
    if (!numbers->sorted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        numbers->sorted[i] = (struct sp__thread_number){part->threads[i].index, numbers->base + (int64_t)i};
    qsort(numbers->sorted, count, sizeof *numbers->sorted, by_index);
    return 0;
}

static int join_threads(struct sp__rank *rank)
{
    size_t room = 0;
    rank->lanes = rank->positions = true;
    for (size_t p = 0; p < rank->part_count; p++) {
        const struct sp__source *part = rank->parts[p];
        room += (part->threads ? part->thread_count : 0) + 1;
        rank->lanes = rank->lanes && (part->lanes || part->nested_alone);
        rank->threaded = rank->threaded || (part->threads && part->thread_count) || part->nested_alone;
    }
    rank->thread_room = room;
    rank->threads = calloc(room, sizeof *rank->threads);
    if (!rank->threads)
        return -ENOMEM;
    for (size_t p = 0; p < rank->part_count; p++)
        if (number_threads(rank, p) < 0)
            return -ENOMEM;
    rank->thread_known = rank->thread_count;
    for (size_t i = 0; i < rank->thread_count; i++)
        rank->positions = rank->positions && rank->threads[i].index == (int64_t)i;
    return 0;
}

int sp__rank_create(struct sp__rank **ret, struct sp__source *const *parts, size_t count, sp_error *error)
{
    int result = claims(parts, count, error);
    if (result == 0)
        result = one_kind(parts, count, error);
    if (result < 0)
        return result;
    struct sp__rank *rank = calloc(1, sizeof *rank);
    if (!rank)
        return no_memory(error, parts[0]);
    rank->rank = parts[0]->rank;
    rank->part_count = count;
    rank->aggregate = parts[0]->aggregate;
    rank->ids = count == 1 && parts[0]->ids;
    rank->parts = calloc(count, sizeof(struct sp__source *));
    rank->numbers = calloc(count, sizeof *rank->numbers);
    if (!rank->parts || !rank->numbers)
        goto fail;
    memcpy(rank->parts, parts, count * sizeof *parts);
    if (join_rows(rank) < 0 || join_threads(rank) < 0)
        goto fail;
    *ret = rank;
    return 0;
fail:
    sp__rank_destroy(rank);
    return no_memory(error, parts[0]);
}

void sp__rank_destroy(struct sp__rank *rank)
{
    if (!rank)
        return;
    for (size_t p = 0; rank->numbers && p < rank->part_count; p++)
        free(rank->numbers[p].sorted);
    free(rank->numbers);
    free(rank->parts);
    free(rank->rows);
    free(rank->links);
    free(rank->threads);
    free(rank);
}

void sp__rank_rest(struct sp__rank *rank)
{
    for (size_t p = 0; p < rank->part_count; p++)
        if (rank->parts[p]->rest)
            rank->parts[p]->rest(rank->parts[p]);
}

int64_t sp__rank_add_lane(struct sp__rank *rank, int64_t position)
{
    if (rank->thread_count == rank->thread_room) {
        size_t room = rank->thread_room * 2 + 4;
        struct sp__thread *threads = realloc(rank->threads, room * sizeof *threads);
        if (!threads)
            return -1;
        rank->threads = threads;
        rank->thread_room = room;
    }
    int64_t index = -1;
    for (size_t i = 0; i < rank->thread_count; i++)
        index = rank->threads[i].index > index ? rank->threads[i].index : index;
    if (index == INT64_MAX)
        return -1;
    rank->threads[rank->thread_count] = rank->threads[position];
    rank->threads[rank->thread_count].index = index + 1;
    rank->threads[rank->thread_count].cpu_ns = -1; /* the thread's, once */
    return (int64_t)rank->thread_count++;
}

const struct sp__source_row *sp__rank_link_row(const struct sp__rank *rank, size_t row, size_t n)
{
    const struct sp__rank_link *link = &rank->links[rank->rows[row].link + n];
    return &rank->parts[link->part]->rows[link->row];
}

static int64_t sum(int64_t a, int64_t b)
{
    int64_t both;
    return __builtin_add_overflow(a, b, &both) ? (b < 0 ? INT64_MIN : INT64_MAX) : both;
}

/* The summaries of a row's parts as one. */
static void join_summary(struct sp__rank_row *row, const struct sp__source_row *from, uint64_t before)
{
    const struct sp__summary *more = &from->summary;
    struct sp__summary *all = &row->summary;
    if (!before) {
        *all = *more;
        row->exclusive = from->exclusive;
        return;
    }
    double a = (double)before, b = (double)from->calls, apart = more->mean - all->mean;
    all->m2 += more->m2 + apart * apart * (a * b / (a + b));
    all->mean += apart * (b / (a + b));
    all->total = sum(all->total, more->total);
    all->minimum = more->minimum < all->minimum ? more->minimum : all->minimum;
    all->maximum = more->maximum > all->maximum ? more->maximum : all->maximum;
    all->start_minimum = more->start_minimum < all->start_minimum ? more->start_minimum : all->start_minimum;
    all->end_maximum = more->end_maximum > all->end_maximum ? more->end_maximum : all->end_maximum;
    row->exclusive = row->exclusive < 0 || from->exclusive < 0 ? -1 : sum(row->exclusive, from->exclusive);
}

bool sp__rank_sum_up(struct sp__rank *rank)
{
    for (size_t p = 0; p < rank->part_count; p++)
        for (size_t r = 0; r < rank->parts[p]->row_count; r++)
            if (rank->parts[p]->rows[r].calls && !rank->parts[p]->rows[r].summarized)
                return false;
    for (size_t r = 0; r < rank->row_count; r++) {
        uint64_t before = 0;
        for (size_t i = 0; i < rank->rows[r].links; i++) {
            const struct sp__source_row *from = sp__rank_link_row(rank, r, i);
            join_summary(&rank->rows[r], from, before);
            before += from->calls;
        }
    }
    return true;
}
