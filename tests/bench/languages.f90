! Pairs of one region from Fortran; languages.h.
subroutine fortran_pairs(pairs, region) bind(C)
  use, intrinsic :: iso_c_binding, only: c_int
  use scope_profiler
  implicit none
  integer(c_int), value :: pairs, region
  integer :: i, id

  id = region + 1
  do i = 1, pairs
    call sp_begin(id)
    call sp_end(id)
  end do
end subroutine fortran_pairs

subroutine fortran_pairs_stat(pairs, region) bind(C)
  use, intrinsic :: iso_c_binding, only: c_int
  use scope_profiler
  implicit none
  integer(c_int), value :: pairs, region
  integer :: i, id, code

  id = region + 1
  do i = 1, pairs
    call sp_begin(id, stat=code)
    call sp_end(id, stat=code)
  end do
end subroutine fortran_pairs_stat
