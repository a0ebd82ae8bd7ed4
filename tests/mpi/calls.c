/* calls.c: an MPI program that knows of no profiler, for 4 ranks. Each "expect" is a function and how often ranks 0, 1,
 * 2 and 3 call it while recording is on; one number stands for all of them. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size, left, right;

static void fail(const char *what)
{
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* expect: MPI_Irecv 100
 * expect: MPI_Isend 100
 * expect: MPI_Waitall 106 */
static void exchange(void)
{
    for (int i = 0; i < 100; i++) {
        int out = rank * 1000 + i, in = -1;
        MPI_Request requests[2];
        MPI_Irecv(&in, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (in != left * 1000 + i)
            fail("a message is wrong");
    }
}

/* expect: MPI_Send 0 2 3 4
 * expect: MPI_Probe 9 0 0 0
 * expect: MPI_Recv 9 0 0 0
 * expect: MPI_Iprobe 1
 * expect: MPI_Test 7 */
static void collect(void)
{
    int flag = 1, value = rank;
    for (int i = 0; rank != 0 && i < rank + 1; i++)
        MPI_Send(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < 9; i++) {
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &status);
        MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 6, MPI_COMM_WORLD, &status);
        if (value != status.MPI_SOURCE)
            fail("a sender is wrong");
    }
    MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (flag)
        fail("a message that nobody sent");
    for (int i = 0; i < 7; i++) {
        MPI_Request none = MPI_REQUEST_NULL;
        MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
    }
}

/* expect: MPI_Send_init 1
 * expect: MPI_Recv_init 1
 * expect: MPI_Startall 6
 * expect: MPI_Request_free 2 */
static void persist(void)
{
    int out = rank, in = -1;
    MPI_Request requests[2];
    MPI_Recv_init(&in, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&out, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 6; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    if (in != left)
        fail("a persistent message is wrong");
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* expect: MPI_Bcast 2
 * expect: MPI_Allreduce 4
 * expect: MPI_Reduce 1
 * expect: MPI_Gather 1
 * expect: MPI_Alltoallv 1
 * expect: MPI_Iallreduce 3
 * expect: MPI_Ibarrier 1
 * expect: MPI_Wait 4 */
static void collectives(void)
{
    int one = 1, sum = 0, all[4] = {0}, ones[4] = {1, 1, 1, 1}, places[4] = {0, 1, 2, 3}, got[4] = {-1, -1, -1, -1};
    MPI_Request request;
    MPI_Op op;
    MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&one, 1, MPI_INT, 3, MPI_COMM_WORLD);
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
    for (int i = 0; i < 3; i++)
        MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Alltoallv(places, ones, places, MPI_INT, got, ones, places, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (sum != 4 || one != 1 || got[3] != rank || (rank == 0 && all[2] != 2))
        fail("a collective is wrong");
}

/* expect: MPI_Comm_dup 1
 * expect: MPI_Comm_split 1
 * expect: MPI_Cart_create 1
 * expect: MPI_Neighbor_allgather 1
 * expect: MPI_Comm_free 3 */
static void communicators(void)
{
    MPI_Comm copy, half, ring;
    int length[1] = {4}, periodic[1] = {1}, neighbours[2] = {-1, -1};
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(copy, rank % 2, rank, &half);
    MPI_Cart_create(copy, 1, length, periodic, 0, &ring);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, neighbours, 1, MPI_INT, ring);
    if (neighbours[0] != left || neighbours[1] != right)
        fail("a neighbour is wrong");
    MPI_Comm_free(&ring);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
}

/* expect: MPI_Win_allocate 1
 * expect: MPI_Win_fence 2
 * expect: MPI_Put 1
 * expect: MPI_Win_lock 6
 * expect: MPI_Accumulate 5
 * expect: MPI_Get_accumulate 5
 * expect: MPI_Win_unlock 6
 * expect: MPI_Win_free 1 */
static void one_sided(void)
{
    int *memory, one = 1, before;
    MPI_Win window;
    MPI_Win_allocate(5 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int i = 0; i < 5; i++)
        memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, 0, rank, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < 5; i++) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Accumulate(&one, 1, MPI_INT, 0, 4, 1, MPI_INT, MPI_SUM, window);
        MPI_Get_accumulate(&one, 1, MPI_INT, &before, 1, MPI_INT, 0, 4, 1, MPI_INT, MPI_SUM, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    if (rank == 0 && (memory[3] != 3 || memory[4] != 40))
        fail("a put or a sum is wrong");
    MPI_Win_unlock(rank, window);
    MPI_Win_free(&window);
}

/* expect: MPI_File_open 1
 * expect: MPI_File_write_at_all 1
 * expect: MPI_File_sync 1
 * expect: MPI_File_read_at 3
 * expect: MPI_File_close 1 */
static void files(const char *path)
{
    MPI_File file;
    int value = -1;
    if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        fail("a file cannot be opened");
    MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_File_read_at(file, right * (MPI_Offset)sizeof value, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    if (value != right)
        fail("a file is wrong");
    MPI_File_close(&file);
}

/* expect: MPI_Sendrecv 100 */
static void *alone(void *tag)
{
    for (int i = 0; i < 50; i++) {
        int out = i, in = -1;
        MPI_Sendrecv(&out, 1, MPI_INT, 0, *(int *)tag, &in, 1, MPI_INT, 0, *(int *)tag, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
        if (in != i)
            fail("a thread's message is wrong");
    }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[2];
    int tags[2] = {1, 2};
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, alone, &tags[i]) != 0)
            fail("no thread");
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
}

/* Two barriers of one_sided, one of files, and two of the seven here.
 * expect: MPI_Barrier 5 */
static void pause_and_resume(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(0);
    for (int i = 0; i < 5; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Ssend(&rank, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    }
    MPI_Pcontrol(1);
    MPI_Pcontrol(7, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* expect: MPI_Init_thread 1
 * expect: MPI_Finalize 1 */
int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 4 || argc != 2 || provided != MPI_THREAD_MULTIPLE)
        fail("this takes 4 ranks, a file's name, and MPI_THREAD_MULTIPLE");
    left = (rank + 3) % 4;
    right = (rank + 1) % 4;
    exchange();
    collect();
    persist();
    collectives();
    communicators();
    one_sided();
    files(argv[1]);
    threads();
    pause_and_resume();
    return MPI_Finalize() != MPI_SUCCESS;
}
