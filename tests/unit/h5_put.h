/* h5_put.h: datasets and attributes of profiles that tests make, stored in whatever way. */
#ifndef SP__H5_PUT_H
#define SP__H5_PUT_H

#include "io/h5.h"

static inline void put_packed(hid_t file, const char *name, hid_t stored, const int64_t *values, hsize_t count,
                              hid_t plist)
{
    hid_t space = H5Screate_simple(1, &count, NULL), links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hid_t set = H5Dcreate2(file, name, stored, space, links, plist, H5P_DEFAULT);
    assert_true(set >= 0);
    if (values)
        assert_true(H5Dwrite(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Pclose(links);
    H5Sclose(space);
}

static inline void put(hid_t file, const char *name, hid_t stored, const int64_t *values, hsize_t count)
{
    put_packed(file, name, stored, values, count, H5P_DEFAULT);
}

/* gzip after shuffle in chunks. */
static inline hid_t packed_in(hsize_t chunk)
{
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plist, 1, &chunk);
    H5Pset_shuffle(plist);
    H5Pset_deflate(plist, 1);
    return plist;
}

/* Strings of `size` bytes each, padded with spaces. */
static inline void put_texts(hid_t file, const char *name, const char *bytes, size_t size, hsize_t count)
{
    hid_t text = H5Tcopy(H5T_C_S1), space, links = H5Pcreate(H5P_LINK_CREATE);
    H5Tset_size(text, size);
    H5Tset_strpad(text, H5T_STR_SPACEPAD);
    H5Pset_create_intermediate_group(links, 1);
    space = H5Screate_simple(1, &count, NULL);
    hid_t set = H5Dcreate2(file, name, text, space, links, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0);
    H5Dclose(set);
    H5Pclose(links);
    H5Sclose(space);
    H5Tclose(text);
}

static inline void put_number(hid_t object, const char *name, hid_t stored, int64_t value)
{
    hid_t scalar = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, stored, scalar, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, H5T_NATIVE_INT64, &value) >= 0);
    H5Aclose(attribute);
    H5Sclose(scalar);
}

#endif
