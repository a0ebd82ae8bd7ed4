/* h5.c: the lock around HDF5, and small helpers over it. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "h5.h"

enum {
    FREE_ROWS = 65536,      /* columns up to this long are read whatever the file's size says */
    DEFLATE_MOST = 1100,    /* no filter in use packs more tightly than this */
    CHUNK_MOST = 64 << 20,  /* bytes of a chunk that is taken without asking */
    CHUNK_KEPT = 1 << 20,   /* bytes of unpacked chunks that HDF5 keeps of a dataset, unless told otherwise */
    STRING_SLICE = 1024,    /* strings read at a time */
    STRING_BYTES = 16 << 20 /* and bytes, where their length is fixed */
};

static pthread_once_t lock_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock;

void sp__h5_lock_afresh(void)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

static void lock_make(void)
{
    sp__h5_lock_afresh();
    H5open();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    sp__h5_lzf_register();
}

void sp__h5_lock(void)
{
    pthread_once(&lock_once, lock_make);
    pthread_mutex_lock(&lock);
    /* Per thread in a thread-safe HDF5, so said each time. */
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void sp__h5_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

int sp__h5_open(hid_t *ret, struct sp__file_id *ret_id, const struct sp__file_id *expected, const char *path,
                sp_error *error)
{
    int fd;
    struct sp__file_id id;
    int status = sp__file_open(&fd, &id, expected, path, error);
    if (status)
        return status;
    /* HDF5's own lock fails alike for a busy file and for a file system without locks; this tells them apart. */
    bool busy = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
    hid_t plist = H5Pcreate(H5P_FILE_ACCESS), file = H5I_INVALID_HID;
    if (!busy && plist >= 0 && H5Pset_fclose_degree(plist, H5F_CLOSE_STRONG) >= 0 &&
        H5Pset_file_locking(plist, false, true) >= 0) {
        /* Through the descriptor: the very file that was looked at, whatever the name stands for by now. */
        char through[64];
        snprintf(through, sizeof through, "/proc/self/fd/%d", fd);
        file = H5Fopen(through, H5F_ACC_RDONLY, plist);
        if (file < 0 && access(through, R_OK)) /* no /proc here */
            file = H5Fopen(path, H5F_ACC_RDONLY, plist);
    }
    if (plist >= 0)
        H5Pclose(plist);
    close(fd);
    if (busy)
        return sp__fail(error, SP_ERR_BUSY, 0, path, NULL,
                        "is being written by another process; try again when it is done");
    if (file < 0)
        return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, NULL,
                        "truncated or not HDF5: it cannot be opened as a profile, and it is not a trace either");
    *ret = file;
    *ret_id = id;
    return 0;
}

bool sp__h5_exists(hid_t file, const char *path)
{
    char *part = strdup(path);
    bool there = part != NULL;
    for (char *slash = part; there && slash;) {
        if ((slash = strchr(slash + 1, '/')))
            *slash = 0;
        H5L_info_t info;
        there = H5Lget_info(file, part, &info, H5P_DEFAULT) >= 0 && info.type != H5L_TYPE_EXTERNAL &&
                H5Oexists_by_name(file, part, H5P_DEFAULT) > 0;
        if (slash)
            *slash = '/';
    }
    free(part);
    return there;
}

bool sp__h5_is(hid_t file, const char *path, H5O_type_t type)
{
    H5L_info_t link;
    H5O_info_t object;
    return H5Lget_info(file, path, &link, H5P_DEFAULT) >= 0 && link.type == H5L_TYPE_HARD &&
           H5Oget_info_by_name2(file, path, &object, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 && object.type == type;
}

static int corrupt(sp_error *error, const char *path, const char *name, const char *text)
{
    return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, name, "%s", text);
}

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* What is known of a dataset's layout, and held against the file before a byte is allocated for it. */
struct layout {
    hsize_t chunk; /* values; 0: not in chunks */
    bool packed;
};

