/* control.c: the control socket with several clients at once. An input says what each sends, cut into pieces that come in
 * any order among them; spd's own code answers over real sockets on a real loop. Whatever is sent: every whole line has
 * one reply, in order, and what becomes of a client depends on its own bytes alone, however they were cut. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "daemon.h"
#include "fuzz.h"
#include "request.h"

enum { CLIENTS = 4, SENT_MOST = 80 * 1024, REPLIES_MOST = 1 << 23, PIECES_MOST = 64, IDLE_TURNS = 4 };

static struct daemon spd; /* no segments, no sessions: what it would do with them is not asked here */
static struct options options;

struct client_side {
    int fd;
    char *sent;
    size_t sent_size;
    char *replies;
    size_t reply_size;
    bool closed;
};

static struct client_side sides[CLIENTS];

static void make_address(struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(ret->sun_path, sizeof ret->sun_path, "control");
}

static void start(void)
{
    struct sockaddr_un address;
    make_address(&address);
    unlink(address.sun_path);
    spd.options = &options;
    spd.due_end = &spd.due;
    snprintf(spd.data_dir, sizeof spd.data_dir, "/data");
    snprintf(spd.hostname, sizeof spd.hostname, "node1");
    spd.runtime.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (uv_loop_init(&spd.loop) || bind(spd.runtime.listener, (struct sockaddr *)&address, sizeof address) ||
        listen(spd.runtime.listener, CLIENTS) || control_start(&spd))
        fuzz_fail("no control socket: %s", strerror(errno));
    for (int i = 0; i < CLIENTS; i++) {
        sides[i].sent = malloc(SENT_MOST);
        sides[i].replies = malloc(REPLIES_MOST + 1);
        if (!sides[i].sent || !sides[i].replies)
            fuzz_fail("no memory");
    }
}

static void open_side(struct client_side *side)
{
    struct sockaddr_un address;
    make_address(&address);
    side->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    side->sent_size = side->reply_size = 0;
    side->closed = false;
    if (side->fd < 0 || connect(side->fd, (struct sockaddr *)&address, sizeof address))
        fuzz_fail("spd takes no client: %s", strerror(errno));
}

static void collect(struct client_side *side)
{
    while (!side->closed) {
        ssize_t got = read(side->fd, side->replies + side->reply_size, REPLIES_MOST - side->reply_size);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (got <= 0)
            side->closed = true;
        else
            side->reply_size += (size_t)got;
        if (side->reply_size == REPLIES_MOST)
            fuzz_fail("replies without end");
    }
}

static bool turn(void)
{
    size_t before = 0, after = 0;
    for (int i = 0; i < CLIENTS; i++)
        before += sides[i].reply_size + sides[i].closed;
    uv_run(&spd.loop, UV_RUN_NOWAIT);
    for (int i = 0; i < CLIENTS; i++) {
        collect(&sides[i]);
        after += sides[i].reply_size + sides[i].closed;
    }
    return after != before;
}

static void settle(void)
{
    for (int idle = 0; idle < IDLE_TURNS;)
        idle = turn() ? 0 : idle + 1;
}

static void send_to(struct client_side *side, const char *bytes, size_t length)
{
    if (length > SENT_MOST - side->sent_size)
        length = SENT_MOST - side->sent_size;
    memcpy(side->sent + side->sent_size, bytes, length);
    side->sent_size += length;
    for (int tries = 0; length && !side->closed && tries < 10000; tries++) {
        ssize_t n = send(side->fd, bytes, length, MSG_NOSIGNAL);
        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        } else if (errno != EAGAIN) {
            return; /* it was closed: what was replied before tells why */
        } else {
            turn();
        }
    }
    if (length && !side->closed)
        fuzz_fail("a client that reads its replies is not read any more");
}

static void send_repeated(struct client_side *side, const char *bytes, size_t length, size_t repeat)
{
    static char all[SENT_MOST];
    size_t size = 0;
    for (size_t n = 0; n < repeat && length && size + length <= sizeof all; n++) {
        memcpy(all + size, bytes, length);
        size += length;
    }
    send_to(side, all, size);
}

/* ---- an input -----------------------------------------------------------------------------------------------------
 */

