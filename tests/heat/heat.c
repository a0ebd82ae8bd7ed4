/* heat: the heat equation on a two-dimensional plate, on any number of MPI ranks, instrumented with scope-profiler.
 *
 *   heat [--seconds S | --steps N] [--size N] [--tally PREFIX]
 *
 * The plate of N x N cells is split into blocks. A step exchanges the four edges of each block with its neighbours and
 * then computes every cell anew from its own and its four neighbours' old values. Now and then all ranks sum up how
 * much still changes, and rank 0 says so. The plate is hot at one edge and cold at the others. It runs for about S
 * seconds, or for N steps.
 *
 * With --tally each rank counts its finished steps in PREFIX.RANK as well, in a mapped file that outlives a SIGKILL, so
 * that a profile can be compared with what really happened. */
#include <fcntl.h>
#include <math.h>
#include <mpi.h>
#include <scope_profiler.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RESIDUAL_EVERY = 10, WRITE_EVERY = 100, NORTH = 0, SOUTH = 1, WEST = 2, EAST = 3 };

struct plate {
    MPI_Comm comm;
    int rank, ranks;
    int dims[2], at[2], neighbour[4];
    int rows, columns, stride; /* of this block; the arrays have an edge of one cell around it */
    MPI_Datatype column;
    double *old, *new;
};

struct regions {
    int init, step, exchange, post, wait, solve, residual, allreduce, write;
};

static struct regions regions;

static double *cell(const struct plate *plate, double *cells, int row, int column)
{
    return &cells[(size_t)row * (size_t)plate->stride + (size_t)column];
}

static int share(int size, int parts, int part)
{
    return size / parts + (part < size % parts);
}

static void plate_init(struct plate *plate, int size)
{
    MPI_Comm_size(MPI_COMM_WORLD, &plate->ranks);
    MPI_Dims_create(plate->ranks, 2, plate->dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, plate->dims, (int[2]){0, 0}, 0, &plate->comm);
    MPI_Comm_rank(plate->comm, &plate->rank);
    MPI_Cart_coords(plate->comm, plate->rank, 2, plate->at);
    MPI_Cart_shift(plate->comm, 0, 1, &plate->neighbour[NORTH], &plate->neighbour[SOUTH]);
    MPI_Cart_shift(plate->comm, 1, 1, &plate->neighbour[WEST], &plate->neighbour[EAST]);
    plate->rows = share(size, plate->dims[0], plate->at[0]);
    plate->columns = share(size, plate->dims[1], plate->at[1]);
    plate->stride = plate->columns + 2;
    MPI_Type_vector(plate->rows, 1, plate->stride, MPI_DOUBLE, &plate->column);
    MPI_Type_commit(&plate->column);

    size_t cells = (size_t)(plate->rows + 2) * (size_t)plate->stride;
    plate->old = calloc(cells, sizeof *plate->old);
    plate->new = calloc(cells, sizeof *plate->new);
    if (!plate->old || !plate->new) {
        fprintf(stderr, "heat: rank %d: no memory for %zu cells\n", plate->rank, cells);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (plate->neighbour[NORTH] == MPI_PROC_NULL)
        for (int column = 0; column < plate->stride; column++)
            *cell(plate, plate->old, 0, column) = *cell(plate, plate->new, 0, column) = 100.0;
}

static void plate_finish(struct plate *plate)
{
    MPI_Type_free(&plate->column);
    MPI_Comm_free(&plate->comm);
    free(plate->old);
    free(plate->new);
}

static void exchange(struct plate *plate)
{
    int rows = plate->rows, columns = plate->columns;
    double *old = plate->old;
    MPI_Request requests[8];

    sp_begin(regions.exchange);
    sp_begin(regions.post);
    MPI_Irecv(cell(plate, old, 0, 1), columns, MPI_DOUBLE, plate->neighbour[NORTH], 0, plate->comm, &requests[0]);
    MPI_Irecv(cell(plate, old, rows + 1, 1), columns, MPI_DOUBLE, plate->neighbour[SOUTH], 1, plate->comm,
              &requests[1]);
    MPI_Irecv(cell(plate, old, 1, 0), 1, plate->column, plate->neighbour[WEST], 2, plate->comm, &requests[2]);
    MPI_Irecv(cell(plate, old, 1, columns + 1), 1, plate->column, plate->neighbour[EAST], 3, plate->comm, &requests[3]);
    MPI_Isend(cell(plate, old, rows, 1), columns, MPI_DOUBLE, plate->neighbour[SOUTH], 0, plate->comm, &requests[4]);
    MPI_Isend(cell(plate, old, 1, 1), columns, MPI_DOUBLE, plate->neighbour[NORTH], 1, plate->comm, &requests[5]);
    MPI_Isend(cell(plate, old, 1, columns), 1, plate->column, plate->neighbour[EAST], 2, plate->comm, &requests[6]);
    MPI_Isend(cell(plate, old, 1, 1), 1, plate->column, plate->neighbour[WEST], 3, plate->comm, &requests[7]);
    sp_end(regions.post);
    sp_begin(regions.wait);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    sp_end(regions.wait);
    sp_end(regions.exchange);
}

static void solve(struct plate *plate)
{
    int stride = plate->stride;

    sp_begin(regions.solve);
    for (int row = 1; row <= plate->rows; row++) {
        const double *old = cell(plate, plate->old, row, 0);
        double *new = cell(plate, plate->new, row, 0);
        for (int column = 1; column <= plate->columns; column++) {
            double around = old[column - stride] + old[column + stride] + old[column - 1] + old[column + 1];
            new[column] = old[column] + 0.2 * (around - 4.0 * old[column]);
        }
    }
    sp_end(regions.solve);
}

/* How much the last step changed, over all ranks. */
static double residual(struct plate *plate)
{
    double mine = 0, all = 0;

    sp_begin(regions.residual);
    for (int row = 1; row <= plate->rows; row++)
        for (int column = 1; column <= plate->columns; column++) {
            double change = *cell(plate, plate->new, row, column) - *cell(plate, plate->old, row, column);
            mine += change * change;
        }
    sp_begin(regions.allreduce);
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, plate->comm);
    sp_end(regions.allreduce);
    sp_end(regions.residual);
    return sqrt(all);
}