/* Words of what is wrong, or NULL. */
static const char *layout_fault(const struct sp__h5_column *column, uint64_t file_size, struct layout *ret)
{
    hid_t plist = H5Dget_create_plist(column->set);
    if (plist < 0)
        return "cannot be read: its layout is damaged";
    const char *fault = NULL;
    H5D_layout_t layout = H5Pget_layout(plist);
    hsize_t chunk = 0;
    if (layout < 0 || layout == H5D_VIRTUAL || H5Pget_external_count(plist) > 0)
        fault = "keeps its values outside this file, which is not followed";
    else if (layout == H5D_CHUNKED && (H5Pget_chunk(plist, 1, &chunk) != 1 || !chunk))
        fault = "cannot be read: its chunks are damaged";
    *ret = (struct layout){chunk, H5Pget_nfilters(plist) > 0};
    H5Pclose(plist);
    uint64_t most = file_size > UINT64_MAX / DEFLATE_MOST ? UINT64_MAX : file_size * DEFLATE_MOST;
    if (!fault && chunk > CHUNK_MOST / column->item && chunk > most / column->item)
        fault = "has chunks larger than the file can hold";
    if (!fault && column->length > FREE_ROWS) {
        uint64_t stored = H5Dget_storage_size(column->set);
        if (stored < column->length / DEFLATE_MOST * column->item || column->length > most / column->item)
            fault = "claims a length that the file cannot hold";
    }
    return fault;
}

/* Opened anew where a packed chunk is larger than what HDF5 keeps of a dataset: it would be unpacked for every slice. */
static hid_t open_for_chunks(hid_t set, hid_t at, const char *link, const struct layout *layout, size_t item)
{
    size_t bytes = (size_t)layout->chunk * item;
    if (!layout->packed || bytes <= CHUNK_KEPT)
        return set;
    hid_t plist = H5Pcreate(H5P_DATASET_ACCESS), again = H5I_INVALID_HID;
    H5Dclose(set);
    if (plist >= 0 && H5Pset_chunk_cache(plist, 1, bytes, 1) >= 0)
        again = H5Dopen2(at, link, plist);
    if (plist >= 0)
        H5Pclose(plist);
    return again;
}

int sp__h5_column_open_at(struct sp__h5_column *ret, hid_t at, const char *link, const char *path, const char *name,
                          uint64_t file_size, sp_error *error)
{
    if (!sp__h5_exists(at, link))
        return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, name, "%s missing", last_part(link));
    struct sp__h5_column column = {.set = H5Dopen2(at, link, H5P_DEFAULT)};
    hid_t space = column.set >= 0 ? H5Dget_space(column.set) : H5I_INVALID_HID;
    hid_t type = column.set >= 0 ? H5Dget_type(column.set) : H5I_INVALID_HID;
    const char *fault = NULL;
    struct layout layout = {0};
    hsize_t length = 0;
    if (space < 0 || type < 0)
        fault = "is not a dataset, or damaged";
    else if (H5Sget_simple_extent_ndims(space) != 1 || H5Sget_simple_extent_dims(space, &length, NULL) != 1)
        fault = "does not have one dimension";
    else if ((column.item = H5Tget_size(type)) == 0)
        fault = "holds values of no size";
    else if (column.item > STRING_BYTES)
        fault = "holds values larger than any that a profile has";
    if (!fault) {
        column.length = length;
        column.class = H5Tget_class(type);
        fault = layout_fault(&column, file_size, &layout);
    }
    if (type >= 0)
        H5Tclose(type);
    if (space >= 0)
        H5Sclose(space);
    if (!fault && (column.set = open_for_chunks(column.set, at, link, &layout, column.item)) < 0)
        fault = "cannot be opened a second time";
    if (fault) {
        sp__h5_column_close(&column);
        return corrupt(error, path, name, fault);
    }
    *ret = column;
    return 0;
}

int sp__h5_column_open(struct sp__h5_column *ret, hid_t file, const char *path, const char *name, uint64_t file_size,
                       sp_error *error)
{
    return sp__h5_column_open_at(ret, file, name, path, name, file_size, error);
}

void sp__h5_column_close(struct sp__h5_column *column)
{
    if (column->set > 0)
        H5Dclose(column->set);
    column->set = 0;
}

/* H5Dread of a slice. True when it worked. */
static bool read_slice(hid_t set, hid_t type, hid_t transfer, uint64_t first, size_t count, void *ret)
{
    hsize_t start = first, many = count;
    hid_t space = H5Dget_space(set), memory = H5Screate_simple(1, &many, NULL);
    bool good = space >= 0 && memory >= 0 &&
                H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &many, NULL) >= 0 &&
                H5Dread(set, type, memory, space, transfer, ret) >= 0;
    if (memory >= 0)
        H5Sclose(memory);
    if (space >= 0)
        H5Sclose(space);
    return good;
}

