/* recover_calls.c: telling which calls of two damaged columns can be believed, in slices. */
#include <byteswap.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recover.h"

enum { SLICE = 4096, AHEAD = 8 };

/* Calls [done, done + have) of the columns, of which `at` is the next to be judged. */
struct judge {
    const struct sp__columns *columns;
    uint64_t done;
    size_t have, at;
    int64_t last; /* start of the call that was kept last */
    int64_t start[SLICE + AHEAD], end[SLICE + AHEAD];
};

static int read_times(const struct sp__columns *columns, uint64_t at, int64_t *ret, size_t count)
{
    int rc = sp__read_at(columns->fd, ret, count * sizeof *ret, at);
    for (size_t i = 0; rc == 0 && columns->swap && i < count; i++)
        ret[i] = (int64_t)bswap_64((uint64_t)ret[i]);
    return rc;
}

static struct judge *judge_create(const struct sp__columns *columns)
{
    struct judge *judge = malloc(sizeof *judge);
    if (judge) {
        judge->columns = columns;
        judge->done = judge->have = judge->at = 0;
        judge->last = INT64_MIN;
    }
    return judge;
}

/* Moves up what is not judged yet and reads more behind it. */
static int refill(struct judge *judge)
{
    const struct sp__columns *columns = judge->columns;
    size_t keep = judge->have - judge->at;
    memmove(judge->start, judge->start + judge->at, keep * sizeof(int64_t));
    memmove(judge->end, judge->end + judge->at, keep * sizeof(int64_t));
    judge->done += judge->at;
    judge->at = 0;
    uint64_t next = judge->done + keep, left = columns->calls - next;
    size_t more = left < SLICE + AHEAD - keep ? (size_t)left : SLICE + AHEAD - keep;
    int rc = read_times(columns, columns->starts_at + next * 8, judge->start + keep, more);
    if (rc == 0)
        rc = read_times(columns, columns->ends_at + next * 8, judge->end + keep, more);
    judge->have = keep + more;
    return rc;
}

/* Also that its duration is a number. */
static bool forward(const struct judge *judge, size_t i)
{
    int64_t start = judge->start[i], end = judge->end[i];
    return end >= start && (start >= 0 || end <= INT64_MAX + start);
}

/* One that starts after most of the next few is the outlier, not they: it must not take all of them with it. Those that
 * are below what was kept before are outliers themselves and have no say. */
static bool kept(const struct judge *judge, size_t i)
{
    if (!forward(judge, i) || judge->start[i] < judge->last)
        return false;
    size_t asked = 0, below = 0;
    for (size_t k = i + 1; k < judge->have && k <= i + AHEAD; k++)
        if (forward(judge, k) && judge->start[k] >= judge->last) {
            asked++;
            below += judge->start[k] < judge->start[i];
        }
    return 2 * below <= asked;
}

/* The next call: 1 and its place in the slice, kept or not; 0 after the last; -errno. */
static int next(struct judge *judge, size_t *ret, bool *ret_kept)
{
    uint64_t left = judge->columns->calls - judge->done - judge->at;
    if (!left)
        return 0;
    if (judge->have - judge->at <= AHEAD && left > judge->have - judge->at) {
        int rc = refill(judge);
        if (rc)
            return rc;
    }
    *ret = judge->at++;
    *ret_kept = kept(judge, *ret);
    if (*ret_kept)
        judge->last = judge->start[*ret];
    return 1;
}

int sp__columns_count(const struct sp__columns *columns, uint64_t *ret_kept)
{
    struct judge *judge = judge_create(columns);
    uint64_t count = 0;
    size_t place = 0;
    bool good = false;
    int rc = judge ? 0 : -ENOMEM;
    while (judge && (rc = next(judge, &place, &good)) == 1)
        count += good;
    free(judge);
    if (rc == 0)
        *ret_kept = count;
    return rc;
}

int sp__columns_sound(const struct sp__columns *columns, uint64_t *budget)
{
    struct judge *judge = judge_create(columns);
    size_t place = 0;
    bool good = true;
    int rc = judge ? 0 : -ENOMEM;
    while (judge && good && (rc = next(judge, &place, &good)) == 1) {
        if (*budget < 16)
            good = false;
        else
            *budget -= 16;
    }
    free(judge);
    return rc < 0 ? rc : good;
}

int sp__columns_seam(const struct sp__columns *columns)
{
    int64_t start, end;
    if (!columns->calls)
        return 0;
    int rc = read_times(columns, columns->starts_at + (columns->calls - 1) * 8, &start, 1);
    if (rc == 0)
        rc = read_times(columns, columns->ends_at, &end, 1);
    return rc < 0 ? rc : end < start;
}

int sp__columns_copy(const struct sp__columns *columns, uint64_t count, int to, uint64_t at)
{
    struct judge *judge = judge_create(columns);
    int64_t *out = malloc(2 * SLICE * sizeof *out);
    uint64_t written = 0;
    size_t held = 0, place = 0;
    bool good = false;
    int rc = judge && out ? 0 : -ENOMEM, more = 1;
    while (rc == 0 && more) {
        more = next(judge, &place, &good);
        if (more < 0) {
            rc = more;
        } else if (more && good) {
            out[held] = judge->start[place];
            out[SLICE + held++] = judge->end[place];
        }
        if (rc == 0 && held && (held == SLICE || !more)) {
            rc = sp__write_at(to, out, held * 8, at + written * 8);
            if (rc == 0)
                rc = sp__write_at(to, out + SLICE, held * 8, at + (count + written) * 8);
            written += held;
            held = 0;
        }
    }
    free(out);
    free(judge);
    return rc;
}
