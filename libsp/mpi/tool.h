/* tool.h: what every wrapper of an MPI function begins and ends with. The wrappers (wrap.c) know neither mpi.h nor
 * which MPI there is: an argument of an MPI function is one machine word, and so is what it returns. */
#ifndef SP__MPI_TOOL_H
#define SP__MPI_TOOL_H

#include <stdatomic.h>
#include <stdint.h>

#include "scope_profiler.h"

typedef intptr_t sp__word;
typedef void (*sp__function)(void);

/* One MPI function, under all its names: its region, remembered for one generation of the default profiler. */
struct sp__mpi_call {
    const char *name;
    _Atomic uint64_t known; /* generation << 32 | handle + 1; 0 none: stored and loaded relaxed, each word for itself */
};

/* One name of it, and the function of that name that comes after this library. */
struct sp__mpi_symbol {
    const char *name;
    _Atomic sp__function next; /* NULL before the first call: stored and loaded relaxed */
};

/* The function of that name after this library. Never NULL: where there is none that is said, and what is returned
 * fails like an MPI function. */
sp__function sp__mpi_next(struct sp__mpi_symbol *symbol, const void *caller);

/* Begins a call and returns what to call; `caller` is an address in whoever called. A call inside another one of this
 * thread (a Fortran wrapper's C function, what MPI's own files are made of) is passed on and not recorded. */
sp__function sp__mpi_begin(struct sp__mpi_symbol *symbol, struct sp__mpi_call *call, sp_scope *ret_open,
                           const void *caller);
void sp__mpi_end(sp_scope *open, const void *caller);

/* MPI_Init and MPI_Init_thread: recording has started after it, with the rank that MPI gave. */
sp__function sp__mpi_begin_init(struct sp__mpi_symbol *symbol, struct sp__mpi_call *call, sp_scope *ret_open,
                                const void *caller);
void sp__mpi_end_init(sp_scope *open, const void *caller);

/* MPI_Session_init: there is no rank to ask MPI for. */
sp__function sp__mpi_begin_session(struct sp__mpi_symbol *symbol, struct sp__mpi_call *call, sp_scope *ret_open,
                                   const void *caller);

/* MPI_Finalize: publishes, where recording is this library's own. */
void sp__mpi_end_final(sp_scope *open, const void *caller);

#endif
