/* table.c: addresses of functions to regions. Open addressing over a fixed array, which is zero pages until it is used.
 * Writers hold the library's lock; readers take none. A key never moves or goes once it is there, only its value
 * changes, so a reader that found the key reads a value of that function. */
#include <stddef.h>

#include "instrument.h"
#include "message.h"

enum { SLOTS = 1 << 18, MOST = SLOTS / 4 * 3, WAITING = 64 };

struct slot {
    _Atomic(const void *) function; /* stored release after value, loaded acquire */
    _Atomic int value;              /* region + 1; 0 unknown; SP__EXCLUDED */
};

static struct slot table[SLOTS];
static uint32_t used[MOST], used_count; /* slots with a key */
static _Atomic(const void *) waiting[WAITING];

/* Functions begin at multiples of 16 bytes as a rule: neighbours in the program are neighbours here. */
SP__PLAIN static uint32_t place_of(const void *function)
{
    return (uint32_t)((uintptr_t)function >> 4) & (SLOTS - 1);
}

SP__PLAIN int sp__table_get(const void *function)
{
    for (uint32_t at = place_of(function);; at = (at + 1) & (SLOTS - 1)) {
        const void *key = atomic_load_explicit(&table[at].function, memory_order_acquire);
        if (SP__LIKELY(key == function)) {
            int value = atomic_load_explicit(&table[at].value, memory_order_relaxed);
            return value >= 0 ? value - 1 : value;
        }
        if (!key)
            return SP__UNKNOWN;
    }
}

SP__PLAIN bool sp__table_set(const void *function, int region)
{
    uint32_t at = place_of(function);
    int value = region >= 0 ? region + 1 : region;
    const void *key;
    while ((key = atomic_load_explicit(&table[at].function, memory_order_relaxed)) != NULL && key != function)
        at = (at + 1) & (SLOTS - 1);
    if (!key && used_count == MOST) {
        sp__say(SP__SAY_FUNCTIONS,
                "more than %d functions: calls of further ones are not recorded; name those of interest in a file and "
                "set SP_FILTER to it",
                (int)MOST);
        return false;
    }
    atomic_store_explicit(&table[at].value, value, memory_order_relaxed);
    if (!key) {
        used[used_count++] = at;
        atomic_store_explicit(&table[at].function, function, memory_order_release);
    }
    return true;
}

SP__PLAIN void sp__table_forget(uintptr_t start, uintptr_t end)
{
    for (uint32_t i = 0; i < used_count; i++) {
        struct slot *slot = &table[used[i]];
        uintptr_t address = (uintptr_t)atomic_load_explicit(&slot->function, memory_order_relaxed);
        if (address >= start && address < end)
            atomic_store_explicit(&slot->value, 0, memory_order_relaxed);
    }
}

SP__PLAIN void sp__table_defer(const void *function)
{
    for (int i = 0; i < WAITING; i++) {
        const void *there = NULL;
        if (atomic_compare_exchange_strong_explicit(&waiting[i], &there, function, memory_order_release,
                                                    memory_order_relaxed))
            atomic_fetch_add_explicit(&sp__function_epoch, 1, memory_order_release);
        if (!there || there == function)
            return;
    }
}

SP__PLAIN const void *sp__table_deferred(void)
{
    for (int i = 0; i < WAITING; i++) {
        if (!atomic_load_explicit(&waiting[i], memory_order_relaxed))
            continue;
        const void *function = atomic_exchange_explicit(&waiting[i], NULL, memory_order_acquire);
        if (function)
            return function;
    }
    return NULL;
}
