/* Every rank sends to the next one ten times. */
#include <mpi.h>

static void step(int rank, int ranks)
{
    int other;
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % ranks, 0, &other, 1, MPI_INT, (rank + ranks - 1) % ranks, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 10; i++)
        step(rank, ranks);
    return MPI_Finalize();
}
