/* probe.c: a child reads the tables of profiles and hands them over. One child does for all, as long as they are sound:
 * what HDF5 did over a damaged one may have left it unfit for the next. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "apart.h"
#include "h5_out.h"
#include "h5_tables.h"
#include "names.h"

enum { CPU_MILLISECONDS = 400, SLICE = 65536, SLICES = 8, COPY_MOST = 32 << 20 };

/* What it is asked. */
struct request {
    enum sp_probe what;
    char path[SP__PATH_SIZE];
};

/* What the child says of one file. Packed tables come after it. */
struct answer {
    int status;
    bool done; /* the child is not to be asked again */
    sp_error error;
    struct sp__file_id id;
    size_t length;
};

void sp_inputs_probe(sp_inputs *inputs, enum sp_probe what)
{
    inputs->probe = what;
}

/* A whole column where it is short; slices all over it else. The chunk index is gone through whole. */
static bool column_holds(const struct sp__h5_column *column, const char *path, const char *name, int64_t *room,
                         sp_error *error)
{
    hid_t plan = H5Dget_create_plist(column->set);
    bool holds = plan >= 0;
    hsize_t chunks = 0, at;
    unsigned skipped;
    haddr_t address;
    if (holds && H5Pget_layout(plan) == H5D_CHUNKED)
        holds = H5Dget_num_chunks(column->set, H5S_ALL, &chunks) >= 0 &&
                (!chunks || H5Dget_chunk_info(column->set, H5S_ALL, chunks - 1, &at, &skipped, &address, &chunks) >= 0);
    if (plan >= 0)
        H5Pclose(plan);
    uint64_t step = column->length / SLICES > SLICE ? column->length / SLICES : SLICE;
    for (uint64_t first = 0; holds && first < column->length; first += step) {
        uint64_t left = column->length - first;
        holds = !sp__h5_integers(column, path, name, first, left < SLICE ? (size_t)left : SLICE, room, error);
    }
    return holds;
}

/* The calls of one place: all there are, or of one region of schema 1. */
static bool events_hold(const struct sp__h5_tables *t, hid_t file, const char *path, uint64_t size, const char *place,
                        int64_t *room, sp_error *error)
{
    hid_t group = H5Gopen2(file, place, H5P_DEFAULT);
    bool holds = group >= 0;
    for (size_t i = 0; holds && i < SP__H5_EVENT_COLUMNS; i++) {
        struct sp__h5_column column;
        const char *name = sp__h5_event_name(t->deltas, i);
        if ((i == SP__H5_THREADS && !t->thread_ids) || (i >= SP__H5_CALLS && !t->ids))
            continue;
        holds = !sp__h5_column_open_at(&column, group, name, path, name, size, error);
        if (holds) {
            holds = column_holds(&column, path, name, room, error);
            sp__h5_column_close(&column);
        }
    }
    if (group >= 0)
        H5Gclose(group);
    return holds;
}

/* A merge copies them; into memory here. */
static bool groups_hold(const struct sp__h5_tables *t, hid_t file)
{
    hid_t plan = H5Pcreate(H5P_FILE_ACCESS), copy = H5I_INVALID_HID;
    bool holds = plan >= 0 && H5Pset_fapl_core(plan, 1 << 20, false) >= 0 &&
                 (copy = H5Fcreate("probe", H5F_ACC_TRUNC, H5P_DEFAULT, plan)) >= 0;
    for (size_t i = 0; holds && i < t->group_count; i++)
        holds = t->groups[i].whole || !sp__h5_copy_group(copy, file, t->groups[i].path);
    if (copy >= 0)
        H5Fclose(copy);
    if (plan >= 0)
        H5Pclose(plan);
    return holds;
}

/* All that will be read later. */
static bool contents_hold(const struct sp__h5_tables *t, hid_t file, enum sp_probe what, const char *path,
                          uint64_t size, sp_error *error)
{
    static int64_t room[SLICE]; /* the child's alone */
    bool holds = true;
    if (t->summaries && what == SP_PROBE_STATISTICS)
        return true;
    if (!t->aggregate && !t->places)
        holds = events_hold(t, file, path, size, "/events", room, error);
    for (size_t row = 0; holds && t->places && row < t->rows; row++)
        holds = events_hold(t, file, path, size, t->places[row], room, error);
    if (!t->group_count || size > COPY_MOST || what == SP_PROBE_STATISTICS)
        return holds;
    return holds && groups_hold(t, file);
}

