/* select.c: of the inputs, the ranks, regions and times that are wanted. A source of which rows or calls are left out
 * is wrapped in one that shows the others; the formats know nothing of it. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "rank.h"

enum { SLICE = 4096 };

sp_selection sp_selection_default(void)
{
    return (sp_selection){.from_ns = INT64_MIN, .to_ns = INT64_MAX};
}

static int no_memory(const char *path, sp_error *error)
{
    return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "cannot be narrowed");
}

/* ---- a source of which a part is shown ------------------------------------------------------------------------------
 */

struct narrowed {
    struct sp__source *whole;
    struct part {
        size_t row;
        uint64_t first;
    } * parts; /* per row that is shown */
};

static int narrowed_read(struct sp__source *source, size_t row, uint64_t first, size_t count,
                         const struct sp__calls *ret, sp_error *error)
{
    const struct narrowed *own = source->data;
    if (row >= source->row_count || count > source->rows[row].calls || first > source->rows[row].calls - count)
        return sp__fail(error, SP_ERR_USAGE, 0, source->path, NULL, "calls that were left out were asked for");
    return own->whole->read(own->whole, own->parts[row].row, own->parts[row].first + first, count, ret, error);
}

static void narrowed_rest(struct sp__source *source)
{
    struct sp__source *whole = ((struct narrowed *)source->data)->whole;
    if (whole->rest)
        whole->rest(whole);
}

static void narrowed_destroy(struct sp__source *source)
{
    struct narrowed *own = source->data;
    if (own->whole)
        own->whole->destroy(own->whole);
    free(own->parts);
    free(own);
    free(source->rows);
    free(source);
}

/* Everything but rows stays the whole source's: shown here, freed there. */
static struct sp__source *narrowed_create(struct sp__source *whole)
{
    struct sp__source *source = calloc(1, sizeof *source);
    struct narrowed *own = calloc(1, sizeof *own);
    if (source && own) {
        *source = *whole;
        source->row_count = 0;
        source->rows = calloc(whole->row_count + 1, sizeof *source->rows);
        own->parts = calloc(whole->row_count + 1, sizeof *own->parts);
        source->data = own;
        source->read = narrowed_read;
        source->rest = narrowed_rest;
        source->destroy = narrowed_destroy;
        source->ids = false;
        /* Parents follow from the lanes of what this project recorded; what others stored may say more than that. */
        source->recorded = whole->recorded || (whole->ids && whole->lanes && *whole->session);
        if (source->rows && own->parts)
            return source;
        narrowed_destroy(source);
        return NULL;
    }
    free(source);
    free(own);
    return NULL;
}

/* ---- times ----------------------------------------------------------------------------------------------------------
 */

static int start_of(struct sp__source *source, size_t row, uint64_t call, int64_t *ret, sp_error *error)
{
    int64_t end;
    const struct sp__calls one = {.start = ret, .end = &end};
    return source->read(source, row, call, 1, &one, error);
}

/* How many calls of a row began before `time`: starts ascend. */
static int count_before(struct sp__source *source, size_t row, int64_t time, uint64_t *ret, sp_error *error)
{
    uint64_t low = 0, high = source->rows[row].calls;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int64_t start = 0;
        int status = start_of(source, row, middle, &start, error);
        if (status)
            return status;
        if (start < time)
            low = middle + 1;
        else
            high = middle;
    }
    *ret = low;
    return 0;
}

/* The same, where only a walk from the first call on is cheap. */
static int count_walking(struct sp__source *source, size_t row, int64_t time, uint64_t *ret, sp_error *error)
{
    int64_t *times = malloc(2 * SLICE * sizeof *times);
    if (!times)
        return no_memory(source->path, error);
    const struct sp__calls calls = {.start = times, .end = times + SLICE};
    uint64_t left = source->rows[row].calls, before = 0;
    size_t n = 0, counted = 0;
    int status = 0;
    while (!status && counted == n && left > before) {
        n = left - before < SLICE ? (size_t)(left - before) : SLICE;
        status = source->read(source, row, before, n, &calls, error);
        for (counted = 0; !status && counted < n && times[counted] < time; counted++)
            ;
        before += counted;
    }
    free(times);
    if (!status)
        *ret = before;
    return status;
}

