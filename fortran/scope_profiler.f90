! scope_profiler: the recording library from Fortran. This head is the manual; scope_profiler.h says more.
!
!     use scope_profiler
!     integer :: step
!     call sp_init("solver")                    ! rank: that of SP_RANK, MPI or Slurm; or call sp_init("solver", rank)
!     step = sp_region("step")
!     do i = 1, n
!       call sp_begin(step)
!       ...
!       call sp_end(step)
!     end do
!     call sp_begin_name("output")              ! looks its name up each time
!     call sp_end_name("output")
!     call sp_finalize()
!
! Handles count from 1 and 0 is no region. Names are any bytes up to SP_MAX_NAME, UTF-8 for whoever shows them; trailing
! blanks of names, prefixes and paths don't count, nor does what comes after a c_null_char. An empty name is a name.
!
! Every procedure but the three queries (sp_num_calls, sp_now_ns, sp_is_active) takes, last and in this order, an
! optional stat and errmsg, which are set on each call: SP_OK and blanks, or what went wrong. Where neither is given, a
! fault other than SP_ERR_INACTIVE (profiling is off) is said on standard error, the first one of each kind in a
! process. Nothing here stops the program, and nothing uses Fortran's own I/O, so that all of it may be called from
! within a write statement.
!
! The module has no state of its own: Fortran and C in one process share the default profiler, and what is thread-safe
! there (all of it) is thread-safe here: from OpenMP, too. A begin and its end belong to one thread.
module scope_profiler
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, c_int64_t, c_null_char, c_ptr, &
    c_size_t
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  private

  integer, parameter, public :: SP_OK = 0
  integer, parameter, public :: SP_ERR_INACTIVE = 1
  integer, parameter, public :: SP_ERR_NO_CLOCK = 2
  integer, parameter, public :: SP_ERR_NO_MEMORY = 3
  integer, parameter, public :: SP_ERR_IO = 4
  integer, parameter, public :: SP_ERR_UNMATCHED_END = 5
  integer, parameter, public :: SP_ERR_OPEN_SCOPES = 6
  integer, parameter, public :: SP_ERR_INVALID_ARGUMENT = 7
  integer, parameter, public :: SP_ERR_DEPTH = 8 ! what C calls SP_ERR_TOO_DEEP
  integer, parameter, public :: SP_ERR_UNSUPPORTED = 9
  integer, parameter, public :: SP_ERR_RANK_IN_USE = 17
  integer, parameter, public :: SP_ERR_NO_SPACE = 18
  integer, parameter, public :: SP_ERR_TOO_DEEP = 19 ! C's number; reported here as SP_ERR_DEPTH
  integer, parameter, public :: SP_ERR_TOO_MANY = 20
  integer, parameter, public :: SP_MAX_NAME = 1023 ! bytes
  integer, parameter, public :: SP_RANK_AUTO = -1

  ! Of finished calls, in nanoseconds.
  type, bind(C), public :: sp_region_stats
    integer(c_int64_t) :: calls = 0
    integer(c_int64_t) :: total_ns = 0
    integer(c_int64_t) :: min_ns = 0
    integer(c_int64_t) :: max_ns = 0
  end type sp_region_stats

  public :: sp_init, sp_region, sp_begin, sp_end, sp_begin_name, sp_end_name
  public :: sp_finalize, sp_flush, sp_reset, sp_get_region_stats
  public :: sp_num_calls, sp_now_ns, sp_is_active

  ! The numbers that differ in C.
  integer, parameter :: C_UNSUPPORTED = 7, C_INVALID_ARGUMENT = 16, C_TOO_DEEP = 19

  integer(c_int), parameter :: LANGUAGE_FORTRAN = 1

  interface
    integer(c_int) function c_init(prefix, rank, language) bind(C, name="sp_init_language")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: prefix(*)
      integer(c_int), value :: rank, language
    end function c_init

    integer(c_int) function c_region_at(name, file, line) bind(C, name="sp_region_at")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*), file(*)
      integer(c_int), value :: line
    end function c_region_at

    integer(c_int) function c_region(name) bind(C, name="sp_region")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
    end function c_region

    integer(c_int) function c_find_region(name) bind(C, name="sp_find_region")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
    end function c_find_region

    integer(c_int) function c_begin(region) bind(C, name="sp_begin_status")
      import :: c_int
      integer(c_int), value :: region
    end function c_begin

    integer(c_int) function c_end(region) bind(C, name="sp_end_status")
      import :: c_int
      integer(c_int), value :: region
    end function c_end

    integer(c_int) function c_finalize() bind(C, name="sp_finalize")
      import :: c_int
    end function c_finalize

    integer(c_int64_t) function c_num_calls(region) bind(C, name="sp_num_calls")
      import :: c_int, c_int64_t
      integer(c_int), value :: region
    end function c_num_calls

    integer(c_int64_t) function c_now_ns() bind(C, name="sp_now_ns")
      import :: c_int64_t
    end function c_now_ns

    integer(c_int) function c_is_active() bind(C, name="sp_is_active")
      import :: c_int
    end function c_is_active

    type(c_ptr) function c_default_profiler() bind(C, name="sp_default_profiler")
      import :: c_ptr
    end function c_default_profiler

    integer(c_int) function c_last_error(profiler) bind(C, name="sp_profiler_last_error")
      import :: c_int, c_ptr
      type(c_ptr), value :: profiler
    end function c_last_error

    integer(c_int) function c_flush(profiler) bind(C, name="sp_profiler_flush")
      import :: c_int, c_ptr
      type(c_ptr), value :: profiler
    end function c_flush

    integer(c_int) function c_reset(profiler) bind(C, name="sp_profiler_reset")
      import :: c_int, c_ptr
      type(c_ptr), value :: profiler
    end function c_reset

    integer(c_int) function c_num_regions(profiler) bind(C, name="sp_profiler_num_regions")
      import :: c_int, c_ptr
      type(c_ptr), value :: profiler
    end function c_num_regions

    integer(c_int) function c_get_region_stats(profiler, region, stats) bind(C, name="sp_profiler_get_region_stats")
      import :: c_int, c_ptr, sp_region_stats
      type(c_ptr), value :: profiler
      integer(c_int), value :: region
      type(sp_region_stats), intent(inout) :: stats
    end function c_get_region_stats

    type(c_ptr) function c_error_string(status) bind(C, name="sp_error_string")
      import :: c_int, c_ptr
      integer(c_int), value :: status
    end function c_error_string

    subroutine c_say_once(text, status) bind(C, name="sp_say_once")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int), value :: status
    end subroutine c_say_once

    integer(c_size_t) function c_strlen(string) bind(C, name="strlen")
      import :: c_ptr, c_size_t
      type(c_ptr), value :: string
    end function c_strlen
  end interface

