/* Nesting against a plain second opinion: exclusive times, parents, lanes of crossed calls, whatever the buffers hold.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "io/nesting.h"
#include "memory_source.h"

static const char *const names[] = {"r0", "r1", "r2",  "r3",  "r4",  "r5",  "r6",  "r7",
                                    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"};

struct call {
    int64_t start, end, thread, id, parent;
    size_t row, pos;
};

struct collected {
    int64_t *start, *end, *thread, *call, *parent;
    uint64_t count;
};

static int collect(void *context, uint64_t first, size_t count, const struct sp__calls *calls, sp_error *error)
{
    struct collected *all = context;
    (void)error;
    memcpy(all->start + first, calls->start, count * 8);
    memcpy(all->end + first, calls->end, count * 8);
    if (calls->thread)
        memcpy(all->thread + first, calls->thread, count * 8);
    if (calls->call) {
        memcpy(all->call + first, calls->call, count * 8);
        memcpy(all->parent + first, calls->parent, count * 8);
    }
    all->count += count;
    return 0;
}

static struct collected room_for(uint64_t calls)
{
    struct collected all = {calloc(calls + 1, 8), calloc(calls + 1, 8), calloc(calls + 1, 8),
                            calloc(calls + 1, 8), calloc(calls + 1, 8), 0};
    return all;
}

static void drop(struct collected *all)
{
    free(all->start);
    free(all->end);
    free(all->thread);
    free(all->call);
    free(all->parent);
}

static unsigned long long seed = 88172645463325252ULL;
static unsigned roll(unsigned below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (unsigned)(seed % below);
}

static int in_order(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->pos > b->pos) - (a->pos < b->pos);
}

/* One lane after another, as readers do it. False where calls of a lane overlap. */
static bool by_lane(struct call *calls, size_t count, int64_t *ret_exclusive)
{
    struct call **stack = calloc(count + 1, sizeof(struct call *));
    size_t depth = 0;
    bool sound = true;
    qsort(calls, count, sizeof *calls, in_order);
    for (size_t i = 0; i < count && sound; i++) {
        struct call *call = &calls[i];
        if (i && calls[i - 1].thread != call->thread)
            depth = 0;
        while (depth && stack[depth - 1]->end <= call->start &&
               !(stack[depth - 1]->end == call->start && call->start == call->end))
            depth--;
        sound = !depth || call->end <= stack[depth - 1]->end;
        ret_exclusive[call->row] += call->end - call->start;
        if (depth)
            ret_exclusive[stack[depth - 1]->row] -= call->end - call->start;
        stack[depth++] = call;
    }
    free(stack);
    return sound;
}

static int by_start(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->end < b->end) - (a->end > b->end);
}

/* Nested calls of several threads in coarse time, so that ties abound; `crossed` of 100 also get another end. */
static struct sp__source *random_source(size_t rows, size_t threads, size_t calls, unsigned crossed)
{
    struct sp__source *source = memory_source("memory", 0, names, rows, threads);
    struct call *list = calloc(calls, sizeof *list);
    size_t count = 0;
    for (size_t t = 0; t < (threads ? threads : 1); t++) {
        struct call open[64];
        size_t depth = 0;
        int64_t now = 1000 + (int64_t)roll(5);
        while (count < calls * (t + 1) / (threads ? threads : 1)) {
            now += roll(3);
            if (depth < 60 && roll(2)) {
                open[depth++] =
                    (struct call){.start = now, .thread = threads ? (int64_t)t : -1, .row = roll((unsigned)rows)};
            } else if (depth) {
                list[count] = open[--depth];
                list[count++].end = now + (roll(100) < crossed ? (int64_t)roll(40) : 0);
            }
        }
    }
    qsort(list, count, sizeof *list, by_start);
    for (size_t i = 0; i < count; i++)
        memory_add(source, list[i].row, list[i].start, list[i].end, list[i].thread);
    free(list);
    return source;
}

