/* recipe.c: see recipe.h. */
#include <stdio.h>
#include <string.h>

#include "recipe.h"

unsigned recipe_byte(struct recipe *r)
{
    return r->left ? (r->left--, *r->data++) : 0;
}

int64_t recipe_strange(struct recipe *r)
{
    /* clang-format off */
    static const int64_t numbers[] = {
        0, 1, 2, 3, -1, -2, 100, 127, -128, 255, 256, 65536, INT32_MAX, INT32_MIN, UINT32_MAX, 1LL << 32, 1LL << 53,
        1LL << 62, -(1LL << 62), INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1,
    };
    /* clang-format on */
    unsigned which = recipe_byte(r);
    uint64_t number = 0;
    if (which < 192)
        return numbers[which % (sizeof numbers / sizeof *numbers)];
    for (unsigned i = 0; i < 8; i++)
        number = number << 8 | recipe_byte(r);
    return (int64_t)number;
}

/* ---- objects, twisted where the recipe says so --------------------------------------------------------------------
 */

enum twist {
    ABSENT = 1,
    SHORTER,
    LONGER,
    VALUE,
    VALUES,
    TYPE,
    DIMENSIONS,
    CHUNKED,
    PACKED,
    ENDLESS,
    UNWRITTEN,
    OUTSIDE,
    LINKED,
    GROUP,
    NAMED,
    TWISTS
};

/* What is twisted about the next object: mostly nothing. */
static enum twist twist(struct recipe *r)
{
    unsigned what = recipe_byte(r);
    if (what < 160)
        return 0;
    r->twisted = true;
    return 1 + (enum twist)(what % (TWISTS - 1));
}

/* A type of the recipe's choice. To be closed. */
hid_t recipe_odd_type(struct recipe *r)
{
    hsize_t pair = 2;
    hid_t type;
    unsigned what = recipe_byte(r);
    switch (what % 18) {
    case 0:
        return H5Tcopy(H5T_STD_I8BE);
    case 1:
        return H5Tcopy(H5T_STD_U16LE);
    case 2:
        return H5Tcopy(H5T_STD_I32BE);
    case 3:
        return H5Tcopy(H5T_STD_U64BE);
    case 4:
        return H5Tcopy(H5T_IEEE_F32LE);
    case 5:
        return H5Tcopy(H5T_IEEE_F64BE);
    case 6:
        return H5Tcopy(H5T_STD_B64LE);
    case 7:
        return H5Tcopy(H5T_STD_REF_OBJ);
    case 8:
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, H5T_VARIABLE);
        return type;
    case 9: /* strings of a fixed length, also an absurd one */
        type = H5Tcopy(H5T_C_S1);
        H5Tset_size(type, (size_t)1 << recipe_byte(r) % 31);
        H5Tset_strpad(type, (H5T_str_t)(recipe_byte(r) % 3));
        return type;
    case 10:
        return H5Tcreate(H5T_OPAQUE, 1 + recipe_byte(r));
    case 11:
        return H5Tarray_create2(H5T_STD_I64LE, 1, &pair);
    case 12:
        return H5Tvlen_create(H5T_STD_I64LE);
    case 13:
        type = H5Tenum_create(H5T_NATIVE_INT);
        H5Tenum_insert(type, "one", &(int){1});
        return type;
    case 14:
        type = H5Tcreate(H5T_COMPOUND, 16);
        H5Tinsert(type, "total", 0, H5T_STD_I64LE);
        H5Tinsert(type, "mean", 8, H5T_IEEE_F64LE);
        return type;
    case 15: /* of few bits within a word */
        type = H5Tcopy(H5T_STD_I32LE);
        H5Tset_precision(type, 1 + recipe_byte(r) % 31);
        return type;
    case 16: /* wider than any word */
        type = H5Tcopy(H5T_STD_I64LE);
        H5Tset_size(type, 16);
        H5Tset_precision(type, 128);
        return type;
    default:
        return H5Tcopy(H5T_STD_I64LE);
    }
}

