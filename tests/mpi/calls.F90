! An MPI program in Fortran that knows of no profiler, for 4 ranks; with -DF08 by mpi_f08, with -DMODULE by mpi, else by
! mpif.h. "expect": as in calls.c.
#ifdef F08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define WINDOW type(MPI_Win)
#define HANDLE type(MPI_File)
#define ERROR
#else
#define COMM integer
#define REQUEST integer
#define WINDOW integer
#define HANDLE integer
#define ERROR , error
#endif
program calls
#ifdef F08
  use mpi_f08
#elif defined(MODULE)
  use mpi
#endif
  use, intrinsic :: iso_c_binding
  implicit none
#if !defined(F08) && !defined(MODULE)
  include 'mpif.h'
#endif
  integer :: rank, ranks, left, right, i, values(2), error
  COMM :: half
  REQUEST :: requests(2)
  HANDLE :: file
  integer(MPI_OFFSET_KIND) :: place
  character(len=200) :: path

  error = 0
  call MPI_Init(error)                                           ! expect: MPI_Init 1
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  if (ranks /= 4) call fail("this takes 4 ranks")
  left = modulo(rank - 1, 4)
  right = modulo(rank + 1, 4)

  do i = 1, 50
    values = [rank, -1]
    call MPI_Irecv(values(2), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, requests(1) ERROR)  ! expect: MPI_Irecv 50
    call MPI_Isend(values(1), 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, requests(2) ERROR) ! expect: MPI_Isend 50
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE ERROR)     ! expect: MPI_Waitall 50
    if (values(2) /= left) call fail("a message is wrong")
  end do

  if (rank > 0) then
    do i = 1, rank
      call MPI_Send(rank, 1, MPI_INTEGER, 0, 99, MPI_COMM_WORLD, error)  ! expect: MPI_Send 0 1 2 3
    end do
  else
    do i = 1, 6
      ! expect: MPI_Recv 6 0 0 0
      call MPI_Recv(values, 1, MPI_INTEGER, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    end do
  end if

  path = " "
  if (rank == 0) call get_command_argument(1, path)
  call MPI_Bcast(path, len(path), MPI_CHARACTER, 0, MPI_COMM_WORLD, error)  ! expect: MPI_Bcast 1
  values = [1, 2]
  do i = 1, 3
    ! expect: MPI_Allreduce 3
    call MPI_Allreduce(MPI_IN_PLACE, values, 2, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, error)
  end do
  if (any(values /= [1, 2])) call fail("a reduction is wrong")
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 3, values, 1, MPI_INTEGER, left, 3, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, error)                    ! expect: MPI_Sendrecv 1
  if (values(1) /= left) call fail("an exchange is wrong")
  call MPI_Comm_split(MPI_COMM_WORLD, modulo(rank, 2), rank, half, error)  ! expect: MPI_Comm_split 1
  call MPI_Comm_free(half, error)                                ! expect: MPI_Comm_free 1

  ! expect: MPI_File_open 1
  call MPI_File_open(MPI_COMM_WORLD, trim(path), ior(MPI_MODE_CREATE, MPI_MODE_RDWR), MPI_INFO_NULL, file, error)
  if (error /= MPI_SUCCESS) call fail("a file cannot be opened")
  ! expect: MPI_File_set_view 1
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, "native", MPI_INFO_NULL, error)
  place = rank
  ! expect: MPI_File_write_at_all 1
  call MPI_File_write_at_all(file, place, rank, 1, MPI_INTEGER, MPI_STATUS_IGNORE, error)
  call MPI_File_sync(file, error)                                ! expect: MPI_File_sync 1
  call MPI_File_read_at(file, place, values, 1, MPI_INTEGER, MPI_STATUS_IGNORE, error)    ! expect: MPI_File_read_at 1
  call MPI_File_close(file, error)                               ! expect: MPI_File_close 1
  if (values(1) /= rank) call fail("a file is wrong")

#if defined(F08) || defined(MODULE)
  call one_sided()
#endif
  call MPI_Pcontrol(0)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_Pcontrol(1)
  call MPI_Barrier(MPI_COMM_WORLD ERROR)                         ! expect-mpif: MPI_Barrier 1
  call MPI_Finalize(error)                                       ! expect: MPI_Finalize 1

contains

#if defined(F08) || defined(MODULE)
  subroutine one_sided()
    WINDOW :: win
    integer(MPI_ADDRESS_KIND) :: place
    type(c_ptr) :: address
    integer, pointer :: memory(:)

    ! expect-module: MPI_Win_allocate 1
    call MPI_Win_allocate(16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, win, error)
    call c_f_pointer(address, memory, [4])
    memory = -1
    place = rank
    call MPI_Barrier(MPI_COMM_WORLD, error)                      ! expect-module: MPI_Barrier 2
    call MPI_Win_fence(0, win, error)                            ! expect-module: MPI_Win_fence 2
    call MPI_Put(rank, 1, MPI_INTEGER, 0, place, 1, MPI_INTEGER, win, error) ! expect-module: MPI_Put 1
    call MPI_Win_fence(0, win, error)
    if (rank == 0 .and. memory(4) /= 3) call fail("a put is wrong")
    call MPI_Win_free(win, error)                                ! expect-module: MPI_Win_free 1
  end subroutine one_sided
#endif

  subroutine fail(what)
    character(len=*), intent(in) :: what

    print *, rank, what
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine fail
end program calls
