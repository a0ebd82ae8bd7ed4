/* h5_out.h: a profile on its way: what write_h5.c (the ranks in turn), h5_columns.c (columns of calls) and h5_out.c
 * (everything that HDF5 writes) share. */
#ifndef SP__H5_OUT_H
#define SP__H5_OUT_H

#include <hdf5.h>
#include <stdatomic.h>

#include "../shared/durable.h"
#include "workers.h"
#include "write.h"

enum column { STARTS, ENDS, THREAD_IDS, CALL_IDS, PARENT_IDS, COLUMNS };

struct sp__h5_out {
    struct sp__writing *writing;
    struct sp__durable file;
    bool present[COLUMNS];
    bool deltas;               /* schema 3 */
    bool sync;                 /* on the disk before it takes its name */
    bool packed;               /* gzip: columns lie in an unnamed scratch file until they are packed */
    int columns_fd;            /* where columns are written to: file.fd, or the scratch file */
    uint64_t offsets[COLUMNS]; /* bytes, where each column lies there */
    size_t rows, thread_count;
    int failed;      /* errno of the first write of HDF5's that failed */
    bool unnumbered; /* ids were begun and mean nothing */
    int64_t start, end;
    struct sp__early_sync early;
};

/* Makes the file at out->file.temporary: root attributes and the event columns, their space set aside. Refuses settings
 * that make no sense together. */
int sp__h5_lay_out(struct sp__h5_out *out);

/* Packs the columns, if that was asked for; adds names, index, threads, metadata and the inputs' own groups. */
int sp__h5_complete(struct sp__h5_out *out);

/* After any of these, whether it failed or not, and without any of them too. */
void sp__h5_finish(struct sp__h5_out *out);

/* h5_columns.c: takes the calls of one rank to their places, as a sp__nest_emit does. Sinks of different ranks may be
 * used by different threads at once; `before` counts the calls of the ranks before it in the file. */
struct sp__h5_sink {
    struct sp__h5_out *out;
    struct sp__rank *rank;
    uint64_t before;
    int64_t *last;   /* deltas: the latest start of each row */
    int64_t *piece;  /* what is encoded is put together here */
    uint64_t untold; /* calls that progress was not told of */
};
int sp__h5_sink_init(struct sp__h5_sink *ret, struct sp__h5_out *out, struct sp__rank *rank, uint64_t before,
                     sp_error *error);
int sp__h5_sink_put(void *sink, uint64_t first, size_t count, const struct sp__calls *calls, sp_error *error);
void sp__h5_sink_finish(struct sp__h5_sink *sink);

/* h5_pack.c: the columns from the scratch file, shuffled and deflated, as datasets of `group` with these names. Under
 * sp__h5_lock, which it lets go of while it waits. */
int sp__h5_pack(struct sp__h5_out *out, hid_t group, const char *const *names);

/* h5_carry.c: what stands below /rank<N>/ in the inputs, as it is. What cannot be copied is warned of. */
int sp__h5_carry(struct sp__h5_out *out, hid_t file);

/* One of them; words of why it was not copied, or NULL. */
const char *sp__h5_copy_group(hid_t file, hid_t input, const char *path);

/* h5_file.c: a file access list for what is written to `fd`. HDF5 sees no failure of it; *ret_error, which must outlive
 * the file, holds the errno of the first one. */
hid_t sp__h5_access(int fd, int *ret_error);

#endif
