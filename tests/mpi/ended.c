/* ended.c abort|kill: rank 1 ends the run when every rank has made 10 barriers, and received 3 messages itself. */
#include <mpi.h>
#include <signal.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 1) {
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* never comes */
    }
    for (int i = 0; i < 3; i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(argv[1], "kill") == 0)
        raise(SIGKILL);
    MPI_Abort(MPI_COMM_WORLD, 3);
    return 0;
}
