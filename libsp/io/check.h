/* check.h: between check.c and check_h5.c. */
#ifndef SP__CHECK_H
#define SP__CHECK_H

#include "source.h"

struct sp__checking {
    const char *path;
    void (*found)(void *context, const char *place, const char *text);
    void *context;
    void (*expects)(uint64_t calls); /* told of how much there is to read, as soon as the tables hold; may be NULL */
    void (*progress)(void *context, double done); /* may be NULL */
    void *progress_context;
    sp_check_result result;
    sp_error *error;
};

/* How far it is: so much of all. */
void sp__check_progress(const struct sp__checking *checking, uint64_t done, uint64_t all);

/* Counts a finding, and tells of the first thousand. */
__attribute__((format(printf, 3, 4))) void sp__check_found(struct sp__checking *checking, const char *place,
                                                           const char *text, ...);

/* An error as a finding where it speaks of the file, else as a status to be returned. */
int sp__check_error(struct sp__checking *checking, const sp_error *error);

int sp__check_trace(struct sp__checking *checking);
int sp__check_spool(struct sp__checking *checking);

/* HDF5 itself does not survive every damaged file, so a child process looks at it: its death is a finding too. */
int sp__check_h5(struct sp__checking *checking);
int sp__check_h5_here(struct sp__checking *checking); /* what the child does */

#endif
