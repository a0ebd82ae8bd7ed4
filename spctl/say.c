#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "colour.h"
#include "text.h"

static const char *verb = "";

void say_verb(const char *name)
{
    verb = name;
}

void say(const char *format, ...)
{
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    progress_end();
    fflush(stdout); /* what was printed before stands before it, in a file too */
    char *clean = text_clean(line);
    const char *text = clean ? clean : "out of memory", *rest = text;
    bool warning = strncmp(text, "warning:", 8) == 0;
    rest += warning ? 8 : 0;
    fprintf(stderr, "spctl%s%s: %s%.*s%s%s\n", *verb ? " " : "", verb, warning ? colour_on(stderr, COLOUR_WARNING) : "",
            (int)(rest - text), text, warning ? colour_off(stderr) : "", rest);
    free(clean);
}

void say_warning(void *context, const char *text)
{
    (void)context;
    say("warning: %s", text);
}

void *need(void *memory)
{
    if (!memory) {
        say("out of memory");
        exit(END_FAILED);
    }
    return memory;
}
