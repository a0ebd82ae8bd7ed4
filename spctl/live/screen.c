#include "screen.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "say.h"
#include "text.h"

static bool terminal; /* it is ours now */
static sigset_t held, before;
static FILE *stream;
static char *text;
static size_t length;

static void take_over(void)
{
    fputs("\033[?1049h\033[?25l", stdout); /* the alternate screen, no cursor */
    fflush(stdout);
}

static void give_back(void)
{
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
}

void screen_end(void)
{
    if (terminal)
        give_back();
    if (terminal)
        sigprocmask(SIG_SETMASK, &before, NULL);
    terminal = false;
}

void screen_begin(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
    if (!isatty(STDOUT_FILENO))
        return;
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; ++i)
        sigaddset(&held, signals[i]);
    sigprocmask(SIG_BLOCK, &held, &before); /* taken by screen_wait alone */
    terminal = true;
    atexit(screen_end);
    take_over();
}

FILE *screen_text(void)
{
    stream = need(open_memstream(&text, &length));
    return stream;
}

static size_t lines_of(const char *from)
{
    size_t count = 0;
    while ((from = strchr(from, '\n'))) {
        ++from;
        ++count;
    }
    return count;
}

static void draw(void)
{
    struct winsize window = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) < 0 || window.ws_row == 0 || window.ws_col == 0)
        window = (struct winsize){.ws_row = 24, .ws_col = 80};
    size_t lines = lines_of(text), shown = lines < window.ws_row ? lines : (size_t)window.ws_row - 1;
    fputs("\033[H", stdout);
    char *line = text;
    for (size_t i = 0; i < shown; ++i) {
        char *end = strchr(line, '\n');
        *end = 0;
        /* A wide character that stands across the limit is taken along by text_skip. */
        const char *cut = text_width(line) <= window.ws_col ? end : text_skip(line, (size_t)window.ws_col - 1);
        printf("%.*s\033[K\r\n", (int)(cut - line), line);
        line = end + 1;
    }
    if (shown < lines)
        printf("... %zu more\033[K", lines - shown);
    fputs("\033[J", stdout);
}

/* Nobody reads any more, or there is no room: ends as a write to a closed pipe would. */
static void end_unless_written(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    screen_end();
    say("cannot write to standard output: %s", strerror(errno));
    exit(END_FAILED);
}

void screen_show(void)
{
    if (fclose(stream) != 0)
        need(NULL);
    if (terminal)
        draw();
    else
        fputs(text, stdout);
    free(text);
    text = NULL;
    end_unless_written();
}

static void sleep_until(int64_t end)
{
    const struct timespec until = {.tv_sec = end / 1000000000, .tv_nsec = end % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

enum screen_next screen_wait(int64_t ns)
{
    int64_t end = (int64_t)sp__clock_mono() + ns;
    end_unless_written(); /* also what was printed without screen_show */
    if (!terminal) {
        sleep_until(end);
        return SCREEN_READ;
    }
    for (;;) {
        int64_t left = end - (int64_t)sp__clock_mono();
        const struct timespec limit = {.tv_sec = left > 0 ? left / 1000000000 : 0,
                                       .tv_nsec = left > 0 ? left % 1000000000 : 0};
        int number = sigtimedwait(&held, NULL, &limit);
        if (number == SIGTSTP) {
            give_back();
            raise(SIGSTOP);
            take_over();
        }
        if (number == SIGTSTP || number == SIGWINCH)
            return SCREEN_REDRAW;
        if (number > 0)
            return SCREEN_END;
        if (errno == EAGAIN)
            return SCREEN_READ;
    }
}
