/* h5_tables.h: everything of a profile but its events, read and checked: source_h5_tables.c for the columns of schema 2
 * and 3, source_h5_schema1.c for the groups of schema 1, h5_listing.c for what is neither. */
#ifndef SP__H5_TABLES_H
#define SP__H5_TABLES_H

#include "h5_events.h"

/* Of /rank<N>/: the group itself, or something in it that a merge copies as it is. */
struct sp__h5_group {
    uint32_t rank;
    bool whole; /* schema 1 alone: the group, which makes a rank also where it has no regions */
    char *path;
};

struct sp__h5_tables {
    int64_t schema;
    bool aggregate; /* statistics in place of events: offsets is NULL, and threads are not read */
    bool deltas;    /* times of events are /events/start_deltas and durations */
    uint64_t names_count, rows, events, threads;
    char **names;
    char **places; /* rows: "/rank0/regions/solve" of schema 1, where offsets is NULL; else NULL */
    int64_t *region_ids, *ranks, *offsets, *counts; /* rows; all in range, no two rows overlap */
    int64_t *lines, *exclusive;                     /* rows, or NULL: the file has none, as the next four */
    char **files, **texts, **tags;
    struct sp__summary *summaries; /* aggregate: total, minimum and maximum of each row */
    int64_t *thread_ranks, *thread_index, *thread_ident, *thread_native, *thread_start, *thread_end, *thread_cpu,
        *thread_daemon;
    char **thread_names;
    bool thread_ids; /* events carry them and there is a table for them */
    bool ids;
    struct sp__h5_group *groups; /* ranks ascend */
    size_t group_count;
    char **unsupported;
    size_t unsupported_count;
    char **warnings;
    size_t warning_count;
    struct sp__attribute *attributes;
    size_t attribute_count;
};

int sp__h5_tables_read(struct sp__h5_tables *ret, hid_t file, const char *path, uint64_t file_size, sp_error *error);
void sp__h5_tables_finish(struct sp__h5_tables *tables);

/* h5_tables_cross.c: as bytes, and from bytes that another process made of them. False: no memory, or they are not
 * whole. */
bool sp__h5_tables_pack(struct sp__h5_tables *tables, char **ret, size_t *ret_length);
bool sp__h5_tables_unpack(struct sp__h5_tables *ret, const char *bytes, size_t length);

/* probe.c: sp__h5_open and sp__h5_tables_read in a child, which also tries what inputs->probe says. 0; the error of
 * bad tables; SP_ERR_CORRUPT_PROFILE where the file ends the child. What is wrong with the calls is for who reads them to
 * say. */
int sp__h5_tables_probe(struct sp__h5_tables *ret, struct sp__file_id *ret_id, sp_inputs *inputs, const char *path,
                        sp_error *error);

/* A metadata attribute's number or first text; `missing` or NULL where there is none. */
int64_t sp__h5_tables_number(const struct sp__h5_tables *tables, const char *key, int64_t missing);
const char *sp__h5_tables_text(const struct sp__h5_tables *tables, const char *key);

/* The steps of sp__h5_tables_read that stand in files of their own: groups of ranks and what has no place in a merge;
 * rows, names and sources of schema 1. */
int sp__h5_tables_list(struct sp__h5_tables *tables, hid_t file, const char *path, sp_error *error);
int sp__h5_tables_schema1(struct sp__h5_tables *tables, hid_t file, const char *path, uint64_t file_size,
                          sp_error *error);

#endif
