/* board.h: the figures of a session, read again and again: of every rank and region what the segments show now, and what
 * spools and published files hold of ranks whose segment is gone. Needs no spd. Grows with ranks and regions, not with
 * calls. */
#ifndef SPCTL_BOARD_H
#define SPCTL_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "live.h"
#include "numbers.h"
#include "scope_profiler_io.h"

/* A region on a rank, over all lives of it. */
struct board_row {
    uint32_t rank, region; /* number in board.regions */
    struct tally now;      /* of segments */
    struct tally ended;    /* of spools and files */
    uint64_t calls_before; /* at the reading before the last */
};

struct board_life {
    char incarnation[33];
    char hostname[256];
    uint32_t rank, pid, part;
    enum sp_rank_state state;
    uint64_t calls, open, undrained, dropped, waited_ns, spool_bytes;
};

struct board {
    char session[SP__SESSION_SIZE];
    char data_dir[SP__PATH_SIZE];
    struct numbers regions; /* names */
    struct numbers pairs;   /* rank and region: the number is the row's */
    struct board_row *rows;
    uint32_t row_room;
    struct board_life *lives; /* sorted by rank */
    size_t life_count, life_room;
    struct numbers problems;       /* what could not be read, a sentence each; never the same twice */
    int64_t taken_ns, interval_ns; /* CLOCK_MONOTONIC; since the reading before, 0: there was none */

    /* Lives without a segment, read once for each set of segments and change of the session's folder. */
    struct board_life *ended;
    size_t ended_count, ended_room;
    uint64_t segments_known;
    struct timespec folder_known;
    bool ended_known;
};

void board_init(struct board *ret, const char *data_dir, const char *session);
void board_finish(struct board *board);

/* One reading. True where there is anything of the session. */
bool board_read(struct board *board);

static inline const char *board_region(const struct board *board, uint32_t region)
{
    return board->regions.keys[region].bytes;
}

#endif
