/* nested.c: a program that records for itself, and calls MPI inside its own regions, for 4 ranks. Prints nothing.
 *
 * expect: MPI_Init 1       (before it records: the preload's part of the rank)
 * expect: MPI_Barrier 21
 * expect: MPI_Allreduce 10 */
#include <mpi.h>
#include <scope_profiler.h>

int main(int argc, char **argv)
{
    int rank, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD); /* the preload's, too */
    sp_init("nested", rank);
    int step = sp_region("step"), inner = sp_region("inner");
    for (int i = 0; i < 10; i++) {
        sp_begin(step);
        MPI_Barrier(MPI_COMM_WORLD);
        sp_begin(inner);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sp_end(inner);
        MPI_Barrier(MPI_COMM_WORLD);
        sp_end(step);
    }
    sp_begin(step);
    MPI_Pcontrol(0); /* the program's own calls pause, too; the one that is open ends right */
    sp_begin(inner);
    MPI_Barrier(MPI_COMM_WORLD);
    sp_end(inner);
    sp_end(step);
    MPI_Pcontrol(1);
    int failed = sum != 6 || sp_num_calls(step) != 11 || sp_finalize() != 0;
    MPI_Barrier(MPI_COMM_WORLD); /* after the program's end nothing is recorded, and nothing said */
    MPI_Finalize();
    return failed;
}