/* HDF5 clips what does not fit, unless this stops it. */
static H5T_conv_ret_t refuse_overflow(H5T_conv_except_t kind, hid_t from, hid_t to, void *source, void *target,
                                      void *data)
{
    (void)from, (void)to, (void)source, (void)target;
    if (kind != H5T_CONV_EXCEPT_RANGE_HI && kind != H5T_CONV_EXCEPT_RANGE_LOW)
        return H5T_CONV_UNHANDLED;
    *(bool *)data = true;
    return H5T_CONV_ABORT;
}

int sp__h5_integers(const struct sp__h5_column *column, const char *path, const char *name, uint64_t first,
                    size_t count, int64_t *ret, sp_error *error)
{
    if (column->class != H5T_INTEGER)
        return corrupt(error, path, name, "holds no integer values");
    if (count > column->length || first > column->length - count)
        return corrupt(error, path, name, "values past the end were asked for");
    if (!count)
        return 0;
    bool overflow = false;
    hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    bool good = transfer >= 0 && (column->clip || H5Pset_type_conv_cb(transfer, refuse_overflow, &overflow) >= 0) &&
                read_slice(column->set, H5T_NATIVE_INT64, transfer, first, count, ret);
    if (transfer >= 0)
        H5Pclose(transfer);
    if (good)
        return 0;
    char place[256];
    snprintf(place, sizeof place, "%s rows %" PRIu64 " to %" PRIu64, name, first, first + count - 1);
    return corrupt(error, path, place,
                   overflow ? "a value does not fit into 64 bits with a sign"
                            : "cannot be read: the data are damaged, or packed with a filter "
                              "that this HDF5 does not have");
}

/* A fixed-length string: what its padding leaves of it. */
static size_t fixed_length(const char *bytes, size_t size, H5T_str_t padding)
{
    size_t length = strnlen(bytes, size);
    while (padding == H5T_STR_SPACEPAD && length && bytes[length - 1] == ' ')
        length--;
    return length;
}

/* Reads `count` strings from `first` into ret. */
static bool strings_slice(hid_t set, hid_t type, uint64_t first, size_t count, char **ret, bool *mended)
{
    bool variable = H5Tis_variable_str(type) > 0, good, one;
    size_t size = variable ? sizeof(char *) : H5Tget_size(type), done = 0;
    char *raw = calloc(count, size);
    if (!raw)
        return false;
    good = read_slice(set, type, H5P_DEFAULT, first, count, raw);
    H5T_str_t padding = H5Tget_strpad(type);
    for (; good && done < count; done++) {
        const char *text = raw + done * size;
        size_t length;
        if (variable) {
            text = ((char **)(void *)raw)[done];
            length = text ? strlen(text) : 0;
        } else {
            length = fixed_length(text, size, padding);
        }
        if (!(ret[done] = sp__utf8_copy(text ? text : "", length, &one)))
            break;
        *mended = *mended || one;
    }
    if (variable) {
        hsize_t many = count;
        hid_t memory = H5Screate_simple(1, &many, NULL);
        if (memory >= 0) {
            H5Dvlen_reclaim(type, memory, H5P_DEFAULT, raw);
            H5Sclose(memory);
        }
    }
    free(raw);
    return good && done == count;
}

int sp__h5_strings(const struct sp__h5_column *column, const char *path, const char *name, char ***ret,
                   bool *ret_mended, sp_error *error)
{
    if (column->class != H5T_STRING)
        return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, name, "%s are no strings", last_part(name));
    char **strings = calloc(column->length + 1, sizeof *strings);
    /* The file's own type, so that character sets need no conversion. */
    hid_t type = H5Dget_type(column->set);
    bool good = strings && type >= 0;
    uint64_t slice = STRING_SLICE;
    if (column->item > STRING_BYTES / STRING_SLICE)
        slice = STRING_BYTES / column->item + 1;
    bool mended = false;
    for (uint64_t at = 0; good && at < column->length; at += slice) {
        uint64_t left = column->length - at;
        good = strings_slice(column->set, type, at, (size_t)(left < slice ? left : slice), strings + at, &mended);
    }
    if (type >= 0)
        H5Tclose(type);
    if (!good) {
        sp__h5_strings_free(strings, column->length);
        return corrupt(error, path, name,
                       "cannot be read: the strings are damaged, or packed with a filter that this "
                       "HDF5 does not have");
    }
    *ret = strings;
    *ret_mended = mended;
    return 0;
}

void sp__h5_strings_free(char **strings, uint64_t count)
{
    for (uint64_t i = 0; strings && i < count; i++)
        free(strings[i]);
    free(strings);
}

