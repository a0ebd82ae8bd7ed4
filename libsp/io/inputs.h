/* inputs.h: between inputs.c and session.c. */
#ifndef SP__INPUTS_H
#define SP__INPUTS_H

#include "source.h"

/* Takes back what was added after there were `count` sources. */
void sp__inputs_cut(sp_inputs *inputs, size_t count);

#endif
