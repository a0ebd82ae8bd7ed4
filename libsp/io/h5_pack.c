/* h5_pack.c: event columns shuffled and deflated in several threads, as HDF5's own filters would do it in one. Chunks
 * come from the scratch file and go to HDF5 packed, in order and by the calling thread alone. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../shared/spool.h"
#include "h5_out.h"

enum { CHUNK_ROWS = 65536, WORKERS_MOST = 4, SLOTS_A_WORKER = 2 };
enum { FAST_MOST = 3, RUN_LEAST = 8, SAMPLE = 4096, SAMPLE_OF = 4 };
enum { NOT_DEFLATED = 2 }; /* HDF5's filter mask: the second filter, deflate, was left out */

/* A packed chunk on its way from a worker to HDF5. */
struct slot {
    unsigned char *bytes;
    size_t length;
    uint32_t mask;
    int failed; /* -errno */
    bool ready;
};

struct worker {
    struct packing *packing;
    int64_t *values;
    unsigned char *shuffled;
    z_stream stream, trial;
    bool begun, tried, running;
    pthread_t thread;
};

/* One chunk of one column is a job; jobs are numbered column by column. */
struct packing {
    struct sp__h5_out *out;
    size_t rows;    /* of a chunk */
    uint64_t calls; /* of a column */
    uint64_t chunks, jobs;
    hid_t sets[COLUMNS];
    uint64_t offsets[COLUMNS];
    size_t columns;

    pthread_mutex_t lock;
    pthread_cond_t ready, room;
    uint64_t next, written; /* jobs taken; jobs that HDF5 has */
    bool stop;
    struct slot slots[WORKERS_MOST * SLOTS_A_WORKER];
    size_t slot_count;
    struct worker workers[WORKERS_MOST]; /* the first is the calling thread */
    size_t worker_count;
};

/* Byte 0 of all values, then byte 1 of all, ... */
static void shuffle(unsigned char *to, const int64_t *values, size_t count)
{
    for (unsigned b = 0; b < sizeof *values; b++)
        for (size_t i = 0; i < count; i++)
            to[b * count + i] = (unsigned char)((uint64_t)values[i] >> (8 * b));
}

/* ---- how a plane of bytes is deflated -----------------------------------------------------------------------------
 * The low bytes of times are noise, over which deflate takes most of its time to no avail, and the high ones are long
 * runs. A stream may go from one way to another within itself, and its reader need not know. Where size is what was
 * asked for, by a higher level, deflate looks at everything: a sample shows no pattern that repeats at a distance. */

static bool is_runs(const unsigned char *bytes, size_t count)
{
    size_t same = 0;
    for (size_t i = 1; i < count; i++)
        same += bytes[i] == bytes[i - 1];
    return count - same <= count / RUN_LEAST;
}

/* What a sample of it comes to tells: not even a hundredth less. */
static bool is_noise(struct worker *worker, const unsigned char *bytes, size_t count)
{
    unsigned char out[SAMPLE];
    z_stream *z = &worker->trial;
    if (count < SAMPLE_OF * SAMPLE)
        return false;
    deflateReset(z);
    z->next_in = (unsigned char *)(uintptr_t)(bytes + (count - SAMPLE) / 2);
    z->avail_in = SAMPLE;
    z->next_out = out;
    z->avail_out = SAMPLE - SAMPLE / 100;
    return deflate(z, Z_FINISH) != Z_STREAM_END;
}

static bool deflate_plane(struct worker *worker, size_t plane)
{
    const struct packing *p = worker->packing;
    unsigned char *bytes = worker->shuffled + plane * p->rows;
    z_stream *z = &worker->stream;
    int level = p->out->writing->settings->gzip, way = Z_DEFAULT_STRATEGY;
    if (level <= FAST_MOST && is_runs(bytes, p->rows))
        way = Z_RLE;
    else if (level <= FAST_MOST && is_noise(worker, bytes, p->rows))
        level = 0;
    if (deflateParams(z, level, way) != Z_OK)
        return false;
    z->next_in = bytes;
    z->avail_in = (unsigned)p->rows;
    return deflate(z, Z_NO_FLUSH) == Z_OK && !z->avail_in;
}

