/* workers.h: threads that help for the length of one call. */
#ifndef SP__WORKERS_H
#define SP__WORKERS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many threads can do something at once here: processors that this one may use, as far as their heaps find room in
 * the address space; 1 ... `most`. */
size_t sp__workers(size_t most);

/* A thread with a small stack, whom no signals reach. False: there is none to be had, and the caller does without. */
bool sp__worker_begin(pthread_t *ret, void *(*work)(void *), void *context);

/* A thread that keeps syncing a file that is long in the writing, so that the last fsync finds little to wait for. The
 * disk's own cache takes as long to empty as the data took to reach it: handing pages over early is only half of it. */
struct sp__early_sync {
    int fd;
    _Atomic uint64_t fresh; /* bytes since the thread was last woken */
    atomic_bool ended;
    bool running;
    int failed; /* errno of the first sync that failed: the kernel tells of it once */
    sem_t wake;
    pthread_t thread;
};
/* `bytes` is what is expected: for little there is no thread. */
void sp__early_sync_begin(struct sp__early_sync *early, int fd, uint64_t bytes);
/* So many bytes were written. From any thread. */
void sp__early_sync_add(struct sp__early_sync *early, uint64_t bytes);
/* Nothing more is coming: what is there is synced too while the caller does other things. */
void sp__early_sync_last(struct sp__early_sync *early);
/* Waits for the thread. 0 or -errno. */
int sp__early_sync_end(struct sp__early_sync *early);

#endif
