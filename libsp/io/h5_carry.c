/* h5_carry.c: groups below /rank<N>/ (likwid, perf_events, line_profile, ...) from the inputs into a profile, as they
 * are. Each is copied or warned of. */
#include <string.h>

#include "h5.h"
#include "h5_out.h"

enum { CHUNK_MOST = 64 << 20, OBJECTS_MOST = 1 << 20 };

struct look {
    const char *fault;
    uint64_t objects;
};

/* A copy follows what a dataset refers to: other files would be read, and memory be taken for whatever it claims. */
static const char *dataset_fault(hid_t set)
{
    hid_t plan = H5Dget_create_plist(set), type = H5Dget_type(set);
    hsize_t chunk[H5S_MAX_RANK], size = type < 0 ? 0 : H5Tget_size(type);
    H5D_layout_t layout = plan < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(plan);
    const char *fault = NULL;
    if (layout < 0 || !size)
        fault = "it is damaged";
    else if (layout == H5D_VIRTUAL || H5Pget_external_count(plan) > 0)
        fault = "it keeps values in other files, which are not followed";
    int rank = !fault && layout == H5D_CHUNKED ? H5Pget_chunk(plan, H5S_MAX_RANK, chunk) : 0;
    for (int i = 0; i < rank && !fault; i++) {
        if (chunk[i] > CHUNK_MOST || (size *= chunk[i]) > CHUNK_MOST)
            fault = "it has chunks larger than 64 MiB";
    }
    if (type >= 0)
        H5Tclose(type);
    if (plan >= 0)
        H5Pclose(plan);
    return fault;
}

static herr_t look_at(hid_t group, const char *name, const H5O_info_t *info, void *context)
{
    struct look *look = context;
    if (++look->objects > OBJECTS_MOST) {
        look->fault = "it holds more than a million objects";
    } else if (info->type == H5O_TYPE_DATASET) {
        hid_t set = H5Dopen2(group, name, H5P_DEFAULT);
        look->fault = set < 0 ? "it is damaged" : dataset_fault(set);
        if (set >= 0)
            H5Dclose(set);
    }
    return look->fault ? 1 : 0;
}

static bool hard_linked(hid_t file, const char *path)
{
    char part[256];
    for (const char *slash = path; slash;) {
        slash = strchr(slash + 1, '/');
        size_t length = slash ? (size_t)(slash - path) : strlen(path);
        if (length >= sizeof part)
            return false;
        memcpy(part, path, length);
        part[length] = 0;
        H5L_info_t info;
        if (H5Lget_info(file, part, &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD)
            return false;
    }
    return true;
}

static const char *group_fault(hid_t input, const char *path)
{
    struct look look = {0};
    if (!hard_linked(input, path))
        return "it is a link, which is not followed, or its name is too long";
    if (H5Ovisit_by_name2(input, path, H5_INDEX_NAME, H5_ITER_NATIVE, look_at, &look, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        return "it is damaged";
    return look.fault;
}

const char *sp__h5_copy_group(hid_t file, hid_t input, const char *path)
{
    if (sp__h5_exists(file, path))
        return "another input has a group of that name";
    const char *fault = group_fault(input, path);
    if (fault)
        return fault;
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    if (links < 0 || H5Pset_create_intermediate_group(links, 1) < 0 ||
        H5Ocopy(input, path, file, path, H5P_DEFAULT, links) < 0)
        fault = "HDF5 cannot copy it";
    if (links >= 0)
        H5Pclose(links);
    return fault;
}

int sp__h5_carry(struct sp__h5_out *out, hid_t file)
{
    struct sp__writing *writing = out->writing;
    const char *path = "";
    hid_t input = H5I_INVALID_HID;
    sp_error error = {0};
    for (size_t r = 0; r < writing->rank_count; r++)
        for (size_t p = 0; p < writing->ranks[r]->part_count; p++) {
            const struct sp__source *part = writing->ranks[r]->parts[p];
            if (part->group_count && strcmp(path, part->path) != 0) { /* ranks of one file stand together */
                struct sp__file_id id;
                if (input >= 0)
                    H5Fclose(input);
                path = part->path;
                input = H5I_INVALID_HID;
                if (sp__h5_open(&input, &id, NULL, path, &error) < 0)
                    input = H5I_INVALID_HID;
            }
            for (size_t i = 0; i < part->group_count && !out->failed; i++) {
                const char *fault = input < 0 ? error.text : sp__h5_copy_group(file, input, part->groups[i]);
                if (fault)
                    sp__writing_warn(writing, "%s: %s is left out: %s", path, part->groups[i], fault);
            }
        }
    if (input >= 0)
        H5Fclose(input);
    return 0;
}