static void pack_chunk(struct worker *worker, uint64_t job)
{
    struct packing *p = worker->packing;
    struct slot *slot = &p->slots[job % p->slot_count];
    uint64_t first = job % p->chunks * p->rows;
    size_t bytes = p->rows * sizeof(int64_t);
    size_t there = p->calls - first < p->rows ? (size_t)(p->calls - first) : p->rows;
    slot->failed = sp__read_at(p->out->columns_fd, worker->values, there * sizeof(int64_t),
                               p->offsets[job / p->chunks] + first * sizeof(int64_t));
    if (slot->failed < 0)
        return;
    memset(worker->values + there, 0, (p->rows - there) * sizeof(int64_t)); /* chunks are stored whole */
    shuffle(worker->shuffled, worker->values, p->rows);
    z_stream *z = &worker->stream;
    deflateReset(z);
    z->next_out = slot->bytes;
    z->avail_out = (unsigned)bytes;
    bool smaller = true;
    for (size_t plane = 0; smaller && plane < sizeof(int64_t); plane++)
        smaller = deflate_plane(worker, plane);
    smaller = smaller && deflate(z, Z_FINISH) == Z_STREAM_END;
    slot->length = smaller ? bytes - z->avail_out : bytes;
    slot->mask = smaller ? 0 : NOT_DEFLATED;
    if (!smaller)
        memcpy(slot->bytes, worker->shuffled, bytes);
}

static bool may_take(const struct packing *p)
{
    return p->next < p->jobs && p->next < p->written + p->slot_count;
}

/* Under p->lock, which it lets go of meanwhile. */
static void take_one(struct worker *worker)
{
    struct packing *p = worker->packing;
    uint64_t job = p->next++;
    pthread_mutex_unlock(&p->lock);
    pack_chunk(worker, job);
    pthread_mutex_lock(&p->lock);
    p->slots[job % p->slot_count].ready = true;
    pthread_cond_signal(&p->ready);
}

