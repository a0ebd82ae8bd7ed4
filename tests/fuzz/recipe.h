/* recipe.h: bytes as instructions for making HDF5 objects: mostly what the caller asks for, now and then twisted. */
#ifndef RECIPE_H
#define RECIPE_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECIPE_VALUES_MOST = 96, RECIPE_STRINGS_MOST = 16 };

/* The recipe, read from its beginning; where it ends, zeros follow. */
struct recipe {
    const uint8_t *data;
    size_t left;
    bool twisted;
};

unsigned recipe_byte(struct recipe *r);
int64_t recipe_strange(struct recipe *r); /* a number of the kind that breaks things */
hid_t recipe_odd_type(struct recipe *r);  /* to be closed */
const char *recipe_text(struct recipe *r, const char *given,
                        char odd[16]); /* the one given, or one that stays in `odd` */

/* Datasets in one dimension: `values` are of the type `memory`, `item` bytes each, `count` of them and one more. */
void recipe_dataset(struct recipe *r, hid_t file, const char *path, hid_t stored, hid_t memory, void *values,
                    size_t item, size_t count);
void recipe_integers(struct recipe *r, hid_t file, const char *path, hid_t stored, const int64_t *values, size_t count);
void recipe_strings(struct recipe *r, hid_t file, const char *path, const char *const *given, size_t count);
void recipe_group(struct recipe *r, hid_t file, const char *path);
void recipe_number_attribute(struct recipe *r, hid_t object, const char *name, int64_t value);
void recipe_text_attribute(struct recipe *r, hid_t object, const char *name, const char *given, bool list);

#endif
