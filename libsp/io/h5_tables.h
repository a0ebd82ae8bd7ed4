/* h5_tables.h: everything of a schema 2 profile but its events, read and checked (source_h5_tables.c). */
#ifndef SP__H5_TABLES_H
#define SP__H5_TABLES_H

#include "h5.h"

struct sp__h5_tables {
    int64_t schema;
    bool aggregate; /* statistics in place of events: offsets is NULL, and threads are not read */
    uint64_t names_count, rows, events, threads;
    char **names;
    int64_t *region_ids, *ranks, *offsets, *counts; /* rows; all in range, no two rows overlap */
    int64_t *lines, *exclusive;                     /* rows, or NULL: the file has none, as the next four */
    char **files, **texts, **tags;
    struct sp__summary *summaries; /* aggregate: total, minimum and maximum of each row */
    int64_t *thread_ranks, *thread_index, *thread_ident, *thread_native, *thread_start, *thread_end, *thread_cpu;
    char **thread_names;
    bool thread_ids; /* events carry them and there is a table for them */
    bool ids;
    char **unsupported;
    size_t unsupported_count;
    char **warnings;
    size_t warning_count;
    struct sp__attribute *attributes;
    size_t attribute_count;
};

int sp__h5_tables_read(struct sp__h5_tables *ret, hid_t file, const char *path, uint64_t file_size, sp_error *error);
void sp__h5_tables_finish(struct sp__h5_tables *tables);

/* A metadata attribute's number or first text; `missing` or NULL where there is none. */
int64_t sp__h5_tables_number(const struct sp__h5_tables *tables, const char *key, int64_t missing);
const char *sp__h5_tables_text(const struct sp__h5_tables *tables, const char *key);

#endif