contains

  ! Starts the default profiler. Without a rank it is the one that SP_RANK, MPI or Slurm give. A blank prefix and a
  ! negative rank other than SP_RANK_AUTO are SP_ERR_INVALID_ARGUMENT and leave a running profiler alone.
  subroutine sp_init(prefix, rank, stat, errmsg)
    character(len=*), intent(in) :: prefix
    integer, intent(in), optional :: rank
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer :: number
    integer(c_int) :: status

    number = SP_RANK_AUTO
    if (present(rank)) number = rank
    status = C_INVALID_ARGUMENT
    if (length(prefix) > 0 .and. number >= SP_RANK_AUTO) then
      status = c_init(c_text(prefix), int(number, c_int), LANGUAGE_FORTRAN)
      if (status /= 0) status = last_status(SP_ERR_NO_MEMORY)
    end if
    call report("sp_init of "//prefix(:length(prefix)), status, stat, errmsg)
  end subroutine sp_init

  ! The region's handle, the same for the same name; 0 on failure. A blank file is none.
  integer function sp_region(name, file, line, stat, errmsg) result(id)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: file
    integer, intent(in), optional :: line
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status, number
    logical :: located

    located = .false.
    if (present(file)) located = length(file) > 0
    if (located) then
      number = -1
      if (present(line)) number = int(line, c_int)
      id = c_region_at(c_text(name), c_text(file), number) + 1
    else
      id = c_region(c_text(name)) + 1
    end if
    status = SP_OK
    if (id <= 0) status = last_status(SP_ERR_INACTIVE)
    call report("sp_region of "//name(:length(name)), status, stat, errmsg)
  end function sp_region

  ! These two are short where nobody asks and all is well: what they cost over C's is a call and some tests.
  subroutine sp_begin(id, stat, errmsg)
    integer, intent(in) :: id
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status

    if (present(stat) .or. present(errmsg)) then
      call told_begin(id, stat, errmsg)
    else
      status = c_begin(int(id, c_int) - 1_c_int)
      if (status /= SP_OK) call report_call("sp_begin", id, status)
    end if
  end subroutine sp_begin

  subroutine sp_end(id, stat, errmsg)
    integer, intent(in) :: id
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status

    if (present(stat) .or. present(errmsg)) then
      call told_end(id, stat, errmsg)
    else
      status = c_end(int(id, c_int) - 1_c_int)
      if (status /= SP_OK) call report_call("sp_end", id, status)
    end if
  end subroutine sp_end

  subroutine sp_begin_name(name, stat, errmsg)
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: region, status

    region = c_region(c_text(name))
    if (region >= 0) then
      status = c_begin(region)
    else
      status = last_status(SP_ERR_INACTIVE)
    end if
    call report("sp_begin_name of "//name(:length(name)), status, stat, errmsg)
  end subroutine sp_begin_name

  ! Ends the innermost open call of that name in this thread; never registers the name.
  subroutine sp_end_name(name, stat, errmsg)
    character(len=*), intent(in) :: name
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: region, status

    region = c_find_region(c_text(name))
    if (region >= 0) then
      status = c_end(region)
    else
      status = last_status(SP_ERR_INACTIVE)
    end if
    call report("sp_end_name of "//name(:length(name)), status, stat, errmsg)
  end subroutine sp_end_name

  ! Publishes. Calls that are still open give SP_ERR_OPEN_SCOPES; after SP_ERR_IO it may be tried again.
  subroutine sp_finalize(stat, errmsg)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status
    logical :: active

    active = sp_is_active()
    status = c_finalize()
    if (status /= 0) then
      status = last_status(SP_ERR_IO)
    else if (active) then
      status = last_status(SP_OK)
    end if
    call report("sp_finalize", status, stat, errmsg)
  end subroutine sp_finalize

  ! Publishes every finished call and goes on.
  subroutine sp_flush(stat, errmsg)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status

    status = SP_ERR_INACTIVE
    if (sp_is_active()) then
      status = c_flush(c_default_profiler())
      if (status /= 0) status = last_status(SP_ERR_IO)
    end if
    call report("sp_flush", status, stat, errmsg)
  end subroutine sp_flush

  ! Forgets all calls and keeps the handles.
  subroutine sp_reset(stat, errmsg)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status

    status = SP_ERR_INACTIVE
    if (sp_is_active()) then
      status = c_reset(c_default_profiler())
      if (status /= 0) status = last_status(SP_ERR_OPEN_SCOPES)
    end if
    call report("sp_reset", status, stat, errmsg)
  end subroutine sp_reset

  ! Readable after sp_finalize too; zeros on failure.
  subroutine sp_get_region_stats(id, stats, stat, errmsg)
    integer, intent(in) :: id
    type(sp_region_stats), intent(out) :: stats
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status, regions
    type(c_ptr) :: profiler

    profiler = c_default_profiler()
    regions = 0
    if (c_associated(profiler)) regions = c_num_regions(profiler)
    if (id >= 1 .and. id <= regions) then
      status = c_get_region_stats(profiler, int(id - 1, c_int), stats)
    else if (regions > 0) then
      status = C_INVALID_ARGUMENT
    else
      status = SP_ERR_INACTIVE
      if (sp_is_active()) status = C_INVALID_ARGUMENT
    end if
    if (status /= SP_OK .or. present(stat) .or. present(errmsg)) then
      call report("sp_get_region_stats of handle "//decimal(id), status, stat, errmsg)
    end if
  end subroutine sp_get_region_stats

  ! Begins so far, open ones included.
  integer(int64) function sp_num_calls(id) result(calls)
    integer, intent(in) :: id

    calls = c_num_calls(int(id - 1, c_int))
  end function sp_num_calls

  ! CLOCK_MONOTONIC.
  integer(int64) function sp_now_ns() result(now)
    now = c_now_ns()
  end function sp_now_ns

  logical function sp_is_active() result(active)
    active = c_is_active() /= 0
  end function sp_is_active

  ! What counts of a name.
  pure integer function length(name)
    character(len=*), intent(in) :: name

    length = index(name, c_null_char) - 1
    if (length < 0) length = len(name)
    length = len_trim(name(:length))
  end function length

  pure function c_text(name) result(text)
    character(len=*), intent(in) :: name
    character(len=length(name) + 1) :: text

    text = name(:length(name))//c_null_char
  end function c_text

  pure function decimal(number) result(text)
    integer, intent(in) :: number
    character(len=:), allocatable :: text
    integer(int64) :: rest

    text = ""
    rest = abs(int(number, int64))
    do
      text = achar(iachar("0") + int(mod(rest, 10_int64)))//text
      rest = rest/10
      if (rest == 0) exit
    end do
    if (number < 0) text = "-"//text
  end function decimal

  ! The status of this thread's latest call, in C's numbers; `otherwise` where no profiler was ever started.
  integer(c_int) function last_status(otherwise) result(status)
    integer, intent(in) :: otherwise
    type(c_ptr) :: profiler

    profiler = c_default_profiler()
    status = int(otherwise, c_int)
    if (c_associated(profiler)) status = c_last_error(profiler)
  end function last_status

  ! sp_begin and sp_end for a program that asks.
  subroutine told_begin(id, stat, errmsg)
    integer, intent(in) :: id
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status

    status = c_begin(int(id, c_int) - 1_c_int)
    if (status /= SP_OK .or. present(errmsg)) then
      call report_call("sp_begin", id, status, stat, errmsg)
    else if (present(stat)) then
      stat = SP_OK
    end if
  end subroutine told_begin

  subroutine told_end(id, stat, errmsg)
    integer, intent(in) :: id
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status

    status = c_end(int(id, c_int) - 1_c_int)
    if (status /= SP_OK .or. present(errmsg)) then
      call report_call("sp_end", id, status, stat, errmsg)
    else if (present(stat)) then
      stat = SP_OK
    end if
  end subroutine told_end

  ! Of a begin or end. For C a handle that is none is inactive, or not open.
  subroutine report_call(action, id, c_status, stat, errmsg)
    character(len=*), intent(in) :: action
    integer, intent(in) :: id
    integer(c_int), intent(in) :: c_status
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int) :: status, regions

    status = c_status
    if (status == SP_ERR_INACTIVE .or. status == SP_ERR_UNMATCHED_END) then
      if (sp_is_active()) then
        regions = c_num_regions(c_default_profiler())
        if (id < 1 .or. id > regions) status = C_INVALID_ARGUMENT
      end if
    end if
    call report(action//" of handle "//decimal(id), status, stat, errmsg)
  end subroutine report_call

  ! Hands a status (C's number) to whoever asked for it, or says a fault that nobody asked for.
  subroutine report(action, c_status, stat, errmsg)
    character(len=*), intent(in) :: action
    integer(c_int), intent(in) :: c_status
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg

    if (present(stat)) stat = fortran_status(c_status)
    if (c_status == SP_OK) then
      if (present(errmsg)) errmsg = ""
    else if (present(errmsg)) then
      errmsg = action//": "//error_text(c_status)
    else if (.not. present(stat) .and. c_status /= SP_ERR_INACTIVE) then
      call c_say_once(action//": "//error_text(c_status)//" (said once; stat= tells it each time)"//c_null_char, &
                      c_status)
    end if
  end subroutine report

  pure integer function fortran_status(c_status) result(status)
    integer(c_int), intent(in) :: c_status

    select case (c_status)
    case (C_UNSUPPORTED)
      status = SP_ERR_UNSUPPORTED
    case (C_INVALID_ARGUMENT)
      status = SP_ERR_INVALID_ARGUMENT
    case (C_TOO_DEEP)
      status = SP_ERR_DEPTH
    case default
      status = c_status
    end select
  end function fortran_status

  function error_text(c_status) result(text)
    integer(c_int), intent(in) :: c_status
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    type(c_ptr) :: string
    integer :: i

    string = c_error_string(c_status)
    call c_f_pointer(string, characters, [c_strlen(string)])
    allocate (character(len=size(characters)) :: text)
    do i = 1, size(characters)
      text(i:i) = characters(i)
    end do
  end function error_text

end module scope_profiler
