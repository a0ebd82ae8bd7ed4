/* h5_events.c: see h5_events.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5_events.h"
#include "look.h"

enum { WALK = 2048 };

const char *sp__h5_event_name(bool deltas, size_t column)
{
    static const char *const names[SP__H5_EVENT_COLUMNS] = {"start_times", "end_times", "thread_ids", "call_ids",
                                                            "parent_ids"};
    if (deltas && column <= SP__H5_ENDS)
        return column == SP__H5_STARTS ? "start_deltas" : "durations";
    return names[column];
}

void sp__h5_event_place(const struct sp__h5_events *events, const struct sp__h5_row *row, size_t column, uint64_t call,
                        char ret[256])
{
    snprintf(ret, 256, "%.200s/%s row %" PRIu64, row->group ? row->group : "/events",
             sp__h5_event_name(events->deltas, column), row->offset + call);
}

static void close_region(struct sp__h5_events *events, size_t n)
{
    for (size_t i = 0; i < SP__H5_EVENT_COLUMNS; i++)
        sp__h5_column_close(&events->regions[n].columns[i]);
    events->regions[n].group = NULL;
}

/* The columns of a schema 1 region; the one that was opened longest ago makes room. */
static struct sp__h5_column *region_columns(struct sp__h5_events *events, const char *group)
{
    for (size_t i = 0; i < SP__H5_REGIONS_OPEN; i++)
        if (events->regions[i].group == group)
            return events->regions[i].columns;
    size_t n = events->next_region++ % SP__H5_REGIONS_OPEN;
    close_region(events, n);
    events->regions[n].group = group;
    return events->regions[n].columns;
}

/* A region's path was followed link by link when its group was found; it need not be for every dataset. */
static int open_column(struct sp__h5_events *events, const struct sp__h5_row *row, size_t column, const char *name,
                       struct sp__h5_column *ret, sp_error *error)
{
    if (!row->group)
        return sp__h5_column_open(ret, events->file, events->path, name, events->file_size, error);
    hid_t group = H5Gopen2(events->file, row->group, H5P_DEFAULT);
    if (group < 0)
        return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, events->path, row->group,
                        "cannot be opened: the group is damaged");
    int status = sp__h5_column_open_at(ret, group, sp__h5_event_name(false, column), events->path, name,
                                       events->file_size, error);
    H5Gclose(group);
    return status;
}

int sp__h5_events_raw(struct sp__h5_events *events, const struct sp__h5_row *row, size_t column, uint64_t first,
                      size_t count, int64_t *ret, sp_error *error)
{
    struct sp__h5_column *from = (row->group ? region_columns(events, row->group) : events->columns) + column;
    char *name;
    if (asprintf(&name, "%s/%s", row->group ? row->group : "/events", sp__h5_event_name(events->deltas, column)) < 0)
        return sp__fail(error, SP_ERR_SYSTEM, ENOMEM, events->path, NULL, "cannot be read");
    int status = from->set ? 0 : open_column(events, row, column, name, from, error);
    if (!status)
        status = sp__h5_integers(from, events->path, name, row->offset + first, count, ret, error);
    free(name);
    return status;
}

static int fault(const struct sp__h5_events *events, const struct sp__h5_row *row, size_t column, uint64_t call,
                 sp_error *error, const char *text, int64_t a, int64_t b)
{
    char place[256];
    sp__h5_event_place(events, row, column, call, place);
    return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, events->path, place, text, a, b);
}

static int gap_fault(const struct sp__h5_events *events, const struct sp__h5_row *row, uint64_t call, int64_t gap,
                     sp_error *error)
{
    return gap < 0 ? fault(events, row, SP__H5_STARTS, call, error, "starts do not ascend: the gap is %" PRId64, gap, 0)
                   : fault(events, row, SP__H5_STARTS, call, error,
                           "the gap %" PRId64 " leads to a start that does not fit into 64 bits", gap, 0);
}

/* *start is that of call `from`; makes it that of call `to`, by the gaps between them. */
static int walk(struct sp__h5_events *events, const struct sp__h5_row *row, uint64_t from, uint64_t to, int64_t *start,
                sp_error *error)
{
    int64_t gaps[WALK];
    uint64_t at = (from < to ? from : to) + 1, end = (from < to ? to : from) + 1, sum = 0;
    while (at < end) {
        size_t n = end - at < WALK ? (size_t)(end - at) : WALK;
        int status = sp__h5_events_raw(events, row, SP__H5_STARTS, at, n, gaps, error);
        if (status)
            return status;
        for (size_t i = 0; i < n; i++)
            if (gaps[i] < 0 || __builtin_add_overflow(sum, (uint64_t)gaps[i], &sum))
                return gap_fault(events, row, at + i, gaps[i], error);
        at += n;
    }
    if (from < to ? __builtin_add_overflow(*start, sum, start) : __builtin_sub_overflow(*start, sum, start))
        return gap_fault(events, row, to, INT64_MAX, error);
    return 0;
}

