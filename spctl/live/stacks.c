#include "stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "say.h"

/* ---- reading ------------------------------------------------------------------------------------------------------ */

/* What is added of one segment is taken back where the rest of it cannot be read. */
static int add_thread(void *context, const struct live_thread *thread)
{
    struct stacks *s = context;
    if (thread->signal && thread->count == 0)
        return 0; /* no handler is at work */
    if (s->count == s->room) {
        s->room = s->room ? 2 * s->room : 64;
        s->all = need(realloc(s->all, s->room * sizeof *s->all));
    }
    struct stack *stack = &s->all[s->count++];
    *stack = (struct stack){.life = s->life_count, .thread = *thread};
    size_t size = (thread->count + 1) * sizeof *thread->calls;
    stack->thread.calls = need(malloc(size));
    memcpy(stack->thread.calls, thread->calls, thread->count * sizeof *thread->calls);
    return 0;
}

static void add_life(struct stacks *s, const struct live *live, size_t threads)
{
    const struct sp__identity *id = &live->segment.identity;
    if (s->life_count == s->life_room) {
        s->life_room = s->life_room ? 2 * s->life_room : 16;
        s->lives = need(realloc(s->lives, s->life_room * sizeof *s->lives));
    }
    struct stack_life *life = &s->lives[s->life_count++];
    *life = (struct stack_life){
        .rank = (uint32_t)id->rank, .pid = id->pid, .part = id->part, .state = live->state, .threads = threads};
    snprintf(life->incarnation, sizeof life->incarnation, "%s", live->incarnation);
    snprintf(life->hostname, sizeof life->hostname, "%s", id->hostname);
    double silent = ((double)live->now.ticks - (double)live->last_sign) * live->tick_ns;
    life->silent_ns = live->state == SP_RANK_DEAD && silent > 0 && silent < 9e18 ? (int64_t)silent : 0;
}

static int read_segment(const char *name, void *context)
{
    struct stacks *s = context;
    struct live live;
    char why[256] = "";
    size_t before = s->count;
    int error = live_open(&live, name, &s->regions, why);
    if (error == -ENOENT || error == -EACCES)
        return 0;
    if (!error) {
        if (live.state != SP_RANK_PUBLISHED)
            error = live_threads(&live, add_thread, s);
        if (error) {
            while (s->count > before)
                free(s->all[--s->count].thread.calls);
            snprintf(why, sizeof why, "%s/%s contradicts itself or was cut short", SP__SHM_DIR, name);
        } else if (live.state != SP_RANK_PUBLISHED) {
            add_life(s, &live, s->count - before);
        }
        live_close(&live);
    }
    if (error) {
        const char *text = *why ? why : strerror(-error);
        number_of(&s->problems, text, strlen(text));
    }
    return 0;
}

/* ---- order -------------------------------------------------------------------------------------------------------- */

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_rank(const void *a, const void *b, void *context)
{
    const struct stacks *s = context;
    const struct stack_life *x = &s->lives[*(const size_t *)a], *y = &s->lives[*(const size_t *)b];
    int order = ORDER(x->rank, y->rank);
    return order ? order : ORDER(x->pid, y->pid);
}

static int by_life(const void *a, const void *b)
{
    const struct stack *x = a, *y = b;
    int order = ORDER(x->life, y->life);
    return order ? order : ORDER(x->thread.number, y->thread.number);
}

static void sort(struct stacks *s)
{
    size_t *order = need(malloc((s->life_count + 1) * sizeof *order));
    size_t *place = need(malloc((s->life_count + 1) * sizeof *place));
    struct stack_life *sorted = need(malloc((s->life_count + 1) * sizeof *sorted));
    for (size_t i = 0; i < s->life_count; ++i)
        order[i] = i;
    qsort_r(order, s->life_count, sizeof *order, by_rank, s);
    for (size_t i = 0; i < s->life_count; ++i) {
        place[order[i]] = i;
        sorted[i] = s->lives[order[i]];
        bool same = i > 0 && sorted[i - 1].rank == sorted[i].rank;
        sorted[i].several = same;
        if (same)
            sorted[i - 1].several = true;
    }
    free(s->lives);
    s->lives = sorted;
    for (size_t i = 0; i < s->count; ++i)
        s->all[i].life = place[s->all[i].life];
    if (s->count > 0)
        qsort(s->all, s->count, sizeof *s->all, by_life);
    free(order);
    free(place);
}

/* ---- groups ------------------------------------------------------------------------------------------------------- */

/* What threads must agree in. */
static int agree(const struct stacks *s, const struct stack *x, const struct stack *y)
{
    const struct live_thread *a = &x->thread, *b = &y->thread;
    int order = ORDER(a->number != 0, b->number != 0);
    if (!order)
        order = ORDER(s->lives[x->life].state, s->lives[y->life].state);
    if (!order)
        order = ORDER(a->signal, b->signal);
    if (!order)
        order = ORDER(a->changing, b->changing);
    if (!order)
        order = a->number ? strcmp(a->name, b->name) : 0;
    if (!order)
        order = ORDER(a->count, b->count);
    for (uint32_t i = 0; !order && i < a->count; ++i)
        order = ORDER(a->calls[i].name, b->calls[i].name);
    return order;
}

static int by_agreement(const void *a, const void *b, void *context)
{
    const struct stack *x = *(const struct stack *const *)a, *y = *(const struct stack *const *)b;
    int order = agree(context, x, y);
    return order ? order : by_life(x, y);
}

