! Every form of every call, names of all kinds, statuses and messages on each call, and one profiler with C. With an
! argument "messages" it makes mistakes that nobody asked about instead. The script reads what is printed and recorded.
program names
  use, intrinsic :: iso_c_binding, only: c_char, c_f_pointer, c_int, c_null_char, c_ptr
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use scope_profiler
  implicit none

  interface
    integer(c_int) function c_init(prefix, rank) bind(C, name="sp_init")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: prefix(*)
      integer(c_int), value :: rank
    end function c_init
    integer(c_int) function c_region(name) bind(C, name="sp_region")
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*)
    end function c_region
    subroutine c_begin(region) bind(C, name="sp_begin")
      import :: c_int
      integer(c_int), value :: region
    end subroutine c_begin
    subroutine c_end(region) bind(C, name="sp_end")
      import :: c_int
      integer(c_int), value :: region
    end subroutine c_end
    type(c_ptr) function c_profiler() bind(C, name="sp_default_profiler")
      import :: c_ptr
    end function c_profiler
    type(c_ptr) function c_name(profiler, region) bind(C, name="sp_profiler_region_name")
      import :: c_int, c_ptr
      type(c_ptr), value :: profiler
      integer(c_int), value :: region
    end function c_name
  end interface

  type :: cell
    integer :: number = 0
    character(len=12) :: name = ""
  end type cell

  integer :: faults = 0
  character(len=20) :: argument

  call get_command_argument(1, argument)
  if (argument == "messages") then
    call mistakes()
  else
    call before_init()
    call sp_init("names")
    call forms()
    call kinds_of_names()
    call statuses()
    call with_c()
    call after_finalize()
  end if
  if (faults > 0) stop 1