/* Gaps as starts, in place. The first of the row is a start already; elsewhere what was read last, or else the row's
 * beginning, whichever is nearer, says where the slice begins. */
static int add_up(struct sp__h5_events *events, const struct sp__h5_row *row, const struct sp__h5_mark *mark,
                  uint64_t first, size_t count, int64_t *start, sp_error *error)
{
    int64_t last = 0;
    if (first) {
        uint64_t from = 0, to = first - 1, known = mark->next - 1;
        int status = 0;
        if (mark->next && (known > to ? known - to : to - known) <= to) {
            from = known;
            last = mark->last;
        } else {
            status = sp__h5_events_raw(events, row, SP__H5_STARTS, 0, 1, &last, error);
        }
        if (status || (status = walk(events, row, from, to, &last, error)))
            return status;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t gap = start[i];
        if ((gap < 0 && (first || i)) || __builtin_add_overflow(last, gap, &start[i]))
            return gap_fault(events, row, first + i, gap, error);
        last = start[i];
    }
    return 0;
}

static int add_durations(struct sp__h5_events *events, const struct sp__h5_row *row, uint64_t first, size_t count,
                         const int64_t *start, int64_t *end, sp_error *error)
{
    for (size_t i = 0; i < count; i++) {
        int64_t duration = end[i];
        if (duration < 0)
            return fault(events, row, SP__H5_ENDS, first + i, error,
                         "a call ends before its start: its duration is %" PRId64, duration, 0);
        if (__builtin_add_overflow(start[i], duration, &end[i]))
            return fault(events, row, SP__H5_ENDS, first + i, error,
                         "a call's end does not fit into 64 bits: it starts at %" PRId64 " and takes %" PRId64 " ns",
                         start[i], duration);
    }
    return 0;
}

static int check_order(struct sp__h5_events *events, const struct sp__h5_row *row, int64_t last, uint64_t first,
                       size_t count, const int64_t *start, const int64_t *end, sp_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (start[i] < last)
            return fault(events, row, SP__H5_STARTS, first + i, error,
                         "starts do not ascend: %" PRId64 " after %" PRId64, start[i], last);
        if (end[i] < start[i])
            return fault(events, row, SP__H5_ENDS, first + i, error,
                         "a call ends at %" PRId64 ", before its start %" PRId64, end[i], start[i]);
        if (!sp__call_sound(start[i], end[i]))
            return fault(events, row, SP__H5_ENDS, first + i, error,
                         "a call's duration does not fit into 64 bits: it goes from %" PRId64 " to %" PRId64, start[i],
                         end[i]);
        last = start[i];
    }
    return 0;
}

int sp__h5_events_times(struct sp__h5_events *events, const struct sp__h5_row *row, struct sp__h5_mark *mark,
                        uint64_t first, size_t count, int64_t *start, int64_t *end, sp_error *error)
{
    int status = sp__h5_events_raw(events, row, SP__H5_STARTS, first, count, start, error);
    if (!status)
        status = sp__h5_events_raw(events, row, SP__H5_ENDS, first, count, end, error);
    if (!status && events->deltas) {
        status = add_up(events, row, mark, first, count, start, error);
        if (!status)
            status = add_durations(events, row, first, count, start, end, error);
    } else if (!status) {
        int64_t last = first && first == mark->next ? mark->last : INT64_MIN;
        status = check_order(events, row, last, first, count, start, end, error);
    }
    if (!status && count)
        *mark = (struct sp__h5_mark){.next = first + count, .last = start[count - 1]};
    return status;
}

void sp__h5_events_rest(struct sp__h5_events *events)
{
    for (size_t i = 0; i < SP__H5_EVENT_COLUMNS; i++)
        sp__h5_column_close(&events->columns[i]);
    for (size_t i = 0; i < SP__H5_REGIONS_OPEN; i++)
        close_region(events, i);
    if (events->file >= 0)
        H5Fclose(events->file);
    events->file = H5I_INVALID_HID;
}
