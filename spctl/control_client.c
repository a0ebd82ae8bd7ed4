#include "control_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "json.h"
#include "say.h"

enum { WHY = 512, ANSWER_MOST = 64 << 20 };

struct waiting {
    time_t until; /* CLOCK_MONOTONIC seconds */
    void (*show)(void *context, double done);
    void *context;
};

static time_t monotonic_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* 0 or -errno. The folder is opened first and the socket reached through its descriptor: a socket's address holds no
 * more than 107 bytes, a folder's path may. */
static int connect_to(int fd, const char *runtime_dir)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int folder = open(runtime_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return -errno;
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/control", folder);
    int status = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 ? 0 : -errno;
    close(folder);
    return status;
}

/* The folder may have been made by somebody else where the name is guessable: only this user and root are believed. */
static int check_peer(int fd, char ret_why[WHY])
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        snprintf(ret_why, WHY, "%s", strerror(errno));
        return -1;
    }
    if (peer.uid == geteuid() || peer.uid == 0)
        return 0;
    snprintf(ret_why, WHY, "it belongs to user %u, not to you; give another --runtime-dir", (unsigned)peer.uid);
    return -1;
}

/* Waits until fd is ready for `events`; a second at a time, so that progress is shown. 0 or -errno. */
static int wait_for(int fd, short events, const struct waiting *waiting)
{
    struct pollfd poller = {.fd = fd, .events = events};
    for (;;) {
        int ready = poll(&poller, 1, 500);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -errno;
        if (monotonic_seconds() >= waiting->until)
            return -ETIMEDOUT;
        if (waiting->show)
            waiting->show(waiting->context, -1);
    }
}

static int send_line(int fd, const char *line, size_t length, const struct waiting *waiting)
{
    while (length > 0) {
        int status = wait_for(fd, POLLOUT, waiting);
        if (status < 0)
            return status;
        ssize_t n = send(fd, line, length, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return -errno;
        if (n > 0) {
            line += n;
            length -= (size_t)n;
        }
    }
    return 0;
}

/* Reads up to the newline. Heap. 0 or -errno; -ECONNRESET where the other side closed before it. */
static int read_line(int fd, char **ret, size_t *ret_length, const struct waiting *waiting)
{
    size_t used = 0, room = 4096;
    char *line = need(malloc(room));
    int status = 0;
    while (status == 0) {
        status = wait_for(fd, POLLIN, waiting);
        if (status < 0)
            break;
        if (used == room) {
            room *= 2;
            line = need(realloc(line, room));
        }
        ssize_t n = recv(fd, line + used, room - used, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0) {
            status = n < 0 ? -errno : -ECONNRESET;
            break;
        }
        char *end = memchr(line + used, '\n', (size_t)n);
        used += (size_t)n;
        if (end) {
            *ret = line;
            *ret_length = (size_t)(end - line);
            return 0;
        }
        if (used > ANSWER_MOST)
            status = -EMSGSIZE;
    }
    free(line);
    return status;
}

static enum control_result understand(const char *line, size_t length, json_t **ret_answer, char ret_why[WHY])
{
    json_error_t fault;
    json_t *answer = json_loadb(line, length, 0, &fault);
    json_int_t version = json_integer_value(json_object_get(answer, "v"));
    enum control_result result = CONTROL_BROKEN;
    if (!json_is_object(answer)) {
        snprintf(ret_why, WHY, "its answer is not a line of JSON (%s)", fault.text);
    } else if (version != 1) {
        snprintf(ret_why, WHY, "it speaks version %lld of the protocol, this spctl version 1", (long long)version);
    } else if (json_is_true(json_object_get(answer, "ok"))) {
        *ret_answer = answer;
        return CONTROL_ANSWERED;
    } else {
        const char *words = json_string_value(json_object_get(answer, "error"));
        snprintf(ret_why, WHY, "%s", words ? words : "it refused without a reason");
        result = CONTROL_REFUSED;
    }
    json_decref(answer);
    return result;
}

static enum control_result converse(int fd, const char *op, const char *session, const struct waiting *waiting,
                                    json_t **ret_answer, char ret_why[WHY])
{
    json_t *question = need(json_object());
    json_put(question, "v", json_count(1));
    json_put(question, "op", json_text(op));
    if (session)
        json_put(question, "session", json_text(session));
    char *line = need(json_dumps(question, JSON_COMPACT));
    size_t length = strlen(line);
    json_decref(question);
    line = need(realloc(line, length + 1));
    line[length] = '\n'; /* takes the place of the NUL: the length is what counts from here */

    int status = send_line(fd, line, length + 1, waiting);
    free(line);
    if (status == 0)
        status = read_line(fd, &line, &length, waiting);
    if (status < 0) {
        snprintf(ret_why, WHY, "%s",
                 status == -ETIMEDOUT    ? "it did not answer in time; is it stopped or overloaded?"
                 : status == -ECONNRESET ? "it closed the connection without an answer"
                                         : strerror(-status));
        return CONTROL_BROKEN;
    }
    enum control_result result = understand(line, length, ret_answer, ret_why);
    free(line);
    return result;
}

enum control_result control_ask(const char *runtime_dir, const char *op, const char *session, int seconds,
                                void (*show)(void *context, double done), void *context, json_t **ret_answer,
                                char ret_why[512])
{
    struct waiting waiting = {monotonic_seconds() + seconds, show, context};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        snprintf(ret_why, WHY, "%s", strerror(errno));
        return CONTROL_BROKEN;
    }
    enum control_result result = CONTROL_ABSENT;
    int status = connect_to(fd, runtime_dir);
    if (status < 0)
        snprintf(ret_why, WHY, "%s", strerror(-status));
    else if (check_peer(fd, ret_why) != 0)
        result = CONTROL_BROKEN;
    else
        result = converse(fd, op, session, &waiting, ret_answer, ret_why);
    close(fd);
    return result;
}