struct narrowing {
    sp_inputs *inputs;
    const sp_selection *selection;
    bool timed;
    int64_t from, to; /* absolute */
    bool *region_fits;
    bool *rank_fits;
    struct sp__name_set names; /* those that were asked for so far, copies; each pattern is tried once a name */
    bool *wanted;
    size_t room;
};

static int times_of(const struct narrowing *n, struct sp__source *source, size_t row, uint64_t *ret_first,
                    uint64_t *ret_count, sp_error *error)
{
    int (*count)(struct sp__source *, size_t, int64_t, uint64_t *, sp_error *) =
        source->sequential ? count_walking : count_before;
    uint64_t first = 0, last = source->rows[row].calls;
    int status = 0;
    if (n->from != INT64_MIN)
        status = count(source, row, n->from, &first, error);
    if (!status && n->to != INT64_MAX)
        status = count(source, row, n->to, &last, error);
    *ret_first = first;
    *ret_count = last > first ? last - first : 0;
    return status;
}

static int64_t later(int64_t time, int64_t by)
{
    int64_t sum;
    if (by == INT64_MIN || by == INT64_MAX) /* no limit */
        return by;
    return __builtin_add_overflow(time, by, &sum) ? (by < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* What is bad is told of and leaves the list. */
static int drop_bad(sp_inputs *inputs, size_t n, const sp_error *why, sp_error *error)
{
    int status = sp__inputs_bad(inputs, why, error);
    if (!status) {
        struct sp__source *source = inputs->sources[n];
        inputs->sources[n] = NULL;
        source->destroy(source);
    }
    return status;
}

static int first_start(struct sp__source *source, int64_t *first, sp_error *error)
{
    int status = 0;
    for (size_t row = 0; !status && row < source->row_count; row++) {
        int64_t start = INT64_MAX;
        if (source->rows[row].calls)
            status = start_of(source, row, 0, &start, error);
        *first = start < *first ? start : *first;
    }
    if (source->rest)
        source->rest(source);
    return status;
}

/* Turns the times of the selection into those of the clock. */
static int find_times(struct narrowing *n, sp_error *error)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < n->inputs->count; i++) {
        struct sp__source *source = n->inputs->sources[i];
        if (source->aggregate)
            return sp__fail(error, SP_ERR_USAGE, 0, source->path, NULL,
                            "holds statistics without events (SP_MODE=stats): nothing says when its calls were");
        sp_error why = {0};
        if (first_start(source, &first, &why) && drop_bad(n->inputs, i, &why, error))
            return why.status;
    }
    n->from = later(first, n->selection->from_ns);
    n->to = later(first, n->selection->to_ns);
    return 0;
}

/* ---- ranks and regions ----------------------------------------------------------------------------------------------
 */

static bool rank_wanted(const struct narrowing *n, uint32_t rank)
{
    bool wanted = !n->selection->ranks;
    for (size_t i = 0; n->selection->ranks && i < n->selection->rank_count; i++)
        if (rank >= n->selection->ranks[i][0] && rank <= n->selection->ranks[i][1])
            wanted = n->rank_fits[i] = true;
    return wanted;
}

static bool fits_any(const struct narrowing *n, const char *name)
{
    bool fits = !n->selection->regions;
    for (size_t i = 0; n->selection->regions && i < n->selection->region_count; i++)
        if (!fnmatch(n->selection->regions[i], name, 0))
            fits = n->region_fits[i] = true;
    return fits;
}

static bool region_wanted(struct narrowing *n, const char *name)
{
    size_t known = n->names.count;
    if (known == n->room) {
        bool *more = realloc(n->wanted, 2 * (known + 16) * sizeof *more);
        if (!more)
            return fits_any(n, name);
        n->wanted = more;
        n->room = 2 * (known + 16);
    }
    char *copy = strdup(name); /* sources go, and their names with them */
    int64_t number = copy ? sp__name_set_add(&n->names, copy) : -1;
    if (number != (int64_t)known)
        free(copy);
    if (number < 0)
        return fits_any(n, name);
    if (number == (int64_t)known)
        n->wanted[number] = fits_any(n, name);
    return n->wanted[number];
}

