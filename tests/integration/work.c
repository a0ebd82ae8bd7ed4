/* work [OPTION]... PREFIX: makes a known number of calls for the integration tests, N x outer { left, right { deep } }.
 *
 *   -r RANK   rank, 0           -n N      iterations, 100          -p US     pause after each iteration
 *   -t N      so many threads   -d DEPTH  once, so many open calls -f        a child is forked half way, and calls too
 *   -w        waits for a byte of standard input before its calls
 *   -s        flush half way    -e END    how it ends: finalize (default), kill, open (a call is left open, then
 * SIGKILL), wait (until standard input ends, then finalize), leave (without finalize)
 *
 * Prints "made N in M ms", a line when all calls are made, and then "finalize STATUS PATH". */
#include <errno.h>
#include <pthread.h>
#include <scope_profiler.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct options {
    int rank;
    long iterations, pause_us, threads, depth;
    bool fork, flush, wait;
    const char *end, *prefix;
};

static struct options options = {.iterations = 100, .threads = 1, .end = "finalize", .prefix = "work"};
static int outer, left, right, deep;

static long number(const char *text)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || end == text || *end) {
        fprintf(stderr, "work: '%s' is not a number\n", text);
        exit(2);
    }
    return value;
}

static void iterate(long iterations)
{
    for (long i = 0; i < iterations; i++) {
        sp_begin(outer);
        sp_begin(left);
        sp_end(left);
        sp_begin(right);
        sp_begin(deep);
        sp_end(deep);
        sp_end(right);
        sp_end(outer);
        if (options.pause_us)
            usleep((useconds_t)options.pause_us);
    }
}

static void *thread(void *unused)
{
    iterate(options.iterations);
    return unused;
}

static void threads(void)
{
    pthread_t *ids = calloc((size_t)options.threads, sizeof *ids);
    if (!ids)
        exit(2);
    for (long i = 0; i < options.threads; i++)
        if (pthread_create(&ids[i], NULL, thread, NULL))
            exit(2);
    for (long i = 0; i < options.threads; i++)
        pthread_join(ids[i], NULL);
    free(ids);
}

static void recurse(int region, long depth)
{
    for (long i = 0; i < depth; i++)
        sp_begin(region);
    for (long i = 0; i < depth; i++)
        sp_end(region);
}

static void child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        iterate(5000);
        exit(sp_is_active() ? 1 : 0);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
        fprintf(stderr, "work: the child ended badly, or records\n");
        exit(2);
    }
}

static void calls(void)
{
    long half = options.fork || options.flush ? options.iterations / 2 : 0;
    if (half)
        iterate(half);
    if (options.fork)
        child();
    if (options.flush && sp_profiler_flush(sp_default_profiler()))
        fprintf(stderr, "work: flush: %s\n", sp_error_string(sp_profiler_last_error(sp_default_profiler())));
    if (options.threads > 1)
        threads();
    else
        iterate(options.iterations - half);
    if (options.depth)
        recurse(sp_region("recursion"), options.depth);
}

static int finish(void)
{
    if (!strcmp(options.end, "open")) {
        sp_begin(outer);
        sp_begin(sp_region("never ends"));
    }
    if (!strcmp(options.end, "open") || !strcmp(options.end, "kill"))
        raise(SIGKILL);
    if (!strcmp(options.end, "leave"))
        return 0;
    if (!strcmp(options.end, "wait"))
        while (getchar() != EOF)
            ;
    int status = sp_finalize();
    printf("finalize %d %s\n", status, sp_output_path() ? sp_output_path() : "-");
    return status;
}

int main(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "r:n:p:t:d:e:fsw")) != -1;) {
        switch (option) {
        case 'r':
            options.rank = (int)number(optarg);
            break;
        case 'n':
            options.iterations = number(optarg);
            break;
        case 'p':
            options.pause_us = number(optarg);
            break;
        case 't':
            options.threads = number(optarg);
            break;
        case 'd':
            options.depth = number(optarg);
            break;
        case 'e':
            options.end = optarg;
            break;
        case 'f':
            options.fork = true;
            break;
        case 's':
            options.flush = true;
            break;
        case 'w':
            options.wait = true;
            break;
        default:
            return 2;
        }
    }
    if (optind < argc)
        options.prefix = argv[optind];
    int status = sp_init(options.prefix, options.rank);
    if (status) {
        printf("init %d %s\n", status, sp_error_string((sp_status)status));
        fflush(stdout);
    }
    outer = SP_REGION_AT("outer");
    left = sp_region("left");
    right = sp_region("right");
    deep = sp_region("deep");

    if (options.wait)
        (void)getchar();
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    calls();
    clock_gettime(CLOCK_MONOTONIC, &to);
    long ms = (long)(to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
    printf("made %ld in %ld ms\n", options.iterations * options.threads, ms);
    fflush(stdout);
    return finish() ? 1 : 0;
}
