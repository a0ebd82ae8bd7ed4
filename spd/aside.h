/* aside.h: keeping the loop off the processor of the program that rang. A wake-up tends to land on the waker's
 * processor, and there the drain would run in the program's own time while another processor idles. */
#ifndef SPD_ASIDE_H
#define SPD_ASIDE_H

#include <stdint.h>

/* Remembers which processors are allowed. Before any other function here. */
void aside_init(void);

/* The calling thread leaves processor `cpu_plus_one` - 1 if it is on it and may be elsewhere; 0: unknown, stays. */
void aside_step(uint32_t cpu_plus_one);

/* A thread that inherited the loop's processors may use all of them again. */
void aside_forget(void);

#endif