/* "0-2,4" of ascending numbers, onto a text on the heap. */
static void append_range(FILE *out, uint32_t from, uint32_t to)
{
    if (ftell(out) > 0)
        fputc(',', out);
    if (from == to)
        fprintf(out, "%" PRIu32, from);
    else
        fprintf(out, "%" PRIu32 "-%" PRIu32, from, to);
}

static char *ranges(const uint32_t *numbers, size_t count)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = need(open_memstream(&text, &length));
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && numbers[end] - numbers[end - 1] <= 1)
            ++end;
        append_range(out, numbers[i], numbers[end - 1]);
        i = end;
    }
    if (fclose(out) != 0)
        need(NULL);
    return need(text);
}

/* Threads [from, to) of one life that agree. */
struct bundle {
    struct stack *const *from;
    size_t count;
    char *threads;
};

static int by_threads(const void *a, const void *b)
{
    const struct bundle *x = a, *y = b;
    int order = strcmp(x->threads, y->threads);
    return order ? order : by_life(*x->from, *y->from);
}

static char *threads_of(struct stack *const *stacks, size_t count)
{
    uint32_t *numbers = need(malloc(count * sizeof *numbers));
    for (size_t i = 0; i < count; ++i)
        numbers[i] = stacks[i]->thread.number;
    char *text = numbers[0] == 0 ? need(strdup("")) : ranges(numbers, count);
    free(numbers);
    return text;
}

static void widen(int64_t *least, int64_t *most, int64_t ns, bool first)
{
    *least = first || ns < *least ? ns : *least;
    *most = first || ns > *most ? ns : *most;
}

static void add_group(struct stacks *s, const struct bundle *bundles, size_t count)
{
    s->groups = need(realloc(s->groups, (s->group_count + 1) * sizeof *s->groups));
    struct stack_group *group = &s->groups[s->group_count];
    *group = (struct stack_group){.first = *bundles->from, .threads = need(strdup(bundles->threads))};
    uint32_t *ranks = need(malloc(count * sizeof *ranks));
    for (size_t i = 0; i < count; ++i) {
        const struct stack_life *life = &s->lives[(*bundles[i].from)->life];
        ranks[i] = life->rank;
        widen(&group->silent_least_ns, &group->silent_most_ns, life->silent_ns, i == 0);
        for (size_t n = 0; n < bundles[i].count; ++n) {
            const struct live_thread *thread = &bundles[i].from[n]->thread;
            widen(&group->least_ns, &group->most_ns, thread->count ? thread->calls[thread->count - 1].ns : 0,
                  group->count++ == 0);
        }
    }
    group->ranks = ranges(ranks, count);
    free(ranks);
    s->group_count++;
}

/* Stacks that agree, by life: those lives make a group in which the same threads do. */
static void group_agreeing(struct stacks *s, struct stack **stacks, size_t count)
{
    struct bundle *bundles = need(malloc(count * sizeof *bundles));
    size_t made = 0;
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && stacks[end]->life == stacks[i]->life)
            ++end;
        bundles[made++] =
            (struct bundle){.from = &stacks[i], .count = end - i, .threads = threads_of(&stacks[i], end - i)};
        i = end;
    }
    qsort(bundles, made, sizeof *bundles, by_threads);
    for (size_t i = 0; i < made;) {
        size_t end = i + 1;
        while (end < made && strcmp(bundles[end].threads, bundles[i].threads) == 0)
            ++end;
        add_group(s, &bundles[i], end - i);
        i = end;
    }
    for (size_t i = 0; i < made; ++i)
        free(bundles[i].threads);
    free(bundles);
}

static int by_first(const void *a, const void *b)
{
    const struct stack *x = ((const struct stack_group *)a)->first, *y = ((const struct stack_group *)b)->first;
    int order = ORDER(x->thread.number != 0, y->thread.number != 0);
    return order ? order : by_life(x, y);
}

static void group(struct stacks *s)
{
    struct stack **sorted = need(malloc((s->count + 1) * sizeof *sorted));
    for (size_t i = 0; i < s->count; ++i)
        sorted[i] = &s->all[i];
    qsort_r((void *)sorted, s->count, sizeof *sorted, by_agreement, s);
    for (size_t i = 0; i < s->count;) {
        size_t end = i + 1;
        while (end < s->count && agree(s, sorted[i], sorted[end]) == 0)
            ++end;
        group_agreeing(s, &sorted[i], end - i);
        i = end;
    }
    if (s->group_count > 0)
        qsort(s->groups, s->group_count, sizeof *s->groups, by_first);
    free((void *)sorted);
}

void stacks_read(struct stacks *ret, const char *session)
{
    struct stacks s = {.count = 0};
    int error = live_each(session, read_segment, &s);
    if (error) {
        const char *text = strerror(-error);
        number_of(&s.problems, text, strlen(text));
    }
    sort(&s);
    group(&s);
    *ret = s;
}

void stacks_finish(struct stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; ++i)
        free(stacks->all[i].thread.calls);
    for (size_t i = 0; i < stacks->group_count; ++i) {
        free(stacks->groups[i].ranks);
        free(stacks->groups[i].threads);
    }
    free(stacks->groups);
    free(stacks->all);
    free(stacks->lives);
    numbers_finish(&stacks->regions);
    numbers_finish(&stacks->problems);
}
