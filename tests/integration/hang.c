/* hang PREFIX RANKS ODD: so many processes, one for each rank, that hang in main > step > MPI_Allreduce, rank ODD in
 * main > step > solve. Each has made as many calls of "warm up" as its rank plus one. Prints "hung" when all hang; each
 * ends when standard input does, which all share. A second thread of each rank is outside any region, but for those of
 * the odd rank and its successor, which are in "io". With a further word, "regions", each rank has made one call of 1000
 * regions beside. */
#include <pthread.h>
#include <scope_profiler.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int ready[2], go[2];
static bool in_io;

static void wait_for_end(void)
{
    char byte;
    while (read(go[0], &byte, 1) < 0)
        ;
}

static void *second(void *unused)
{
    pthread_setname_np(pthread_self(), "writer");
    sp_begin(sp_region("io"));
    if (!in_io)
        sp_end(sp_region("io"));
    if (write(ready[1], "1", 1) != 1)
        exit(2);
    wait_for_end();
    if (in_io)
        sp_end(sp_region("io"));
    return unused;
}

static void many_regions(void)
{
    char name[64];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "region %d of quite a few", i);
        int region = sp_region(name);
        sp_begin(region);
        sp_end(region);
    }
}

static int hang(const char *prefix, int rank, int odd, bool many)
{
    pthread_t thread;
    if (sp_init(prefix, rank))
        return 1;
    int outer = sp_region("main"), step = sp_region("step"), warm = sp_region("warm up");
    int inner = sp_region(rank == odd ? "solve" : "MPI_Allreduce");
    if (many)
        many_regions();
    sp_begin(outer);
    for (int i = 0; i <= rank; i++) {
        sp_begin(warm);
        sp_end(warm);
    }
    in_io = rank == odd || rank == odd + 1;
    if (pthread_create(&thread, NULL, second, NULL))
        return 1;
    sp_begin(step);
    sp_begin(inner);
    if (write(ready[1], "1", 1) != 1)
        return 1;
    wait_for_end();
    pthread_join(thread, NULL);
    sp_end(inner);
    sp_end(step);
    sp_end(outer);
    return sp_finalize();
}

int main(int argc, char **argv)
{
    int ranks = argc > 3 ? atoi(argv[2]) : 0, failed = 0, status;
    char byte;
    if (ranks < 1 || pipe(ready) || pipe(go))
        return 2;
    for (int rank = 0; rank < ranks; rank++) {
        pid_t pid = fork();
        if (pid < 0)
            return 2;
        if (pid == 0) {
            close(go[1]);
            exit(hang(argv[1], rank, atoi(argv[3]), argc > 4));
        }
    }
    for (int i = 0; i < 2 * ranks; i++)
        if (read(ready[0], &byte, 1) != 1)
            return 2;
    puts("hung");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    close(go[1]);
    for (int i = 0; i < ranks; i++)
        failed += wait(&status) < 0 || status != 0;
    return failed > 0;
}
