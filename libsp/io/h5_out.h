/* h5_out.h: a profile on its way: what write_h5.c (columns of calls) and h5_out.c (everything that HDF5 writes) share.
 */
#ifndef SP__H5_OUT_H
#define SP__H5_OUT_H

#include <hdf5.h>

#include "../shared/durable.h"
#include "write.h"

enum column { STARTS, ENDS, THREAD_IDS, CALL_IDS, PARENT_IDS, COLUMNS };

struct sp__h5_out {
    struct sp__writing *writing;
    struct sp__durable file;
    bool present[COLUMNS];
    uint64_t offsets[COLUMNS]; /* bytes, where each column lies in the file */
    uint64_t before;           /* calls of ranks already written */
    uint64_t fresh;            /* bytes written since the disk was last told to begin */
    size_t rows, thread_count;
    int failed;      /* errno of the first write of HDF5's that failed */
    bool unnumbered; /* ids were begun and mean nothing */
    int64_t start, end;
    int64_t *unknown; /* a stretch of -1 */
};

/* Makes the file at out->file.temporary: root attributes and the event columns, their space set aside. */
int sp__h5_lay_out(struct sp__h5_out *out, const char *const *column_names);

/* Adds names, index, threads and metadata. */
int sp__h5_complete(struct sp__h5_out *out, const char *const *column_names);

/* h5_file.c: a file access list for what is written to `fd`. HDF5 sees no failure of it; *ret_error, which must outlive
 * the file, holds the errno of the first one. */
hid_t sp__h5_access(int fd, int *ret_error);

#endif
