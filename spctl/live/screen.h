/* screen.h: a view that is drawn again and again: in place on a terminal, which gets its contents back at the end, line
 * after line into anything else. */
#ifndef SPCTL_SCREEN_H
#define SPCTL_SCREEN_H

#include <stdint.h>
#include <stdio.h>

/* Takes over stdout where that is a terminal: the alternate screen, and the signals that would end or stop this process
 * meanwhile. */
void screen_begin(void);
void screen_end(void); /* also at exit */

/* Text to be shown at once: written to the stream, then screen_show, which closes it. Lines that don't fit the window
 * are cut, those that there is no room for are counted: "... 12 more". */
FILE *screen_text(void);
void screen_show(void);

enum screen_next {
    SCREEN_READ,   /* the time is up */
    SCREEN_REDRAW, /* the window has another size, or was somebody else's for a while */
    SCREEN_END     /* the user wants no more */
};
enum screen_next screen_wait(int64_t ns);

#endif
