/* error.c: one way to say what went wrong. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "source.h"

int sp__fail(sp_error *error, int status, int system, const char *file, const char *place, const char *text, ...)
{
    if (!error)
        return status;
    /* The caller's strings may lie in the error that is being refilled with more words. */
    sp_error fresh = {.status = status, .system = system};
    snprintf(fresh.file, sizeof fresh.file, "%s", file ? file : "");
    snprintf(fresh.place, sizeof fresh.place, "%s", place ? place : "");
    int used = snprintf(fresh.text, sizeof fresh.text, "%.600s%s%s%s", fresh.file, fresh.place[0] ? ", " : "",
                        fresh.place, fresh.file[0] || fresh.place[0] ? ": " : "");
    if (used < 0)
        used = 0;
    va_list arguments;
    va_start(arguments, text);
    int more = vsnprintf(fresh.text + used, sizeof fresh.text - (size_t)used, text, arguments);
    va_end(arguments);
    if (system && more >= 0 && (size_t)(used + more) < sizeof fresh.text) {
        char words[128];
        snprintf(fresh.text + used + more, sizeof fresh.text - (size_t)(used + more), ": %s",
                 strerror_r(system, words, sizeof words));
    }
    *error = fresh;
    return status;
}
