#!/bin/bash
# Garbage, half messages, single bytes, overlong lines and idle clients on the control socket: spd serves the others.
. "$(dirname "$0")/common.sh"
start_spd
hold
launch 0 -n 1000 -e wait work
program=$!
made 1
"$PY" - "$T/run/control" <<'PYTHON' || fail "the socket does not do what it should"
import os, socket, sys

def client(timeout=5):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(timeout)
    s.connect(sys.argv[1])
    return s

def send(data):
    s = client()
    try:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        while s.recv(65536):
            pass
    except OSError:
        pass
    s.close()

idle = [client() for _ in range(50)]
send(b"")
send(b"\n\n\n")
send(os.urandom(100000))
send(b"{" * 200000 + b"\n")
send(b"[]\nnull\n17\n\"text\"\n")
send(b'{"version": 99, "command": "list"}\n{"version": 1}\n{"version": 1, "command": 7}\n')
send(b"\xff\xfe\x00\n")
send(b"x" * (8 << 20))
half = client()
half.sendall(b'{"version": 1, ')
drip = client()
for byte in b'{"version"':
    drip.sendall(bytes([byte]))
client().close()
PYTHON
kill -0 "$SPD" || fail "spd died: $(tail -n 1 "$T/spd.log")"
spctl flush "$S" >"$T/flush" 2>&1 || fail "flush: $(tail -n 1 "$T/flush")"
counts "$(rank_files)" 1000
rss=$(awk '/VmHWM/{print $2}' "/proc/$SPD/status")
[[ $SP_TEST_SANITIZE != none ]] || ((rss < 65536)) || fail "spd grew to $rss kB"
release
ended "$program"
stop_spd
echo "spd goes on serving"