static const char *const words[] = {
    "{\"v\":1,\"op\":\"ping\"}\n",
    "{\"v\":1,\"id\":7,\"op\":\"status\"}\n",
    "{\"v\":1,\"id\":-9,\"op\":\"list\",\"session\":\"a\"}\n",
    "{\"v\":1,\"id\":3,\"op\":\"flush\",\"session\":\"session42\"}\n",
    "{\"v\":1,\"id\":1,",
    "\"op\":\"list\"}\n",
    "{\"v\":2,\"op\":\"ping\"}\n",
    "\"session\":null,",
    "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac",
    "[[[[[[[[[[[[[[[[",
    "\n",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
};

/* One byte: whose, and whether it is a word or as many bytes as the next one says; another: how often. */
static void run(const uint8_t *data, size_t size)
{
    const uint8_t *at = data, *end = data + size;
    for (int pieces = 0; end - at >= 2 && pieces < PIECES_MOST; pieces++) {
        struct client_side *side = &sides[*at & (CLIENTS - 1)];
        bool word = *at & 4, many = *at & 8, look = *at & 16;
        const char *bytes;
        size_t length, repeat = 1;
        at++;
        if (word) {
            bytes = words[*at++ % (sizeof words / sizeof *words)];
            length = strlen(bytes);
        } else {
            length = *at++ % 64;
            length = (size_t)(end - at) < length ? (size_t)(end - at) : length;
            bytes = (const char *)at;
            at += length;
        }
        if (many && at < end) /* whole requests less often, since each is answered */
            repeat = memchr(bytes, '\n', length) ? (size_t)1 + *at++ % 16 : (size_t)1 + *at++ * 8;
        send_repeated(side, bytes, length, repeat);
        if (look)
            turn();
    }
}

/* ---- what must have come back -------------------------------------------------------------------------------------
 */

static json_t *next_reply(struct client_side *side, size_t *at)
{
    char *from = side->replies + *at, *end = memchr(from, '\n', side->reply_size - *at);
    if (!end)
        return NULL;
    json_t *reply = json_loadb(from, (size_t)(end - from), 0, NULL);
    *at = (size_t)(end + 1 - side->replies);
    if (!json_is_object(reply) || json_integer_value(json_object_get(reply, "v")) != REQUEST_VERSION)
        fuzz_fail("a reply is none: %.*s", (int)(end - from), from);
    return reply;
}

static void check_reply(struct client_side *side, size_t *at, int status, const struct request *request)
{
    json_t *reply = next_reply(side, at), *id;
    if (!reply)
        fuzz_fail("a request of client %d has no reply", (int)(side - sides));
    id = json_object_get(reply, "id");
    bool fails = status || request->op == REQUEST_FLUSH; /* there is no session to flush */
    if (json_is_true(json_object_get(reply, "ok")) == fails || fails != json_is_string(json_object_get(reply, "error")))
        fuzz_fail("a request of status %d has another reply", status);
    if (status == -EBADMSG ? id != NULL : request->has_id != (id != NULL) || json_integer_value(id) != request->id)
        fuzz_fail("a reply has another's id");
    json_decref(reply);
}

static void check(struct client_side *side)
{
    size_t from = 0, at = 0;
    bool refused = false;
    while (!refused) {
        char why[256] = "", *line = side->sent + from;
        size_t left = side->sent_size - from, most = left < REQUEST_LINE_MOST ? left : REQUEST_LINE_MOST;
        const char *end = memchr(line, '\n', most);
        struct request request = {0};
        int status = -EBADMSG;
        if (!end && left < REQUEST_LINE_MOST)
            break;
        if (end) {
            status = request_parse(line, (size_t)(end - line), &request, why, sizeof why);
            if (status && !*why)
                fuzz_fail("a request is refused without words");
            from += (size_t)(end + 1 - line);
        }
        refused = status == -EBADMSG;
        check_reply(side, &at, status, &request);
    }
    if (at != side->reply_size)
        fuzz_fail("client %d has a reply to nothing: %.80s", (int)(side - sides), side->replies + at);
    if (side->closed != refused)
        fuzz_fail("client %d is %s", (int)(side - sides), refused ? "not dropped" : "dropped for nothing");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!spd.control)
        start();
    for (int i = 0; i < CLIENTS; i++)
        open_side(&sides[i]);
    settle();
    run(data, size);
    settle();
    for (int i = 0; i < CLIENTS; i++) {
        sides[i].replies[sides[i].reply_size] = '\0';
        check(&sides[i]);
        close(sides[i].fd);
    }
    settle();
    return 0;
}
