/* service SOCKET TALLY: a small server that never stops by itself: the main thread accepts connections, worker threads
 * with an epoll set each answer them. Each request is recorded: request { read, work { parse, digest }, reply }.
 * SIGTERM ends it. What each worker has finished it counts itself, in the mapped file TALLY.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire.h"
#include <scope_profiler.h>

static int in_accept, in_request, in_read, in_work, in_parse, in_digest, in_reply;

struct worker {
    pthread_t id;
    int number, epoll;
};

static struct tally *tally;
static int stop; /* an eventfd, never read: readable for all once it is written to */

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "service: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
        fail("epoll_ctl");
}

/* The question's sum of words must be what its last word says. */
static bool parse(const struct question *question)
{
    uint64_t sum = 0;
    for (int word = 0; word < 6; word++)
        sum += question->text[word];
    return sum == question->text[6];
}

/* false: the connection is over. */
static bool serve(int fd)
{
    struct question question;
    struct answer answer = {0};
    sp_begin(in_request);
    sp_begin(in_read);
    bool good = recv(fd, &question, sizeof question, MSG_WAITALL) == sizeof question;
    sp_end(in_read);
    sp_begin(in_work);
    sp_begin(in_parse);
    good = good && parse(&question);
    sp_end(in_parse);
    sp_begin(in_digest);
    if (good)
        answer = (struct answer){question.number, digest(&question)};
    sp_end(in_digest);
    sp_end(in_work);
    sp_begin(in_reply);
    good = good && send(fd, &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer;
    sp_end(in_reply);
    sp_end(in_request);
    return good;
}

static void *work(void *context)
{
    struct worker *worker = context;
    struct epoll_event events[16];
    char name[16];
    for (bool on = true; on;) {
        int count = epoll_wait(worker->epoll, events, 16, -1);
        for (int n = 0; n < count; n++) {
            if (events[n].data.fd == stop) {
                on = false;
                continue;
            }
            if (!serve(events[n].data.fd))
                close(events[n].data.fd);
            atomic_fetch_add_explicit(&tally->workers[worker->number].finished, 1, memory_order_release);
            snprintf(name, sizeof name, "worker %d", worker->number);
            pthread_setname_np(pthread_self(), name); /* only now, after its first call */
        }
    }
    return NULL;
}

static int listen_at(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 64))
        fail(path);
    return fd;
}

static void count_in(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *tally))
        fail(path);
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (tally == MAP_FAILED)
        fail(path);
    close(fd);
}

static void begin_profile(void)
{
    if (sp_init("service", SP_RANK_AUTO))
        fprintf(stderr, "service: not profiled\n");
    in_accept = SP_REGION_AT("accept");
    in_request = SP_REGION_AT("request");
    in_read = SP_REGION_AT("read");
    in_work = SP_REGION_AT("work");
    in_parse = SP_REGION_AT("parse");
    in_digest = SP_REGION_AT("digest");
    in_reply = SP_REGION_AT("reply");
}

/* Connections go to the workers one after another, until a signal comes. */
static void accept_all(int listener, int signals, const struct worker *workers)
{
    struct epoll_event event;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        fail("epoll_create1");
    watch(epoll, listener);
    watch(epoll, signals);
    for (int next = 0;;) {
        if (epoll_wait(epoll, &event, 1, -1) != 1)
            continue;
        if (event.data.fd == signals)
            break;
        sp_begin(in_accept);
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            watch(workers[next++ % WORKERS].epoll, fd);
        sp_end(in_accept);
    }
    close(epoll);
}

int main(int argc, char **argv)
{
    struct worker workers[WORKERS];
    sigset_t set;
    if (argc != 3) {
        fprintf(stderr, "usage: service SOCKET TALLY\n");
        return 2;
    }
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int signals = signalfd(-1, &set, SFD_CLOEXEC);
    stop = eventfd(0, EFD_CLOEXEC);
    if (signals < 0 || stop < 0)
        fail("signalfd or eventfd");
    count_in(argv[2]);
    begin_profile();
    for (int n = 0; n < WORKERS; n++) {
        workers[n].number = n;
        workers[n].epoll = epoll_create1(EPOLL_CLOEXEC);
        if (workers[n].epoll < 0)
            fail("epoll_create1");
        watch(workers[n].epoll, stop);
        if (pthread_create(&workers[n].id, NULL, work, &workers[n]))
            fail("pthread_create");
    }
    accept_all(listen_at(argv[1]), signals, workers);
    uint64_t one = 1;
    if (write(stop, &one, sizeof one) != sizeof one)
        fail("eventfd");
    for (int n = 0; n < WORKERS; n++)
        pthread_join(workers[n].id, NULL);
    return sp_finalize() ? 1 : 0;
}
