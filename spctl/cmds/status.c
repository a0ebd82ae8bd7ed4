#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "daemon_view.h"
#include "json.h"
#include "say.h"
#include "screen.h"
#include "selection.h"
#include "sessions.h"
#include "table.h"
#include "units.h"
#include "verbs.h"

static const char *by, *sort_by, *top_text, *interval_text;
static bool as_json, watch;
static size_t top = SIZE_MAX;
static int64_t interval = 1000000000;

/* Without --watch two readings are taken so far apart: a rate needs two. */
static const int64_t FIRST_NS = 250000000;
static const int64_t INTERVAL_LEAST_NS = 100000000;

/* A region over all ranks, or on one. */
struct line {
    const char *region;
    uint32_t rank, ranks;
    struct tally tally;
    double rate;    /* calls a second, negative: unknown */
    double percent; /* of the exclusive time of all lines, negative: unknown */
};

struct view {
    const struct board *board;
    struct line *lines;
    size_t count;
    uint64_t calls, open, undrained, dropped, waited_ns, spool_bytes;
    uint32_t ranks, states[SP_RANK_UNREADABLE + 1];
    double rate;
};

/* ---- what there is to show ---------------------------------------------------------------------------------------- */

static double mean_of(const struct line *line)
{
    return line->tally.calls ? (double)line->tally.total / (double)line->tally.calls : 0;
}

#define COLUMN(name, expression)                                                                                       \
    static double name(const struct line *line)                                                                        \
    {                                                                                                                  \
        return (double)(expression);                                                                                   \
    }
COLUMN(calls_of, line->tally.calls)
COLUMN(rate_of, line->rate)
COLUMN(open_of, line->tally.open)
COLUMN(total_of, line->tally.total)
COLUMN(exclusive_of, line->tally.exclusive)
COLUMN(minimum_of, line->tally.minimum)
COLUMN(maximum_of, line->tally.maximum)
COLUMN(ranks_of, line->ranks)
COLUMN(rank_of, -(double)line->rank)

static const struct {
    const char *name;
    double (*of)(const struct line *line); /* NULL: the name */
} orders[] = {{"region", NULL},    {"calls", calls_of},         {"rate", rate_of},         {"open", open_of},
              {"total", total_of}, {"exclusive", exclusive_of}, {"percent", exclusive_of}, {"mean", mean_of},
              {"min", minimum_of}, {"max", maximum_of},         {"ranks", ranks_of},       {"rank", rank_of}};

static const char order_names[] = "region, calls, rate, open, total, exclusive, percent, mean, min, max, ranks or rank";

static size_t order = 5;