static void *work(void *context)
{
    struct worker *worker = context;
    struct packing *p = worker->packing;
    pthread_mutex_lock(&p->lock);
    while (!p->stop && p->next < p->jobs) {
        if (may_take(p))
            take_one(worker);
        else
            pthread_cond_wait(&p->room, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* The next chunk in order; packs some itself rather than wait. */
static struct slot *await(struct packing *p, uint64_t job)
{
    struct slot *slot = &p->slots[job % p->slot_count];
    pthread_mutex_lock(&p->lock);
    while (!slot->ready) {
        if (may_take(p))
            take_one(&p->workers[0]);
        else
            pthread_cond_wait(&p->ready, &p->lock);
    }
    slot->ready = false;
    pthread_mutex_unlock(&p->lock);
    return slot;
}

static int failure(const struct packing *p, int code, const char *words)
{
    return sp__fail(p->out->writing->error, SP_ERR_SYSTEM, code, p->out->writing->output, "/events", "%s", words);
}

static int put_all(struct packing *p)
{
    int result = 0;
    uint64_t left = p->calls - p->out->writing->done, told = 0; /* the calls' second half */
    for (uint64_t job = 0; result == 0 && job < p->jobs; job++) {
        sp__h5_unlock();
        struct slot *slot = await(p, job);
        sp__h5_lock();
        hsize_t at = job % p->chunks * p->rows;
        if (slot->failed < 0)
            result = failure(p, -slot->failed, "the scratch file of its columns cannot be read back");
        else if (H5Dwrite_chunk(p->sets[job / p->chunks], H5P_DEFAULT, slot->mask, &at, slot->length, slot->bytes) < 0)
            result = failure(p, ENOMEM, "HDF5 cannot take a packed chunk");
        if (p->out->failed) /* said when the file is closed */
            break;
        pthread_mutex_lock(&p->lock);
        p->written++;
        pthread_cond_broadcast(&p->room);
        pthread_mutex_unlock(&p->lock);
        uint64_t done = (uint64_t)((double)left * ((double)(job + 1) / (double)p->jobs));
        sp__writing_progress(p->out->writing, done - told);
        told = done;
    }
    return result;
}

/* ---- what is needed for it ----------------------------------------------------------------------------------------
 */

static int make_sets(struct packing *p, hid_t group, const char *const *names)
{
    hsize_t length = p->calls, chunk = p->rows;
    hid_t space = H5Screate_simple(1, &length, NULL), plan = H5Pcreate(H5P_DATASET_CREATE);
    herr_t result = space < 0 || plan < 0 || H5Pset_chunk(plan, 1, &chunk) < 0 || H5Pset_shuffle(plan) < 0 ||
                            H5Pset_deflate(plan, (unsigned)p->out->writing->settings->gzip) < 0 ||
                            H5Pset_fill_time(plan, H5D_FILL_TIME_NEVER) < 0
                        ? -1
                        : 0;
    for (int c = 0; result >= 0 && c < COLUMNS; c++) {
        if (!p->out->present[c])
            continue;
        p->offsets[p->columns] = p->out->offsets[c];
        p->sets[p->columns] = H5Dcreate2(group, names[c], H5T_NATIVE_INT64, space, H5P_DEFAULT, plan, H5P_DEFAULT);
        if (p->sets[p->columns] < 0)
            result = -1;
        else
            p->columns++;
    }
    H5Pclose(plan);
    H5Sclose(space);
    p->jobs = p->chunks * p->columns;
    return result < 0 ? failure(p, ENOMEM, "HDF5 cannot make compressed columns") : 0;
}

static int make_buffers(struct packing *p)
{
    size_t bytes = p->rows * sizeof(int64_t);
    bool good = true;
    for (size_t i = 0; i < p->slot_count; i++)
        good = (p->slots[i].bytes = malloc(bytes)) && good;
    for (size_t i = 0; i < p->worker_count; i++) {
        struct worker *worker = &p->workers[i];
        worker->packing = p;
        worker->values = malloc(bytes);
        worker->shuffled = malloc(bytes);
        worker->begun = deflateInit(&worker->stream, p->out->writing->settings->gzip) == Z_OK;
        worker->tried = deflateInit(&worker->trial, 1) == Z_OK;
        good = good && worker->values && worker->shuffled && worker->begun && worker->tried;
    }
    return good ? 0 : failure(p, ENOMEM, "cannot be compressed");
}

static void end_threads(struct packing *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->room);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 1; i < p->worker_count; i++)
        if (p->workers[i].running)
            pthread_join(p->workers[i].thread, NULL);
}

static int finish(struct packing *p, int result)
{
    for (size_t c = 0; c < p->columns; c++)
        if (H5Dclose(p->sets[c]) < 0 && result == 0)
            result = failure(p, ENOMEM, "HDF5 cannot close a compressed column");
    for (size_t i = 0; i < p->slot_count; i++)
        free(p->slots[i].bytes);
    for (size_t i = 0; i < p->worker_count; i++) {
        free(p->workers[i].values);
        free(p->workers[i].shuffled);
        if (p->workers[i].begun)
            deflateEnd(&p->workers[i].stream);
        if (p->workers[i].tried)
            deflateEnd(&p->workers[i].trial);
    }
    return result;
}

int sp__h5_pack(struct sp__h5_out *out, hid_t group, const char *const *names)
{
    struct packing p = {.out = out,
                        .calls = out->writing->calls,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .ready = PTHREAD_COND_INITIALIZER,
                        .room = PTHREAD_COND_INITIALIZER,
                        .worker_count = sp__workers(WORKERS_MOST)};
    p.rows = p.calls < CHUNK_ROWS ? (size_t)p.calls : CHUNK_ROWS;
    p.chunks = (p.calls + p.rows - 1) / p.rows;
    p.slot_count = p.worker_count * SLOTS_A_WORKER;
    int result = make_sets(&p, group, names);
    if (result == 0)
        result = make_buffers(&p);
    if (result == 0) {
        for (size_t i = 1; i < p.worker_count; i++) /* those that there are none of are done without */
            p.workers[i].running = sp__worker_begin(&p.workers[i].thread, work, &p.workers[i]);
        result = put_all(&p);
        end_threads(&p);
    }
    return finish(&p, result);
}