/* What came out is a sound profile and says the same as the plain way. */
static void compare(const struct sp__rank *rank, const struct collected *all, bool threaded)
{
    struct call *calls = calloc(rank->calls + 1, sizeof *calls);
    struct call **numbered = calloc(rank->calls + 1, sizeof(struct call *));
    int64_t exclusive[16] = {0}, own[16] = {0};
    size_t n = 0;
    assert_int_equal(all->count, rank->calls);
    for (size_t r = 0; r < rank->row_count; r++)
        for (uint64_t i = 0; i < rank->rows[r].calls; i++, n++)
            calls[n] = (struct call){
                all->start[n], all->end[n], threaded ? all->thread[n] : -1, all->call[n], all->parent[n], r, i};
    assert_true(by_lane(calls, n, exclusive));
    for (size_t i = 0; i < n; i++) {
        assert_in_range(calls[i].id, 0, (int64_t)n - 1);
        assert_null(numbered[calls[i].id]);
        numbered[calls[i].id] = &calls[i];
    }
    for (size_t i = 0; i < n; i++) {
        own[numbered[i]->row] += numbered[i]->end - numbered[i]->start;
        if (numbered[i]->parent < 0)
            continue;
        const struct call *parent = numbered[numbered[i]->parent];
        assert_true(numbered[i]->parent < (int64_t)i);
        assert_true(parent->start <= numbered[i]->start && numbered[i]->end <= parent->end);
        assert_int_equal(parent->thread, numbered[i]->thread);
        own[parent->row] -= numbered[i]->end - numbered[i]->start;
    }
    for (size_t r = 0; r < rank->row_count; r++) {
        assert_int_equal(rank->rows[r].exclusive, exclusive[r]);
        assert_int_equal(rank->rows[r].exclusive, own[r]);
    }
    free(numbered);
    free(calls);
}

static void nest_and_compare(size_t rows, size_t threads, size_t calls, unsigned crossed, size_t budget)
{
    struct sp__source *source = random_source(rows, threads, calls, crossed);
    struct sp__rank *rank;
    assert_int_equal(sp__rank_create(&rank, &source, 1, NULL), 0);
    struct collected all = room_for(rank->calls);
    struct sp__nest_settings settings = {.budget = budget, .number = true, .emit = collect, .context = &all};
    struct sp__nest_result result;
    for (int again = 0; again < 2; again++) { /* a second pass starts afresh */
        all.count = 0;
        assert_int_equal(sp__nest(rank, &settings, &result, NULL), 0);
        assert_false(result.overlap);
        assert_int_equal(rank->thread_count, threads + result.lanes);
        compare(rank, &all, threads > 0);
    }
    if (crossed)
        assert_true(result.lanes > 0);
    drop(&all);
    sp__rank_destroy(rank);
    memory_destroy(source);
}

static void nested_calls_of_few_and_many_rows(void **state)
{
    (void)state;
    static const size_t rows[] = {1, 2, 5, 8, 9, 16};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t threads = 0; threads < 4; threads++) {
            nest_and_compare(rows[i], threads, 5000, 0, 1 << 24);
            nest_and_compare(rows[i], threads, 5000, 0, 0);
        }
}

static void crossed_calls_get_lanes_of_their_own(void **state)
{
    (void)state;
    for (size_t threads = 1; threads < 4; threads++) {
        nest_and_compare(5, threads, 3000, 10, 1 << 24);
        nest_and_compare(12, threads, 3000, 30, 0);
    }
}

static void overlap_without_threads_is_said_and_leaves_no_totals(void **state)
{
    (void)state;
    struct sp__source *source = random_source(5, 0, 3000, 10);
    struct sp__rank *rank;
    assert_int_equal(sp__rank_create(&rank, &source, 1, NULL), 0);
    struct sp__nest_settings settings = {.budget = 1 << 20, .number = true};
    struct sp__nest_result result;
    assert_int_equal(sp__nest(rank, &settings, &result, NULL), 0);
    assert_true(result.overlap);
    for (size_t r = 0; r < rank->row_count; r++)
        assert_int_equal(rank->rows[r].exclusive, -1);
    sp__rank_destroy(rank);

    source->nested_alone = true; /* one thread made them, so that a crossed call is just that */
    assert_int_equal(sp__rank_create(&rank, &source, 1, NULL), 0);
    assert_int_equal(sp__nest(rank, &settings, &result, NULL), 0);
    assert_false(result.overlap);
    assert_true(result.lanes > 0);
    sp__rank_destroy(rank);
    memory_destroy(source);
}