contains

  subroutine before_init()
    type(sp_region_stats) :: stats
    character(len=60) :: text
    integer :: code

    stats = sp_region_stats(1, 2, 3, 4)
    call sp_get_region_stats(1, stats, code, text)
    call need(code == SP_ERR_INACTIVE .and. text /= "" .and. stats%max_ns == 0, "statistics before sp_init")
    call need(sp_num_calls(1) == 0 .and. sp_now_ns() > 0 .and. .not. sp_is_active(), "queries before sp_init")
    call sp_begin_name("x", code, text)
    call need(code == SP_ERR_INACTIVE .and. text /= "", "sp_begin_name before sp_init")
    call sp_end_name("x", code, text)
    call need(code == SP_ERR_INACTIVE .and. text /= "", "sp_end_name before sp_init")
    call sp_reset(code, text)
    call need(code == SP_ERR_INACTIVE .and. text /= "", "sp_reset before sp_init")
    ! Silent: the script looks.
    call sp_begin(1)
    call sp_end(1)
    call sp_flush()
    call sp_finalize()
  end subroutine before_init

  ! As programs write them: by place, by name, with and without what is optional.
  subroutine forms()
    type(sp_region_stats) :: stats
    integer :: a, code
    character(len=80) :: text

    call sp_init("names", 3)
    call sp_init("names", 3, code)
    call sp_init("names", 3, code, text)
    call sp_init(prefix="names", stat=code, errmsg=text)
    call sp_init(rank=SP_RANK_AUTO, prefix="names")
    call sp_init(errmsg=text, stat=code, rank=3, prefix="names  ")
    call need(code == SP_OK .and. text == "", "sp_init with all arguments")
    a = sp_region("a")
    call need(a == 1, "the first handle is not 1")
    call need(sp_region("a", "names.f90") == a .and. sp_region("a", "names.f90", 12) == a, "file and line by place")
    call need(sp_region("a", "names.f90", 12, code) == a, "stat by place")
    call need(sp_region("a", "names.f90", 12, code, text) == a, "all by place")
    call need(sp_region(name="a", line=7) == a .and. sp_region(name="a", file=" ", stat=code) == a, "by name")
    call need(sp_region(errmsg=text, name="a") == a .and. text == "", "errmsg alone")
    call sp_begin(a)
    call sp_begin(a, code)
    call sp_begin(a, code, text)
    call sp_begin(id=a, errmsg=text)
    call sp_begin(stat=code, id=a)
    call sp_end(a)
    call sp_end(a, code)
    call sp_end(a, code, text)
    call sp_end(id=a, errmsg=text)
    call sp_end(stat=code, id=a)
    call sp_begin_name("a")
    call sp_begin_name("a", code)
    call sp_begin_name("a", code, text)
    call sp_begin_name(errmsg=text, name="a")
    call sp_end_name("a")
    call sp_end_name("a", code)
    call sp_end_name("a", code, text)
    call sp_end_name(stat=code, name="a")
    call sp_get_region_stats(a, stats)
    call sp_get_region_stats(a, stats, code)
    call sp_get_region_stats(a, stats, code, text)
    call sp_get_region_stats(stats=stats, id=a, errmsg=text)
    call need(stats%calls == 9 .and. sp_num_calls(id=a) == 9, "nine calls in every form")
    call passed_on(a)
    call passed_on(a, code)
    call need(code == SP_OK .and. sp_num_calls(a) == 11, "an absent stat that is passed on")
    call sp_flush()
    call sp_flush(code)
    call sp_flush(code, text)
    call sp_flush(errmsg=text)
    call sp_reset()
    call sp_reset(code)
    call sp_reset(code, text)
    call sp_reset(errmsg=text)
    call need(code == SP_OK .and. text == "" .and. sp_num_calls(a) == 0, "sp_reset in every form")
    call sp_begin(a)
    call sp_end(a)
  end subroutine forms

  subroutine passed_on(id, stat)
    integer, intent(in) :: id
    integer, intent(out), optional :: stat

    call sp_begin(id, stat)
    call sp_end(id, stat=stat)
  end subroutine passed_on

  subroutine kinds_of_names()
    character(len=:), allocatable :: deferred
    character(len=12), target :: table(6)
    character(len=12), pointer :: every_other(:)
    character(len=300) :: long
    character(len=0) :: nothing
    type(cell) :: cells(4)
    integer :: i, j

    table = ["zero        ", "one         ", "two         ", "three       ", "four        ", "five        "]
    every_other => table(1:6:2)
    do i = 1, 3
      call timed(every_other(i))
      call timed(every_other(i)(:))
    end do
    call need(sp_region("zero") == 2 .and. sp_region("two") == 3 .and. sp_region("four") == 4, "elements of a slice")
    do i = 1, 4
      cells(i)%name = table(5)(1:i)
    end do
    call each(cells%name)
    call each(cells(4:1:-1)%name)
    call each(table(6:1:-5))
    call need(sp_region("f") == 5 .and. sp_region("fou") == 7 .and. sp_region("five") == 8, "names in an array section")
    call timed(table(3) (1:2))
    call timed("  blanks before, within and after   ")
    call timed("  blanks before, within and after")
    call timed(nothing)
    call timed("")
    call timed("    ")
    deferred = "deferred"
    call timed(deferred)
    deferred = deferred//" and longer "
    call timed(deferred//"still")
    call timed(trim(table(1))//" "//table(2))
    do i = 1, 300
      long(i:i) = achar(iachar("a") + mod(i, 26))
    end do
    call timed(long)
    call timed("größer als π")
    call timed("cut"//c_null_char//"here")
    call timed("cut  "//c_null_char)
    call timed(c_null_char//"never seen")
    call need(holds("  blanks before, within and after", 2), "embedded blanks")
    call need(holds("", 4), "an empty name")
    call need(holds("deferred", 1) .and. holds("deferred and longer still", 1), "deferred lengths")
    call need(holds("zero one", 1) .and. holds("tw", 1), "expressions and substrings")
    call need(holds(long, 1) .and. len_trim(long) == 300, "300 characters")
    call need(holds("größer als π", 1), "UTF-8")
    call need(holds("cut", 2), "a name with a null in it")
    j = sp_region(repeat("y", SP_MAX_NAME + 1), stat=i)
    call need(j == 0 .and. i == SP_ERR_INVALID_ARGUMENT, "a name that is too long")
    call need(sp_region(repeat("y", SP_MAX_NAME)//"   ") > 0, "trailing blanks count for a name's length")
  end subroutine kinds_of_names

  subroutine timed(name)
    character(len=*), intent(in) :: name
    integer :: code

    call sp_begin_name(name, stat=code)
    call need(code == SP_OK, "sp_begin_name: "//name)
    call sp_end_name(name//"   ", stat=code)
    call need(code == SP_OK, "sp_end_name: "//name)
  end subroutine timed

  subroutine each(some)
    character(len=*), intent(in) :: some(:)
    integer :: i

    do i = 1, size(some)
      call timed(some(i))
    end do
  end subroutine each

  ! Is there a region of exactly this name, with so many calls?
  logical function holds(name, calls)
    character(len=*), intent(in) :: name
    integer, intent(in) :: calls
    character(kind=c_char), pointer :: kept(:)
    integer :: id, i

    id = sp_region(name)
    holds = id > 0
    if (.not. holds) return
    holds = sp_num_calls(id) == calls
    call c_f_pointer(c_name(c_profiler(), int(id - 1, c_int)), kept, [len(name) + 1])
    do i = 1, len(name)
      holds = holds .and. kept(i) == name(i:i)
    end do
    holds = holds .and. kept(len(name) + 1) == c_null_char
  end function holds

  ! Each call sets both, whatever was in them.
  subroutine statuses()
    type(sp_region_stats) :: stats
    integer :: id, code
    character(len=100) :: text
    character(len=5) :: short
    character(len=0) :: none

    code = 99
    text = repeat("#", len(text))
    id = sp_region("statuses", stat=code, errmsg=text)
    call need(code == SP_OK .and. text == "", "sp_region does not set stat and errmsg")
    call dirty(code, text)
    call sp_begin(id, stat=code, errmsg=text)
    call need(code == SP_OK .and. text == "", "sp_begin does not set stat and errmsg")
    call dirty(code, text)
    call sp_reset(stat=code, errmsg=text)
    call need(code == SP_ERR_OPEN_SCOPES .and. text /= "" .and. text(1:1) /= "#", "sp_reset inside an open call")
    call dirty(code, text)
    call sp_end(id, stat=code, errmsg=text)
    call need(code == SP_OK .and. text == "", "sp_end does not set stat and errmsg")
    call sp_end(id, stat=code, errmsg=short)
    call need(code == SP_ERR_UNMATCHED_END .and. short == "sp_en", "a message that is cut")
    call sp_end(id, stat=code, errmsg=none)
    call need(code == SP_ERR_UNMATCHED_END, "a message without room")
    call sp_end(id, errmsg=text)
    call need(index(text, "sp_end") == 1, "errmsg without stat")
    call sp_end(-huge(id), stat=code)
    call need(code == SP_ERR_INVALID_ARGUMENT, "the least handle")
    call sp_begin(huge(id), code, text)
    call need(code == SP_ERR_INVALID_ARGUMENT .and. index(text, "2147483647") > 0, "the greatest handle")
    call sp_end_name("never seen", code, text)
    call need(code == SP_ERR_UNMATCHED_END .and. index(text, "never seen") > 0, "the end of an unknown name")
    stats = sp_region_stats(1, 2, 3, 4)
    call sp_get_region_stats(0, stats, code, text)
    call need(code == SP_ERR_INVALID_ARGUMENT .and. text /= "" .and. stats%calls == 0, "statistics of handle 0")
    call dirty(code, text)
    call sp_get_region_stats(id, stats, code, text)
    call need(code == SP_OK .and. text == "" .and. stats%calls == 1, "sp_get_region_stats does not set stat and errmsg")
    call dirty(code, text)
    call sp_flush(code, text)
    call need(code == SP_OK .and. text == "", "sp_flush does not set stat and errmsg")
    call sp_init("", 3, code, text)
    call need(code == SP_ERR_INVALID_ARGUMENT .and. text /= "" .and. sp_is_active(), "an empty prefix")
    call sp_init(c_null_char//"x", 3, code, text)
    call need(code == SP_ERR_INVALID_ARGUMENT .and. sp_is_active(), "a prefix that starts with a null")
    call sp_init("names", -2, code, text)
    call need(code == SP_ERR_INVALID_ARGUMENT .and. text /= "" .and. sp_is_active(), "rank -2")
    call need(sp_num_calls(id) == 1, "a refused sp_init touches the running session")
  end subroutine statuses

  subroutine dirty(code, text)
    integer, intent(out) :: code
    character(len=*), intent(out) :: text

    code = 99
    text = repeat("#", len(text))
  end subroutine dirty

  subroutine with_c()
    integer(c_int) :: region

    call need(c_init("names"//c_null_char, 3_c_int) == 0, "C's sp_init fails over Fortran's")
    call need(sp_num_calls(1) == 1, "C's sp_init does not join Fortran's")
    region = c_region("a"//c_null_char)
    call need(region == 0, "C has other handles than Fortran's less one")
    call c_begin(region)
    call sp_begin(region + 1)
    call c_end(region)
    call sp_end(region + 1)
    call need(sp_num_calls(1) == 3, "calls of C and Fortran are not counted together")
  end subroutine with_c

  subroutine after_finalize()
    type(sp_region_stats) :: stats
    integer :: code
    character(len=100) :: text

    call dirty(code, text)
    call sp_finalize(stat=code, errmsg=text)
    call need(code == SP_OK .and. text == "" .and. .not. sp_is_active(), "sp_finalize does not set stat and errmsg")
    call sp_finalize()
    call sp_finalize(code)
    call sp_finalize(errmsg=text)
    call need(code == SP_OK .and. text == "", "sp_finalize is not idempotent")
    call sp_begin(0, code)
    call need(code == SP_ERR_INACTIVE, "a bad handle after sp_finalize is not INACTIVE")
    call sp_end_name("a", code, text)
    call need(code == SP_ERR_INACTIVE .and. text /= "", "sp_end_name after sp_finalize")
    call need(sp_region("a", stat=code) == 0 .and. code == SP_ERR_INACTIVE, "sp_region after sp_finalize")
    call sp_get_region_stats(1, stats, code)
    call need(code == SP_OK .and. stats%calls == 3, "statistics after sp_finalize")
    call sp_get_region_stats(99, stats, code)
    call need(code == SP_ERR_INVALID_ARGUMENT, "a bad handle's statistics after sp_finalize")
    ! Silent, as nothing is active.
    call sp_begin(1)
    call sp_end_name("a")
    call sp_flush()
    call sp_reset()
  end subroutine after_finalize

  ! One line for each kind of mistake, however often it is made, and from within a write statement, too.
  subroutine mistakes()
    integer :: i

    call sp_init("mistakes", 3)
    do i = 1, 100
      call sp_end(sp_region("not open"))
      call sp_end_name("not open, either")
      call sp_begin(4711 + i)
      call sp_init("mistakes", -5)
      if (i == 1) call sp_begin_name("left open")
      call sp_reset()
    end do
    write (error_unit, "(a, i0)") "within a write: ", mistaken()
    call sp_finalize()
  end subroutine mistakes

  integer function mistaken()
    call sp_end(1)
    mistaken = sp_region(repeat("z", SP_MAX_NAME + 1))
  end function mistaken

  subroutine need(good, words)
    logical, intent(in) :: good
    character(len=*), intent(in) :: words

    if (good) return
    write (error_unit, "(a)") "names.f90: "//words
    faults = faults + 1
  end subroutine need

end program names