static hid_t odd_space(struct recipe *r, hsize_t length)
{
    hsize_t two[2] = {length, 2};
    switch (recipe_byte(r) % 4) {
    case 0:
        return H5Screate(H5S_SCALAR);
    case 1:
        return H5Screate(H5S_NULL);
    case 2:
        two[0] = 0;
        return H5Screate_simple(1, two, NULL);
    default:
        return H5Screate_simple(2, two, NULL);
    }
}

static void odd_layout(struct recipe *r, hid_t plist, enum twist how)
{
    hsize_t chunk = 1 + recipe_byte(r) % 16;
    if (how == CHUNKED || how == PACKED)
        H5Pset_chunk(plist, 1, &chunk);
    if (how == ENDLESS) {
        chunk <<= recipe_byte(r) % 28;
        H5Pset_chunk(plist, 1, &chunk);
    }
    if (how == PACKED) {
        unsigned filter = recipe_byte(r);
        if (filter & 1)
            H5Pset_shuffle(plist);
        if (filter & 2)
            H5Pset_fletcher32(plist);
        H5Pset_deflate(plist, 1 + filter % 9);
    }
    if (how == OUTSIDE)
        H5Pset_external(plist, "fuzz.h5", (off_t)recipe_byte(r), H5F_UNLIMITED);
}

/* In place of a dataset. */
static void odd_link(struct recipe *r, hid_t file, const char *path)
{
    static const char *const targets[] = {
        "/events/start_times", "/rank_region_index/ranks", "/region_table/names", "/", "/nowhere", "/metadata"};
    const char *target = targets[recipe_byte(r) % 6];
    switch (recipe_byte(r) % 3) {
    case 0:
        H5Lcreate_hard(file, target, file, path, H5P_DEFAULT, H5P_DEFAULT);
        break;
    case 1:
        H5Lcreate_soft(recipe_byte(r) % 2 ? path : target, file, path, H5P_DEFAULT, H5P_DEFAULT);
        break;
    default:
        H5Lcreate_external("fuzz.h5", target, file, path, H5P_DEFAULT, H5P_DEFAULT);
    }
}

