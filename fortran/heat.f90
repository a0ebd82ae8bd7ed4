! A one-dimensional heat equation, as an example of the module. The regions nest: step holds exchange and update.
program heat
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use scope_profiler
  implicit none
  integer, parameter :: cells = 20000, steps = 200
  real(real64), parameter :: factor = 0.25_real64
  real(real64), allocatable :: now(:), next(:)
  integer :: step, i
  integer :: time_step, update

  call sp_init("heat")
  time_step = sp_region("step", file=__FILE__, line=__LINE__)
  update = sp_region("update")

  allocate (now(0:cells + 1), next(0:cells + 1))
  now = 0
  now(cells/2) = 1
  next = now
  do step = 1, steps
    call sp_begin(time_step)
    call sp_begin_name("exchange")
    now(0) = now(cells)
    now(cells + 1) = now(1)
    call sp_end_name("exchange")
    call sp_begin(update)
    do i = 1, cells
      next(i) = now(i) + factor*(now(i - 1) - 2*now(i) + now(i + 1))
    end do
    now(1:cells) = next(1:cells)
    call sp_end(update)
    call sp_end(time_step)
  end do
  print "(a, f8.6, a, i0, a)", "heat left: ", sum(now(1:cells)), " after ", sp_num_calls(time_step), " steps"
  call sp_finalize()
end program heat
