/* text.h: UTF-8 for terminals. */
#ifndef SPCTL_TEXT_H
#define SPCTL_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* The code point at *s, which is not at its end, moved past; -1 for a byte that starts none, moved by that byte. */
int32_t text_next(const char **s);

/* Columns on a terminal. Needs a UTF-8 LC_CTYPE for wide and combining characters. */
size_t text_width(const char *s);

/* What begins at this column or, where a character stands across it, after that one, with what combines with it. */
const char *text_skip(const char *s, size_t columns);

/* A copy without anything that moves a cursor, turns what follows round or cannot be seen: such characters as \n, \t,
 * \x1b, \u0085 or \u202e, bad bytes as U+FFFD. NULL when out of memory. */
char *text_clean(const char *s);

/* A copy in which only bad bytes changed: U+FFFD. NULL when out of memory. */
char *text_utf8(const char *s);

#endif
