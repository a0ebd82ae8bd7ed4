#include "board.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "clock.h"
#include "names.h"
#include "say.h"

enum { LOOKS = 4 };

/* A change of the folder that comes so soon after another may bear the same time. */
static const int64_t SETTLED_NS = 20000000;

void board_init(struct board *ret, const char *data_dir, const char *session)
{
    *ret = (struct board){.segments_known = 0};
    snprintf(ret->data_dir, sizeof ret->data_dir, "%s", data_dir);
    snprintf(ret->session, sizeof ret->session, "%s", session);
}

void board_finish(struct board *board)
{
    numbers_finish(&board->regions);
    numbers_finish(&board->pairs);
    numbers_finish(&board->problems);
    free(board->rows);
    free(board->lives);
    free(board->ended);
}

__attribute__((format(printf, 2, 3))) static void note_problem(struct board *board, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    number_of(&board->problems, text, strlen(text));
}

static struct board_row *row_of(struct board *board, uint32_t rank, uint32_t region)
{
    const uint32_t pair[] = {rank, region};
    uint32_t before = board->pairs.count;
    uint32_t n = number_of(&board->pairs, pair, sizeof pair);
    if (n == board->row_room) {
        board->row_room = board->row_room ? 2 * board->row_room : 64;
        board->rows = need(realloc(board->rows, board->row_room * sizeof *board->rows));
    }
    if (n == before)
        board->rows[n] = (struct board_row){.rank = rank, .region = region};
    return &board->rows[n];
}

static struct board_life *add_life(struct board_life **lives, size_t *count, size_t *room)
{
    if (*count == *room) {
        *room = *room ? 2 * *room : 16;
        *lives = need(realloc(*lives, *room * sizeof **lives));
    }
    struct board_life *life = &(*lives)[(*count)++];
    *life = (struct board_life){.rank = 0};
    return life;
}

/* ---- segments ----------------------------------------------------------------------------------------------------- */

/* What one segment holds, kept apart until all of it was read: half of a damaged one is not shown. */
struct reading {
    struct board *board;
    struct {
        uint32_t region;
        struct tally tally;
    } * parts;
    size_t count, room;
    uint64_t segments;
};

static void add_part(void *context, uint32_t region, const struct tally *tally)
{
    struct reading *r = context;
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 256;
        r->parts = need(realloc(r->parts, r->room * sizeof *r->parts));
    }
    r->parts[r->count].region = region;
    r->parts[r->count++].tally = *tally;
}

static int add_open(void *context, const struct live_thread *thread)
{
    for (uint32_t i = 0; i < thread->count; ++i)
        if (thread->calls[i].recorded)
            add_part(context, thread->calls[i].name, &(struct tally){.open = 1});
    return 0;
}

static void commit(struct reading *r, const struct live *live)
{
    struct board *board = r->board;
    const struct sp__identity *id = &live->segment.identity;
    struct board_life *life = add_life(&board->lives, &board->life_count, &board->life_room);
    *life = (struct board_life){.rank = (uint32_t)id->rank,
                                .pid = id->pid,
                                .part = id->part,
                                .state = live->state,
                                .undrained = live->undrained,
                                .dropped = sp__counters_lost(&live->counters),
                                .waited_ns = live->counters.waited_ns,
                                .spool_bytes = live->spool_bytes};
    snprintf(life->incarnation, sizeof life->incarnation, "%s", live->incarnation);
    snprintf(life->hostname, sizeof life->hostname, "%s", id->hostname);
    for (size_t i = 0; i < r->count; ++i) {
        tally_add(&row_of(board, life->rank, r->parts[i].region)->now, &r->parts[i].tally);
        life->calls += r->parts[i].tally.calls;
        life->open += r->parts[i].tally.open;
    }
}

/* One number for which there are: a sum over them. */
static void count_segment(struct reading *r, const struct live *live)
{
    uint64_t words[2];
    memcpy(words, live->segment.identity.incarnation, sizeof words); /* random */
    r->segments += words[0] ^ words[1];
}

static int look_at_segment(const char *name, void *context)
{
    struct live live;
    char why[256];
    struct reading *r = context;
    if (live_open(&live, name, &r->board->regions, why))
        return 0;
    if (!live.gone)
        count_segment(r, &live);
    live_close(&live);
    return 0;
}

static int read_segment(const char *name, void *context)
{
    struct reading *r = context;
    struct live live;
    char why[256] = "";
    int error = live_open(&live, name, &r->board->regions, why);
    if (error == -ENOENT || error == -EACCES)
        return 0;
    if (!error) {
        r->count = 0;
        if (!live.gone) {
            error = live_statistics(&live, add_part, r);
            if (!error)
                error = live_threads(&live, add_open, r);
            count_segment(r, &live);
            if (!error)
                commit(r, &live);
            else
                snprintf(why, sizeof why, "%s/%s contradicts itself or was cut short", SP__SHM_DIR, name);
        }
        live_close(&live);
    }
    if (error)
        note_problem(r->board, "%s", *why ? why : strerror(-error));
    return 0;
}

static uint64_t read_segments(struct board *board)
{
    struct reading r = {.board = board};
    board->life_count = 0;
    for (uint32_t n = 0; n < board->pairs.count; ++n)
        board->rows[n].now = (struct tally){.calls = 0};
    int error = live_each(board->session, read_segment, &r);
    if (error)
        note_problem(board, "%s cannot be listed: %s", SP__SHM_DIR, strerror(-error));
    free(r.parts);
    return r.segments;
}

/* ---- lives without a segment -------------------------------------------------------------------------------------- */

