/* guard.h: a segment that is cut short under its mapping costs that segment alone. A load or store beyond the file's
 * end raises SIGBUS; the handler puts private zero pages in the mapping's place and marks it, so that the instruction
 * can go on and the loop finds the mark. Everything else that raises SIGBUS ends spd as ever. */
#ifndef SPD_GUARD_H
#define SPD_GUARD_H

#include <stdbool.h>
#include <stddef.h>

enum { GUARD_NONE = -1 };

int guard_init(size_t mappings); /* installs the handler; 0 or -errno */
void guard_finish(void);

/* A slot for one mapping: taken and left by any thread; there is none for it when all are taken. */
void guard_add(void *start, size_t length);
void guard_remove(void *start);

int guard_find(const void *start); /* GUARD_NONE: unguarded */
bool guard_poisoned(int slot);

#endif
