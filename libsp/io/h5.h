/* h5.h: small helpers over HDF5. Everything here is called under sp__h5_lock. */
#ifndef SP__H5_H
#define SP__H5_H

#include <hdf5.h>
#include <stdbool.h>

#include "file_id.h"
#include "source.h"

/* Makes data packed with LZF readable, once, under the lock. */
void sp__h5_lzf_register(void);

/* In a child of a fork that was made under the lock: the lock is held by nobody again. */
void sp__h5_lock_afresh(void);

/* A one-dimensional dataset, checked: no more rows than the file can hold, chunks of a sane size, hard-linked, its
 * bytes inside this file. */
struct sp__h5_column {
    hid_t set;
    H5T_class_t class;
    uint64_t length;
    size_t item; /* bytes of one value in the file */
    bool clip;   /* what is too large reads as INT64_MAX, which every bound of an index refuses; else it is an error */
};

/* Opens for reading, without HDF5's own locks: a file somebody is writing is SP_ERR_BUSY, told by flock. With
 * `expected` it must still be that file. */
int sp__h5_open(hid_t *ret, struct sp__file_id *ret_id, const struct sp__file_id *expected, const char *path,
                sp_error *error);

bool sp__h5_exists(hid_t file, const char *path); /* every part of the path */
/* A hard link to an object of that type. Of the parts before the last all must exist. */
bool sp__h5_is(hid_t file, const char *path, H5O_type_t type);

int sp__h5_column_open(struct sp__h5_column *ret, hid_t file, const char *path, const char *name, uint64_t file_size,
                       sp_error *error);
/* The same where `link` is followed from a group; `name` is what messages say. */
int sp__h5_column_open_at(struct sp__h5_column *ret, hid_t at, const char *link, const char *path, const char *name,
                          uint64_t file_size, sp_error *error);
void sp__h5_column_close(struct sp__h5_column *column);

/* [first, first + count) as int64; what does not fit into one is an error that names its place. */
int sp__h5_integers(const struct sp__h5_column *column, const char *path, const char *name, uint64_t first,
                    size_t count, int64_t *ret, sp_error *error);

/* All strings of a column, variable or fixed length, as UTF-8; a list of `length` owned by the caller. */
int sp__h5_strings(const struct sp__h5_column *column, const char *path, const char *name, char ***ret,
                   bool *ret_mended, sp_error *error);
void sp__h5_strings_free(char **strings, uint64_t count);

/* Opens, reads and closes one column of exactly `rows` values; what is wrong is named. */
int sp__h5_integer_column(hid_t file, const char *path, const char *name, uint64_t file_size, uint64_t rows,
                          int64_t **ret, sp_error *error);
int sp__h5_string_column(hid_t file, const char *path, const char *name, uint64_t file_size, uint64_t rows, char ***ret,
                         bool *ret_mended, sp_error *error);

/* A scalar integer attribute: 1 found, 0 there is none, -1 it is no integer. */
int sp__h5_integer_attribute(hid_t object, const char *name, int64_t *ret);
/* An attribute as `struct sp__attribute`: 1 found, 0 none or of a kind that has no place there. */
int sp__h5_attribute(hid_t object, const char *name, struct sp__attribute *ret);
void sp__h5_attribute_free(struct sp__attribute *attribute);

#endif
