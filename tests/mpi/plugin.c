/* plugin.c: MPI in a library that is loaded into a local scope, as Python loads mpi4py; with -DHOST the program that
 * loads it, which knows nothing of MPI. */
#ifdef HOST
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    (void)argc;
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*work)(void);
    if (!plugin || !(*(void **)&work = dlsym(plugin, "work")))
        return fprintf(stderr, "%s\n", dlerror()), 2;
    return work();
}
#else
#include <mpi.h>
#include <stddef.h>

int work(void)
{
    int sum = 0, one = 1;
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 5; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return MPI_Finalize() != MPI_SUCCESS || sum != 1;
}
#endif
