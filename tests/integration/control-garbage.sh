#!/bin/bash
# Garbage, half messages, single bytes, endless lines, requests without end and idle clients on the control socket: that
# client alone is answered or dropped. One client, the witness, is served on one connection beside all of it.
. "$(dirname "$0")/common.sh"
start_spd
hold
launch 0 -n 1000 -e wait work
program=$!
made 1
(($(ulimit -H -n) >= 2048)) 2>/dev/null || [[ $(ulimit -H -n) == unlimited ]] || skip "1,000 clients need more than $(ulimit -H -n) open files"
ulimit -S -n 2048
"$PY" - "$T/run/control" "$SPD" "$S" <<'PYTHON' || fail "the socket does not do what it should"
import json, os, random, socket, sys, time

path, spd, session = sys.argv[1], int(sys.argv[2]), sys.argv[3]
random.seed(7)


class Client:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.lines = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def reply(self):
        line = self.lines.readline()
        return json.loads(line) if line else None

    def closed(self):
        """True where spd closes it, whatever it says before."""
        try:
            while self.lines.readline():
                pass
        except ConnectionResetError:
            pass
        return True

    def close(self):
        self.lines.close()
        self.socket.close()


def ping(n):
    return b'{"v":1,"id":%d,"op":"ping"}\n' % n


witness = Client()
asked = 0


def witnessed():
    global asked
    asked += 1
    begun = time.monotonic()
    witness.send(ping(asked))
    reply = witness.reply()
    assert reply and reply["ok"] and reply["id"] == asked, reply
    assert time.monotonic() - begun < 5, "the witness waits for what another client does"


def refused(data, last=True):
    """Answered once, without an id, and closed; nobody else is."""
    client = Client()
    try:
        client.send(data)
    except (BrokenPipeError, ConnectionResetError):
        pass
    if last:
        reply = client.reply()
        assert reply and reply["ok"] is False and reply["error"] and reply["v"] == 1 and "id" not in reply, (data[:40], reply)
    assert client.closed()
    client.close()
    witnessed()


def memory():
    return int(next(line.split()[1] for line in open(f"/proc/{spd}/status") if line.startswith("VmRSS")))


def ticks():
    return sum(map(int, open(f"/proc/{spd}/stat").read().rsplit(")", 1)[1].split()[11:13]))


def files():
    return len(os.listdir(f"/proc/{spd}/fd"))


files_at_first = files()
for garbage in [b"\n", b"[]\n", b"null\n", b"17\n", b'"text"\n', b"\xff\xfe\x00\n", b"{\n", b'{"v":1,"op":"ping"}}\n',
                b'{"v":1,"v":1,"op":"ping"}\n', b'{"op":"ping"}\n', b'{"v":99,"op":"list"}\n', b'{"v":"1","op":"ping"}\n',
                b'{"v":1,"op":"p\xe9ng"}\n', b"[" * 60000 + b"\n", b"GET / HTTP/1.1\r\n\r\n", b"{" * 65534 + b"\n"]:
    refused(garbage)
for n in range(100): # bytes of any kind; the newline makes them a message
    refused(bytes(b for b in os.urandom(random.randint(1, 3000)) if b != 10) + b"\n")

# Sound, but not to be done: answered, and the connection goes on.
client = Client()
for request in [b'{"v":1,"id":1}', b'{"v":1,"id":1,"op":7}', b'{"v":1,"id":1,"op":"list","session":"../x"}',
                b'{"v":1,"id":1,"op":"flush"}', b'{"v":1,"id":1,"op":"flush","session":"nobody"}',
                '{"v":1,"id":1,"op":"'.encode() + "\u20ac".encode() * 13 + b'"}',
                '{"v":1,"id":1,"op":"'.encode() + "\u20ac".encode() * 15000 + b'"}',
                b'{"v":1,"id":1,"op":"list","session":"' + b"s" * 60000 + b'"}']:
    client.send(request + b"\n")
    reply = client.reply()
    assert reply and reply["ok"] is False and reply["id"] == 1 and reply["error"], (request[:60], reply)
    witnessed()

# Half a message, and the rest after a while; a byte at a time; several at once, split anywhere.
half = Client()
half.send(b'{"v":1,"id":5,')
for byte in ping(6):
    client.send(bytes([byte]))
    time.sleep(0.001)
assert client.reply()["id"] == 6
witnessed()
half.send(b'"op":"ping"}\n')
assert half.reply()["id"] == 5
text = b"".join(ping(n) for n in range(2000))
at = 0
while at < len(text):
    piece = random.randint(1, 200)
    client.send(text[at:at + piece])
    at += piece
assert [client.reply()["id"] for _ in range(2000)] == list(range(2000))
left = Client()
left.send(b'{"v":1,"op"')
left.close()
witnessed()

# Lines of 64 KiB and more, up to 100 MB: refused at once, whatever is still to come.
before = memory()
refused(b"x" * 65536, last=False)
begun, sent, client_100 = time.monotonic(), 0, Client()
try:
    while sent < 100 << 20:
        client_100.send(b"y" * (1 << 20))
        sent += 1 << 20
except (BrokenPipeError, ConnectionResetError):
    pass
assert client_100.closed() and sent < 100 << 20, f"spd took {sent} bytes of one line"
witnessed()

# Asks without reading: it is not read either, and drops nothing.
greedy = Client()
greedy.socket.settimeout(0.5)
wanted = 0
try:
    while wanted < 400000:
        greedy.send(b"".join(ping(n) for n in range(wanted, wanted + 100)))
        wanted += 100
except socket.timeout:
    pass
assert wanted < 400000, "spd takes requests without end"
witnessed()
greedy.socket.settimeout(20)
assert [greedy.reply()["id"] for _ in range(wanted)] == list(range(wanted))
greedy.close()
if os.environ["SP_TEST_SANITIZE"] == "none":
    assert memory() - before < 20000, f"spd grew from {before} to {memory()} kB"

# 1,000 that say nothing: the oldest of them make room for the newest; who speaks is heard.
idle = []
for n in range(1000):
    idle.append(Client())
    if n % 50 == 0:
        witnessed()
witnessed()
assert files() - files_at_first <= 260, f"{files()} files are open"
idle[-1].send(ping(9))
assert idle[-1].reply()["id"] == 9
begun, used = time.monotonic(), ticks()
time.sleep(1)
assert os.environ["SP_TEST_SANITIZE"] != "none" or ticks() - used < 20, "spd is busy with clients that say nothing"
open_still = 0
for one in idle:
    one.socket.setblocking(False)
    try:
        open_still += one.socket.recv(1) != b""
    except BlockingIOError:
        open_still += 1
    except ConnectionResetError:
        pass
assert 200 <= open_still <= 256, f"{open_still} of 1000 idle clients are connected"
witnessed()

# Those that ask for a flush and are gone before it is done.
for n in range(50):
    gone = Client()
    gone.send(b'{"v":1,"op":"flush","session":"%s"}\n' % session.encode() * random.randint(1, 80))
    gone.close()
witnessed()
PYTHON
kill -0 "$SPD" || fail "spd died: $(tail -n 1 "$T/spd.log")"
spctl flush "$S" >"$T/flush" 2>&1 || fail "flush: $(tail -n 1 "$T/flush")"
counts "$(rank_files)" 1000
rss=$(awk '/VmHWM/{print $2}' "/proc/$SPD/status")
[[ $SP_TEST_SANITIZE != none ]] || ((rss < 65536)) || fail "spd grew to $rss kB"
release
ended "$program"
stop_spd
echo "one client's nonsense costs that client alone"
