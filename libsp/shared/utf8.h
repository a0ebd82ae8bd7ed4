/* utf8.h: telling and mending UTF-8. */
#ifndef SP__UTF8_H
#define SP__UTF8_H

#include <stdbool.h>
#include <stddef.h>

#define SP__UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* How many of the first bytes are one well-formed character (*ret_good true), or belong to one that is not: the longest
 * start of a character that stands there, at least 1. `length` is at least 1. */
size_t sp__utf8_step(const char *text, size_t length, bool *ret_good);

/* Copies with bad bytes and NULs as U+FFFD, NUL-terminated; `ret` has room for 3 * length + 1 bytes. The new length. */
size_t sp__utf8_mend(const char *text, size_t length, char *ret);

#endif
