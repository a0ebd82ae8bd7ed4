/* pairs [-i] [-t THREADS] [-r ROUNDS] N: makes N begin/end pairs in each thread for warming up, and then as many in each
 * round, in a function of its own; -i without sp_init. Prints "made PAIRS with FAULTS page faults": those of each thread's
 * best round, since the first wait for room in a full ring, in whichever round it comes, touches memory too. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <scope_profiler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static long pairs, faults, rounds = 1;
static int outer, inner;
static pthread_mutex_t sum = PTHREAD_MUTEX_INITIALIZER;

/* Both are the same, so that callgrind can be told to count in one of them. */
__attribute__((noinline)) void warming_up(long n);
__attribute__((noinline)) void measured(long n);

void warming_up(long n)
{
    for (long i = 0; i < n; i += 2) {
        sp_begin(outer);
        sp_begin(inner);
        sp_end(inner);
        sp_end(outer);
    }
}

void measured(long n)
{
    for (long i = 0; i < n; i += 2) {
        sp_begin(outer);
        sp_begin(inner);
        sp_end(inner);
        sp_end(outer);
    }
}

static void *thread(void *unused)
{
    struct rusage before, after;
    long least = LONG_MAX;
    warming_up(pairs);
    for (long i = 0; i < rounds; i++) {
        (void)getrusage(RUSAGE_THREAD, &before);
        measured(pairs);
        (void)getrusage(RUSAGE_THREAD, &after);
        long now = after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt;
        least = now < least ? now : least;
    }
    pthread_mutex_lock(&sum);
    faults += least;
    pthread_mutex_unlock(&sum);
    return unused;
}

static long number(const char *text)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < 1) {
        fprintf(stderr, "pairs: '%s' is no number\n", text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    pthread_t ids[16];
    long threads = 1;
    int inactive = 0;
    for (int option; (option = getopt(argc, argv, "ir:t:")) != -1;) {
        if (option == '?')
            return 2;
        if (option == 'i')
            inactive = 1;
        else if (option == 'r')
            rounds = number(optarg);
        else
            threads = number(optarg);
    }
    if (optind + 1 != argc || threads > 16)
        return 2;
    pairs = number(argv[optind]);
    if (!inactive && sp_init("pairs", 0))
        return 1;
    outer = sp_region("outer");
    inner = sp_region("inner");
    for (long i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, thread, NULL))
            return 1;
    for (long i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    printf("made %ld with %ld page faults\n", (1 + rounds) * pairs * threads, faults);
    return sp_finalize() ? 1 : 0;
}