static struct answer look(const struct request *request, char **ret_packed)
{
    const char *path = request->path;
    struct answer answer = {0};
    struct sp__h5_tables tables = {0};
    hid_t file = H5I_INVALID_HID;
    sp_error later;
    answer.status = sp__h5_open(&file, &answer.id, NULL, path, &answer.error);
    if (!answer.status)
        answer.status = sp__h5_tables_read(&tables, file, path, answer.id.size, &answer.error);
    if (!answer.status && !sp__h5_tables_pack(&tables, ret_packed, &answer.length))
        answer.status = sp__fail(&answer.error, SP_ERR_SYSTEM, ENOMEM, path, NULL, "cannot be read");
    answer.done = answer.status || !contents_hold(&tables, file, request->what, path, answer.id.size, &later);
    if (file >= 0)
        H5Fclose(file);
    sp__h5_tables_finish(&tables);
    return answer;
}

static void child(void *context, int fd)
{
    (void)context;
    char here[64];
    struct request request;
    bool more = true;
    snprintf(here, sizeof here, "/proc/%d/cwd", (int)getppid());
    while (more && sp__apart_receive(fd, &request, sizeof request)) {
        char *packed = NULL;
        if (*request.path != '/')
            (void)!chdir(here); /* the parent may have gone elsewhere; where there is no /proc it is trusted not to */
        sp__apart_limit(request.path, CPU_MILLISECONDS);
        struct answer answer = look(&request, &packed);
        more = sp__apart_send(fd, &answer, sizeof answer) && sp__apart_send(fd, packed, answer.length) && !answer.done;
        free(packed);
    }
}

/* False: the child is gone, or what it sends makes no sense. */
static bool ask(struct sp__apart *prober, const struct request *request, struct answer *ret,
                struct sp__h5_tables *ret_tables)
{
    if (!sp__apart_send(prober->fd, request, sizeof *request) || !sp__apart_receive(prober->fd, ret, sizeof *ret))
        return false;
    char *packed = ret->length < PTRDIFF_MAX ? malloc(ret->length + 1) : NULL;
    bool good = packed && sp__apart_receive(prober->fd, packed, ret->length) &&
                (ret->status || sp__h5_tables_unpack(ret_tables, packed, ret->length));
    free(packed);
    return good;
}

int sp__h5_tables_probe(struct sp__h5_tables *ret, struct sp__file_id *ret_id, sp_inputs *inputs, const char *path,
                        sp_error *error)
{
    struct sp__apart *prober = &inputs->prober;
    struct request request = {.what = inputs->probe};
    struct answer answer = {0};
    bool used = prober->pid > 0, answered = false;
    const char *death = NULL;
    if ((size_t)snprintf(request.path, sizeof request.path, "%s", path) >= sizeof request.path)
        return sp__fail(error, SP_ERR_SYSTEM, ENAMETOOLONG, path, NULL, "cannot be read");
    /* Where one dies that was used before, another file may be to blame. */
    for (int tries = used ? 2 : 1; tries && !answered; tries--) {
        int status = prober->pid > 0 ? 0 : sp__apart_start(prober, child, NULL, path, error);
        if (status)
            return status;
        answered = ask(prober, &request, &answer, ret);
        if (!answered)
            death = sp__apart_end(prober);
    }
    if (!answered)
        return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, NULL,
                        "is damaged: HDF5 itself %s its bytes; take a sound copy, or leave the file out", death);
    if (answer.done)
        (void)sp__apart_end(prober);
    if (answer.status == SP_ERR_SYSTEM && answer.error.system == ENOMEM)
        return sp__fail(error, SP_ERR_CORRUPT_PROFILE, 0, path, answer.error.place,
                        "is damaged: it needs more memory than a sound file of its size");
    *ret_id = answer.id;
    if (answer.status && error)
        *error = answer.error;
    return answer.status;
}
