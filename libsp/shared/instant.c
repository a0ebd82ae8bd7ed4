/* instant.c: see instant.h. Only in builds with the option `instants`. */
#include "instant.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "env.h"

#define SP__INSTANT_LABEL(identifier, label, place) label,
static const char *const labels[] = {SP__INSTANTS_EACH(SP__INSTANT_LABEL)};

struct sp__instants {
    _Atomic uint32_t passed[SP__INSTANT_COUNT];
    uint32_t last[SP__INSTANT_COUNT]; /* the passing to die at, 0 none */
    const char *seen;
    bool read;
};

/* Seen from outside, so that a program and a library that both hold this file count together. */
extern struct sp__instants sp__instants;
__attribute__((visibility("default"))) struct sp__instants sp__instants;

static _Noreturn void refuse(const char *text)
{
    static const char words[] = "SP_KILL_AT is not LABEL:HIT[,LABEL:HIT]...: ";
    ssize_t n = write(STDERR_FILENO, words, sizeof words - 1);
    n += write(STDERR_FILENO, text, strlen(text));
    n += write(STDERR_FILENO, "\n", 1);
    _exit(n > 0 ? 125 : 126);
}

static void read_kills(const char *text)
{
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, ":"), n = 0;
        while (n < SP__INSTANT_COUNT && (strlen(labels[n]) != length || memcmp(labels[n], at, length) != 0))
            n++;
        char *end = NULL;
        unsigned long hit = at[length] ? strtoul(at + length + 1, &end, 10) : 0;
        if (n == SP__INSTANT_COUNT || hit == 0 || hit > UINT32_MAX || (*end && *end != ','))
            refuse(text);
        sp__instants.last[n] = (uint32_t)hit;
        at = *end ? end + 1 : end;
    }
}

__attribute__((constructor)) static void read_environment(void)
{
    if (sp__instants.read)
        return;
    sp__instants.read = true;
    const char *kills = sp__env_kill_at();
    if (kills)
        read_kills(kills);
    sp__instants.seen = sp__env_kill_seen();
}

static void note_seen(enum sp__instant instant, uint32_t times)
{
    char line[64], digits[16];
    int saved = errno, fd = open(sp__instants.seen, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    size_t length = strlen(labels[instant]), n = 0;
    memcpy(line, labels[instant], length);
    line[length++] = ' ';
    for (; times; times /= 10)
        digits[n++] = (char)('0' + times % 10);
    while (n)
        line[length++] = digits[--n];
    line[length++] = '\n';
    if (fd >= 0) {
        ssize_t put = write(fd, line, length);
        (void)put; /* whoever misses it in the file says that it was never reached */
        close(fd);
    }
    errno = saved;
}

bool sp__instant_pass(enum sp__instant instant)
{
    uint32_t times = atomic_fetch_add_explicit(&sp__instants.passed[instant], 1, memory_order_relaxed) + 1;
    if (sp__instants.seen && (times & (times - 1)) == 0)
        note_seen(instant, times);
    return times == sp__instants.last[instant];
}

_Noreturn void sp__instant_die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}