/* A list for a message, cut where it gets too long to be read. */
struct list {
    char text[600];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void list_add(struct list *list, const char *format, ...)
{
    char item[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(item, sizeof item, format, arguments);
    va_end(arguments);
    size_t left = sizeof list->text - list->used;
    const char *comma = list->used ? ", " : "";
    if (left < 8)
        return;
    bool fits = strlen(item) + 8 < left;
    int more = snprintf(list->text + list->used, left, "%s%s", comma, fits ? item : "...");
    list->used = fits ? list->used + (size_t)more : sizeof list->text;
}

static int by_rank(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static int no_such_rank(const sp_inputs *inputs, const uint32_t wanted[2], sp_error *error)
{
    uint32_t *ranks = calloc(inputs->count + 1, sizeof *ranks);
    struct list list = {0};
    if (!ranks)
        return no_memory(NULL, error);
    for (size_t i = 0; i < inputs->count; i++)
        ranks[i] = inputs->sources[i]->rank;
    if (inputs->count)
        qsort(ranks, inputs->count, sizeof *ranks, by_rank);
    for (size_t i = 0, next; i < inputs->count; i = next) {
        for (next = i + 1; next < inputs->count && ranks[next] - ranks[next - 1] <= 1; next++)
            ;
        if (ranks[next - 1] == ranks[i])
            list_add(&list, "%" PRIu32, ranks[i]);
        else
            list_add(&list, "%" PRIu32 "-%" PRIu32, ranks[i], ranks[next - 1]);
    }
    free(ranks);
    if (wanted[0] == wanted[1])
        return sp__fail(error, SP_ERR_NOT_FOUND, 0, NULL, NULL, "there is no rank %" PRIu32 "; there are %s", wanted[0],
                        list.used ? list.text : "none");
    return sp__fail(error, SP_ERR_NOT_FOUND, 0, NULL, NULL,
                    "there is no rank from %" PRIu32 " to %" PRIu32 "; there are %s", wanted[0], wanted[1],
                    list.used ? list.text : "none");
}

static int no_such_region(const sp_inputs *inputs, const char *pattern, sp_error *error)
{
    struct sp__name_set names = {0};
    struct list list = {0};
    int64_t number = 0;
    for (size_t i = 0; number >= 0 && i < inputs->count; i++)
        for (size_t row = 0; number >= 0 && row < inputs->sources[i]->row_count; row++)
            number = sp__name_set_add(&names, inputs->sources[i]->rows[row].name);
    for (size_t i = 0; i < names.count; i++)
        list_add(&list, "%s", names.names[i]);
    sp__name_set_finish(&names);
    return sp__fail(error, SP_ERR_NOT_FOUND, 0, NULL, NULL, "no region fits \"%.200s\"; there are %s", pattern,
                    list.used ? list.text : "none");
}

/* Whether everything that was asked for is there. */
static int look_for_all(struct narrowing *n, sp_error *error)
{
    const sp_selection *s = n->selection;
    for (size_t i = 0; i < n->inputs->count; i++) {
        const struct sp__source *source = n->inputs->sources[i];
        if (rank_wanted(n, source->rank))
            for (size_t row = 0; row < source->row_count; row++)
                (void)region_wanted(n, source->rows[row].name);
    }
    for (size_t i = 0; s->ranks && i < s->rank_count; i++)
        if (!n->rank_fits[i])
            return no_such_rank(n->inputs, s->ranks[i], error);
    for (size_t i = 0; s->regions && i < s->region_count; i++)
        if (!n->region_fits[i])
            return no_such_region(n->inputs, s->regions[i], error);
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------------------------------
 */

/* What speaks of a whole file stands with its first rank; where that one goes, it passes to the next. */
static void hand_over(struct sp__source *from, sp_inputs *inputs, size_t at)
{
    while (at < inputs->count && (!inputs->sources[at] || strcmp(inputs->sources[at]->path, from->path) != 0))
        at++;
    if (at == inputs->count || !from->attributes || inputs->sources[at]->attributes)
        return;
    struct sp__source *to = inputs->sources[at];
    to->attributes = from->attributes;
    to->attribute_count = from->attribute_count;
    from->attributes = NULL;
    from->attribute_count = 0;
    if (!to->unsupported) {
        to->unsupported = from->unsupported;
        to->unsupported_count = from->unsupported_count;
        from->unsupported = NULL;
        from->unsupported_count = 0;
    }
    if (!to->warnings) {
        to->warnings = from->warnings;
        to->warning_count = from->warning_count;
        from->warnings = NULL;
        from->warning_count = 0;
    }
    to->dropped += from->dropped; /* of all its ranks: nothing says whose */
    to->dropped_full += from->dropped_full;
    to->dropped_no_lane += from->dropped_no_lane;
    to->dropped_deep += from->dropped_deep;
}

static int narrow(struct narrowing *n, struct sp__source *whole, struct sp__source *shown, sp_error *error)
{
    struct narrowed *own = shown->data;
    int status = 0;
    for (size_t row = 0; !status && row < whole->row_count; row++) {
        uint64_t first = 0, count = whole->rows[row].calls;
        if (!region_wanted(n, whole->rows[row].name))
            continue;
        if (n->timed)
            status = times_of(n, whole, row, &first, &count, error);
        struct sp__source_row *to = &shown->rows[shown->row_count];
        own->parts[shown->row_count++] = (struct part){row, first};
        *to = whole->rows[row];
        to->calls = count;
        if (!whole->aggregate) { /* its own time was less that of calls which are not shown */
            to->summarized = false;
            to->exclusive = -1;
        }
    }
    if (whole->rest)
        whole->rest(whole);
    return status;
}

/* Puts what is wanted of source `at` in its place; NULL: nothing. */
static int narrow_at(struct narrowing *n, size_t at, sp_error *error)
{
    sp_inputs *inputs = n->inputs;
    struct sp__source *whole = inputs->sources[at];
    if (!rank_wanted(n, whole->rank)) {
        inputs->sources[at] = NULL;
        hand_over(whole, inputs, at + 1);
        whole->destroy(whole);
        return 0;
    }
    bool all = !n->timed;
    for (size_t row = 0; all && row < whole->row_count; row++)
        all = region_wanted(n, whole->rows[row].name);
    if (all)
        return 0;
    struct sp__source *shown = narrowed_create(whole);
    sp_error why = {0};
    if (!shown)
        return no_memory(whole->path, error);
    if (narrow(n, whole, shown, &why)) {
        shown->destroy(shown);
        return drop_bad(inputs, at, &why, error);
    }
    ((struct narrowed *)shown->data)->whole = whole;
    inputs->sources[at] = shown;
    return 0;
}

static void close_up(sp_inputs *inputs)
{
    size_t kept = 0;
    for (size_t i = 0; i < inputs->count; i++)
        if (inputs->sources[i])
            inputs->sources[kept++] = inputs->sources[i];
    inputs->count = kept;
}

static int sensible(const sp_inputs *inputs, const sp_selection *s, sp_error *error)
{
    if (inputs->narrowed)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "the inputs were narrowed already");
    if (s->from_ns >= s->to_ns)
        return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL,
                        "no call begins from %" PRId64 " ns on and before %" PRId64
                        " ns: the end must be later than the beginning",
                        s->from_ns, s->to_ns);
    for (size_t i = 0; s->ranks && i < s->rank_count; i++)
        if (s->ranks[i][0] > s->ranks[i][1])
            return sp__fail(error, SP_ERR_USAGE, 0, NULL, NULL, "ranks %" PRIu32 " to %" PRIu32 ": the first is higher",
                            s->ranks[i][0], s->ranks[i][1]);
    return 0;
}

int sp_inputs_select(sp_inputs *inputs, const sp_selection *selection, sp_error *error)
{
    int status = sensible(inputs, selection, error);
    if (status)
        return status;
    struct narrowing n = {.inputs = inputs,
                          .selection = selection,
                          .timed = selection->from_ns != INT64_MIN || selection->to_ns != INT64_MAX,
                          .region_fits = calloc(selection->region_count + 1, sizeof(bool)),
                          .rank_fits = calloc(selection->rank_count + 1, sizeof(bool))};
    if (!n.region_fits || !n.rank_fits)
        status = no_memory(NULL, error);
    if (!status)
        status = look_for_all(&n, error);
    if (!status && n.timed) {
        status = find_times(&n, error);
        close_up(inputs);
    }
    inputs->narrowed = !status;
    for (size_t i = 0; !status && i < inputs->count; i++)
        status = narrow_at(&n, i, error);
    close_up(inputs);
    for (size_t i = 0; i < n.names.count; i++)
        free((void *)(uintptr_t)n.names.names[i]); /* const to those who only look names up */
    sp__name_set_finish(&n.names);
    free(n.wanted);
    free(n.region_fits);
    free(n.rank_fits);
    return status;
}
