#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const names[LOG_LEVELS] = {"error", "warning", "info", "debug"};
static atomic_int threshold = LOG_INFO; /* worker threads read it too; nothing is ordered by it */

int log_level_parse(const char *text, enum log_level *ret)
{
    for (int n = 0; n < LOG_LEVELS; ++n) {
        if (!strcmp(text, names[n])) {
            *ret = (enum log_level)n;
            return 0;
        }
    }
    return -EINVAL;
}

const char *log_level_name(enum log_level level)
{
    return names[level];
}

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&threshold, (int)level, memory_order_relaxed);
}

void log_say(enum log_level level, const char *format, ...)
{
    if ((int)level > atomic_load_explicit(&threshold, memory_order_relaxed))
        return;
    char line[2048];
    int length = snprintf(line, sizeof line, "spd: %s: ", names[level]);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
    va_end(arguments);
    if (more < 0)
        return;
    size_t end = (size_t)length + (size_t)more;
    if (end > sizeof line - 2)
        end = sizeof line - 2;
    for (size_t n = 0; n < end; ++n) /* names come from other programs: one message stays one line */
        if ((unsigned char)line[n] < ' ' || line[n] == 127)
            line[n] = '?';
    line[end++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, end);
    (void)written; /* there is nowhere else to say that stderr is gone */
}

bool log_begins(bool *state)
{
    bool before = *state;
    *state = true;
    return !before;
}

bool log_ends(bool *state)
{
    bool before = *state;
    *state = false;
    return before;
}
