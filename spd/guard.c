#include "guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define TAKEN ((uintptr_t)1) /* no mapping begins there */

struct guarded {
    _Atomic uintptr_t
        start; /* 0 free, TAKEN being filled; stored release after length by guard_add; the handler's acquire load pairs */
    _Atomic size_t length;
    atomic_bool poisoned; /* stored release by the handler after the pages stand; guard_poisoned loads acquire */
};

static struct guarded *slots;
static size_t slot_count;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    int error = errno;
    uintptr_t at = (uintptr_t)info->si_addr;
    for (size_t n = 0; n < slot_count && info->si_code > 0; ++n) {
        uintptr_t start = atomic_load_explicit(&slots[n].start, memory_order_acquire);
        size_t length = atomic_load_explicit(&slots[n].length, memory_order_relaxed);
        if (start <= TAKEN || at < start || at - start >= length)
            continue;
        /* mmap is a plain system call: nothing here takes a lock that the interrupted code may hold. */
        if (mmap((void *)start, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED)
            break;
        atomic_store_explicit(&slots[n].poisoned, true, memory_order_release);
        errno = error;
        return;
    }
    signal(number, SIG_DFL); /* the instruction runs again, and this time it ends the process */
    if (info->si_code <= 0)
        raise(number);
    errno = error;
}

int guard_init(size_t mappings)
{
    slots = calloc(mappings, sizeof *slots);
    if (!slots)
        return -ENOMEM;
    slot_count = mappings;
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, NULL) ? -errno : 0;
}

void guard_finish(void)
{
    signal(SIGBUS, SIG_DFL);
    slot_count = 0;
    free(slots);
    slots = NULL;
}

void guard_add(void *start, size_t length)
{
    for (size_t n = 0; n < slot_count; ++n) {
        uintptr_t none = 0;
        /* A segment is opened on a worker thread too: whoever makes the word TAKEN fills the slot. Acquire: pairs with
         * the release of guard_remove. */
        if (!atomic_compare_exchange_strong_explicit(&slots[n].start, &none, TAKEN, memory_order_acquire,
                                                     memory_order_relaxed))
            continue;
        atomic_store_explicit(&slots[n].poisoned, false, memory_order_relaxed);
        atomic_store_explicit(&slots[n].length, length, memory_order_relaxed);
        atomic_store_explicit(&slots[n].start, (uintptr_t)start, memory_order_release);
        return;
    }
}

int guard_find(const void *start)
{
    for (size_t n = 0; n < slot_count; ++n)
        if (atomic_load_explicit(&slots[n].start, memory_order_acquire) == (uintptr_t)start)
            return (int)n;
    return GUARD_NONE;
}

void guard_remove(void *start)
{
    int slot = guard_find(start);
    if (slot != GUARD_NONE)
        atomic_store_explicit(&slots[slot].start, 0, memory_order_release);
}

bool guard_poisoned(int slot)
{
    return slot != GUARD_NONE && atomic_load_explicit(&slots[slot].poisoned, memory_order_acquire);
}
