/* restarts ROUNDS [fresh]: in each round a program records 3 calls and is killed, and two others start over its segment at
 * the same moment. Exactly one of them has to become the rank, the other one is refused with SP_ERR_RANK_IN_USE, runs on
 * and records nothing. The one that won makes 2 calls and finalizes. With "fresh" nobody was there before.
 *
 * Each round has a rank of its own. Prints "made N in M ms, A won by the first": all calls of dead and winners. */
#include <scope_profiler.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEAD_CALLS = 3, WINNER_CALLS = 2, WON = 10, REFUSED = 11 };

static void call(int times)
{
    int region = sp_region("a");
    for (int i = 0; i < times; i++) {
        sp_begin(region);
        sp_end(region);
    }
}

static void leave_a_dead_one(int rank)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (sp_init("restarts", rank))
            _exit(1);
        call(DEAD_CALLS);
        raise(SIGKILL);
    }
    if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status)) {
        fprintf(stderr, "restarts: rank %d could not be begun\n", rank);
        exit(1);
    }
}

/* Starts when `go` closes; the winner stays the rank until `over` closes. */
static int race(int rank, int go, int over, int told)
{
    char byte;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)!read(go, &byte, 1);
    int status = sp_init("restarts", rank);
    call(WINNER_CALLS);
    bool records = sp_is_active() != 0;
    if (write(told, "x", 1) != 1)
        return 1;
    (void)!read(over, &byte, 1);
    if (sp_finalize())
        return 2;
    if (status == 0 && records)
        return WON;
    return status == SP_ERR_RANK_IN_USE && !records ? REFUSED : 3;
}

static int exit_status(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

/* Which of the two won; ends the program where not exactly one did. */
static int one_round(int rank)
{
    int go[2], over[2], told[2], statuses[2];
    pid_t racers[2];
    char bytes[2];
    if (pipe(go) || pipe(over) || pipe(told))
        exit(1);
    for (int i = 0; i < 2; i++) {
        racers[i] = fork();
        if (racers[i] == 0) {
            close(go[1]);
            close(over[1]);
            _exit(race(rank, go[0], over[0], told[1]));
        }
    }
    close(go[0]);
    close(over[0]);
    close(go[1]);
    for (int i = 0; i < 2; i++)
        (void)!read(told[0], &bytes[i], 1);
    close(over[1]);
    for (int i = 0; i < 2; i++)
        statuses[i] = exit_status(racers[i]);
    close(told[0]);
    close(told[1]);
    if ((statuses[0] != WON || statuses[1] != REFUSED) && (statuses[0] != REFUSED || statuses[1] != WON)) {
        fprintf(stderr, "restarts: rank %d: the two ended with %d and %d, not %d (won) and %d (refused)\n", rank,
                statuses[0], statuses[1], WON, REFUSED);
        exit(1);
    }
    return statuses[1] == WON;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    long rounds = strtol(argv[1], NULL, 10), first = 0;
    bool fresh = argc > 2 && !strcmp(argv[2], "fresh");
    long long since = sp_now_ns();
    for (int rank = 0; rank < rounds; rank++) {
        if (!fresh)
            leave_a_dead_one(rank);
        first += one_round(rank) == 0;
    }
    printf("made %ld in %lld ms, %ld won by the first\n", rounds * (WINNER_CALLS + (fresh ? 0 : DEAD_CALLS)),
           (sp_now_ns() - since) / 1000000, first);
    return 0;
}
