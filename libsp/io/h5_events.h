/* h5_events.h: the calls of a profile, wherever its schema keeps them: in columns of all rows, as times or as deltas, or
 * in two datasets a region (schema 1). Everything here is called under sp__h5_lock. */
#ifndef SP__H5_EVENTS_H
#define SP__H5_EVENTS_H

#include "h5.h"

enum sp__h5_event_column {
    SP__H5_STARTS,
    SP__H5_ENDS,
    SP__H5_THREADS,
    SP__H5_CALLS,
    SP__H5_PARENTS,
    SP__H5_EVENT_COLUMNS
};

enum { SP__H5_REGIONS_OPEN = 4 };

struct sp__h5_events {
    const char *path;
    uint64_t file_size;
    hid_t file; /* H5I_INVALID_HID: at rest */
    bool deltas;
    struct sp__h5_column columns[SP__H5_EVENT_COLUMNS];
    struct { /* of the schema 1 regions read last */
        const char *group;
        struct sp__h5_column columns[SP__H5_EVENT_COLUMNS];
    } regions[SP__H5_REGIONS_OPEN];
    size_t next_region;
};

/* Where a row's calls stand. */
struct sp__h5_row {
    const char *group; /* of schema 1: "/rank0/regions/solve"; NULL: in the columns of all rows */
    uint64_t offset;
};

/* Where a row's last slice stopped: order holds over slices too, and deltas are added up from there. */
struct sp__h5_mark {
    uint64_t next; /* 0: nothing was read yet */
    int64_t last;  /* start of the call before `next` */
};

/* "start_times", or with deltas "start_deltas", ... */
const char *sp__h5_event_name(bool deltas, size_t column);
/* "/events/end_times row 17", "/rank0/regions/solve/end_times row 17" */
void sp__h5_event_place(const struct sp__h5_events *events, const struct sp__h5_row *row, size_t column, uint64_t call,
                        char ret[256]);

/* [first, first + count) of a row's column as it stands in the file, which is open; its datasets are opened when they are
 * asked for. */
int sp__h5_events_raw(struct sp__h5_events *events, const struct sp__h5_row *row, size_t column, uint64_t first,
                      size_t count, int64_t *ret, sp_error *error);

/* Starts and ends, from deltas where there are such; checked: starts ascend, no call ends before it starts. */
int sp__h5_events_times(struct sp__h5_events *events, const struct sp__h5_row *row, struct sp__h5_mark *mark,
                        uint64_t first, size_t count, int64_t *start, int64_t *end, sp_error *error);

/* Closes datasets and file, until the file is opened again. */
void sp__h5_events_rest(struct sp__h5_events *events);

#endif