static int compare(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    double left = orders[order].of ? orders[order].of(x) : 0, right = orders[order].of ? orders[order].of(y) : 0;
    if (left != right)
        return left < right ? 1 : -1;
    int names = strcmp(x->region, y->region);
    return names ? names : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void add_row(struct view *view, const struct board_row *row, uint32_t *line_of_region)
{
    struct tally tally = row->now;
    tally_add(&tally, &row->ended);
    if (tally.calls == 0 && tally.open == 0)
        return;
    uint32_t *at = &line_of_region[row->region];
    if (by || *at == UINT32_MAX) {
        *at = (uint32_t)view->count;
        view->lines[view->count++] =
            (struct line){.region = board_region(view->board, row->region), .rank = row->rank, .tally = {.calls = 0}};
    }
    struct line *line = &view->lines[*at];
    tally_add(&line->tally, &tally);
    line->ranks++;
    if (view->board->interval_ns > 0 && tally.calls > row->calls_before) /* fewer: they were reset */
        line->rate += 1e9 * (double)(tally.calls - row->calls_before) / (double)view->board->interval_ns;
}

static void finish_lines(struct view *view)
{
    double all = 0;
    bool known = true;
    for (size_t i = 0; i < view->count; ++i) {
        struct line *line = &view->lines[i];
        known = known && line->tally.exclusive >= 0;
        all += (double)line->tally.exclusive;
        view->calls += line->tally.calls;
        view->open += line->tally.open;
        view->rate += line->rate;
    }
    for (size_t i = 0; i < view->count; ++i)
        view->lines[i].percent = !known ? -1 : all > 0 ? 100 * (double)view->lines[i].tally.exclusive / all : 0;
    if (view->count > 0)
        qsort(view->lines, view->count, sizeof *view->lines, compare);
}

/* A rank is what its last life is: lives stand by rank, and those that go on first. */
static void add_life(struct view *view, const struct board_life *life, bool first)
{
    view->ranks += first;
    view->states[life->state] += first;
    view->undrained += life->undrained;
    view->dropped += life->dropped;
    view->waited_ns += life->waited_ns;
    view->spool_bytes += life->spool_bytes;
}

static void view_init(struct view *ret, const struct board *board)
{
    *ret = (struct view){.board = board, .lines = need(calloc(board->pairs.count + 1, sizeof *ret->lines))};
    uint32_t *line_of_region = need(malloc((board->regions.count + 1) * sizeof *line_of_region));
    memset(line_of_region, 0xff, (board->regions.count + 1) * sizeof *line_of_region);
    for (uint32_t n = 0; n < board->pairs.count; ++n)
        add_row(ret, &board->rows[n], line_of_region);
    free(line_of_region);
    for (size_t i = 0; i < board->life_count; ++i)
        add_life(ret, &board->lives[i], i == 0 || board->lives[i - 1].rank != board->lives[i].rank);
    finish_lines(ret);
}

/* ---- JSON --------------------------------------------------------------------------------------------------------- */

static json_t *line_json(const struct line *line, bool rates)
{
    json_t *object = need(json_object());
    json_put(object, "region", json_text(line->region));
    if (by)
        json_put(object, "rank", json_count(line->rank));
    json_put(object, "calls", json_count(line->tally.calls));
    json_put(object, "calls_per_s", rates ? json_real(line->rate) : json_null());
    json_put(object, "open", json_count(line->tally.open));
    json_put(object, "total_ns", json_integer(line->tally.total));
    json_put(object, "exclusive_ns", line->tally.exclusive < 0 ? json_null() : json_integer(line->tally.exclusive));
    json_put(object, "mean_ns", line->tally.calls ? json_real(mean_of(line)) : json_null());
    json_put(object, "min_ns", line->tally.calls ? json_integer(line->tally.minimum) : json_null());
    json_put(object, "max_ns", line->tally.calls ? json_integer(line->tally.maximum) : json_null());
    json_put(object, "percent", line->percent < 0 ? json_null() : json_real(line->percent));
    if (!by)
        json_put(object, "ranks", json_count(line->ranks));
    return object;
}

static json_t *life_json(const struct board_life *life)
{
    json_t *object = need(json_object());
    json_put(object, "rank", json_count(life->rank));
    json_put(object, "state", json_text(rank_state_name(life->state)));
    json_put(object, "pid", json_count(life->pid));
    json_put(object, "hostname", json_text(life->hostname));
    json_put(object, "incarnation", json_text(life->incarnation));
    json_put(object, "calls", json_count(life->calls));
    json_put(object, "open", json_count(life->open));
    json_put(object, "undrained", json_count(life->undrained));
    json_put(object, "dropped", json_count(life->dropped));
    json_put(object, "waited_ns", json_count(life->waited_ns));
    json_put(object, "spool_bytes", json_count(life->spool_bytes));
    return object;
}

static void print_json(const struct view *view)
{
    const struct board *board = view->board;
    bool rates = board->interval_ns > 0;
    json_t *document = json_document();
    json_put(document, "session", json_text(board->session));
    json_put(document, "interval_ns", json_integer(board->interval_ns));
    json_put(document, "ranks", json_count(view->ranks));
    json_t *states = json_put(document, "states", json_object());
    for (int state = 0; state <= SP_RANK_UNREADABLE; ++state)
        if (view->states[state])
            json_put(states, rank_state_name((enum sp_rank_state)state), json_count(view->states[state]));
    json_put(document, "calls", json_count(view->calls));
    json_put(document, "calls_per_s", rates ? json_real(view->rate) : json_null());
    json_put(document, "open", json_count(view->open));
    json_put(document, "undrained", json_count(view->undrained));
    json_put(document, "dropped", json_count(view->dropped));
    json_put(document, "waited_ns", json_count(view->waited_ns));
    json_put(document, "spool_bytes", json_count(view->spool_bytes));
    json_t *lives = json_put(document, "lives", json_array());
    for (size_t i = 0; i < board->life_count; ++i)
        json_push(lives, life_json(&board->lives[i]));
    json_t *regions = json_put(document, "regions", json_array());
    for (size_t i = 0; i < view->count && i < top; ++i)
        json_push(regions, line_json(&view->lines[i], rates));
    json_t *problems = json_put(document, "problems", json_array());
    for (uint32_t i = 0; i < board->problems.count; ++i)
        json_push(problems, json_text(board->problems.keys[i].bytes));
    json_print_line(document);
}

/* ---- text --------------------------------------------------------------------------------------------------------- */

static void rate_text(double rate, char ret[32])
{
    snprintf(ret, 32, rate < 10 ? "%.1f" : "%.0f", rate);
}

static void print_head(const struct view *view, FILE *out)
{
    units_buffer waited, spool;
    char rate[32], states[256] = "";
    size_t used = 0;
    for (int state = 0; state <= SP_RANK_UNREADABLE; ++state)
        if (view->states[state] && used < sizeof states)
            used += (size_t)snprintf(states + used, sizeof states - used, "%s%" PRIu32 " %s", used ? ", " : "",
                                     view->states[state], rank_state_name((enum sp_rank_state)state));
    rate_text(view->rate, rate);
    fprintf(out, "session %s: %" PRIu32 " %s (%s), %" PRIu64 " calls, %s calls/s\n", view->board->session, view->ranks,
            view->ranks == 1 ? "rank" : "ranks", states, view->calls, rate);
    fprintf(out, "%" PRIu64 " open, %" PRIu64 " dropped, %s waited, %" PRIu64 " not drained yet, spool %s\n",
            view->open, view->dropped,
            units_time(view->waited_ns > INT64_MAX ? INT64_MAX : (int64_t)view->waited_ns, waited), view->undrained,
            units_bytes(view->spool_bytes, spool));
}

static void add_line(struct table *table, const struct line *line)
{
    units_buffer total, exclusive, mean, minimum, maximum;
    const struct tally *t = &line->tally;
    char rate[32];
    rate_text(line->rate, rate);
    if (by)
        table_cell(table, "%" PRIu32, line->rank);
    table_name(table, 0, line->region);
    table_cell(table, "%" PRIu64, t->calls);
    table_cell(table, "%s", rate);
    table_cell(table, "%" PRIu64, t->open);
    table_cell(table, "%s", t->calls ? units_time(t->total, total) : "-");
    table_cell(table, "%s", t->calls && t->exclusive >= 0 ? units_time(t->exclusive, exclusive) : "-");
    if (line->percent < 0)
        table_cell(table, "-");
    else
        table_cell(table, "%.1f", line->percent);
    table_cell(table, "%s",
               t->calls ? units_time(mean_of(line) < 9e18 ? (int64_t)mean_of(line) : INT64_MAX, mean) : "-");
    table_cell(table, "%s", t->calls ? units_time(t->minimum, minimum) : "-");
    table_cell(table, "%s", t->calls ? units_time(t->maximum, maximum) : "-");
    if (!by)
        table_cell(table, "%" PRIu32, line->ranks);
}

static void print_text(const struct view *view, FILE *out)
{
    static const struct column columns[] = {{"rank", true}, {"region", false}, {"calls", true},     {"calls/s", true},
                                            {"open", true}, {"total", true},   {"exclusive", true}, {"%", true},
                                            {"mean", true}, {"min", true},     {"max", true},       {"ranks", true}};
    enum { COLUMNS = sizeof columns / sizeof *columns };
    print_head(view, out);
    if (view->count == 0) {
        fputs("no call has begun yet\n", out);
        return;
    }
    struct table *table = table_create(by ? columns : columns + 1, COLUMNS - 1); /* with a rank, or with how many */
    for (size_t i = 0; i < view->count && i < top; ++i)
        add_line(table, &view->lines[i]);
    fputc('\n', out);
    table_print(table, out);
    table_destroy(table);
    if (view->count > top)
        fprintf(out, "... %zu more\n", view->count - top);
}

/* ---- the verb ----------------------------------------------------------------------------------------------------- */

/* On a screen that is drawn over they would be lost: they stand below the table there. */
static void tell_problems(const struct board *board, uint32_t *told, FILE *out)
{
    for (uint32_t i = out ? 0 : *told; i < board->problems.count; ++i) {
        if (out)
            fprintf(out, "%scannot be read: %s\n", i ? "" : "\n", board->problems.keys[i].bytes);
        else
            say("%s", board->problems.keys[i].bytes);
    }
    *told = board->problems.count;
}

static void show(const struct board *board, uint32_t *told)
{
    struct view view;
    view_init(&view, board);
    if (as_json) {
        print_json(&view);
        tell_problems(board, told, NULL);
    } else if (watch) {
        FILE *out = screen_text();
        print_text(&view, out);
        tell_problems(board, told, out);
        fputc('\n', out);
        screen_show();
    } else {
        print_text(&view, stdout);
        tell_problems(board, told, NULL);
    }
    free(view.lines);
}

static int session_status(const struct arguments *arguments)
{
    char data_dir[SP__PATH_SIZE], session[128];
    const char *name = arguments->operands[0];
    struct board board;
    uint32_t told = 0;
    if (!data_dir_of(arguments, data_dir) || session_resolve(data_dir, name, session) < 0)
        return END_FAILED;
    if (strcmp(session, name) != 0)
        say("%s: the newest launch is taken, session %s", name, session);
    board_init(&board, data_dir, session);
    bool there = board_read(&board);
    if (there) {
        if (watch && !as_json)
            screen_begin();
        enum screen_next next = screen_wait(FIRST_NS);
        while (next != SCREEN_END) {
            if (next == SCREEN_READ)
                (void)board_read(&board);
            show(&board, &told);
            next = watch ? screen_wait(interval) : SCREEN_END;
        }
        screen_end();
    } else {
        say("%s: there is no such session in %s, and no program records it; \"spctl list\" shows all", session,
            data_dir);
    }
    bool problems = board.problems.count > 0;
    board_finish(&board);
    return !there ? END_FAILED : problems ? END_LOSS : END_DONE;
}

static int daemon_status(const struct arguments *arguments)
{
    char runtime_dir[SP__PATH_SIZE];
    if (!runtime_dir_of(arguments, runtime_dir))
        return END_FAILED;
    bool drawn = watch && !as_json, answers = true;
    if (drawn)
        screen_begin();
    for (enum screen_next next = SCREEN_READ; answers && next != SCREEN_END;) {
        FILE *out = drawn ? screen_text() : stdout;
        answers = daemon_show(runtime_dir, as_json, out);
        if (drawn)
            screen_show();
        next = answers && watch ? screen_wait(interval) : SCREEN_END;
    }
    screen_end();
    if (!answers)
        daemon_absent(runtime_dir);
    return answers ? END_DONE : END_FAILED;
}

/* Exit status 2 after a line, or -1. */
static int check_options(const struct arguments *arguments)
{
    char *end;
    if (arguments->count == 0 && (by || sort_by || top_text)) {
        say("--by, --sort and --top are about the regions of a SESSION, and none is named");
        return END_USAGE;
    }
    if (by && strcmp(by, "rank") != 0) {
        say("--by %s: the figures are by rank, or over all ranks without --by", by);
        return END_USAGE;
    }
    for (order = 0; sort_by && order < sizeof orders / sizeof *orders && strcmp(orders[order].name, sort_by) != 0;)
        ++order;
    if (!sort_by)
        order = 5;
    if (order == sizeof orders / sizeof *orders) {
        say("there is no column %s to sort by; there are %s", sort_by, order_names);
        return END_USAGE;
    }
    errno = 0;
    top = top_text ? (size_t)strtoull(top_text, &end, 10) : SIZE_MAX;
    if (top_text && (errno || *end || *top_text < '0' || *top_text > '9' || top == 0)) {
        say("--top %s: wanted is how many lines, from 1 on", top_text);
        return END_USAGE;
    }
    if (interval_text && (!seconds_parse(interval_text, &interval) || interval < INTERVAL_LEAST_NS)) {
        say("--interval %s: wanted are seconds between two readings, 0.1 at least", interval_text);
        return END_USAGE;
    }
    return -1;
}

static int run(const struct arguments *arguments)
{
    int end = check_options(arguments);
    if (end >= 0)
        return end;
    return arguments->count ? session_status(arguments) : daemon_status(arguments);
}

static const struct option options[] = {
    {'w', "watch", NULL, "again and again, until Ctrl-C: in place on a terminal", &watch},
    {'i', "interval", "SECONDS", "between two readings of --watch, 1", &interval_text},
    {0, "by", "rank", "a line per rank and region", &by},
    {'s', "sort", "COLUMN", order_names, &sort_by},
    {'n', "top", "N", "no more than N lines", &top_text},
    {'j', "json", NULL, "print JSON, one object a reading, on one line; times in ns", &as_json},
    {0, NULL, NULL, NULL, NULL}};

const struct verb verb_status = {
    .name = "status",
    .operands = "[SESSION]",
    .summary = "show what spd does, or where a running session's time goes",
    .about = "Without SESSION: spd, its uptime, sessions, spool and drain rate. Exit status 1 where none runs.\n"
             "With SESSION: the figures of every region over all ranks, read from shared memory while the programs\n"
             "run, and after they died; of ranks that have ended, from what they left or published. Needs no spd, and\n"
             "disturbs nobody. calls are those that have ended, dropped ones included, open those that have not;\n"
             "calls/s counts those that ended between two readings, a quarter of a second apart, or with --watch\n"
             "since the reading before. exclusive and % leave out what was called from the region. While a program\n"
             "runs, a call that ends at this moment may be in one figure of its line and not yet in another.\n"
             "Exit status 3 where something could not be read.",
    .options = options,
    .most = 1,
    .run = run,
};
