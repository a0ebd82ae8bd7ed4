/* wrap.c: a wrapper for every name of every function of calls.inc, and MPI_Pcontrol.
 *
 * One library serves all MPIs, so none of their headers is included. The calling conventions of x86-64 and AArch64 pass
 * each argument of an MPI function (integers, pointers; no floating-point numbers, no structures by value) in one
 * register or one 8-byte slot of the stack, so words that are passed on are what the caller passed. The names are those
 * of C; of Fortran's mpif.h and mpi module; of mpi_f08 in Open MPI (_f08_) and MPICH (_f08ts_ with array descriptors,
 * _large_ with MPI_Count); a library that has no such name is never called by it. */
#include "tool.h"

#if (!defined(__x86_64__) && !defined(__aarch64__)) || defined(__ILP32__)
#error "libsp_mpi passes arguments on as words, which is exact on 64-bit x86-64 and AArch64 only: use -Dmpi=disabled"
#endif

#define P0  void
#define P1  sp__word a1
#define P2  P1, sp__word a2
#define P3  P2, sp__word a3
#define P4  P3, sp__word a4
#define P5  P4, sp__word a5
#define P6  P5, sp__word a6
#define P7  P6, sp__word a7
#define P8  P7, sp__word a8
#define P9  P8, sp__word a9
#define P10 P9, sp__word a10
#define P11 P10, sp__word a11
#define P12 P11, sp__word a12
#define P13 P12, sp__word a13
#define P14 P13, sp__word a14

#define A0
#define A1  a1
#define A2  A1, a2
#define A3  A2, a3
#define A4  A3, a4
#define A5  A4, a5
#define A6  A5, a6
#define A7  A6, a7
#define A8  A7, a8
#define A9  A8, a9
#define A10 A9, a10
#define A11 A10, a11
#define A12 A11, a12
#define A13 A12, a13
#define A14 A13, a14

#define WRAP_AS(symbol, row, n, begin, end)                                                                            \
    SP_API sp__word symbol(P##n);                                                                                      \
    SP_API sp__word symbol(P##n)                                                                                       \
    {                                                                                                                  \
        static struct sp__mpi_symbol self = {.name = #symbol};                                                         \
        const void *caller = __builtin_return_address(0);                                                              \
        sp_scope open;                                                                                                 \
        sp__word (*next)(P##n) = (sp__word(*)(P##n))begin(&self, &(row), &open, caller);                               \
        sp__word result = next(A##n);                                                                                  \
        end(&open, caller);                                                                                            \
        return result;                                                                                                 \
    }
#define WRAP(symbol, row, n) WRAP_AS(symbol, row, n, sp__mpi_begin, sp__mpi_end)

#define BASIC(Name, low, c, f, begin, end)                                                                             \
    WRAP_AS(MPI_##Name, call_##low, c, begin, end)                                                                     \
    WRAP_AS(mpi_##low##_, call_##low, f, begin, end)                                                                   \
    WRAP_AS(mpi_##low##_f08_, call_##low, f, begin, end)

#define WRAP_PLAIN(Name, low, c, f)    BASIC(Name, low, c, f, sp__mpi_begin, sp__mpi_end)
#define WRAP_INIT(Name, low, c, f)     BASIC(Name, low, c, f, sp__mpi_begin_init, sp__mpi_end_init)
#define WRAP_SESSION(Name, low, c, f)  BASIC(Name, low, c, f, sp__mpi_begin_session, sp__mpi_end)
#define WRAP_FINALIZE(Name, low, c, f) BASIC(Name, low, c, f, sp__mpi_begin, sp__mpi_end_final)
/* With a buffer. */
#define WRAP_CHOICE(Name, low, c, f)                                                                                   \
    WRAP_PLAIN(Name, low, c, f)                                                                                        \
    WRAP(mpi_##low##_f08ts_, call_##low, f)
/* With a buffer, and counts that may be large. */
#define WRAP_LARGE(Name, low, c, f)                                                                                    \
    WRAP_CHOICE(Name, low, c, f)                                                                                       \
    WRAP(MPI_##Name##_c, call_##low, c)                                                                                \
    WRAP(mpi_##low##_f08ts_large_, call_##low, f)
/* Without a buffer, and sizes that may be large. */
#define WRAP_SIZED(Name, low, c, f)                                                                                    \
    WRAP_PLAIN(Name, low, c, f)                                                                                        \
    WRAP(MPI_##Name##_c, call_##low, c)                                                                                \
    WRAP(mpi_##low##_f08_large_, call_##low, f)
/* The same, and the mpi module returns memory as a C pointer, too. */
#define WRAP_CPTR(Name, low, c, f)                                                                                     \
    WRAP_SIZED(Name, low, c, f)                                                                                        \
    WRAP(mpi_##low##_cptr_, call_##low, f)

#define X(kind, Name, low, c, f)                                                                                       \
    static struct sp__mpi_call call_##low = {.name = "MPI_" #Name};                                                    \
    WRAP_##kind(Name, low, c, f)
#include "calls.inc"
#undef X

/* Pauses and resumes the default profiler, so the program's own calls too, as tools of MPI are asked to. */
static void control(int level)
{
    if (level == 0 || level == 1)
        (void)sp_pause(level == 0);
}

SP_API int MPI_Pcontrol(int level, ...);
SP_API int MPI_Pcontrol(int level, ...)
{
    static struct sp__mpi_symbol self = {.name = "MPI_Pcontrol"};
    control(level);
    int (*next)(int, ...) = (int (*)(int, ...))sp__mpi_next(&self, __builtin_return_address(0));
    return next(level);
}

/* mpi_f08 has an ierror, which is optional; mpif.h has none: what stands in its place is passed on as it is. */
#define PCONTROL(symbol)                                                                                               \
    SP_API void symbol(const int *level, sp__word error);                                                              \
    SP_API void symbol(const int *level, sp__word error)                                                               \
    {                                                                                                                  \
        static struct sp__mpi_symbol self = {.name = #symbol};                                                         \
        control(*level);                                                                                               \
        void (*next)(const int *, sp__word) =                                                                          \
            (void (*)(const int *, sp__word))sp__mpi_next(&self, __builtin_return_address(0));                         \
        next(level, error);                                                                                            \
    }
PCONTROL(mpi_pcontrol_)
PCONTROL(mpi_pcontrol_f08_)