static void progress(const struct plate *plate, long step, double change)
{
    sp_begin(regions.write);
    if (plate->rank == 0) {
        printf("heat: step %6ld, change %.6f\n", step, change);
        fflush(stdout);
    }
    sp_end(regions.write);
}

/* A counter in a file of its own; NULL where none was asked for. */
static volatile uint64_t *tally_open(const char *prefix, int rank)
{
    char path[4096];

    if (!prefix)
        return NULL;
    snprintf(path, sizeof path, "%s.%d", prefix, rank);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *map = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, sizeof(uint64_t)) == 0)
        map = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (map == MAP_FAILED) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return map;
}

static void run(struct plate *plate, double seconds, long steps, volatile uint64_t *tally)
{
    double from = MPI_Wtime(), change = 0;
    int on = 1;

    for (long step = 1; steps ? step <= steps : on; step++) {
        sp_begin(regions.step);
        exchange(plate);
        solve(plate);
        if (step % RESIDUAL_EVERY == 0) {
            change = residual(plate);
            on = MPI_Wtime() - from < seconds;
            MPI_Bcast(&on, 1, MPI_INT, 0, plate->comm);
        }
        if (step % WRITE_EVERY == 0)
            progress(plate, step, change);
        double *swap = plate->old;
        plate->old = plate->new;
        plate->new = swap;
        sp_end(regions.step);
        if (tally)
            ++*tally;
    }
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return otherwise;
}

int main(int argc, char **argv)
{
    struct plate plate = {0};

    MPI_Init(&argc, &argv);
    double seconds = strtod(option(argc, argv, "--seconds", "20"), NULL);
    long size = strtol(option(argc, argv, "--size", "800"), NULL, 10);
    long steps = strtol(option(argc, argv, "--steps", "0"), NULL, 10);
    if (size < 1 || size > 30000 || seconds < 0) {
        fprintf(stderr, "heat: the size is 1 to 30000 cells, the time at least 0 seconds\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    /* The rank is the one that MPI gave this process. */
    if (sp_init("heat", SP_RANK_AUTO))
        fprintf(stderr, "heat: not profiled: %s\n", sp_error_string(sp_profiler_last_error(sp_default_profiler())));
    regions.init = SP_REGION_AT("init");
    regions.step = SP_REGION_AT("step");
    regions.exchange = SP_REGION_AT("halo exchange");
    regions.post = SP_REGION_AT("post");
    regions.wait = SP_REGION_AT("MPI_Waitall");
    regions.solve = SP_REGION_AT("solve");
    regions.residual = SP_REGION_AT("residual");
    regions.allreduce = SP_REGION_AT("MPI_Allreduce");
    regions.write = SP_REGION_AT("write");
    int whole = SP_REGION_AT("main");

    sp_begin(whole);
    sp_begin(regions.init);
    plate_init(&plate, (int)size);
    volatile uint64_t *tally = tally_open(option(argc, argv, "--tally", NULL), plate.rank);
    sp_end(regions.init);
    run(&plate, seconds, steps, tally);
    sp_end(whole);
    if (sp_finalize())
        fprintf(stderr, "heat: rank %d: the profile could not be published\n", plate.rank);
    else if (plate.rank == 0)
        printf("heat: profile at %s\n", sp_output_path() ? sp_output_path() : "-");
    plate_finish(&plate);
    MPI_Finalize();
    return 0;
}
