/* instrument.h: what the parts of libsp_instrument know of each other. The library names the functions of a program
 * that was compiled with -finstrument-functions and records their calls into the default profiler.
 *
 * hooks.c is called by the program's functions; table.c knows the region of each; names.c, filter.c and handler.c
 * answer once for each function; leave.c stands before longjmp and dlclose. */
#ifndef SP__INSTRUMENT_H
#define SP__INSTRUMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "scope_profiler.h"

#define SP__LIKELY(x)   __builtin_expect(!!(x), 1)
#define SP__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SP__COLD        __attribute__((noinline, cold))
/* The hooks must not be hooked, whatever flags this library is built with. */
#define SP__PLAIN __attribute__((no_instrument_function))

enum { SP__NOT_RECORDED = -1 }; /* a call that stands among the open ones and has no region */

/* hooks.c: the calls of this thread that are open, innermost last. */
struct sp__function_call {
    const void *function;
    const void *site;  /* where the function returns to; an inlined one: where that it is inlined into does */
    const void *place; /* where the hook returns to */
    uintptr_t frame;   /* of the hook */
    int region;        /* SP__NOT_RECORDED: only its exit is waited for */
};

struct sp__function_thread {
    struct sp__function_call *calls; /* NULL before the thread's first call */
    uint32_t depth;
    uint32_t beyond;             /* calls that found no room above depth: libsp counts them */
    uint32_t beyond_old;         /* the outermost of those: not of the profiler of this generation */
    unsigned generation;         /* of the profiler that the regions in calls belong to */
    uint32_t epoch;              /* sp__function_epoch when this thread looked last */
    bool busy;                   /* in the library's slow ways: hooks of functions that those call do nothing */
    uintptr_t stack, stack_size; /* of the thread; 0 unknown */
};

extern _Thread_local struct sp__function_thread sp__function_self;

/* Moves whenever threads have to look: a function waits to be named, or an object is being unloaded. */
extern _Atomic uint32_t sp__function_epoch;

/* Ends the innermost open calls until `depth` are left. */
void sp__function_close(struct sp__function_thread *t, uint32_t depth);
/* Ends all open calls of this thread. */
void sp__function_close_all(void);

/* An object is being unloaded (one more, one less). Until it is gone every hook asks which objects are left. */
void sp__unload_begin(void);
void sp__unload_end(void);

/* table.c. Those marked L are called with the library's lock held. */
enum { SP__UNKNOWN = -1, SP__EXCLUDED = -2 };
/* The region of a function, SP__UNKNOWN or SP__EXCLUDED. Lock-free, async-signal-safe. */
int sp__table_get(const void *function);
/* L. What is not kept since the table is full is asked for at each call: false, and said. */
bool sp__table_set(const void *function, int region);
/* L. Functions in [start, end) are unknown again. */
void sp__table_forget(uintptr_t start, uintptr_t end);
/* Remembers a function to be named outside of signal handlers; full: forgotten until it is called again. Lock-free,
 * async-signal-safe. */
void sp__table_defer(const void *function);
/* The next of those, NULL where there is none. */
const void *sp__table_deferred(void);

/* names.c, all L. */
/* "function", "ns::function(int)", else "object+0x1234"; shortened to SP_MAX_NAME bytes. */
void sp__function_name(const void *function, char ret[SP_MAX_NAME + 1]);
/* Calls `gone` for each address range that held named functions and is unloaded. */
void sp__function_unloaded(void (*gone)(uintptr_t start, uintptr_t end));

/* filter.c */
/* Reads the file that SP_FILTER names, if any; says what is wrong with it. */
void sp__filter_read(void);
bool sp__filter_takes(const char *name);

/* handler.c: whether a signal handler is among the callers. Takes no lock and no memory. */
bool sp__in_handler(void);

#endif
