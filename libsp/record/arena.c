/* arena.c: see arena.h. */
#include "arena.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "profiler.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { CHUNKS = 64, CHUNK_WRITERS = 256, WRITER_SIZE = 3 * SP__PAGE, WORDS = CHUNK_WRITERS / 64 };

_Static_assert(sizeof(struct sp__writer) <= WRITER_SIZE && WRITER_SIZE % SP__PAGE == 0,
               "a writer fits its place, and shares no line or page with another thread's");

static const uint64_t ALIVE = 0x7370616c69766531ULL;
static const uint64_t QUIESCE_NS = 100000000U;

struct chunk {
    uint64_t alive; /* ALIVE; 0 in a child */
    _Atomic uint64_t used[WORDS];
};

enum { CHUNK_SIZE = SP__PAGE + CHUNK_WRITERS * WRITER_SIZE };

static _Atomic(struct chunk *) chunks[CHUNKS]; /* CAS release once; loaded acquire */

static struct sp__writer *writer_at(struct chunk *chunk, unsigned n)
{
    return (void *)((unsigned char *)chunk + SP__PAGE + (size_t)n * WRITER_SIZE);
}

static struct chunk *chunk_get(unsigned n)
{
    struct chunk *chunk = atomic_load_explicit(&chunks[n], memory_order_acquire);
    if (chunk)
        return chunk;
    void *map = mmap(NULL, CHUNK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    (void)madvise(map, CHUNK_SIZE, MADV_WIPEONFORK); /* else pthread_atfork alone protects children */
    (void)madvise(map, CHUNK_SIZE, MADV_NOHUGEPAGE);
    struct chunk *fresh = map, *found = NULL;
    fresh->alive = ALIVE;
    if (atomic_compare_exchange_strong_explicit(&chunks[n], &found, fresh, memory_order_acq_rel, memory_order_acquire))
        return fresh;
    munmap(map, CHUNK_SIZE);
    return found;
}

int sp__arena_init(void)
{
    return chunk_get(0) ? 0 : -ENOMEM;
}

bool sp__arena_wiped(void)
{
    const struct chunk *chunk = atomic_load_explicit(&chunks[0], memory_order_relaxed);
    return chunk && __atomic_load_n(&chunk->alive, __ATOMIC_RELAXED) != ALIVE;
}

void sp__arena_renew(void)
{
    for (unsigned c = 0; c < CHUNKS; c++) {
        struct chunk *chunk = atomic_load_explicit(&chunks[c], memory_order_relaxed);
        if (!chunk)
            continue;
        for (unsigned w = 0; w < CHUNK_WRITERS; w++)
            if (atomic_load_explicit(&chunk->used[w / 64], memory_order_relaxed) >> (w % 64) & 1)
                memset(writer_at(chunk, w), 0, sizeof(struct sp__writer)); /* where nothing was wiped */
        memset((void *)chunk, 0, sizeof *chunk);
        __atomic_store_n(&chunk->alive, ALIVE, __ATOMIC_RELAXED);
    }
}

struct sp__writer *sp__writer_new(void)
{
    for (unsigned c = 0; c < CHUNKS; c++) {
        struct chunk *chunk = chunk_get(c);
        if (!chunk)
            return NULL;
        for (unsigned n = 0; n < WORDS; n++) {
            uint64_t used = atomic_load_explicit(&chunk->used[n], memory_order_relaxed);
            while (~used) {
                unsigned bit = (unsigned)__builtin_ctzll(~used);
                /* Pairs with sp__writer_free's release: the memory is zeroed before the bit is clear. */
                if (atomic_compare_exchange_weak_explicit(&chunk->used[n], &used, used | UINT64_C(1) << bit,
                                                          memory_order_acq_rel, memory_order_relaxed)) {
                    struct sp__writer *w = writer_at(chunk, n * 64 + bit);
                    w->slot_in_arena = (uint64_t)c * CHUNK_WRITERS + n * 64 + bit;
                    return w;
                }
            }
        }
    }
    return NULL;
}

void sp__writer_free(struct sp__writer *w)
{
    uint64_t at = w->slot_in_arena;
    if (w->deep)
        munmap(w->deep, (size_t)SP__DEEP_MOST * sizeof *w->deep);
    struct chunk *chunk = atomic_load_explicit(&chunks[at / CHUNK_WRITERS], memory_order_relaxed);
    /* The first words may be looked at meanwhile by a scan. */
    atomic_store_explicit(&w->profiler, NULL, memory_order_relaxed);
    atomic_store_explicit(&w->header, NULL, memory_order_relaxed);
    atomic_store_explicit(&w->deep_open, 0, memory_order_relaxed);
    memset((unsigned char *)w + offsetof(struct sp__writer, depth), 0, sizeof *w - offsetof(struct sp__writer, depth));
    atomic_fetch_and_explicit(&chunk->used[at % CHUNK_WRITERS / 64], ~(UINT64_C(1) << (at % 64)), memory_order_release);
}

/* `each` returns false to stop. */
static bool scan(struct sp_profiler *p, bool (*each)(struct sp__writer *w, void *context), void *context)
{
    for (unsigned c = 0; c < CHUNKS; c++) {
        struct chunk *chunk = atomic_load_explicit(&chunks[c], memory_order_acquire);
        if (!chunk)
            continue;
        for (unsigned w = 0; w < CHUNK_WRITERS; w++) {
            if (!(atomic_load_explicit(&chunk->used[w / 64], memory_order_acquire) >> (w % 64) & 1))
                continue;
            struct sp__writer *writer = writer_at(chunk, w);
            if (atomic_load_explicit(&writer->profiler, memory_order_acquire) == p && !each(writer, context))
                return false;
        }
    }
    return true;
}

struct each_context {
    void (*each)(struct sp__writer *w, void *context);
    void *context;
};

static bool call_each(struct sp__writer *w, void *context)
{
    struct each_context *c = context;
    c->each(w, c->context);
    return true;
}

void sp__writers_each(struct sp_profiler *p, void (*each)(struct sp__writer *w, void *context), void *context)
{
    struct each_context c = {each, context};
    scan(p, call_each, &c);
}

/* Makes every thread of the process pass a full barrier, so that the writers' own fences can be the compiler's alone.
 */
static void barrier_everywhere(void)
{
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    atomic_thread_fence(memory_order_seq_cst);
    sp__sleep_ns(1000000); /* an old kernel, or a filter: no processor keeps a store back that long */
}

/* A writer that was freed and taken for another profiler since the look at it has another header, and keeps it. */
static bool cut_off(struct sp__writer *w, void *context)
{
    struct sp__header *header = context;
    atomic_compare_exchange_strong_explicit(&w->header, &header, &sp__dead_header, memory_order_relaxed,
                                            memory_order_relaxed);
    return true;
}

static bool wait_idle(struct sp__writer *w, void *context)
{
    const uint64_t *until = context;
    for (const struct sp__writer *mine = sp__self.writers; mine; mine = mine->next)
        if (mine == w || mine->signal == w)
            return true;
    /* Pairs with sp__release: what the writer did before is seen here. */
    while (atomic_load_explicit(&w->busy, memory_order_acquire)) {
        if (sp__clock_mono() > *until)
            return false;
        sp__sleep_ns(10000);
    }
    return true;
}

bool sp__quiesce(struct sp_profiler *p, bool cut)
{
    if (cut)
        scan(p, cut_off, p->header);
    barrier_everywhere();
    uint64_t until = sp__clock_mono() + QUIESCE_NS;
    return scan(p, wait_idle, &until);
}
