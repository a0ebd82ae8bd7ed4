/* colour.h: colours, on terminals alone, and not where NO_COLOR is set. */
#ifndef SPCTL_COLOUR_H
#define SPCTL_COLOUR_H

#include <stdio.h>

enum colour { COLOUR_TITLE, COLOUR_WARNING, COLOUR_MUCH, COLOUR_MOST };

/* What begins and ends it; "" where `out` has no colours. */
const char *colour_on(FILE *out, enum colour colour);
const char *colour_off(FILE *out);

#endif
