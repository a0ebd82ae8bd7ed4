#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon.h"
#include "names.h"
#include "preload.h"
#include "region_table.h"
#include "say.h"
#include "verbs.h"
#include "writing.h"

static const char *output_option, *session_option;
static bool mpi_option, functions_option;

/* Everything one run needs, absolute, since the command may work in another folder. */
struct plan {
    char session[SP__SESSION_SIZE];
    char output[SP__PATH_SIZE];
    char data_dir[SP__PATH_SIZE];
    char runtime_parent[SP__PATH_SIZE];
    char preload[2 * SP__PATH_SIZE]; /* libraries, "": none */
};

/* "<command>-<date>-<time>-<pid>", where the command's name is made safe and short. */
static void name_session(const char *command, char ret[SP__SESSION_SIZE])
{
    char stem[33], when[32];
    struct tm local;
    time_t now = time(NULL);
    size_t used = 0;
    for (const char *c = sp__base_name(command); *c && used < sizeof stem - 1; ++c) {
        bool safe = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_' ||
                    (used > 0 && (*c == '-' || *c == '.'));
        stem[used++] = safe ? *c : '_';
    }
    stem[used] = 0;
    strftime(when, sizeof when, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    snprintf(ret, SP__SESSION_SIZE, "%s-%s-%d", used ? stem : "run", when, (int)getpid());
}

/* -1: go on; else the exit status, said. */
static int make_plan(const struct arguments *arguments, struct plan *ret)
{
    if (session_option && !sp__session_valid(session_option)) {
        say("%s is not a session's name: 1 to 64 of A-Z a-z 0-9 . _ -, not starting with . or -", session_option);
        return END_USAGE;
    }
    if (session_option)
        snprintf(ret->session, sizeof ret->session, "%s", session_option);
    else
        name_session(arguments->operands[0], ret->session);

    if ((mpi_option && !preload_add("libsp_mpi.so", "libsp/mpi", ret->preload, sizeof ret->preload)) ||
        (functions_option &&
         !preload_add("libsp_instrument.so", "libsp/instrument", ret->preload, sizeof ret->preload)))
        return END_FAILED;

    char folder[SP__PATH_SIZE], output[SP__PATH_SIZE];
    if (!data_dir_of(arguments, folder) || !runtime_dir_of(arguments, ret->runtime_parent))
        return END_FAILED;
    int status = sp__make_dirs(folder);
    if (status == 0)
        status = sp__prefix_absolute(folder, ret->data_dir);
    if (status < 0) {
        say("cannot make the data folder %s: %s; give another --data-dir", folder, strerror(-status));
        return END_FAILED;
    }
    snprintf(output, sizeof output, "%s%s", output_option ? output_option : ret->session,
             output_option ? "" : SP_HDF5_SUFFIX);
    status = sp__prefix_absolute(output, ret->output);
    if (status < 0)
        say("cannot write %s: %s; choose another place with -o", output, strerror(-status));
    struct stat info;
    if (status == 0 && lstat(ret->output, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        say("%s: is no regular file and is not replaced: name another output", ret->output);
        return END_FAILED;
    }
    return status == 0 && output_possible(ret->output) ? -1 : END_FAILED;
}

/* In the child: never returns. Like a shell, 127 where there is no such command and 126 where it cannot be run. */
static void become(const struct plan *plan, const struct daemon *daemon, char *const *command, const sigset_t *mask)
{
    bool set = setenv("SP_SESSION", plan->session, 1) == 0 && setenv("SP_DATA_DIR", plan->data_dir, 1) == 0 &&
               setenv("SP_RUNTIME_DIR", daemon->runtime_dir, 1) == 0 && preload_set(plan->preload) == 0;
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (set)
        execvp(command[0], command);
    int error = errno;
    say("cannot run %s: %s", command[0], strerror(error));
    _exit(error == ENOENT ? 127 : 126);
}

/* How a command ended. */
struct ended {
    int status; /* waitpid's */
    bool interrupted;
    uint64_t deaths; /* of what recorded */
};

/* Launchers end their ranks on Ctrl-C and then fail in some way of their own, or in none. */
static int status_of(const struct ended *ended)
{
    if (WIFSIGNALED(ended->status))
        return 128 + WTERMSIG(ended->status);
    if (ended->interrupted && (ended->status != 0 || ended->deaths > 0))
        return 128 + SIGINT;
    return WEXITSTATUS(ended->status);
}

/* Waits for the command. The terminal's own signals reach it without help; those that somebody sent to this process
 * alone are passed on. */
static void wait_command(pid_t pid, int signals, struct ended *ret)
{
    for (;;) {
        struct signalfd_siginfo info;
        pid_t got = waitpid(pid, &ret->status, WNOHANG);
        if (got == pid)
            return;
        if (read(signals, &info, sizeof info) != (ssize_t)sizeof info)
            continue;
        ret->interrupted = ret->interrupted || info.ssi_signo == SIGINT;
        if (info.ssi_signo != SIGCHLD && info.ssi_code <= 0 && (pid_t)info.ssi_pid != pid)
            kill(pid, (int)info.ssi_signo);
    }
}

/* Runs the command; false after a line where it could not even be tried. From the first to the last instant the signals
 * that would end this process are held, so that what was recorded until then is still merged. */
static bool run_command(const struct plan *plan, const struct daemon *daemon, char *const *command, struct ended *ret)
{
    sigset_t held, before;
    const int all[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};
    sigemptyset(&held);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        sigaddset(&held, all[i]);
    sigprocmask(SIG_BLOCK, &held, &before);
    int signals = signalfd(-1, &held, SFD_CLOEXEC);
    fflush(stdout);
    pid_t pid = signals < 0 ? -1 : fork();
    if (pid == 0)
        become(plan, daemon, command, &before);
    if (pid < 0)
        say("cannot run %s: %s", command[0], strerror(errno));
    else
        wait_command(pid, signals, ret);
    if (signals >= 0)
        close(signals);
    return pid > 0;
}

/* Only what the terminal or somebody sent while the command ran is forgotten; from here on they end this process. */
static void release_signals(void)
{
    sigset_t none;
    const struct timespec at_once = {0, 0};
    sigset_t held;
    sigprocmask(SIG_SETMASK, NULL, &held);
    while (sigtimedwait(&held, NULL, &at_once) > 0)
        continue;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int print_table(const char *path)
{
    sp_inputs *inputs = NULL;
    sp_results *results = NULL;
    sp_error error = {0};
    int status = sp_inputs_create(&inputs, &error);
    if (status == 0) {
        sp_inputs_probe(inputs, SP_PROBE_STATISTICS);
        status = sp_inputs_add_path(inputs, path, &error);
    }
    if (status == 0)
        status = sp_results_load(&results, inputs, true, &error);
    struct region_table table;
    if (status == 0)
        status = region_table_make(&table, results, &(struct table_wanted){0}, &error);
    if (status == 0) {
        region_table_print(&table, path);
        region_table_finish(&table);
    } else {
        say("%s", error.text);
    }
    sp_results_destroy(results);
    sp_inputs_destroy(inputs);
    return status == 0 ? END_DONE : END_FAILED;
}

/* A command that could not even be run need not be told what it recorded. */
static int merge(const struct plan *plan, const char *command, struct ended *ended)
{
    bool ran = status_of(ended) != 126 && status_of(ended) != 127;
    sp_inputs *inputs = NULL;
    sp_error error = {0};
    sp_write_report report = {0};
    sp_session_settings settings = sp_session_settings_default();
    settings.data_dir = plan->data_dir;
    settings.session = plan->session;
    settings.live = true;
    settings.recover = true;
    int end = END_FAILED;
    int status = sp_inputs_create(&inputs, &error);
    if (status == 0) {
        sp_inputs_probe(inputs, SP_PROBE_ALL);
        status = sp_inputs_add_session(inputs, &settings, &error);
    }
    if (status == SP_ERR_NOT_FOUND) {
        if (ran && status_of(ended) != 0)
            say("%s ended with status %d and recorded nothing", command, status_of(ended));
        else if (ran)
            say("%s recorded nothing: it has to be linked with libsp and to call sp_init%s%s%s", command,
                functions_option ? ", or to be compiled with -finstrument-functions" : "",
                mpi_option ? ", or to be an MPI program" : "",
                functions_option || mpi_option ? "" : "; --mpi and --functions record programs that do not");
    } else if (status < 0) {
        say("%s", error.text);
    } else {
        end = profile_write(inputs, plan->output, sp_write_settings_default(), &report);
        ended->deaths = report.deaths;
        if ((end == END_DONE || end == END_LOSS) && print_table(plan->output) != END_DONE)
            end = END_FAILED;
    }
    sp_inputs_destroy(inputs);
    return end;
}

static int run(const struct arguments *arguments)
{
    struct plan plan = {0};
    struct daemon daemon;
    struct ended ended = {0};
    char **command = need(calloc(arguments->count + 1, sizeof *command));
    memcpy(command, arguments->operands, arguments->count * sizeof *command);
    signal(SIGCHLD, SIG_DFL); /* where it is ignored, nobody could wait for the command */

    int end = make_plan(arguments, &plan);
    if (end < 0 && !daemon_start(&daemon, plan.runtime_parent, plan.data_dir, plan.session))
        end = END_FAILED;
    if (end < 0) {
        bool ran = run_command(&plan, &daemon, command, &ended);
        bool well = daemon_stop(&daemon);
        release_signals();
        end = ran ? merge(&plan, command[0], &ended) : END_FAILED;
        if (end == END_DONE && !well)
            end = END_LOSS;
        if (ran && status_of(&ended) != 0)
            end = status_of(&ended);
    }
    free(command);
    return end;
}

static const struct option options[] = {
    {'o', "output", "OUT.h5", "the profile to write (else SESSION.h5 here)", &output_option},
    {0, "mpi", NULL, "preload libsp_mpi.so: record the MPI calls of a program without a line changed", &mpi_option},
    {0, "functions", NULL,
     "preload libsp_instrument.so: record the functions of a program compiled with -finstrument-functions",
     &functions_option},
    {0, "session", "NAME", "the session's name (else of command, time and pid)", &session_option},
    {0, NULL, NULL, NULL, NULL}};

const struct verb verb_run = {
    .name = "run",
    .operands = "[--] COMMAND [ARGUMENT]...",
    .summary = "profile one command: record, merge, report",
    .about = "Runs COMMAND (an MPI launcher too) with an spd of its own for as long as it takes, merges what all its\n"
             "ranks recorded into one profile, and prints the table of regions. Ctrl-C goes to the command; what was\n"
             "recorded until then is merged. The exit status is the command's, 128 + the signal's number where one\n"
             "ended it (130 for Ctrl-C, also over a launcher); where the command succeeded, 1 when no profile could\n"
             "be written and 3 when calls were lost.",
    .options = options,
    .least = 1,
    .most = SIZE_MAX,
    .stops = true,
    .run = run,
};
