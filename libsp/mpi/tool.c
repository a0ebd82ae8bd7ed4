/* tool.c: see tool.h. Where recording starts and ends, and whose rank it is. */
#include "tool.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "env.h"
#include "message.h"

enum {
    MPICH_COMM_WORLD = 0x44000000, /* of MPICH and all that have its ABI */
    NO_FUNCTION = 16               /* no success in any MPI */
};

static _Thread_local unsigned inside; /* MPI calls that are open in this thread */
static _Atomic unsigned own;          /* the generation of what this library started; 0 nothing */
static _Atomic int own_rank;

static void *beside(const char *name, const void *caller)
{
    Dl_info info;
    if (!dladdr(caller, &info))
        return NULL;
    /* Never closed: what it finds is kept. */
    void *object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    return object ? dlsym(object, name) : NULL;
}

/* The function or object of that name that `scope` has, or what `caller` was linked with: a plug-in's MPI, such as
 * Python's, is not in the global scope. NULL: there is none. Leaves errno alone. */
static void *find(void *scope, const char *name, const void *caller)
{
    int saved = errno;
    void *found = dlsym(scope, name);
    if (!found)
        found = beside(name, caller);
    errno = saved;
    return found;
}

static sp__word nowhere(void)
{
    return NO_FUNCTION;
}

sp__function sp__mpi_next(struct sp__mpi_symbol *symbol, const void *caller)
{
    sp__function next = atomic_load_explicit(&symbol->next, memory_order_relaxed);
    if (next)
        return next;
    void *found = find(RTLD_NEXT, symbol->name, caller);
    if (!found) {
        sp__say(SP__SAY_ENVIRONMENT,
                "%s: cannot be called: no library of this process has it; put the program's MPI after libsp_mpi",
                symbol->name);
        return (sp__function)nowhere;
    }
    memcpy(&next, &found, sizeof next);
    atomic_store_explicit(&symbol->next, next, memory_order_relaxed);
    return next;
}

static int region_of(struct sp__mpi_call *call)
{
    unsigned generation = sp_generation();
    uint64_t known = atomic_load_explicit(&call->known, memory_order_relaxed);
    if (known && known >> 32 == generation)
        return (int)(uint32_t)known - 1;
    int region = sp_region(call->name);
    if (region >= 0)
        atomic_store_explicit(&call->known, (uint64_t)generation << 32 | ((uint32_t)region + 1), memory_order_relaxed);
    return region;
}

sp__function sp__mpi_begin(struct sp__mpi_symbol *symbol, struct sp__mpi_call *call, sp_scope *ret_open,
                           const void *caller)
{
    sp__function next = sp__mpi_next(symbol, caller);
    *ret_open = (sp_scope){.slot = -1};
    if (inside++ > 0 || !sp_is_active())
        return next;
    int region = region_of(call);
    if (region >= 0)
        *ret_open = sp_profiler_scope_begin(sp_default_profiler(), region);
    return next;
}

void sp__mpi_end(sp_scope *open, const void *caller)
{
    (void)caller;
    if (open->slot > 0)
        (void)sp_scope_end(open);
    inside--;
}

static void start(int rank)
{
    unsigned before = sp_generation();
    if (sp_init_language(NULL, rank, SP_LANGUAGE_TOOL) != 0 || sp_generation() == before || !sp_is_active())
        return;
    atomic_store_explicit(&own_rank, rank, memory_order_relaxed);
    atomic_store_explicit(&own, sp_generation(), memory_order_relaxed);
}

static bool is_own(void)
{
    return sp_is_active() && sp_generation() == atomic_load_explicit(&own, memory_order_relaxed);
}

/* The launcher mostly says the rank before MPI does: then MPI_Init itself is recorded. */
sp__function sp__mpi_begin_init(struct sp__mpi_symbol *symbol, struct sp__mpi_call *call, sp_scope *ret_open,
                                const void *caller)
{
    struct sp__env env;
    if (inside == 0 && !sp_is_active()) {
        sp__env_read(&env);
        if (env.rank_source == SP__RANK_NUMBER)
            start(env.rank);
    }
    return sp__mpi_begin(symbol, call, ret_open, caller);
}

sp__function sp__mpi_begin_session(struct sp__mpi_symbol *symbol, struct sp__mpi_call *call, sp_scope *ret_open,
                                   const void *caller)
{
    if (inside == 0 && !sp_is_active())
        start(SP_RANK_AUTO);
    return sp__mpi_begin(symbol, call, ret_open, caller);
}

/* MPI_Comm_rank or MPI_Comm_size of MPI_COMM_WORLD; -1 unknown. */
static int ask_world(const char *name, const void *caller)
{
    /* Open MPI's is an object, of which a program may have the copy that counts. */
    void *world = find(RTLD_DEFAULT, "ompi_mpi_comm_world", caller);
    void *found = find(RTLD_NEXT, name, caller);
    sp__word (*function)(sp__word comm, int *answer);
    int answer = -1;
    if (!found)
        return -1;
    memcpy(&function, &found, sizeof function);
    /* An int is what a function returns: the upper half of the word is anything. */
    return (int)function(world ? (sp__word)world : MPICH_COMM_WORLD, &answer) == 0 ? answer : -1;
}

static bool is_initialized(const void *caller)
{
    void *found = find(RTLD_NEXT, "PMPI_Initialized", caller);
    sp__word (*function)(int *flag);
    int flag = 0;
    if (!found)
        return false;
    memcpy(&function, &found, sizeof function);
    return (int)function(&flag) == 0 && flag;
}

void sp__mpi_end_init(sp_scope *open, const void *caller)
{
    sp__mpi_end(open, caller);
    if (inside > 0 || !is_initialized(caller))
        return;
    inside++; /* another tool's wrappers may be what is asked */
    int rank = ask_world("PMPI_Comm_rank", caller), size = ask_world("PMPI_Comm_size", caller);
    inside--;
    if (rank < 0)
        return;
    /* Alone in its world, a program keeps the rank that the launcher gave: it may be one of many. */
    if (is_own() && size > 1 && rank != atomic_load_explicit(&own_rank, memory_order_relaxed))
        sp_destroy(sp_default_profiler());
    start(rank);
}

void sp__mpi_end_final(sp_scope *open, const void *caller)
{
    sp__mpi_end(open, caller);
    if (inside == 0 && is_own())
        (void)sp_finalize();
}
