/* recover.h: between the files that save what can be saved of a damaged one. */
#ifndef SP__RECOVER_H
#define SP__RECOVER_H

#include "source.h"

struct sp__recovery {
    const char *broken;
    int fd; /* of it */
    uint64_t size;
    const sp_write_settings *settings;
    void (*lost)(void *context, const char *place, const char *text);
    void *context;
    uint64_t losses; /* how many were told of */
    sp_recover_report report;
    sp_error *error;
};

/* One loss, that begins at a byte of the file. */
__attribute__((format(printf, 3, 4))) void sp__recovery_lost(struct sp__recovery *recovery, uint64_t at,
                                                             const char *text, ...);
void sp__recovery_progress(const struct sp__recovery *recovery, uint64_t at);
/* A system call failed with `code` (negative). */
int sp__recovery_failed(const struct sp__recovery *recovery, int code, const char *text);

/* recover_trace.c: a sound trace of what is left, written to `to`, an empty file. */
int sp__recover_trace(struct sp__recovery *recovery, int to);

/* recover_spool.c: appends the recording. */
int sp__recover_spool(struct sp__recovery *recovery, sp_inputs *inputs, const char *scratch_dir);

/* check_spool.c: what a place that a spool's reader stepped over is. */
void sp__damage_text(enum sp__damage what, uint64_t length, const struct sp__frame *head, char ret[192]);

/* ---- recover_calls.c: two columns of times that need not be sound ------------------------------------------------- */

struct sp__columns {
    int fd;
    bool swap;
    uint64_t starts_at, ends_at; /* bytes of the file */
    uint64_t calls;
};

/* How many calls stand in order: one that ends before it starts is out of it, and so is one that starts before the call
 * before it, or after most of those that follow. 0 or -errno. */
int sp__columns_count(const struct sp__columns *columns, uint64_t *ret_kept);

/* Whether every call stands in order, as sp__columns_count sees it; reads no further than the first that does not, and
 * no more than *budget bytes, which it takes off. 1, 0 (no, or beyond the budget), -errno. */
int sp__columns_sound(const struct sp__columns *columns, uint64_t *budget);

/* Whether the first end is less than the last start: then a column ends exactly there, since starts alone ascend.
 * 1, 0, -errno. */
int sp__columns_seam(const struct sp__columns *columns);

/* Writes those that sp__columns_count counts: starts at byte `at`, ends behind them. 0 or -errno. */
int sp__columns_copy(const struct sp__columns *columns, uint64_t kept, int to, uint64_t at);

#endif
