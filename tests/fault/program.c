/* program COUNTS LIFE ITERATIONS SCRIPT: makes calls that it counts in the file COUNTS (see counts.h), and does what the
 * letters of SCRIPT say, in their order. LIFE is the letter that the names of its regions begin with.
 *
 *   c  calls of the main thread     T  two threads at once, and the main one     t  one more thread, that ends
 *   F  flush      R  reset          f  a child is forked, calls, and exits       d  an explicit profiler, destroyed
 *   w  waits until it is told to go on              k  SIGKILL                  x  ends without sp_finalize */
#include <fcntl.h>
#include <pthread.h>
#include <scope_profiler.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "counts.h"

static struct counts *counts;
static char life;
static uint64_t iterations;

static void note_refused(int status)
{
    int32_t none = 0;
    if (status)
        atomic_compare_exchange_strong(&counts->refused, &none, status);
}

static void end(sp_profiler *p, struct slot *slot, int region)
{
    atomic_fetch_add(&slot->entered, 1);
    sp_profiler_end(p, region);
    atomic_fetch_add(&slot->done, 1);
}

/* Goes on where the slot's calls stopped. */
static void calls(sp_profiler *p, unsigned number)
{
    struct slot *slot = &counts->slots[number];
    int regions[SLOT_REGIONS];
    for (unsigned n = 0; n < SLOT_REGIONS; n++) {
        char name[16];
        snprintf(name, sizeof name, "%c%u.%02u", life, number, n);
        regions[n] = sp_profiler_region(p, name);
    }
    for (uint64_t i = 0; i < iterations; i++) {
        uint64_t call = atomic_load(&slot->entered);
        int inner = regions[region_of_call(call)], outer = regions[region_of_call(call + 1)];
        sp_profiler_begin(p, outer);
        sp_profiler_begin(p, inner);
        end(p, slot, inner);
        end(p, slot, outer);
    }
}

static void *thread(void *slot)
{
    calls(sp_default_profiler(), (unsigned)(uintptr_t)slot);
    return NULL;
}

static void threads(unsigned first, unsigned count)
{
    pthread_t ids[2];
    for (unsigned n = 0; n < count; n++)
        if (pthread_create(&ids[n], NULL, thread, (void *)(uintptr_t)(first + n)))
            exit(2);
    if (count > 1)
        calls(sp_default_profiler(), 0);
    for (unsigned n = 0; n < count; n++)
        pthread_join(ids[n], NULL);
}

static void child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        calls(sp_default_profiler(), SLOT_CHILD);
        note_refused(sp_is_active() ? 0 : SP_ERR_INACTIVE);
        exit(0);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        exit(2);
    atomic_store(&counts->child_died, WIFSIGNALED(status));
}

static void wait_for_word(void)
{
    atomic_store(&counts->waiting, 1);
    while (!atomic_load(&counts->go_on))
        usleep(1000);
}

static void explicit_profiler(void)
{
    sp_profiler *p = sp_create("gone", 0);
    if (!p)
        note_refused(SP_ERR_NO_MEMORY);
    iterations /= 10; /* its ring does not fill, so that it does not drain itself before an spd is there */
    calls(p, SLOT_EXPLICIT);
    iterations *= 10;
    usleep(100000); /* long enough for a consumer that is there to be at it */
    atomic_store(&counts->destroyed, ASKED);
    sp_destroy(p);
    atomic_store(&counts->destroyed, DONE);
}

static void reset(void)
{
    atomic_store(&counts->reset_at, atomic_load(&counts->slots[0].done));
    atomic_store(&counts->reset, ASKED);
    note_refused(sp_profiler_reset(sp_default_profiler()));
    atomic_store(&counts->reset, DONE);
}

/* false: nothing comes after it. */
static bool step(char letter)
{
    switch (letter) {
    case 'c':
        calls(sp_default_profiler(), 0);
        return true;
    case 'T':
        threads(1, 2);
        return true;
    case 't':
        threads(3, 1);
        return true;
    case 'F':
        note_refused(sp_profiler_flush(sp_default_profiler()));
        return true;
    case 'R':
        reset();
        return true;
    case 'f':
        child();
        return true;
    case 'd':
        explicit_profiler();
        return true;
    case 'w':
        wait_for_word();
        return true;
    case 'k':
        raise(SIGKILL);
        return false;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    int fd = argc == 5 ? open(argv[1], O_RDWR) : -1;
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        fputs("usage: program COUNTS LIFE ITERATIONS SCRIPT\n", stderr);
        return 2;
    }
    close(fd);
    counts = map;
    life = argv[2][0];
    iterations = strtoull(argv[3], NULL, 10);
    atomic_store(&counts->init, sp_init("work", 0));
    atomic_store(&counts->begun, 1);
    for (const char *at = argv[4]; *at; at++)
        if (!step(*at))
            return 0;
    atomic_store(&counts->finalize, sp_finalize());
    atomic_store(&counts->ended, 1);
    return 0;
}