static void first_fit_and_the_empty_call_at_an_end(void **state)
{
    (void)state;
    struct sp__source *source = memory_source("memory", 0, names, 3, 1);
    memory_add(source, 0, 0, 10, 0);
    memory_add(source, 1, 5, 15, 0);  /* crosses: first further lane */
    memory_add(source, 2, 10, 10, 0); /* inside the first, at its end */
    memory_add(source, 1, 10, 20, 0); /* begins when the first has ended */
    memory_add(source, 2, 12, 25, 0); /* crosses both lanes: a second further one */
    memory_add(source, 0, 30, 40, 0);
    struct sp__rank *rank;
    assert_int_equal(sp__rank_create(&rank, &source, 1, NULL), 0);
    struct collected all = room_for(rank->calls);
    struct sp__nest_settings settings = {.budget = 1 << 20, .number = true, .emit = collect, .context = &all};
    struct sp__nest_result result;
    assert_int_equal(sp__nest(rank, &settings, &result, NULL), 0);
    static const int64_t threads[] = {0, 0, 1, 0, 0, 2}, parents[] = {-1, -1, -1, -1, 2, -1};
    /* rows: r0 {0-10, 30-40}, r1 {5-15, 10-20}, r2 {10-10, 12-25}; 10-20 comes before 10-10 and holds it */
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(all.thread[i], threads[i]);
        assert_int_equal(all.parent[i], parents[i]);
    }
    assert_int_equal(result.lanes, 2);
    assert_int_equal(rank->threads[2].native_id, 200);
    drop(&all);
    sp__rank_destroy(rank);
    memory_destroy(source);
}

static void stored_ids_are_kept(void **state)
{
    (void)state;
    struct sp__source *source = memory_source("memory", 0, names, 1, 0);
    memory_add(source, 0, 0, 10, -1);
    memory_add(source, 0, 5, 15, -1);
    ((struct memory_row *)source->data)[0].call[0] = 77;
    ((struct memory_row *)source->data)[0].call[1] = 78;
    ((struct memory_row *)source->data)[0].parent[1] = 77;
    source->ids = true;
    struct sp__rank *rank;
    assert_int_equal(sp__rank_create(&rank, &source, 1, NULL), 0);
    struct collected all = room_for(rank->calls);
    struct sp__nest_settings settings = {
        .budget = 1 << 20, .number = true, .keep = true, .emit = collect, .context = &all};
    struct sp__nest_result result;
    assert_int_equal(sp__nest(rank, &settings, &result, NULL), 0);
    assert_int_equal(all.call[0], 77);
    assert_int_equal(all.parent[1], 77);
    drop(&all);
    sp__rank_destroy(rank);
    memory_destroy(source);
}

static void endless_crossing_ends_in_overlap(void **state)
{
    (void)state;
    struct sp__source *source = memory_source("memory", 0, names, 1, 1);
    for (int64_t i = 0; i < 5000; i++)
        memory_add(source, 0, i, 100000 + i, 0);
    struct sp__rank *rank;
    assert_int_equal(sp__rank_create(&rank, &source, 1, NULL), 0);
    struct sp__nest_settings settings = {.budget = 1 << 20};
    struct sp__nest_result result;
    assert_int_equal(sp__nest(rank, &settings, &result, NULL), 0);
    assert_true(result.overlap);
    sp__rank_destroy(rank);
    memory_destroy(source);
}

static void overlapping_calls_are_all_handed_on(void **state)
{
    (void)state;
    struct sp__nest_space space = {0}; /* that every pass finds as the one before left it */
    for (size_t rows = 2; rows <= 16; rows += 7)
        for (size_t budget = 0; budget <= 1 << 20; budget += 1 << 20) {
            struct sp__source *source = random_source(rows, 0, 40000, 5);
            struct sp__rank *rank;
            assert_int_equal(sp__rank_create(&rank, &source, 1, NULL), 0);
            struct collected all = room_for(rank->calls);
            struct sp__nest_settings settings = {
                .budget = budget, .number = true, .emit = collect, .context = &all, .space = &space};
            struct sp__nest_result result;
            assert_int_equal(sp__nest(rank, &settings, &result, NULL), 0);
            assert_true(result.overlap);
            assert_int_equal(all.count, rank->calls);
            for (size_t r = 0; r < rank->row_count; r++) {
                const struct sp__rank_row *row = &rank->rows[r];
                int64_t total = 0, last = INT64_MIN;
                for (uint64_t i = row->first; i < row->first + row->calls; i++) {
                    assert_true(all.start[i] >= last);
                    last = all.start[i];
                    total += all.end[i] - all.start[i];
                }
                assert_int_equal(total, row->summary.total);
                assert_int_equal(row->exclusive, -1);
            }
            drop(&all);
            sp__rank_destroy(rank);
            memory_destroy(source);
        }
    free(space.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested_calls_of_few_and_many_rows),
        cmocka_unit_test(crossed_calls_get_lanes_of_their_own),
        cmocka_unit_test(overlap_without_threads_is_said_and_leaves_no_totals),
        cmocka_unit_test(first_fit_and_the_empty_call_at_an_end),
        cmocka_unit_test(stored_ids_are_kept),
        cmocka_unit_test(endless_crossing_ends_in_overlap),
        cmocka_unit_test(overlapping_calls_are_all_handed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
