/* pause: a thread's calls while recording is turned off and on in its segment, as spd does it, inside and outside of open
 * calls; and resets under threads that record while a consumer drains.
 *
 * Prints "made N ..." with what has to be published of "a", then "finalize STATUS PATH"; the calls of "b" all end after
 * the last reset. */
#include <dirent.h>
#include <pthread.h>
#include <scope_profiler.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "segment.h"

enum { ROUNDS = 20000, THREADS = 3, RESETS = 60 };

static struct sp__segment segment;
static int a, b, unseen, around;
static atomic_bool stop;

static int open_mine(const char *name, void *session)
{
    return strstr(name, session) && sp__segment_open(&segment, name, true, NULL) == 0;
}

static void set_state(uint32_t from, uint32_t to)
{
    if (!atomic_compare_exchange_strong(&segment.header->state, &from, to)) {
        fprintf(stderr, "pause: the state is %u\n", from);
        exit(1);
    }
}

static void pause_recording(void)
{
    set_state(SP__RECORDING, SP__PAUSED);
}

static void resume(void)
{
    set_state(SP__PAUSED, SP__RECORDING);
}

static void call(int region)
{
    sp_begin(region);
    sp_end(region);
}

/* One more call of "a" and of "around" to be published, whatever happens within. */
static void inside_open_calls(void)
{
    sp_begin(around);
    pause_recording();
    call(unseen);
    call(around);     /* its end must not close the outer one */
    sp_begin(unseen); /* begun while paused: its end is its own, though recording goes on by then */
    resume();
    call(a);
    sp_end(unseen);
    sp_end(around);
}

/* Calls that run across: begun before the pause and ended in it are published, the others are not. */
static void across(void)
{
    sp_begin(a);
    pause_recording();
    sp_end(a);
    sp_begin(unseen);
    sp_begin(around);
    resume();
    sp_end(around);
    sp_end(unseen);
}

static void *record(void *unused)
{
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        call(b);
        sp_begin(b);
        call(b);
        sp_end(b);
        usleep(20);
    }
    return unused;
}

static int reset_under_threads(void)
{
    pthread_t ids[THREADS];
    int done = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&ids[i], NULL, record, NULL))
            return 0;
    for (int64_t until = sp_now_ns() + 20000000000; done < RESETS && sp_now_ns() < until; usleep(500))
        done += sp_profiler_reset(sp_default_profiler()) == 0;
    usleep(20000); /* some calls of "b" stay */
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    return done;
}

int main(void)
{
    if (sp_init("pause", 0) || sp__segment_each(geteuid(), open_mine, getenv("SP_SESSION")) != 1)
        return 2;
    a = sp_region("a");
    b = sp_region("b");
    unseen = sp_region("unseen");
    around = sp_region("around");
    for (int i = 0; i < ROUNDS; i++) /* to be forgotten: some of it is drained by then, some is not */
        inside_open_calls(), across();
    int done = reset_under_threads();
    if (done < RESETS) {
        fprintf(stderr, "pause: %d resets of %d\n", done, RESETS);
        return 1;
    }
    for (int i = 0; i < ROUNDS; i++)
        inside_open_calls(), across();
    sp_region_stats stats;
    if (sp_profiler_get_region_stats(sp_default_profiler(), a, &stats) || stats.calls != 2 * ROUNDS)
        fprintf(stderr, "pause: statistics hold %lld calls, not %d\n", (long long)stats.calls, 2 * ROUNDS);
    printf("made %d and %d around, %lld of b, %lld unseen\n", 2 * ROUNDS, ROUNDS, (long long)sp_num_calls(b),
           (long long)sp_num_calls(unseen));
    (void)fflush(stdout);
    int status = sp_finalize();
    printf("finalize %d %s\n", status, sp_output_path());
    return status;
}
