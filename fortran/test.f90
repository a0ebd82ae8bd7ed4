! What a program written for the module relies on: handles, trimmed names, statuses, counts, messages.
program test
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use scope_profiler
  implicit none
  integer :: solve, other, i, code, faults = 0
  character(len=40) :: padded = "halo exchange"
  character(len=200) :: text
  character(len=2000) :: long
  type(sp_region_stats) :: stats
  integer(int64) :: before

  ! Before the first sp_init everything is off, and silent.
  call need(.not. sp_is_active(), "active before sp_init")
  call sp_begin(1, stat=code)
  call need(code == SP_ERR_INACTIVE, "sp_begin before sp_init is not INACTIVE")
  call sp_get_region_stats(1, stats, stat=code)
  call need(code == SP_ERR_INACTIVE, "sp_get_region_stats before sp_init is not INACTIVE")
  call need(sp_region("early", stat=code) == 0 .and. code == SP_ERR_INACTIVE, "sp_region before sp_init")
  call sp_flush(stat=code)
  call need(code == SP_ERR_INACTIVE, "sp_flush before sp_init is not INACTIVE")
  call sp_finalize(stat=code, errmsg=text)
  call need(code == SP_OK .and. text == "", "sp_finalize before sp_init is not OK")

  call sp_init("  ", stat=code, errmsg=text)
  call need(code == SP_ERR_INVALID_ARGUMENT .and. text /= "", "a blank prefix is accepted")
  call sp_init("fortran-test   ", rank=5, stat=code, errmsg=text)
  call need(code == SP_OK .and. text == "", "sp_init failed: "//trim(text))
  call sp_init("fortran-test", rank=-7, stat=code)
  call need(code == SP_ERR_INVALID_ARGUMENT .and. sp_is_active(), "rank -7 is accepted, or stops the session")

  solve = sp_region("solve", file="test.f90", line=9)
  other = sp_region("solve   ", file="   ")
  call need(solve == 1 .and. other == 1, "handles are not dense from 1, or trailing blanks count")
  before = sp_now_ns()
  do i = 1, 1000
    call sp_begin(solve)
    call sp_begin_name(padded)
    call sp_end_name("halo exchange")
    call sp_end(solve)
  end do
  call need(sp_now_ns() > before, "the clock stands still")
  call need(sp_num_calls(solve) == 1000_int64, "sp_num_calls is not 1000")
  call sp_get_region_stats(solve, stats, stat=code)
  call need(code == SP_OK .and. stats%calls == 1000_int64, "statistics of 1000 calls")
  call need(stats%min_ns <= stats%max_ns .and. stats%max_ns <= stats%total_ns, "minimum, maximum, total")
  call sp_get_region_stats(99, stats, stat=code)
  call need(code == SP_ERR_INVALID_ARGUMENT .and. stats%calls == 0_int64, "statistics of a bad handle")

  call sp_end(solve, stat=code, errmsg=text)
  call need(code == SP_ERR_UNMATCHED_END .and. text /= "", "an end without a begin is not UNMATCHED_END")
  call sp_end_name("nobody knows me", stat=code)
  call need(code == SP_ERR_UNMATCHED_END, "the end of an unknown name is not UNMATCHED_END")
  other = sp_region("third")
  call need(other == 3, "the end of an unknown name has registered it")
  call sp_begin(0, stat=code)
  call need(code == SP_ERR_INVALID_ARGUMENT, "handle 0 is not INVALID_ARGUMENT")
  call sp_begin(4711, stat=code)
  call need(code == SP_ERR_INVALID_ARGUMENT, "handle 4711 is not INVALID_ARGUMENT")
  long = repeat("x", len(long))
  call need(sp_region(long, stat=code) == 0 .and. code /= SP_OK, "a name of 2000 bytes is accepted")
  call need(sp_region(long(:SP_MAX_NAME)) == 4, "a name of SP_MAX_NAME bytes is refused")

  call sp_begin(solve)
  call sp_reset(stat=code)
  call need(code == SP_ERR_OPEN_SCOPES, "sp_reset inside an open call is not OPEN_SCOPES")
  call sp_end(solve, stat=code, errmsg=text)
  call need(code == SP_OK .and. text == "", "a good sp_end is not OK")
  call sp_reset(stat=code)
  call need(code == SP_OK .and. sp_num_calls(solve) == 0_int64, "sp_reset keeps calls")

  do i = 1, 10
    call sp_begin(solve)
    call sp_end(solve)
  end do
  call sp_flush(stat=code)
  call need(code == SP_OK .and. sp_is_active(), "sp_flush")
  call sp_begin(other)
  call sp_finalize(stat=code)
  call need(code == SP_ERR_OPEN_SCOPES .and. .not. sp_is_active(), "sp_finalize with an open call is not OPEN_SCOPES")
  call sp_finalize(stat=code)
  call need(code == SP_OK, "a second sp_finalize is not OK")
  call sp_begin(solve, stat=code)
  call need(code == SP_ERR_INACTIVE, "sp_begin after sp_finalize is not INACTIVE")
  call sp_get_region_stats(solve, stats, stat=code)
  call need(code == SP_OK .and. stats%calls == 10_int64, "statistics after sp_finalize")
  if (faults > 0) stop 1

contains

  subroutine need(good, words)
    logical, intent(in) :: good
    character(len=*), intent(in) :: words

    if (good) return
    write (error_unit, "(a)") "test.f90: "//words
    faults = faults + 1
  end subroutine need

end program test
