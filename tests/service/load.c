/* load SOCKET CONNECTIONS REQUESTS PERIOD_US [LATENCIES]: asks the service, on each connection one question every
 * PERIOD_US microseconds (0: as soon as the last one is answered), REQUESTS of them or, for 0, until SIGTERM. Each
 * answer is checked. LATENCIES gets two int64 for each request: CLOCK_MONOTONIC ns when it was sent, and ns until its
 * answer. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

enum { CONNECTIONS_MOST = 64, KEPT = 512 };

static const char *place;
static long requests, period_ns;
static FILE *latencies;
static volatile sig_atomic_t stopped;

static void on_term(int number)
{
    (void)number;
    stopped = 1;
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sleep_until(int64_t ns)
{
    struct timespec until = {ns / 1000000000, ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR && !stopped)
        ;
}

static int connect_to(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof at))
        fail(path);
    return fd;
}

static int64_t ask(int fd, uint64_t number)
{
    struct question question = {.number = number};
    struct answer answer;
    for (int word = 0; word < 6; word++)
        question.text[6] += question.text[word] = number * 2654435761U + (uint64_t)word;
    int64_t from = now_ns();
    if (send(fd, &question, sizeof question, MSG_NOSIGNAL) != sizeof question ||
        recv(fd, &answer, sizeof answer, MSG_WAITALL) != sizeof answer)
        fail("the service does not answer");
    int64_t took = now_ns() - from;
    if (answer.number != number || answer.digest != digest(&question)) {
        fprintf(stderr, "load: the answer to question %llu is wrong\n", (unsigned long long)number);
        exit(1);
    }
    return took;
}

static void *drive(void *number)
{
    uint64_t serial = *(uint64_t *)number << 40;
    int64_t kept[KEPT][2];
    size_t count = 0;
    int fd = connect_to(place);
    int64_t next = now_ns() + *(int64_t *)number * period_ns / CONNECTIONS_MOST;
    for (long made = 0; !stopped && (requests == 0 || made < requests); made++, next += period_ns) {
        if (period_ns)
            sleep_until(next);
        kept[count][0] = now_ns();
        kept[count][1] = ask(fd, serial++);
        if (++count == KEPT && latencies)
            (void)fwrite(kept, sizeof *kept, count, latencies);
        if (count == KEPT)
            count = 0;
    }
    if (latencies)
        (void)fwrite(kept, sizeof *kept, count, latencies);
    close(fd);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t ids[CONNECTIONS_MOST];
    uint64_t numbers[CONNECTIONS_MOST];
    long connections = argc >= 5 ? strtol(argv[2], NULL, 10) : 0;
    if (connections < 1 || connections > CONNECTIONS_MOST) {
        fprintf(stderr, "usage: load SOCKET CONNECTIONS REQUESTS PERIOD_US [LATENCIES]\n");
        return 2;
    }
    place = argv[1];
    requests = strtol(argv[3], NULL, 10);
    period_ns = strtol(argv[4], NULL, 10) * 1000;
    if (argc > 5 && !(latencies = fopen(argv[5], "wb")))
        fail(argv[5]);
    if (signal(SIGTERM, on_term) == SIG_ERR)
        fail("signal");
    for (long n = 0; n < connections; n++) {
        numbers[n] = (uint64_t)n;
        if (pthread_create(&ids[n], NULL, drive, &numbers[n]))
            fail("pthread_create");
    }
    for (long n = 0; n < connections; n++)
        pthread_join(ids[n], NULL);
    if (latencies && fclose(latencies))
        fail("close");
    return 0;
}
