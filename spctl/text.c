#include "text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static const char replacement[] = "\xef\xbf\xbd";

int32_t text_next(const char **s)
{
    const unsigned char *at = (const unsigned char *)*s;
    unsigned more = at[0] < 0x80 ? 0 : at[0] >= 0xf0 ? 3 : at[0] >= 0xe0 ? 2 : 1;
    static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
    int32_t point = more == 0 ? at[0] : at[0] & (0x3f >> more);

    *s += 1;
    if (at[0] >= 0xf8 || (at[0] >= 0x80 && at[0] < 0xc0))
        return -1;
    for (unsigned i = 1; i <= more; ++i) {
        if ((at[i] & 0xc0) != 0x80) /* also stops at the terminating NUL */
            return -1;
        point = point << 6 | (at[i] & 0x3f);
    }
    if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
        return -1;
    *s += more;
    return point;
}

static size_t width_of(int32_t point)
{
    int columns = point < 0 ? 1 : wcwidth((wchar_t)point);
    return columns < 0 ? 1 : (size_t)columns;
}

size_t text_width(const char *s)
{
    size_t width = 0;
    while (*s)
        width += width_of(text_next(&s));
    return width;
}

const char *text_skip(const char *s, size_t columns)
{
    for (size_t width = 0; *s;) {
        const char *next = s;
        size_t more = width_of(text_next(&next));
        if (width >= columns && more > 0)
            break;
        width += more;
        s = next;
    }
    return s;
}

static size_t escape(int32_t point, char *ret, size_t size)
{
    int length = point == '\n'   ? snprintf(ret, size, "\\n")
                 : point == '\t' ? snprintf(ret, size, "\\t")
                 : point < 0x80  ? snprintf(ret, size, "\\x%02x", (unsigned)point)
                                 : snprintf(ret, size, "\\u%04x", (unsigned)point);
    return (size_t)length;
}

/* Control characters, and what is invisible or turns the rest of a line round: the same as in a page. */
static bool hidden(int32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c || (point >= 0x200b && point <= 0x200f) ||
           (point >= 0x2028 && point <= 0x202e) || (point >= 0x2060 && point <= 0x2069) || point == 0xfeff;
}

static char *copy(const char *s, bool escape_controls)
{
    char *ret = malloc(6 * strlen(s) + 8); /* a byte takes at most four, two bytes six; snprintf writes a NUL */
    if (!ret)
        return NULL;
    char *out = ret;
    while (*s) {
        const char *from = s;
        int32_t point = text_next(&s);
        if (point < 0) {
            memcpy(out, replacement, 3);
            out += 3;
        } else if (escape_controls && hidden(point)) {
            out += escape(point, out, 8);
        } else {
            memcpy(out, from, (size_t)(s - from));
            out += s - from;
        }
    }
    *out = 0;
    return ret;
}

char *text_clean(const char *s)
{
    return copy(s, true);
}

char *text_utf8(const char *s)
{
    return copy(s, false);
}
