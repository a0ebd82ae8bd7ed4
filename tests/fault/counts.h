/* counts.h: what a program of the walk knows of its own calls: a file that it maps, so that it outlives the program.
 *
 * Call i of a slot belongs to a region that i gives, so that the order in which calls of a slot ended tells every one
 * that is missing and every one that is there twice: iteration i / 2 is outer { inner }, inner ends first. */
#ifndef COUNTS_H
#define COUNTS_H

#include <stdatomic.h>
#include <stdint.h>

enum { SLOTS = 6, SLOT_CHILD = 4, SLOT_EXPLICIT = 5, SLOT_REGIONS = 16 };

static inline unsigned region_of_call(uint64_t i)
{
    return (unsigned)(i / 2 % (SLOT_REGIONS / 2)) * 2 + (i % 2 == 0);
}

enum { NOT_ASKED, ASKED, DONE };

struct slot {
    _Atomic uint64_t entered; /* sp_end was called so many times ... */
    _Atomic uint64_t done;    /* ... and came back so many times */
};

struct counts {
    _Atomic uint32_t begun;      /* sp_init came back, with: */
    _Atomic int32_t init;        /* its status */
    _Atomic uint32_t ended;      /* sp_finalize came back, with: */
    _Atomic int32_t finalize;    /* its status */
    _Atomic int32_t refused;     /* the first status that flush, reset or a child got, 0 none */
    _Atomic uint32_t reset;      /* NOT_ASKED, ASKED, DONE */
    _Atomic uint64_t reset_at;   /* calls of slot 0 made before it */
    _Atomic uint32_t child_died; /* the forked child was killed */
    _Atomic uint32_t waiting;    /* the program waits ... */
    _Atomic uint32_t go_on;      /* ... until this is set */
    _Atomic uint32_t destroyed;  /* NOT_ASKED, ASKED, DONE: the explicit profiler */
    struct slot slots[SLOTS];    /* 0 main thread, 1 to 3 threads, then a forked child, an explicit profiler */
};

#endif