/* Creates and fills one dataset. `values` are of the type `memory`, `item` bytes each; `count` of them and one more. */
void recipe_dataset(struct recipe *r, hid_t file, const char *path, hid_t stored, hid_t memory, void *values,
                    size_t item, size_t count)
{
    enum twist how = twist(r);
    hsize_t length = count, most = H5S_UNLIMITED;
    if (how == ABSENT)
        return;
    if (how == LINKED) {
        odd_link(r, file, path);
        return;
    }
    if (how == GROUP) {
        H5Gclose(H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        return;
    }
    if (how == SHORTER && length)
        length--;
    if (how == LONGER)
        length++;
    if (how == ENDLESS)
        length = (hsize_t)1 << recipe_byte(r) % 60;
    bool numbers = item == sizeof(int64_t) && memory == H5T_NATIVE_INT64;
    if (how == VALUE && numbers)
        ((int64_t *)values)[recipe_byte(r) % (count + 1)] = recipe_strange(r);
    for (size_t i = 0; how == VALUES && numbers && i < count; i++)
        ((int64_t *)values)[i] = recipe_strange(r);
    hid_t type = how == TYPE ? recipe_odd_type(r) : H5Tcopy(stored);
    bool open_end = how == CHUNKED || how == PACKED || how == ENDLESS;
    hid_t space = how == DIMENSIONS ? odd_space(r, length) : H5Screate_simple(1, &length, open_end ? &most : NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    odd_layout(r, plist, how);
    if (how == NAMED)
        H5Tcommit2(file, "/fuzz_type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t set = H5Dcreate2(file, path, type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    if (set >= 0 && how != ENDLESS && how != UNWRITTEN && how != DIMENSIONS && how != OUTSIDE && length <= count + 1)
        H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values); /* which some types refuse: so be it */
    if (set >= 0)
        H5Dclose(set);
    H5Pclose(plist);
    H5Sclose(space);
    H5Tclose(type);
}

void recipe_integers(struct recipe *r, hid_t file, const char *path, hid_t stored, const int64_t *values, size_t count)
{
    int64_t copy[RECIPE_VALUES_MOST + 1] = {0};
    memcpy(copy, values, count * sizeof *values);
    recipe_dataset(r, file, path, stored, H5T_NATIVE_INT64, copy, sizeof *copy, count);
}

static hid_t string_type(void)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    return type;
}

/* A text of the recipe, or the one given. */
const char *recipe_text(struct recipe *r, const char *given, char odd[16])
{
    static const char *const texts[] = {
        "", "\xff\xfe", "solve", "a/b", ".", "rank 0 thread", "rank 99999999999999999999", "[\"x\"", "\xc3"};
    unsigned what = recipe_byte(r);
    if (what < 192)
        return given;
    r->twisted = true;
    if (what < 240)
        return texts[what % (sizeof texts / sizeof *texts)];
    for (unsigned i = 0; i < 15; i++)
        odd[i] = (char)recipe_byte(r);
    odd[15] = '\0';
    return odd;
}

void recipe_strings(struct recipe *r, hid_t file, const char *path, const char *const *given, size_t count)
{
    const char *values[RECIPE_STRINGS_MOST + 1];
    char odd[RECIPE_STRINGS_MOST + 1][16];
    hid_t type = string_type();
    for (size_t i = 0; i <= count; i++)
        values[i] = recipe_text(r, i < count ? given[i] : "", odd[i]);
    recipe_dataset(r, file, path, type, type, values, sizeof *values, count);
    H5Tclose(type);
}

static void attribute(hid_t object, const char *name, hid_t type, hid_t space, hid_t memory, const void *values)
{
    hid_t at = object < 0 ? H5I_INVALID_HID : H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (at < 0)
        return;
    H5Awrite(at, memory, values);
    H5Aclose(at);
}

void recipe_number_attribute(struct recipe *r, hid_t object, const char *name, int64_t value)
{
    int64_t values[64] = {value, 0};
    enum twist how = twist(r);
    if (how == ABSENT)
        return;
    if (how == VALUE || how == VALUES)
        values[0] = recipe_strange(r);
    hid_t type = how == TYPE ? recipe_odd_type(r) : H5Tcopy(H5T_STD_I64LE);
    hid_t space = how == DIMENSIONS ? odd_space(r, 1) : H5Screate(H5S_SCALAR);
    attribute(object, name, type, space, H5T_NATIVE_INT64, values);
    H5Sclose(space);
    H5Tclose(type);
}

void recipe_text_attribute(struct recipe *r, hid_t object, const char *name, const char *given, bool list)
{
    char odd[2][16], fixed[64] = "";
    const char *values[8] = {recipe_text(r, given, odd[0]), recipe_text(r, given, odd[1]), NULL};
    enum twist how = twist(r);
    hsize_t two = how == LONGER ? 3 : 2;
    if (how == ABSENT)
        return;
    if (how == VALUE) {
        recipe_number_attribute(r, object, name, recipe_strange(r));
        return;
    }
    hid_t type = how == TYPE ? H5Tcopy(H5T_C_S1) : string_type();
    hid_t space = how == DIMENSIONS ? odd_space(r, 2) : list ? H5Screate_simple(1, &two, NULL) : H5Screate(H5S_SCALAR);
    if (how == TYPE) {
        snprintf(fixed, sizeof fixed, "%s", values[0]);
        H5Tset_size(type, 1 + recipe_byte(r) % 8);
        H5Tset_strpad(type, (H5T_str_t)(recipe_byte(r) % 3));
    }
    attribute(object, name, type, space, type, how == TYPE ? (const void *)fixed : (const void *)values);
    H5Sclose(space);
    H5Tclose(type);
}

void recipe_group(struct recipe *r, hid_t file, const char *path)
{
    hid_t made = H5I_INVALID_HID;
    enum twist how = twist(r);
    if (how == LINKED)
        odd_link(r, file, path);
    else if (how != ABSENT)
        made = H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (made >= 0)
        H5Gclose(made);
}
