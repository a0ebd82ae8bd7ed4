#!/bin/bash
# A Python program that loads libsp with ctypes and forks, by itself and by multiprocessing.
. "$(dirname "$(readlink -f "$0")")/common.sh"
[[ $SP_TEST_SANITIZE == none ]] || skip "python3 cannot load a library that was built with a sanitizer"
export LIBSP=$SP_TEST_BIN/libsp/record/libsp.so
cat >"$T/forks.py" <<'PYTHON'
import ctypes, multiprocessing, os, subprocess, sys, threading, time, warnings

warnings.simplefilter("ignore")
sp = ctypes.CDLL(os.environ["LIBSP"])
follows = os.environ.get("SP_FORK") == "follow"
assert sp.sp_init(b"python", 0) == 0
a = sp.sp_region(b"a")


def call(times):
    for _ in range(times):
        sp.sp_begin(a)
        sp.sp_end(a)


def child(times):
    call(times)
    if follows:
        if sp.sp_finalize() or sp.sp_num_calls(a) != times:
            return "a child that follows does not count"
    elif sp.sp_is_active() or sp.sp_region(b"b") != -1:
        return "a child records"
    return ""


made, stop = [0, 0], threading.Event()


def work():
    while not stop.is_set():
        call(10)
        made[1] += 10
        time.sleep(0.0005)


thread = threading.Thread(target=work, daemon=True)
thread.start()
slowest = 0
for n in range(60):
    call(1)
    since = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os._exit(child(5) != "")
    assert os.waitpid(pid, 0)[1] == 0, "a child of os.fork failed"
    slowest = max(slowest, time.monotonic() - since)
    made[0] += 1 + 5 * follows
assert subprocess.run([sys.executable, "-c", "pass"]).returncode == 0
process = multiprocessing.get_context("fork").Process(target=lambda: sys.exit(bool(child(5))))
process.start()
process.join()
assert process.exitcode == 0, "a child of multiprocessing failed"
made[0] += 5 * follows
stop.set()
thread.join()
assert slowest < 1, f"a child took {slowest} s"
call(10)
print("made", sum(made) + 10, flush=True)
assert sp.sp_finalize() == 0
PYTHON
for fork in stop follow; do
    for daemon in no yes; do
        [[ $daemon == yes ]] && start_spd
        export SP_FORK=$fork SP_SESSION=$S-$fork-$daemon
        (cd "$T/cwd" && "$PY" -c "$(cat "$T/forks.py")") >"$T/out" 2>"$T/err" || fail "$fork, spd $daemon: $(tail -n 1 "$T/err")"
        join "$T/$fork-$daemon.h5" "$SP_SESSION"
        made=$(sed -n 's/^made //p' "$T/out")
        expect "$T/$fork-$daemon.h5" a "$made"
        total=$((${total:-0} + made))
    done
    stop_spd
done
exact
no_segments || fail "segments are left over: $(segments)"
echo "$total calls of Python programs that fork"
