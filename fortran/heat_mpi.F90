! The heat equation on a ring of MPI ranks, as an example of the module in an MPI program: each rank owns a piece of the
! rod and exchanges its ends with its neighbours in every step. With -DUSE_MPI_MODULE by the older mpi module.
!
!   mpifort heat_mpi.F90 $(pkg-config --cflags --libs libsp_fortran) && mpirun -n 4 ./a.out [STEPS]
program heat_mpi
#ifdef USE_MPI_MODULE
  use mpi
#else
  use mpi_f08
#endif
  use, intrinsic :: iso_fortran_env, only: real64
  use scope_profiler
  implicit none
  integer, parameter :: cells = 20000, residual_every = 10
  real(real64), parameter :: factor = 0.25_real64
  real(real64) :: now(0:cells + 1), next(cells), change, largest
  integer :: rank, ranks, left, right, step, steps, error
  character(len=16) :: argument
  integer :: time_step, exchange, update

  steps = 200
  call get_command_argument(1, argument)
  if (argument /= "") read (argument, *) steps

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  left = modulo(rank - 1, ranks)
  right = modulo(rank + 1, ranks)

  call sp_init("heat_mpi", rank)
  time_step = sp_region("time step", file=__FILE__, line=__LINE__)
  exchange = sp_region("exchange")
  update = sp_region("update")

  now = 0
  if (rank == 0) now(1) = 1
  do step = 1, steps
    call sp_begin(time_step)
    call sp_begin(exchange)
    call MPI_Sendrecv(now(1), 1, MPI_DOUBLE_PRECISION, left, 1, now(cells + 1), 1, MPI_DOUBLE_PRECISION, right, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Sendrecv(now(cells), 1, MPI_DOUBLE_PRECISION, right, 2, now(0), 1, MPI_DOUBLE_PRECISION, left, 2, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call sp_end(exchange)
    call sp_begin(update)
    next = now(1:cells) + factor*(now(0:cells - 1) - 2*now(1:cells) + now(2:cells + 1))
    change = maxval(abs(next - now(1:cells)))
    now(1:cells) = next
    call sp_end(update)
    if (modulo(step, residual_every) == 0) then
      call sp_begin_name("residual")
      call MPI_Allreduce(change, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
      call sp_end_name("residual")
    end if
    call sp_end(time_step)
  end do
  change = sum(now(1:cells))
  call MPI_Reduce(change, largest, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print "(a, f8.6, a, i0, a, i0, a)", "heat left: ", largest, " on ", ranks, " ranks after ", &
    sp_num_calls(time_step), " steps"
  call sp_finalize()
  call MPI_Finalize(error)
end program heat_mpi