static int length_fault(const struct sp__h5_column *column, const char *path, const char *name, uint64_t rows,
                        sp_error *error)
{
    return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, name,
                    "has the length %" PRIu64 ", not %" PRIu64 " as the columns beside it", column->length, rows);
}

int sp__h5_integer_column(hid_t file, const char *path, const char *name, uint64_t file_size, uint64_t rows,
                          int64_t **ret, sp_error *error)
{
    struct sp__h5_column column;
    int status = sp__h5_column_open(&column, file, path, name, file_size, error);
    if (status)
        return status;
    column.clip = true;
    int64_t *values = NULL;
    if (column.length != rows)
        status = length_fault(&column, path, name, rows, error);
    else if (!(values = calloc(rows + 1, sizeof *values)))
        status = sp__fail(error, SP_ERR_SYSTEM, ENOMEM, path, name, "cannot be read");
    else
        status = sp__h5_integers(&column, path, name, 0, rows, values, error);
    sp__h5_column_close(&column);
    if (status)
        free(values);
    else
        *ret = values;
    return status;
}

int sp__h5_string_column(hid_t file, const char *path, const char *name, uint64_t file_size, uint64_t rows, char ***ret,
                         bool *ret_mended, sp_error *error)
{
    struct sp__h5_column column;
    int status = sp__h5_column_open(&column, file, path, name, file_size, error);
    if (status)
        return status;
    status = column.length != rows ? length_fault(&column, path, name, rows, error)
                                   : sp__h5_strings(&column, path, name, ret, ret_mended, error);
    sp__h5_column_close(&column);
    return status;
}

int sp__h5_integer_attribute(hid_t object, const char *name, int64_t *ret)
{
    if (H5Aexists(object, name) <= 0)
        return 0;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = attribute >= 0 ? H5Aget_type(attribute) : H5I_INVALID_HID;
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : H5I_INVALID_HID;
    int64_t value;
    int found = -1;
    if (type >= 0 && space >= 0 && H5Tget_class(type) == H5T_INTEGER && H5Sget_simple_extent_npoints(space) == 1 &&
        H5Aread(attribute, H5T_NATIVE_INT64, &value) >= 0) {
        *ret = value;
        found = 1;
    }
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (attribute >= 0)
        H5Aclose(attribute);
    return found;
}

/* The texts of a string attribute of `count` values. */
static bool attribute_texts(hid_t attribute, hid_t type, hid_t space, size_t count, struct sp__attribute *ret)
{
    bool variable = H5Tis_variable_str(type) > 0, mended;
    size_t size = variable ? sizeof(char *) : H5Tget_size(type);
    /* HDF5 keeps attributes in object headers of 64 KiB at most unless stored densely; far larger is damage. */
    if (!size || count > (size_t)STRING_BYTES / size)
        return false;
    char *raw = calloc(count + 1, size);
    bool good = raw && (!count || H5Aread(attribute, type, raw) >= 0);
    for (size_t i = 0; good && i < count; i++) {
        const char *text = variable ? ((char **)(void *)raw)[i] : raw + i * size;
        size_t length = variable ? (text ? strlen(text) : 0) : fixed_length(text, size, H5Tget_strpad(type));
        char *copy = sp__utf8_copy(text ? text : "", length, &mended);
        good = copy && !sp__texts_add(&ret->texts, &ret->text_count, copy);
        free(copy);
    }
    if (good && variable && count)
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw);
    free(raw);
    return good;
}

int sp__h5_attribute(hid_t object, const char *name, struct sp__attribute *ret)
{
    hid_t attribute = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID;
    if (attribute < 0)
        return 0;
    hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    struct sp__attribute value = {.name = strdup(name)};
    hssize_t count = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    bool good = value.name && type >= 0 && count >= 0;
    if (good) {
        value.list = H5Sget_simple_extent_type(space) == H5S_SIMPLE;
        H5T_class_t class = H5Tget_class(type);
        if (class == H5T_INTEGER && count == 1) {
            value.number = true;
            good = H5Aread(attribute, H5T_NATIVE_INT64, &value.value) >= 0;
        } else {
            good = class == H5T_STRING && attribute_texts(attribute, type, space, (size_t)count, &value);
        }
    }
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    H5Aclose(attribute);
    if (!good) {
        sp__h5_attribute_free(&value);
        return 0;
    }
    *ret = value;
    return 1;
}

void sp__h5_attribute_free(struct sp__attribute *attribute)
{
    free(attribute->name);
    sp__h5_strings_free(attribute->texts, attribute->text_count);
    *attribute = (struct sp__attribute){0};
}
