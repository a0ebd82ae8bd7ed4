/* recording_threads.c: which thread recorded what. A lane is reused by thread after thread; a marker in its ring says
 * from which record on it is whose. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recording_parts.h"
#include "utf8.h"

static int by_place(const void *left, const void *right)
{
    const struct sp__marker *a = left, *b = right;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    return a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
}

static void set_name(struct sp__thread *thread, const char name[16])
{
    memcpy(thread->name, name, 16);
    thread->name[16] = '\0';
    size_t length = strlen(thread->name);
    for (size_t at = 0; at < length;) { /* the kernel cuts names within a character */
        bool good;
        size_t step = sp__utf8_step(thread->name + at, length - at, &good);
        if (!good)
            memset(thread->name + at, '?', step);
        at += step;
    }
}

static void apply(struct sp__making *m, struct sp__thread *thread, const struct sp__marker *marker)
{
    char name[16];
    switch (marker->kind) {
    case SP__THREAD_BEGIN:
        thread->start_ns = sp__making_ns(m, marker->start);
        thread->native_id = (int64_t)marker->end;
        break;
    case SP__THREAD_IDENT:
        thread->ident = (int64_t)marker->start;
        thread->main = marker->end == 1;
        thread->signal = marker->end == 2;
        break;
    case SP__THREAD_NAME:
        memcpy(name, &marker->start, 8);
        memcpy(name + 8, &marker->end, 8);
        set_name(thread, name);
        break;
    default: /* SP__THREAD_END */
        thread->end_ns = sp__making_ns(m, marker->start);
        thread->cpu_ns = (int64_t)marker->end;
        break;
    }
}

/* A thread that nothing is known of but its number; its index is that number until they are renumbered. */
static uint32_t add_thread(struct sp__making *m, int64_t number)
{
    struct sp__recording *r = m->recording;
    r->threads[r->thread_count] =
        (struct sp__thread){.index = number, .native_id = -1, .start_ns = -1, .end_ns = -1, .cpu_ns = -1};
    return (uint32_t)r->thread_count++;
}

/* The last owner, where no marker says how it ended: it lives, or was killed. */
static void add_living(struct sp__making *m, const struct sp__part_lane *lane)
{
    struct sp__thread *thread =
        lane->owner_count ? &m->recording->threads[lane->owners[lane->owner_count - 1].thread] : NULL;
    if (!thread || !lane->lived || thread->index != lane->living.number || thread->cpu_ns >= 0)
        return;
    thread->cpu_ns = lane->living.cpu_ns < INT64_MAX ? (int64_t)lane->living.cpu_ns : -1;
    set_name(thread, lane->living.name);
}

/* The markers of one lane, in order. One of another number than the lane's owner begins a further thread, whether it is
 * its first marker or that one was lost. `number` of the last owner is threads[..].index. */
static int own_lane(struct sp__making *m, uint32_t number, const struct sp__marker *markers, size_t count)
{
    struct sp__part_lane *lane = &m->lanes[number];
    bool unnamed = lane->called || lane->open_count;
    if (!count && !unnamed)
        return 0;
    lane->owners = malloc((count + 1) * sizeof *lane->owners);
    if (!lane->owners)
        return -ENOMEM;
    if (unnamed && (!count || (lane->called && lane->first_call < markers[0].sequence)))
        lane->owners[lane->owner_count++] = (struct sp__owner){INT64_MIN, add_thread(m, INT64_C(1) << 32)};
    for (size_t i = 0; i < count; i++) {
        const struct sp__marker *marker = &markers[i];
        struct sp__owner *last = lane->owner_count ? &lane->owners[lane->owner_count - 1] : NULL;
        if (!last || marker->kind == SP__THREAD_BEGIN || m->recording->threads[last->thread].index != marker->number) {
            last = &lane->owners[lane->owner_count++];
            *last = (struct sp__owner){marker->sequence, add_thread(m, marker->number)};
        }
        apply(m, &m->recording->threads[last->thread], marker);
    }
    add_living(m, lane);
    return 0;
}

struct order {
    int64_t number;
    uint32_t place;
};

static int by_number(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Threads in order of their numbers, which become 0, 1, 2, ... */
static int renumber(struct sp__making *m)
{
    struct sp__recording *r = m->recording;
    size_t count = r->thread_count;
    struct order *order = malloc((count + 1) * sizeof *order);
    uint32_t *moved = malloc((count + 1) * sizeof *moved);
    struct sp__thread *sorted = malloc((count + 1) * sizeof *sorted);
    bool room = order && moved && sorted;
    for (uint32_t i = 0; room && i < count; i++)
        order[i] = (struct order){r->threads[i].index, i};
    if (room)
        qsort(order, count, sizeof *order, by_number);
    for (uint32_t i = 0; room && i < count; i++) {
        sorted[i] = r->threads[order[i].place];
        sorted[i].index = i;
        moved[order[i].place] = i;
    }
    for (uint32_t lane = 0; room && lane < SP__LANES; lane++)
        for (size_t i = 0; i < m->lanes[lane].owner_count; i++)
            m->lanes[lane].owners[i].thread = moved[m->lanes[lane].owners[i].thread];
    free(order);
    free(moved);
    if (!room) {
        free(sorted);
        return -ENOMEM;
    }
    free(r->threads);
    r->threads = sorted;
    return 0;
}

int sp__threads_finish(struct sp__making *m)
{
    if (m->marker_count)
        qsort(m->markers, m->marker_count, sizeof *m->markers, by_place);
    m->recording->threads = malloc((m->marker_count + SP__LANES) * sizeof *m->recording->threads);
    if (!m->recording->threads)
        return -ENOMEM;
    size_t at = 0;
    for (uint32_t lane = 0; lane < SP__LANES; lane++) {
        size_t from = at;
        while (at < m->marker_count && m->markers[at].lane == lane)
            at++;
        int rc = own_lane(m, lane, at > from ? &m->markers[from] : NULL, at - from);
        if (rc)
            return rc;
    }
    return renumber(m);
}

size_t sp__threads_owner(const struct sp__part_lane *lane, int64_t sequence)
{
    size_t low = 0, high = lane->owner_count;
    while (low < high) { /* the first owner from a later record on */
        size_t middle = low + (high - low) / 2;
        if (lane->owners[middle].sequence <= sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : lane->owner_count;
}
