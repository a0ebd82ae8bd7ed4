/* crowd short N: N threads that live for two calls each, a few at a time; memory and segment must stay as they were
 * after the first tenth. crowd many N: N threads at once, more than a segment has lanes, 20 times 2 calls each.
 *
 * Prints "made N in M ms, K without a lane, grown R kB, segment S kB" and then "finalize STATUS PATH". */
#include <dirent.h>
#include <pthread.h>
#include <scope_profiler.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAKERS = 2, MANY_MOST = 2000, ROUNDS = 20, STACK = 64 * 1024 };

static int outer, inner;
static atomic_long made, without;
static pthread_attr_t small;
static pthread_barrier_t barrier;

static long pair(void)
{
    sp_begin(outer);
    sp_status status = sp_profiler_last_error(sp_default_profiler());
    sp_begin(inner);
    sp_end(inner);
    sp_end(outer);
    return status == SP_OK ? 0 : 2;
}

static void *live_shortly(void *unused)
{
    atomic_fetch_add(&without, pair());
    atomic_fetch_add(&made, 2);
    return unused;
}

static void *make_short(void *count)
{
    for (long n = 0; n < *(long *)count; n++) {
        pthread_t id;
        if (pthread_create(&id, &small, live_shortly, NULL))
            exit(2);
        pthread_join(id, NULL);
    }
    return NULL;
}

static void short_ones(long count)
{
    pthread_t ids[MAKERS];
    count /= MAKERS;
    for (int i = 0; i < MAKERS; i++)
        if (pthread_create(&ids[i], NULL, make_short, &count))
            exit(2);
    for (int i = 0; i < MAKERS; i++)
        pthread_join(ids[i], NULL);
}

static void *live_together(void *unused)
{
    pthread_barrier_wait(&barrier); /* all are there before the first call */
    for (int i = 0; i < ROUNDS; i++) {
        atomic_fetch_add(&without, pair());
        atomic_fetch_add(&made, 2);
    }
    pthread_barrier_wait(&barrier); /* and hold their lanes until the last one */
    return unused;
}

static void many_at_once(long count)
{
    static pthread_t ids[MANY_MOST];
    if (count > MANY_MOST || pthread_barrier_init(&barrier, NULL, (unsigned)count))
        exit(2);
    for (long n = 0; n < count; n++)
        if (pthread_create(&ids[n], &small, live_together, NULL))
            exit(2);
    for (long n = 0; n < count; n++)
        pthread_join(ids[n], NULL);
    pthread_barrier_destroy(&barrier);
}

static long resident_kb(void)
{
    long pages = 0, all;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2)
        exit(2);
    (void)fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* What the segments of this session occupy. */
static long segment_kb(void)
{
    long blocks = 0;
    struct stat st;
    const char *session = getenv("SP_SESSION");
    DIR *dir = opendir("/dev/shm");
    for (const struct dirent *e; dir && session && (e = readdir(dir)) != NULL;)
        if (strstr(e->d_name, session) && fstatat(dirfd(dir), e->d_name, &st, 0) == 0)
            blocks += (long)st.st_blocks;
    if (dir)
        closedir(dir);
    return blocks / 2;
}

int main(int argc, char **argv)
{
    if (argc != 3 || sp_init("crowd", 0))
        return 2;
    long count = strtol(argv[2], NULL, 10);
    outer = sp_region("outer");
    inner = sp_region("inner");
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK < PTHREAD_STACK_MIN ? (size_t)PTHREAD_STACK_MIN : (size_t)STACK);
    int64_t since = sp_now_ns();
    long resident = 0, segment = 0;
    if (!strcmp(argv[1], "short")) {
        short_ones(count / 10);
        resident = resident_kb(), segment = segment_kb();
        short_ones(count - count / 10);
        resident = resident_kb() - resident, segment = segment_kb() - segment;
    } else {
        many_at_once(count);
    }
    printf("made %ld in %ld ms, %ld without a lane, grown %ld kB, segment %ld kB\n", atomic_load(&made),
           (long)((sp_now_ns() - since) / 1000000), atomic_load(&without), resident, segment);
    (void)fflush(stdout);
    int status = sp_finalize();
    printf("finalize %d %s\n", status, sp_output_path());
    return status;
}