static int note_ended(void *context, const sp_rank_info *info)
{
    struct board *board = context;
    if (!*info->incarnation)
        return 0; /* a segment that cannot be read: said when that was tried */
    for (size_t i = 0; i < board->life_count; ++i)
        if (strcmp(board->lives[i].incarnation, info->incarnation) == 0)
            return 0;
    if (info->state < SP_RANK_SPOOLED)
        return 0; /* born since the segments were read: the next look shows it */
    if (info->state == SP_RANK_UNREADABLE)
        note_problem(board, "rank %d: %s", info->rank, info->why);
    struct board_life *life = add_life(&board->ended, &board->ended_count, &board->ended_room);
    *life = (struct board_life){.rank = (uint32_t)info->rank,
                                .pid = info->pid,
                                .state = info->state,
                                .calls = info->calls,
                                .dropped = info->dropped,
                                .spool_bytes = info->state == SP_RANK_SPOOLED ? info->bytes : 0};
    snprintf(life->incarnation, sizeof life->incarnation, "%s", info->incarnation);
    snprintf(life->hostname, sizeof life->hostname, "%s", info->hostname);
    return 0;
}

static void bad_input(void *context, const sp_error *error)
{
    note_problem(context, "%s", error->text);
}

static void take_results(struct board *board, const sp_results *results)
{
    for (size_t i = 0; i < sp_results_count(results); ++i) {
        sp_result row;
        if (sp_results_row(results, i, &row) < 0 || row.calls == 0)
            continue;
        const struct tally tally = {.calls = row.calls,
                                    .total = row.total,
                                    .minimum = row.minimum,
                                    .maximum = row.maximum,
                                    .exclusive = row.exclusive};
        uint32_t region = number_of(&board->regions, row.region, strlen(row.region));
        tally_add(&row_of(board, row.rank, region)->ended, &tally);
    }
}

static void load_files(struct board *board)
{
    sp_inputs *inputs;
    sp_results *results;
    sp_error error = {0};
    sp_session_settings settings = sp_session_settings_default();
    settings.data_dir = board->data_dir;
    settings.session = board->session;
    settings.live = settings.recover = false;
    settings.ended = true;
    int status = sp_inputs_create(&inputs, &error);
    if (status == 0) {
        sp_inputs_probe(inputs, SP_PROBE_STATISTICS);
        sp_inputs_on_bad(inputs, bad_input, board);
        status = sp_inputs_add_session(inputs, &settings, &error);
        if (status == 0)
            status = sp_results_load(&results, inputs, true, &error);
        if (status == 0) {
            take_results(board, results);
            sp_results_destroy(results);
        }
        sp_inputs_destroy(inputs);
    }
    if (status < 0 && status != SP_ERR_NOT_FOUND)
        note_problem(board, "%s", error.text);
}

static void load_ended(struct board *board)
{
    sp_error error = {0};
    bool files = false;
    board->ended_count = 0;
    for (uint32_t n = 0; n < board->pairs.count; ++n)
        board->rows[n].ended = (struct tally){.calls = 0};
    int status = sp_sessions_each(board->data_dir, board->session, note_ended, board, &error);
    if (status < 0 && status != SP_ERR_NOT_FOUND)
        note_problem(board, "%s", error.text);
    for (size_t i = 0; i < board->ended_count; ++i)
        files = files || board->ended[i].state != SP_RANK_UNREADABLE;
    if (files)
        load_files(board);
}

/* When anything was made, renamed or removed in the session's folder. */
static struct timespec folder_change(const struct board *board)
{
    char path[SP__PATH_SIZE + SP__SESSION_SIZE + 1];
    struct stat s;
    snprintf(path, sizeof path, "%s/%s", board->data_dir, board->session);
    return stat(path, &s) == 0 ? s.st_mtim : (struct timespec){0};
}

static bool settled(struct timespec change)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age = (int64_t)(now.tv_sec - change.tv_sec) * 1000000000 + now.tv_nsec - change.tv_nsec;
    return age < 0 || age > SETTLED_NS;
}

/* True where what is known of lives without a segment goes with these segments. */
static bool ended_fit(const struct board *board, uint64_t segments, struct timespec change)
{
    return board->ended_known && board->segments_known == segments && board->folder_known.tv_sec == change.tv_sec &&
           board->folder_known.tv_nsec == change.tv_nsec;
}

/* ---- both --------------------------------------------------------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
    const struct board_life *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->state != y->state ? (x->state < y->state ? -1 : 1) : strcmp(x->incarnation, y->incarnation);
}

bool board_read(struct board *board)
{
    for (uint32_t n = 0; n < board->pairs.count; ++n)
        board->rows[n].calls_before = board->rows[n].now.calls + board->rows[n].ended.calls;
    /* A life is in its segment until it is in its files. One that goes from here to there between the two looks would be
     * in both or in none: then the segments are others by now. */
    for (int look = 0; look < LOOKS; ++look) {
        uint64_t segments = read_segments(board);
        struct timespec change = folder_change(board);
        if (ended_fit(board, segments, change))
            break;
        load_ended(board);
        board->segments_known = segments;
        board->folder_known = change;
        board->ended_known = settled(change);
        struct reading again = {.board = board};
        if (live_each(board->session, look_at_segment, &again) || again.segments == segments)
            break;
    }
    int64_t now = (int64_t)sp__clock_mono();
    board->interval_ns = board->taken_ns ? now - board->taken_ns : 0;
    board->taken_ns = now;
    for (size_t i = 0; i < board->ended_count; ++i)
        *add_life(&board->lives, &board->life_count, &board->life_room) = board->ended[i];
    if (board->life_count > 0)
        qsort(board->lives, board->life_count, sizeof *board->lives, by_rank);
    return board->life_count > 0 || board->problems.count > 0;
}
