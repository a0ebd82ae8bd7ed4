#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static bool line_shown;

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void progress_begin(struct progress *ret, const char *what)
{
    *ret = (struct progress){.what = what, .began = seconds_now(), .terminal = isatty(STDERR_FILENO)};
}

void progress_show(void *progress, double done)
{
    struct progress *p = progress;
    double now = p->terminal ? seconds_now() : 0;
    if (!p->terminal || now - p->began < 1 || now - p->shown < 0.2)
        return;
    p->shown = now;
    line_shown = true;
    if (done < 0)
        fprintf(stderr, "\r\033[K%s %.0f s", p->what, now - p->began);
    else
        fprintf(stderr, "\r\033[K%s %.0f %%", p->what, 100 * (done > 1 ? 1 : done));
    fflush(stderr);
}

void progress_end(void)
{
    if (line_shown)
        fputs("\r\033[K", stderr);
    line_shown = false;
}
