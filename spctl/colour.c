#include "colour.h"

#include <stdbool.h>
#include <unistd.h>

#include "env.h"

static bool coloured(FILE *out)
{
    static int unwanted = -1;
    if (unwanted < 0)
        unwanted = sp__no_color();
    return !unwanted && isatty(fileno(out));
}

const char *colour_on(FILE *out, enum colour colour)
{
    static const char *const codes[] = {[COLOUR_TITLE] = "\033[1m",
                                        [COLOUR_WARNING] = "\033[33m",
                                        [COLOUR_MUCH] = "\033[33m",
                                        [COLOUR_MOST] = "\033[31m"};
    return coloured(out) ? codes[colour] : "";
}

const char *colour_off(FILE *out)
{
    return coloured(out) ? "\033[0m" : "";
}
